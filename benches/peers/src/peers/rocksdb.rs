//! RocksDB: a log-structured merge tree in C++; one column family. It shares syncs among threads.

use std::path::Path;

use ::rocksdb::{
    BlockBasedOptions, DB, Direction, IteratorMode, Options, WriteBatch, WriteOptions,
};

use crate::kv::{Change, Each, Kv};
use crate::peer::{Result, Survives};

pub struct RocksDb {
    database: DB,
    is_synced: bool,
}

impl Kv for RocksDb {
    fn open(directory: &Path, survives: Survives) -> Result<RocksDb> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.increase_parallelism(2);
        // Logs are used again, so that a sync has no new length to write.
        options.set_recycle_log_file_num(4);
        options.set_keep_log_file_num(2);
        let mut blocks = BlockBasedOptions::default();
        blocks.set_bloom_filter(10.0, false);
        options.set_block_based_table_factory(&blocks);
        Ok(RocksDb {
            database: DB::open(&options, directory)?,
            is_synced: survives == Survives::Power,
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.database.get(key)?)
    }

    fn write(&self, changes: &[Change]) -> Result<()> {
        let mut options = WriteOptions::default();
        options.set_sync(self.is_synced);
        if let [Change::Put(key, value)] = changes {
            return Ok(self.database.put_opt(key, value, &options)?);
        }
        let mut batch = WriteBatch::default();
        for change in changes {
            match change {
                Change::Put(key, value) => batch.put(key, value),
                Change::Delete(key) => batch.delete(key),
            }
        }
        Ok(self.database.write_opt(batch, &options)?)
    }

    fn scan(&self, each: Each<'_>) -> Result<()> {
        for pair in self.database.iterator(IteratorMode::Start) {
            let (key, value) = pair?;
            each(&key, &value)?;
        }
        Ok(())
    }

    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>> {
        let mode = IteratorMode::From(end, Direction::Reverse);
        for pair in self.database.iterator(mode) {
            let (key, _) = pair?;
            if *key < *end {
                return Ok(Some(key.into_vec()));
            }
        }
        Ok(None)
    }

    fn close(self) -> Result<()> {
        Ok(self.database.flush_wal(true)?)
    }
}

//! redb: a copy-on-write tree in Rust; one table.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ::redb::{
    Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};

use crate::kv::{Change, Each, Kv};
use crate::peer::{Result, Survives};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("ids");

/// Without syncs, one commit of this many is durable: a kill undoes no more than that.
const DURABLE_EVERY: u64 = 10_000;

pub struct Redb {
    database: Database,
    survives: Survives,
    commits: AtomicU64,
}

impl Redb {
    fn begin(&self) -> Result<WriteTransaction> {
        let mut transaction = self.database.begin_write()?;
        let commit = self.commits.fetch_add(1, Ordering::Relaxed);
        if self.survives != Survives::Power && !commit.is_multiple_of(DURABLE_EVERY) {
            transaction.set_durability(Durability::None)?;
        }
        Ok(transaction)
    }
}

impl Kv for Redb {
    fn open(directory: &Path, survives: Survives) -> Result<Redb> {
        let database = Database::create(directory.join("redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(TABLE)?;
        transaction.commit()?;
        Ok(Redb {
            database,
            survives,
            commits: AtomicU64::new(1),
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    fn write(&self, changes: &[Change]) -> Result<()> {
        let transaction = self.begin()?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for change in changes {
                match change {
                    Change::Put(key, value) => {
                        table.insert(key.as_ref(), value.as_ref())?;
                    }
                    Change::Delete(key) => {
                        table.remove(key.as_ref())?;
                    }
                }
            }
        }
        Ok(transaction.commit()?)
    }

    fn scan(&self, each: Each<'_>) -> Result<()> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        for pair in table.iter()? {
            let (key, value) = pair?;
            each(key.value(), value.value())?;
        }
        Ok(())
    }

    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        match table.range::<&[u8]>(..end)?.next_back() {
            Some(pair) => Ok(Some(pair?.0.value().to_vec())),
            None => Ok(None),
        }
    }

    fn close(self) -> Result<()> {
        // One durable commit takes all before it along.
        Ok(self.database.begin_write()?.commit()?)
    }
}

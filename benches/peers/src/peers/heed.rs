//! LMDB, through heed: a copy-on-write tree in C, read through a memory map; the unnamed database.

use std::path::Path;

use ::heed::types::Bytes;
use ::heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions};

use crate::kv::{Change, Each, Kv};
use crate::peer::{Failure, Result, Survives};

/// The most the file may grow to: its map is made once.
const MAP_BYTES: usize = 4 << 30;

pub struct Heed {
    environment: Env,
    database: Database<'static, Bytes, Bytes>,
}

impl Kv for Heed {
    fn open(directory: &Path, survives: Survives) -> Result<Heed> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES);
        // SAFETY: nobody else opens or changes the file; and what a power cut makes of a store
        // that is not synced is not read here.
        let environment = unsafe {
            if survives != Survives::Power {
                options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP);
            }
            options.open(directory)?
        };
        let transaction = environment.write_txn()?;
        let database = environment
            .create_databases_and_commit(transaction, |opener, transaction| {
                let database = opener.create_database::<Bytes, Bytes>(transaction, None)?;
                Ok::<_, Failure>(CommitOrAbort::<_, ()>::Commit(database))
            })?
            .unwrap_commit();
        Ok(Heed {
            environment,
            database,
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let transaction = self.environment.read_txn()?;
        let value = self.database.get(&transaction, key)?;
        Ok(value.map(<[u8]>::to_vec))
    }

    fn write(&self, changes: &[Change]) -> Result<()> {
        let mut transaction = self.environment.write_txn()?;
        for change in changes {
            match change {
                Change::Put(key, value) => {
                    self.database
                        .put(&mut transaction, key.as_ref(), value.as_ref())?;
                }
                Change::Delete(key) => {
                    self.database.delete(&mut transaction, key.as_ref())?;
                }
            }
        }
        Ok(transaction.commit()?)
    }

    fn scan(&self, each: Each<'_>) -> Result<()> {
        let transaction = self.environment.read_txn()?;
        for pair in self.database.iter(&transaction)? {
            let (key, value) = pair?;
            each(key, value)?;
        }
        Ok(())
    }

    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>> {
        let transaction = self.environment.read_txn()?;
        let last = self.database.get_lower_than(&transaction, end)?;
        Ok(last.map(|(key, _)| key.to_vec()))
    }

    fn close(self) -> Result<()> {
        Ok(self.environment.force_sync()?)
    }
}

//! fjall: a log-structured merge tree in Rust; one keyspace.

use std::path::Path;

use ::fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::kv::{Change, Each, Kv};
use crate::peer::{Result, Survives};

pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
    /// What each batch asks for; nothing where the journal is flushed to the system anyway.
    persist: Option<PersistMode>,
}

impl Kv for Fjall {
    fn open(directory: &Path, survives: Survives) -> Result<Fjall> {
        let database = Database::builder(directory).open()?;
        let keyspace = database.keyspace("ids", KeyspaceCreateOptions::default)?;
        Ok(Fjall {
            database,
            keyspace,
            persist: (survives == Survives::Power).then_some(PersistMode::SyncData),
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.keyspace.get(key)?.map(|value| value.to_vec()))
    }

    fn write(&self, changes: &[Change]) -> Result<()> {
        if let ([Change::Put(key, value)], None) = (changes, self.persist) {
            return Ok(self.keyspace.insert(key.as_ref(), value.as_ref())?);
        }
        let mut batch = self.database.batch().durability(self.persist);
        for change in changes {
            match change {
                Change::Put(key, value) => {
                    batch.insert(&self.keyspace, key.as_ref(), value.as_ref());
                }
                Change::Delete(key) => batch.remove(&self.keyspace, key.as_ref()),
            }
        }
        Ok(batch.commit()?)
    }

    fn scan(&self, each: Each<'_>) -> Result<()> {
        for guard in self.keyspace.iter() {
            let (key, value) = guard.into_inner()?;
            each(&key, &value)?;
        }
        Ok(())
    }

    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.keyspace.range(..end).next_back() {
            Some(guard) => Ok(Some(guard.key()?.to_vec())),
            None => Ok(None),
        }
    }

    fn close(self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

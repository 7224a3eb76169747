//! sled: a tree over a log in Rust; the default tree.
//!
//! Its `flush` ends in `sync_file_range` on Linux, whose manual says that it is no way to survive a
//! power cut: what is flushed survives a kill.

use std::path::Path;

use ::sled::{Batch, Config, Db, Mode};

use crate::kv::{Change, Each, Kv};
use crate::peer::{Result, Survives};

pub struct Sled {
    database: Db,
    is_flushed: bool,
}

impl Kv for Sled {
    fn open(directory: &Path, survives: Survives) -> Result<Sled> {
        let is_flushed = survives != Survives::Nothing;
        let config = Config::new().path(directory).mode(Mode::HighThroughput);
        // Without flushes: one each half a second, as the default is.
        let config = if is_flushed {
            config.flush_every_ms(None)
        } else {
            config
        };
        Ok(Sled {
            database: config.open()?,
            is_flushed,
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.database.get(key)?.map(|value| value.to_vec()))
    }

    fn write(&self, changes: &[Change]) -> Result<()> {
        if let [Change::Put(key, value)] = changes {
            self.database.insert(key, value.as_ref())?;
        } else {
            let mut batch = Batch::default();
            for change in changes {
                match change {
                    Change::Put(key, value) => batch.insert(key.as_ref(), value.as_ref()),
                    Change::Delete(key) => batch.remove(key.as_ref()),
                }
            }
            self.database.apply_batch(batch)?;
        }
        if self.is_flushed {
            self.database.flush()?;
        }
        Ok(())
    }

    fn scan(&self, each: Each<'_>) -> Result<()> {
        for pair in &*self.database {
            let (key, value) = pair?;
            each(&key, &value)?;
        }
        Ok(())
    }

    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.database.get_lt(end)?.map(|(key, _)| key.to_vec()))
    }

    fn close(self) -> Result<()> {
        self.database.flush()?;
        Ok(())
    }
}

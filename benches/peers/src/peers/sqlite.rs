//! SQLite: one table without row IDs, its journal a write-ahead log.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use crate::kv::{Change, Each, Kv};
use crate::peer::{Result, Survives};

pub struct Sqlite {
    connection: Mutex<Connection>,
}

impl Sqlite {
    fn locked(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn apply(connection: &Connection, change: &Change) -> Result<()> {
    match change {
        Change::Put(key, value) => {
            let put = "INSERT INTO ids (key, value) VALUES (?1, ?2)
                       ON CONFLICT (key) DO UPDATE SET value = excluded.value";
            let mut put = connection.prepare_cached(put)?;
            put.execute(params![key.as_ref(), value.as_ref()])?;
        }
        Change::Delete(key) => {
            let mut delete = connection.prepare_cached("DELETE FROM ids WHERE key = ?1")?;
            delete.execute(params![key.as_ref()])?;
        }
    }
    Ok(())
}

impl Kv for Sqlite {
    fn open(directory: &Path, survives: Survives) -> Result<Sqlite> {
        let connection = Connection::open(directory.join("sqlite"))?;
        let synchronous = match survives {
            Survives::Power => "FULL",
            _ => "NORMAL",
        };
        // One process, so no shared memory for the log's index; 64 MiB of pages in memory; the log
        // is carried over each 4,000 pages.
        connection.execute_batch(&format!(
            "PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = {synchronous};
             PRAGMA cache_size = -65536;
             PRAGMA wal_autocheckpoint = 4000;
             CREATE TABLE IF NOT EXISTS ids (key BLOB PRIMARY KEY, value BLOB NOT NULL)
                 WITHOUT ROWID;"
        ))?;
        Ok(Sqlite {
            connection: Mutex::new(connection),
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let connection = self.locked();
        let mut get = connection.prepare_cached("SELECT value FROM ids WHERE key = ?1")?;
        Ok(get.query_row(params![key], |row| row.get(0)).optional()?)
    }

    fn write(&self, changes: &[Change]) -> Result<()> {
        let mut connection = self.locked();
        if let [change] = changes {
            return apply(&connection, change);
        }
        let transaction = connection.transaction()?;
        for change in changes {
            apply(&transaction, change)?;
        }
        Ok(transaction.commit()?)
    }

    fn scan(&self, each: Each<'_>) -> Result<()> {
        let connection = self.locked();
        let mut scan = connection.prepare("SELECT key, value FROM ids")?;
        let mut rows = scan.query([])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?)?;
        }
        Ok(())
    }

    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>> {
        let connection = self.locked();
        let last = "SELECT key FROM ids WHERE key < ?1 ORDER BY key DESC LIMIT 1";
        let mut last = connection.prepare(last)?;
        Ok(last.query_row(params![end], |row| row.get(0)).optional()?)
    }

    fn close(self) -> Result<()> {
        let connection = self.connection.into_inner();
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        connection.close().map_err(|(_, error)| error.into())
    }
}

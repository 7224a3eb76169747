//! The ways in which a store is kept: mapped and positioned in a directory, or in a storage in
//! memory; each may be killed and opened again.

use std::fs;

use idjournal::{MemoryStorage, Options, Store, Writes};
use tempfile::TempDir;

use super::{killed, open};

/// What is left of a store between two lives.
pub(crate) enum Kept {
    Directory(TempDir, Writes),
    Memory(MemoryStorage),
}

impl Kept {
    /// One of each, empty.
    pub(crate) fn all() -> Vec<Kept> {
        let directory = |writes| Kept::Directory(tempfile::tempdir().unwrap(), writes);
        vec![
            directory(Writes::Mapped),
            directory(Writes::Positioned),
            Kept::Memory(MemoryStorage::new()),
        ]
    }

    pub(crate) fn open(&self, options: Options) -> Store {
        match self {
            Kept::Directory(directory, writes) => {
                Store::open(directory.path(), options.writes(*writes)).unwrap()
            }
            Kept::Memory(storage) => open(storage.clone(), options).unwrap(),
        }
    }

    /// What a kill at this moment leaves.
    pub(crate) fn killed(&self) -> Kept {
        match self {
            Kept::Directory(directory, writes) => {
                // Beside it, so on the same file system.
                let copy = tempfile::tempdir_in(directory.path().parent().unwrap()).unwrap();
                for file in fs::read_dir(directory.path()).unwrap() {
                    let file = file.unwrap();
                    fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
                }
                Kept::Directory(copy, *writes)
            }
            Kept::Memory(storage) => Kept::Memory(killed(storage)),
        }
    }

    /// Ends the life of `store`, by a close or a kill, and opens what is left.
    pub(crate) fn again(&mut self, store: Store, is_closed: bool, options: Options) -> Store {
        if is_closed {
            store.close().unwrap();
        }
        *self = self.killed();
        drop(store);
        self.open(options)
    }
}

//! A storage that is looked at: it notes every call that it hands on, and may have no locks.

use std::io;
use std::sync::{Arc, Mutex};

use idjournal::{Storage, StorageFile, StorageLock, Writes};

/// A call, by the name that its file had when it was created or opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    List,
    Create(String),
    Open(String),
    Rename(String, String),
    Remove(String),
    SyncDirectory,
    Lock,
    /// Offset and length, and whether all of the bytes are zeros.
    Write(String, u64, usize, bool),
    /// Offset and length of the buffer.
    Read(String, u64, usize),
    Sync(String),
    Prepare(String, Writes),
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// See the head of this file.
pub(crate) struct Watched<S> {
    inner: Arc<S>,
    calls: Calls,
    lock_error: Option<i32>,
}

impl<S> Clone for Watched<S> {
    fn clone(&self) -> Watched<S> {
        Watched {
            inner: Arc::clone(&self.inner),
            calls: Arc::clone(&self.calls),
            lock_error: self.lock_error,
        }
    }
}

impl<S> Watched<S> {
    pub(crate) fn new(inner: S) -> Watched<S> {
        Watched {
            inner: Arc::new(inner),
            calls: Calls::default(),
            lock_error: None,
        }
    }

    /// Every lock fails with this error of the system.
    pub(crate) fn without_locks(self, error: i32) -> Watched<S> {
        Watched {
            lock_error: Some(error),
            ..self
        }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }

    fn watch(&self, name: &str, file: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        Arc::new(WatchedFile {
            name: name.to_owned(),
            file,
            calls: Arc::clone(&self.calls),
        })
    }
}

impl<S: Storage> Storage for Watched<S> {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.note(Call::List);
        self.inner.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.note(Call::Create(name.to_owned()));
        Ok(self.watch(name, self.inner.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.note(Call::Open(name.to_owned()));
        Ok(self.watch(name, self.inner.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.note(Call::Rename(from.to_owned(), to.to_owned()));
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.note(Call::Remove(name.to_owned()));
        self.inner.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.note(Call::SyncDirectory);
        self.inner.sync_directory()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        self.note(Call::Lock);
        match self.lock_error {
            Some(error) => Err(io::Error::from_raw_os_error(error)),
            None => self.inner.try_lock(name, holder),
        }
    }
}

struct WatchedFile {
    name: String,
    file: Arc<dyn StorageFile>,
    calls: Calls,
}

impl WatchedFile {
    fn note(&self, call: impl FnOnce(String) -> Call) {
        self.calls.lock().unwrap().push(call(self.name.clone()));
    }
}

impl StorageFile for WatchedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.note(|name| Call::Read(name, offset, buffer.len()));
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let are_zeros = bytes.iter().all(|byte| *byte == 0);
        self.note(|name| Call::Write(name, offset, bytes.len(), are_zeros));
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.note(Call::Sync);
        self.file.sync()
    }

    fn prepare(&self, writes: Writes) -> io::Result<()> {
        self.note(|name| Call::Prepare(name, writes));
        self.file.prepare(writes)
    }

    fn is_mapped(&self) -> bool {
        self.file.is_mapped()
    }
}

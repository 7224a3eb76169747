//! A directory in memory, for tests, fuzzing and the tests of users.
//!
//! It keeps no more than the calls of [`Storage`] promise: everything written is there at once, a
//! sync does nothing, and all is gone with the last clone and the last open file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{Storage, StorageFile, StorageLock, Writes};

/// A directory in memory; clones share its content and its locks.
///
/// # Examples
///
/// ```
/// use idjournal::{MemoryStorage, Storage};
///
/// let storage = MemoryStorage::new();
/// storage.create("notes")?.write_at(0, b"hello")?;
/// assert_eq!(storage.clone().list()?, ["notes"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryStorage {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<String, Arc<MemoryFile>>>,
    locked: Mutex<BTreeSet<String>>,
}

impl MemoryStorage {
    /// An empty directory.
    pub fn new() -> MemoryStorage {
        MemoryStorage::default()
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shared.files.lock().keys().cloned().collect::<Vec<_>>();
        formatter
            .debug_struct("MemoryStorage")
            .field("names", &names)
            .finish()
    }
}

impl Storage for MemoryStorage {
    fn place(&self) -> String {
        String::from("memory")
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.shared.files.lock().keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        super::check_name(name)?;
        let mut files = self.shared.files.lock();
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(MemoryFile::default());
        files.insert(String::from(name), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        super::check_name(name)?;
        match self.shared.files.lock().get(name) {
            Some(file) => Ok(Arc::clone(file) as Arc<dyn StorageFile>),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        super::check_name(from)?;
        super::check_name(to)?;
        let mut files = self.shared.files.lock();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(String::from(to), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        super::check_name(name)?;
        let removed = self.shared.files.lock().remove(name);
        removed
            .map(|_| ())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        super::check_name(name)?;
        if !self.shared.locked.lock().insert(String::from(name)) {
            return Ok(None);
        }
        let lock = MemoryLock {
            shared: Arc::clone(&self.shared),
            name: String::from(name),
        };
        let file = Arc::clone(
            self.shared
                .files
                .lock()
                .entry(String::from(name))
                .or_default(),
        );
        *file.content.write() = holder.as_bytes().to_vec();
        Ok(Some(Box::new(lock)))
    }
}

struct MemoryLock {
    shared: Arc<Shared>,
    name: String,
}

impl StorageLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.shared.locked.lock().remove(&self.name);
    }
}

/// A file in memory; it stays for as long as it has a name or is open.
#[derive(Default)]
struct MemoryFile {
    content: RwLock<Vec<u8>>,
}

impl StorageFile for MemoryFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.content.read().len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.content.read();
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| content.get(offset..));
        let rest = rest.unwrap_or_default();
        buffer
            .iter_mut()
            .zip(rest)
            .for_each(|(to, from)| *to = *from);
        Ok(buffer.len().min(rest.len()))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let end = start
            .checked_add(bytes.len())
            .ok_or(io::ErrorKind::FileTooLarge)?;
        let mut content = self.content.write();
        if let Some(missing) = end.checked_sub(content.len()) {
            content
                .try_reserve(missing)
                .map_err(|_| io::ErrorKind::OutOfMemory)?;
            content.resize(end, 0);
        }
        if let Some(to) = content.get_mut(start..end) {
            to.copy_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn prepare(&self, _writes: Writes) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may end by a panic")]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_back_and_gaps_are_zeros() {
        let storage = MemoryStorage::new();
        let file = storage.create("a").unwrap();
        assert_eq!(file.write_at(3, b"xyz").unwrap(), 3);
        assert_eq!(file.write_at(4, b"Y").unwrap(), 1);
        let mut buffer = [7; 8];
        assert_eq!(
            storage.open("a").unwrap().read_at(1, &mut buffer).unwrap(),
            5
        );
        assert_eq!(buffer, *b"\0\0xYz\x07\x07\x07");
        assert_eq!(file.read_at(6, &mut buffer).unwrap(), 0);
        assert_eq!(file.read_at(u64::MAX, &mut buffer).unwrap(), 0);
        assert_eq!(file.bytes().unwrap(), 6);
        assert!(file.write_at(u64::MAX, b"x").is_err());
        assert_eq!(file.bytes().unwrap(), 6);
    }

    #[test]
    fn names_answer_as_those_of_a_directory() {
        let storage = MemoryStorage::new();
        let file = storage.create("a").unwrap();
        file.write_at(0, b"one").unwrap();
        let kind = |result: io::Result<()>| result.unwrap_err().kind();
        assert_eq!(
            kind(storage.create("a").map(drop)),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(kind(storage.open("b").map(drop)), io::ErrorKind::NotFound);
        assert_eq!(kind(storage.remove("b")), io::ErrorKind::NotFound);
        assert_eq!(kind(storage.rename("b", "a")), io::ErrorKind::NotFound);
        assert_eq!(
            kind(storage.create("a/b").map(drop)),
            io::ErrorKind::InvalidInput
        );
        storage.create("b").unwrap();
        storage.rename("a", "b").unwrap();
        assert_eq!(storage.list().unwrap(), ["b"]);
        assert_eq!(storage.open("b").unwrap().bytes().unwrap(), 3);
        storage.remove("b").unwrap();
        assert_eq!(storage.list().unwrap(), [""; 0]);
        assert_eq!(file.bytes().unwrap(), 3, "an open file outlives its name");
    }

    #[test]
    fn a_clone_is_refused_the_lock_until_it_is_dropped() {
        let storage = MemoryStorage::new();
        let other = storage.clone();
        let lock = storage.try_lock("lock", "17").unwrap();
        assert!(lock.is_some());
        assert!(other.try_lock("lock", "18").unwrap().is_none());
        let mut holder = [0; 8];
        assert_eq!(
            other.open("lock").unwrap().read_at(0, &mut holder).unwrap(),
            2
        );
        assert_eq!(&holder[..2], b"17");
        drop(lock);
        assert!(other.try_lock("lock", "18").unwrap().is_some());
    }
}

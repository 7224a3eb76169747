//! The real storage: a directory of the file system, written mapped or positioned.
//!
//! Invariants: (1) a name leads to a regular file of this very directory or to an error, never
//! through a link and never to a wait; (2) what is made here is for its owner only; (3) opened for
//! reading only, nothing on disk is changed by any call.
//!
//! On systems without Unix's calls everything goes by paths, which keeps the meaning but not (1)
//! against a hand that changes the directory at the same time.

use std::fmt::{self, Write as _};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lock::FileLock;

use super::map::Map;
use super::{Storage, StorageFile, StorageLock, Writes, check_name, is_no_space, rewrite};

#[path = "file/lock.rs"]
mod lock;
#[cfg(not(unix))]
#[path = "file/portable.rs"]
mod system;
#[cfg(unix)]
#[path = "file/unix.rs"]
mod system;

/// A directory of the file system.
///
/// # Examples
///
/// ```
/// use idjournal::{FileStorage, Storage};
///
/// # let directory = tempfile::tempdir()?;
/// let storage = FileStorage::create(directory.path().join("data/ids"))?;
/// storage.create("notes")?.write_at(0, b"hello")?;
/// assert_eq!(storage.list()?, ["notes"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct FileStorage {
    path: PathBuf,
    directory: system::Directory,
    is_read_only: bool,
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Change,
    Create,
    ChangeOrCreate,
}

impl FileStorage {
    /// Opens the directory `path`, which must be there.
    ///
    /// # Errors
    ///
    /// Those of the system; [`io::ErrorKind::NotADirectory`] if it is something else.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<FileStorage> {
        let path = path.into();
        let directory = system::Directory::open(&path)?;
        Ok(FileStorage {
            path,
            directory,
            is_read_only: false,
        })
    }

    /// Opens the directory `path`; if it is missing it is made, with all that is missing above it,
    /// for its owner only (mode 0700) and durably.
    ///
    /// # Errors
    ///
    /// Those of the system; [`io::ErrorKind::NotADirectory`] if something else has the name.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<FileStorage> {
        let path = path.into();
        let directory = system::Directory::create(&path)?;
        Ok(FileStorage {
            path,
            directory,
            is_read_only: false,
        })
    }

    /// Opens the directory `path` for looking only: it may be one that cannot be written, and every
    /// call that would change something, sync included, is [`io::ErrorKind::ReadOnlyFilesystem`].
    ///
    /// # Errors
    ///
    /// Those of [`FileStorage::new`].
    pub fn read_only(path: impl Into<PathBuf>) -> io::Result<FileStorage> {
        FileStorage::new(path).map(|storage| FileStorage {
            is_read_only: true,
            ..storage
        })
    }

    fn file(&self, name: &str, access: Access) -> io::Result<Arc<dyn StorageFile>> {
        check_name(name)?;
        let file = self.directory.open_file(name, access)?;
        Ok(Arc::new(RegularFile {
            file,
            is_read_only: self.is_read_only,
            map: OnceLock::new(),
        }))
    }
}

impl fmt::Debug for FileStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("FileStorage");
        shown
            .field("path", &self.path)
            .field("is_read_only", &self.is_read_only)
            .finish()
    }
}

impl Storage for FileStorage {
    fn place(&self) -> String {
        shown(&self.path)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.directory.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        may_change(self.is_read_only)?;
        self.file(name, Access::Create)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.file(
            name,
            if self.is_read_only {
                Access::Read
            } else {
                Access::Change
            },
        )
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        may_change(self.is_read_only)?;
        check_name(from)?;
        check_name(to)?;
        self.directory.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        may_change(self.is_read_only)?;
        check_name(name)?;
        self.directory.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        may_change(self.is_read_only)?;
        self.directory.sync()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        may_change(self.is_read_only)?;
        check_name(name)?;
        let file = self.directory.open_file(name, Access::ChangeOrCreate)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        match write_holder(&file, holder) {
            // The text is a courtesy to the next one; a store on a full disk must still open.
            Err(error) if is_no_space(&error) => {}
            result => result?,
        }
        Ok(Some(Box::new(FileLock::new(file))))
    }
}

/// A regular file, with its map once one was asked for.
struct RegularFile {
    file: File,
    is_read_only: bool,
    map: OnceLock<Map>,
}

impl RegularFile {
    /// The map, if writes go through it: two loads on the append path, no lock.
    #[inline]
    fn map(&self) -> Option<&Map> {
        self.map.get().filter(|map| map.is_used())
    }

    fn begin_map(&self) -> io::Result<()> {
        let bytes = self.bytes()?;
        let map = match self.map.get() {
            Some(map) => map,
            None => {
                let map = Map::new(&self.file, bytes)?;
                self.map.get_or_init(|| map)
            }
        };
        if map.bytes() as u64 != bytes {
            let why = "the file has another length than when it was mapped";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // A map in use has its pages: to populate them again would only dirty all of them, and the
        // next sync would write the whole segment.
        if map.is_used() {
            return Ok(());
        }
        match map.begin() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                // What would be a SIGBUS, for want of space mostly: plain writes tell why.
                rewrite(self)?;
                map.begin()
            }
            result => result,
        }
    }

    fn end_map(&self) {
        if let Some(map) = self.map.get() {
            map.end();
        }
    }
}

impl StorageFile for RegularFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Never from the map: the page cache is the same, and here a bad sector is an error.
        system::read_at(&self.file, offset, buffer)
    }

    #[inline]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        match self.map() {
            Some(map) => map.write_at(offset, bytes),
            None => self.write_first_at(offset, bytes),
        }
    }

    fn write_first_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        may_change(self.is_read_only)?;
        system::write_at(&self.file, offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        may_change(self.is_read_only)?;
        // This covers the map too. Linux protects a clean page of a shared map against writing, so
        // that the first store marks it dirty in the page cache, where fdatasync finds it; while a
        // page is on its way to the disk it is protected again, so no later store is missed.
        self.file.sync_data()
    }

    fn prepare(&self, writes: Writes) -> io::Result<()> {
        may_change(self.is_read_only)?;
        match writes {
            Writes::Mapped => return self.begin_map(),
            // Whatever it is that keeps it from being mapped, positioned writes do the same work.
            Writes::Auto if system::is_safely_mapped(&self.file) && self.begin_map().is_ok() => {}
            Writes::Auto | Writes::Positioned => self.end_map(),
        }
        Ok(())
    }

    fn expect_writes(&self) {
        if let Some(map) = self.map() {
            map.make_writable();
        }
    }

    fn is_mapped(&self) -> bool {
        self.map().is_some()
    }
}

fn may_change(is_read_only: bool) -> io::Result<()> {
    if is_read_only {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    } else {
        Ok(())
    }
}

fn not_a_regular_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Written before it is cut, so that an earlier holder's block is used again.
fn write_holder(file: &File, holder: &str) -> io::Result<()> {
    let written = system::write_at(file, 0, holder.as_bytes())?;
    file.set_len(written as u64)?;
    if written == holder.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::StorageFull.into())
    }
}

/// `path` as text on which no terminal acts.
fn shown(path: &Path) -> String {
    let mut text = String::new();
    for character in path.to_string_lossy().chars() {
        // Writing to a string cannot fail.
        let _ = match character {
            '\\' | '\'' | '"' => text.write_char(character),
            other => write!(text, "{}", other.escape_debug()),
        };
    }
    text
}

#[cfg(all(test, unix))]
mod tests;

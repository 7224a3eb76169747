//! The few calls that the engine makes of a disk, as two traits.
//!
//! [`FileStorage`] is the real one, [`MemoryStorage`] one in memory. Tests bring their own, which
//! fail, forget and cut the power.
//!
//! Names are plain file names without a separator. Every call may be made from any thread.

mod file;
mod map;
mod memory;

use std::io;
use std::sync::Arc;

pub use file::FileStorage;
pub(crate) use map::Origin;
pub use memory::MemoryStorage;

/// How a file's bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Writes {
    /// Mapped where the file system is known to allow it safely (ext2/3/4, tmpfs), else positioned.
    #[default]
    Auto,
    /// Always through a memory map. Elsewhere than on ext2/3/4 and tmpfs a page can need new space
    /// when it is written over (btrfs; XFS, if its blocks were shared by a copy under the map):
    /// where there is none, the process ends by SIGBUS, which counts as a kill.
    Mapped,
    /// Always with positioned writes.
    Positioned,
}

/// A directory that holds a store's files.
///
/// Errors are plain [`io::Error`]s; the engine adds the place. A name that is not there is
/// [`io::ErrorKind::NotFound`], one that is there already [`io::ErrorKind::AlreadyExists`].
pub trait Storage: Send + Sync + 'static {
    /// The name of this directory for messages.
    fn place(&self) -> String;

    /// All names in the directory, in any order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates the file `name`, empty, for reading and writing; fails if it is there.
    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>>;

    /// Opens the regular file `name`; never follows a link, never blocks on a FIFO: anything that
    /// is not a regular file is [`io::ErrorKind::InvalidInput`].
    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>>;

    /// Gives the file `from` the name `to`, replacing what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes the file `name`.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all names of the directory durable.
    fn sync_directory(&self) -> io::Result<()>;

    /// Takes the exclusive lock on the file `name`, created if it is not there, and writes `holder`
    /// into it; `None` if another holds it. The lock ends when the returned value is dropped.
    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>>;
}

/// A held lock; dropping it gives it up.
pub trait StorageLock: Send + Sync {}

/// An open file.
pub trait StorageFile: Send + Sync {
    /// Its length in bytes.
    fn bytes(&self) -> io::Result<u64>;

    /// Reads into `buffer` from `offset`; returns how many bytes, 0 only at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes `bytes` at `offset`; returns how many of them were written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// The same, for the first bytes after a sync: through a map they would cost a fault more, as
    /// that has protected the page.
    fn write_first_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.write_at(offset, bytes)
    }

    /// Makes everything written to this file so far durable.
    fn sync(&self) -> io::Result<()>;

    /// From now on writes go the way `writes` says, as far as this storage can. The file must be as
    /// long as it will ever be, and written in full. Where writing it takes space again, as in a
    /// copy with holes, a full disk is an error here and not at a write through the map.
    fn prepare(&self, writes: Writes) -> io::Result<()>;

    /// All of the file is about to be written before it is synced: what the system needs for that
    /// may be made ready now. It may have the next sync write the whole file.
    fn expect_writes(&self) {}

    /// Whether writes go through a memory map.
    fn is_mapped(&self) -> bool {
        false
    }
}

/// Refuses what is not a plain file name, so that no call leaves the directory.
fn check_name(name: &str) -> io::Result<()> {
    let is_plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', ':', '\0']);
    if is_plain {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "not a plain file name",
    ))
}

/// Reads from `offset` until `buffer` is full or the file ends; returns how many bytes.
pub(crate) fn read_full(
    file: &dyn StorageFile,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + done as u64, rest) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// What became of a write of several bytes.
pub(crate) enum Written {
    /// All of it.
    All,
    /// Nothing, for the reason given.
    Nothing(io::Error),
    /// A part, then the reason given.
    Part(io::Error),
}

/// Writes all of `bytes` at `offset`, going on after short writes and interruptions.
pub(crate) fn write_full(file: &dyn StorageFile, offset: u64, bytes: &[u8]) -> Written {
    write_by(offset, bytes, |offset, bytes| file.write_at(offset, bytes))
}

/// The same, for the first bytes after a sync.
pub(crate) fn write_first_full(file: &dyn StorageFile, offset: u64, bytes: &[u8]) -> Written {
    write_by(offset, bytes, |offset, bytes| {
        file.write_first_at(offset, bytes)
    })
}

#[inline]
fn write_by(offset: u64, bytes: &[u8], write: impl Fn(u64, &[u8]) -> io::Result<usize>) -> Written {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let error = match write(offset + done as u64, rest) {
            Ok(0) => io::Error::from(io::ErrorKind::WriteZero),
            Ok(count) => {
                done += count;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        return if done == 0 {
            Written::Nothing(error)
        } else {
            Written::Part(error)
        };
    }
    Written::All
}

/// Writes back what stands in `file`, so that every part of it has its space; or tells why not.
fn rewrite(file: &dyn StorageFile) -> io::Result<()> {
    let mut block = [0; 4096];
    let mut offset = 0;
    loop {
        let count = read_full(file, offset, &mut block)?;
        let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        match write_full(file, offset, bytes) {
            Written::All => offset += count as u64,
            Written::Nothing(error) | Written::Part(error) => return Err(error),
        }
    }
}

/// Whether an error says that the disk is full.
pub(crate) fn is_no_space(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

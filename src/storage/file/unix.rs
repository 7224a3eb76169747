//! A directory held open by a handle, its files reached by their names within it.
//!
//! The handle is what makes a moved or replaced path harmless: all calls go to the one directory
//! that was opened, and no name in it is followed elsewhere.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::{Access, File, not_a_regular_file};

pub(super) struct Directory(OwnedFd);

impl Directory {
    /// Opens the directory `path`; the path itself may go through links.
    pub(super) fn open(path: &Path) -> io::Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Directory(rustix::fs::openat(
            CWD,
            path,
            flags,
            Mode::empty(),
        )?))
    }

    /// Makes the directory `path` and what is missing above it, each one durable in its parent.
    ///
    /// A directory that is there may have been made by a process that was killed before it could
    /// sync the parent, so that is done here too, as far as the parent lets us: a parent that is
    /// closed to us is another's, and what it holds was there before.
    pub(super) fn create(path: &Path) -> io::Result<Directory> {
        let made = match rustix::fs::mkdir(path, Mode::RWXU) {
            Err(Errno::NOENT) => {
                let parent = path.parent().ok_or(Errno::NOENT)?;
                if parent.as_os_str().is_empty() {
                    return Err(Errno::NOENT.into());
                }
                Directory::create(parent)?;
                rustix::fs::mkdir(path, Mode::RWXU)
            }
            result => result,
        };
        // Whatever it was that refused, a directory that is there is what was wanted.
        let directory = Directory::open(path).map_err(|error| match made {
            Err(errno) if errno != Errno::EXIST => errno.into(),
            _ => error,
        })?;
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = Directory::open(parent.unwrap_or(Path::new(".")));
        let synced = parent.and_then(|parent| parent.sync());
        if made.is_ok() {
            synced?;
        }
        Ok(directory)
    }

    pub(super) fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        Ok(names)
    }

    pub(super) fn open_file(&self, name: &str, access: Access) -> io::Result<File> {
        // Without NONBLOCK the open of a FIFO waits for its other end.
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags
            | match access {
                Access::Read => OFlags::RDONLY,
                Access::Change => OFlags::RDWR,
                Access::Create => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
                Access::ChangeOrCreate => OFlags::RDWR | OFlags::CREATE,
            };
        let file = rustix::fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(file.map_err(|errno| match errno {
            // A link, a directory, a socket or a device without a driver.
            Errno::LOOP | Errno::MLINK | Errno::ISDIR | Errno::NXIO | Errno::NODEV => {
                not_a_regular_file()
            }
            errno => errno.into(),
        })?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(not_a_regular_file())
        }
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }
}

pub(super) fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

pub(super) fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

/// Whether `file` is on a file system that is known to write what a map holds and never to need
/// new space for a page that was written before: ext2, ext3, ext4 and tmpfs.
#[cfg(target_os = "linux")]
pub(super) fn is_safely_mapped(file: &File) -> bool {
    const EXT_MAGIC: u32 = 0xef53;
    const TMPFS_MAGIC: u32 = 0x0102_1994;
    rustix::fs::fstatfs(file)
        .is_ok_and(|system| matches!(u32::try_from(system.f_type), Ok(EXT_MAGIC | TMPFS_MAGIC)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_safely_mapped(_file: &File) -> bool {
    false
}

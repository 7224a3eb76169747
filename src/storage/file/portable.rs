//! A directory by its path, where there are no calls of Unix.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::{Access, File, not_a_regular_file};

/// The handle of a file has one cursor, so that a seek and what follows it are one step.
static CURSOR: Mutex<()> = Mutex::new(());

pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Directory> {
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Directory(path.to_path_buf()))
    }

    pub(super) fn create(path: &Path) -> io::Result<Directory> {
        if !path.exists() {
            fs::create_dir_all(path)?;
        }
        Directory::open(path)
    }

    pub(super) fn list(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.0)?;
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    pub(super) fn open_file(&self, name: &str, access: Access) -> io::Result<File> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(match access {
                Access::Create => io::ErrorKind::AlreadyExists.into(),
                _ => not_a_regular_file(),
            });
        }
        let mut options = File::options();
        options.read(true).write(access != Access::Read);
        options.create_new(access == Access::Create);
        options.create(access == Access::ChangeOrCreate).open(path)
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// There is no such call here: the system keeps the order of names by itself.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let _cursor = CURSOR.lock();
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    file.read(buffer)
}

pub(super) fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
    let _cursor = CURSOR.lock();
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    file.write(bytes)
}

pub(super) fn is_safely_mapped(_file: &File) -> bool {
    false
}

//! A file as it was at one moment, in memory: small segments change faster than they are read.

use std::io;
use std::sync::Arc;

use crate::recovery::File;
use crate::storage::{StorageFile, Writes, read_full};

/// Files up to this length are held as a whole.
pub(super) const STILL_BYTES_MAX: u64 = 64 << 10;

/// Bytes that stand for a file and never change.
pub(super) struct Still(Vec<u8>);

impl Still {
    pub(super) fn holding(bytes: &[u8]) -> File {
        Arc::new(Still(bytes.to_vec()))
    }

    /// What `file` holds now, read with as few calls as it takes.
    pub(super) fn of(file: &File, bytes: u64) -> io::Result<File> {
        let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        let count = read_full(&**file, 0, &mut buffer)?;
        buffer.truncate(count);
        Ok(Arc::new(Still(buffer)))
    }
}

impl StorageFile for Still {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..))
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn prepare(&self, _: Writes) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

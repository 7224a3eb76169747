//! The lock of a directory: that of one open file, which is never deleted.

use std::fs::File;

use crate::storage::StorageLock;

/// The lock, until it is dropped.
pub(super) struct FileLock {
    file: File,
    process: u32,
}

impl FileLock {
    pub(super) fn new(file: File) -> FileLock {
        let process = std::process::id();
        FileLock { file, process }
    }
}

impl Drop for FileLock {
    /// Gives the lock up by name: closing the file would not, while a child that was forked in
    /// between has it open too. A child itself leaves it to its parent.
    fn drop(&mut self) {
        if std::process::id() == self.process {
            let _ = self.file.unlock();
        }
    }
}

impl StorageLock for FileLock {}

//! Where lines go: a file or pipe, through a buffer that is emptied at the end of each batch.
//!
//! Nothing is written after an error, also not on drop: what a failed batch left is written again
//! by the next run.

use std::fs::File;
use std::io::{self, Write};

const STAGED_BYTES_MAX: usize = 64 << 10;

/// An output.
pub(crate) struct Output {
    file: File,
    staged: Vec<u8>,
}

impl Output {
    /// An output into `file`.
    pub(crate) fn new(file: File) -> Output {
        Output {
            file,
            staged: Vec::with_capacity(STAGED_BYTES_MAX),
        }
    }

    /// Takes `bytes`, and writes them or keeps them for [`Output::finish`].
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.staged.len() + bytes.len() > STAGED_BYTES_MAX {
            self.finish()?;
        }
        if bytes.len() >= STAGED_BYTES_MAX {
            return self.file.write_all(bytes);
        }
        self.staged.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes all that was taken.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.staged);
        self.staged.clear();
        written
    }
}

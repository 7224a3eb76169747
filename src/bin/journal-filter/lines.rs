//! Batches of whole lines out of reads of at most 64 KiB.
//!
//! Invariants: (1) `start <= scanned <= filled <= buffer.len()`; (2) no newline stands between
//! `start` and `scanned`; (3) the buffer holds at most one unfinished line of [`LINE_BYTES_MAX`]
//! and one read; a longer line is handed out piece by piece.

use std::io::{self, Read};

use memchr::{memchr, memrchr};

/// The most bytes that a line may have without its newline.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;
/// The most bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Reads lines.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    filled: usize,
}

/// What comes next.
pub(crate) enum Batch<'a> {
    /// Whole lines, each with its newline (but for the last one of the input).
    Lines(&'a [u8]),
    /// A line over the limit, not yet read to its end: [`Lines::drain`] must be called next.
    Long,
    /// The input has ended.
    End,
}

impl<R: Read> Lines<R> {
    /// Lines of `input`.
    pub(crate) fn new(input: R) -> Lines<R> {
        Lines {
            input,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            filled: 0,
        }
    }

    /// The lines that the next read completes.
    ///
    /// # Errors
    ///
    /// Those of the input.
    pub(crate) fn next(&mut self) -> io::Result<Batch<'_>> {
        loop {
            let fresh = self
                .buffer
                .get(self.scanned..self.filled)
                .unwrap_or_default();
            if let Some(offset) = memrchr(b'\n', fresh) {
                let end = self.scanned + offset + 1;
                self.scanned = self.filled;
                return Ok(Batch::Lines(self.take(end)));
            }
            self.scanned = self.filled;
            if self.filled - self.start > LINE_BYTES_MAX {
                return Ok(Batch::Long);
            }
            if self.read()? == 0 {
                let end = self.filled;
                return Ok(if self.start == end {
                    Batch::End
                } else {
                    Batch::Lines(self.take(end))
                });
            }
        }
    }

    /// Hands out the line that was announced as long, in pieces, up to its newline or the end.
    ///
    /// # Errors
    ///
    /// Those of the input, as the outer result, and of `sink`, as the inner one.
    pub(crate) fn drain<E>(
        &mut self,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> io::Result<Result<(), E>> {
        loop {
            let fresh = self
                .buffer
                .get(self.scanned..self.filled)
                .unwrap_or_default();
            let end = memchr(b'\n', fresh).map(|offset| self.scanned + offset + 1);
            let piece = self.take(end.unwrap_or(self.filled));
            if let Err(error) = sink(piece) {
                return Ok(Err(error));
            }
            self.scanned = self.start;
            if end.is_some() || self.read()? == 0 {
                return Ok(Ok(()));
            }
        }
    }

    fn take(&mut self, end: usize) -> &[u8] {
        let start = std::mem::replace(&mut self.start, end);
        self.buffer.get(start..end).unwrap_or_default()
    }

    fn read(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.scanned -= self.start;
            self.filled -= self.start;
            self.start = 0;
        }
        let wanted = self.filled + READ_BYTES;
        if self.buffer.len() < wanted {
            // Doubling, but never beyond what the longest line needs.
            let bytes = (2 * wanted)
                .min(LINE_BYTES_MAX + READ_BYTES + 1)
                .max(wanted);
            self.buffer.reserve_exact(bytes - self.buffer.len());
            self.buffer.resize(bytes, 0);
        }
        let free = self.buffer.get_mut(self.filled..wanted).unwrap_or_default();
        loop {
            match self.input.read(free) {
                Ok(bytes) => {
                    self.filled += bytes;
                    return Ok(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test may panic"
    )]

    use super::*;

    /// Reads of the given sizes, in turn.
    struct Cut<'a> {
        bytes: &'a [u8],
        sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    }

    impl Read for Cut<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(
                (1..=READ_BYTES).contains(&buffer.len()),
                "a read of {} bytes",
                buffer.len()
            );
            let bytes = buffer
                .len()
                .min(*self.sizes.next().unwrap())
                .min(self.bytes.len());
            let (read, rest) = self.bytes.split_at(bytes);
            buffer[..bytes].copy_from_slice(read);
            self.bytes = rest;
            Ok(bytes)
        }
    }

    /// Batches as text, long lines as their length.
    fn batches(bytes: &[u8], sizes: &[usize]) -> Vec<String> {
        let mut lines = Lines::new(Cut {
            bytes,
            sizes: sizes.iter().cycle(),
        });
        let mut batches = Vec::new();
        loop {
            batches.push(match lines.next().unwrap() {
                Batch::Lines(batch) => String::from_utf8(batch.to_vec()).unwrap(),
                Batch::Long => {
                    let mut length = 0;
                    let count = |piece: &[u8]| {
                        length += piece.len();
                        Ok::<(), ()>(())
                    };
                    lines.drain(count).unwrap().unwrap();
                    format!("{length} bytes")
                }
                Batch::End => return batches,
            });
            assert!(lines.buffer.len() <= LINE_BYTES_MAX + READ_BYTES + 1);
        }
    }

    #[test]
    fn a_batch_is_the_lines_that_one_read_completes() {
        assert_eq!(batches(b"", &[1]), [""; 0]);
        assert_eq!(batches(b"a\nbc\nd", &[100]), ["a\nbc\n", "d"]);
        assert_eq!(batches(b"a\nbc\n\nd\n", &[1]), ["a\n", "bc\n", "\n", "d\n"]);
        assert_eq!(batches(b"a\nbc\n\nd", &[4, 1]), ["a\n", "bc\n", "\n", "d"]);
    }

    #[test]
    fn a_long_line_is_handed_out_in_pieces_and_what_follows_it_is_kept() {
        let long = vec![b'x'; LINE_BYTES_MAX + 2 * READ_BYTES];
        let shown = format!("{} bytes", long.len() + 1);
        let input = [b"a\n", &long[..], b"\nb\nc\nd"].concat();
        for sizes in [&[READ_BYTES][..], &[READ_BYTES, 5, 60_001]] {
            let batches = batches(&input, sizes);
            assert_eq!(batches[..2], ["a\n", &shown], "{sizes:?}");
            assert_eq!(batches[2..].concat(), "b\nc\nd", "{sizes:?}");
        }
        assert_eq!(
            batches(&long, &[READ_BYTES]),
            [format!("{} bytes", long.len())]
        );
    }
}

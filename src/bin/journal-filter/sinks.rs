//! Where the lines of a batch go, by what each turned out to be, and how they are counted.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;

use idjournal::Bytes;

use crate::arguments::Arguments;
use crate::failure::{Failure, shown};
use crate::output::Output;
use crate::report::Counts;

/// A line of the batch: its bytes, with its newline, and what becomes of it.
#[derive(Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) bytes: usize,
    pub(crate) fate: Fate,
}

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Not seen before.
    New,
    /// Seen before.
    Duplicate,
    /// Bad, and written all the same.
    BadPassed,
    /// Bad, and left out.
    BadSkipped,
}

/// Where lines go.
pub(crate) struct Sinks {
    output: Output,
    duplicates: Option<(Output, Bytes)>,
    /// What follows a mark, if lines are marked.
    mark: Option<u8>,
}

impl Sinks {
    /// Standard output, and the file of duplicates, opened to append to.
    ///
    /// # Errors
    ///
    /// [`Failure::Output`] or [`Failure::Duplicates`].
    pub(crate) fn open(arguments: &Arguments) -> Result<Sinks, Failure> {
        let stdout = io::stdout().as_fd().try_clone_to_owned();
        let output = Output::new(File::from(
            stdout.map_err(|source| output_failure(source, 0))?,
        ));
        let duplicates = arguments.duplicates.as_deref().map(|path| {
            let failed = |source| Failure::Duplicates {
                doing: "open",
                file: shown(path),
                source,
            };
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .map_err(failed)?;
            Ok((Output::new(file), shown(path)))
        });
        let mark = arguments.mark.then(|| arguments.delimiter());
        Ok(Sinks {
            output,
            duplicates: duplicates.transpose()?,
            mark,
        })
    }

    /// Writes a batch, whose bytes are `lines`, completely, and counts it.
    ///
    /// # Errors
    ///
    /// Those of the files: then the batch must not be remembered.
    pub(crate) fn write(&mut self, lines: &[u8], verdicts: &[Verdict]) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        let failed = |source| output_failure(source, verdicts.len());
        let mut rest = lines;
        for same in verdicts.chunk_by(|one, next| one.fate == next.fate && self.mark.is_none()) {
            // Neighbours with one fate go out as one piece.
            let bytes = same.iter().map(|verdict| verdict.bytes).sum();
            let (piece, behind) = rest.split_at_checked(bytes).unwrap_or((rest, &[]));
            rest = behind;
            let fate = same
                .first()
                .map_or(Fate::BadSkipped, |verdict| verdict.fate);
            let many = u64::try_from(same.len()).unwrap_or(u64::MAX);
            counts.count(fate, many, self.mark.is_some());
            if fate == Fate::BadSkipped {
                continue;
            }
            if let Some(delimiter) = self.mark {
                put_mark(&mut self.output, fate, delimiter).map_err(failed)?;
                self.output.put(piece).map_err(failed)?;
            } else if fate != Fate::Duplicate {
                self.output.put(piece).map_err(failed)?;
            } else if let Some((output, file)) = &mut self.duplicates {
                output
                    .put(piece)
                    .map_err(|source| duplicates_failure(source, file))?;
            }
        }
        self.output.finish().map_err(failed)?;
        if let Some((output, file)) = &mut self.duplicates {
            output
                .finish()
                .map_err(|source| duplicates_failure(source, file))?;
        }
        Ok(counts)
    }

    /// Writes a bad line that comes in pieces: `pieces` hands each of them to what it is given.
    ///
    /// # Errors
    ///
    /// Those of `pieces` and of the output.
    pub(crate) fn pass(
        &mut self,
        pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let failed = |source| output_failure(source, 1);
        let output = &mut self.output;
        if let Some(delimiter) = self.mark {
            put_mark(output, Fate::BadPassed, delimiter).map_err(failed)?;
        }
        pieces(&mut |piece| output.put(piece).map_err(failed))?;
        output.finish().map_err(failed)
    }
}

impl Counts {
    fn count(&mut self, fate: Fate, lines: u64, is_marked: bool) {
        self.read += lines;
        match fate {
            Fate::New => self.written += lines,
            Fate::Duplicate => {
                self.duplicates += lines;
                self.written += if is_marked { lines } else { 0 };
            }
            Fate::BadPassed => {
                self.bad += lines;
                self.written += lines;
            }
            Fate::BadSkipped => self.bad += lines,
        }
    }
}

fn put_mark(output: &mut Output, fate: Fate, delimiter: u8) -> io::Result<()> {
    output.put(match fate {
        Fate::New => b"NEW",
        Fate::Duplicate => b"DUP",
        Fate::BadPassed | Fate::BadSkipped => b"BAD",
    })?;
    output.put(&[delimiter])
}

fn output_failure(source: io::Error, lines: usize) -> Failure {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Output { lines, source },
    }
}

fn duplicates_failure(source: io::Error, file: &Bytes) -> Failure {
    Failure::Duplicates {
        doing: "write",
        file: file.clone(),
        source,
    }
}

//! The run: batch by batch, judge each line, write, then remember.
//!
//! Order, per batch:
//! 1. Add the IDs to a transaction that leaves duplicates out; nothing is recorded yet.
//! 2. Write the lines. Were they remembered first, a kill here would lose them.
//! 3. Commit and wait. A kill before this repeats the batch in the next run.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use idjournal::{Error, OnDuplicate, Options, Outcome, Owner, Store, Transaction};
use memchr::memchr;

use crate::arguments::{Arguments, BadLines};
use crate::caches::Caches;
use crate::config;
use crate::failure::{BadLine, Failure, shown};
use crate::fields::Fields;
use crate::lines::{Batch, LINE_BYTES_MAX, Lines};
use crate::report::{Counts, Report};
use crate::sinks::{Fate, Sinks, Verdict};

/// Filters standard input to its end.
///
/// # Errors
///
/// What stopped it. A reader of the output that went away is no error.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let input = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(Failure::Input)?;
    let mut lines = Lines::new(File::from(input));
    let (directory, options) = settings(&arguments)?;
    let store = Store::open(&directory, options).map_err(|source| Failure::Open {
        place: shown(&directory),
        source,
    })?;
    let is_quiet = arguments.quiet;
    let mut report = Report::new(is_quiet, if arguments.mark { "marked" } else { "dropped" });
    let mut filter = match Filter::new(arguments, &store) {
        Ok(filter) => filter,
        Err(failure) => {
            // The first failure is the one to tell.
            let _ = store.close();
            return Err(failure);
        }
    };
    let outcome = filter.filter(&mut lines, &mut report);
    let counts = filter.counts;
    // Rolls back what was not committed.
    drop(filter);
    let closed = store.close().map_err(Failure::Close);
    report.finish(&counts);
    match outcome {
        Ok(()) | Err(Failure::Closed) => closed,
        Err(failure) => Err(failure),
    }
}

/// The directory and the options: what the command line says, then the file of settings.
fn settings(arguments: &Arguments) -> Result<(PathBuf, Options), Failure> {
    let file = arguments.config.as_deref();
    let file = file.map(|file| config::read(file, arguments.dir.is_some()));
    let file = file.transpose()?.unwrap_or_default();
    let mut options = file.options;
    if let Some(policy) = arguments.sync {
        options = options.sync_policy(policy);
    }
    if let Some(size) = arguments.id_cache_size {
        options = options.id_cache_size(size);
    }
    let directory = arguments.dir.clone().or(file.journal_directory);
    Ok((directory.unwrap_or_default(), options))
}

/// A run in progress.
struct Filter {
    store: Store,
    caches: Caches,
    fields: Fields,
    bad_lines: BadLines,
    batch_lines_max: usize,
    sinks: Sinks,
    /// The batch: its lines and the transaction that holds their IDs.
    verdicts: Vec<Verdict>,
    transaction: Option<Transaction>,
    /// IDs that the transaction holds.
    added: usize,
    counts: Counts,
}

impl Filter {
    fn new(arguments: Arguments, store: &Store) -> Result<Filter, Failure> {
        Ok(Filter {
            store: store.clone(),
            caches: Caches::new(store.clone()),
            fields: Fields::new(&arguments),
            bad_lines: arguments.bad_lines,
            batch_lines_max: arguments
                .batch_lines
                .map_or(usize::MAX, |lines| lines.get()),
            sinks: Sinks::open(&arguments)?,
            verdicts: Vec::new(),
            transaction: None,
            added: 0,
            counts: Counts::default(),
        })
    }

    fn filter(&mut self, lines: &mut Lines<File>, report: &mut Report) -> Result<(), Failure> {
        loop {
            match lines.next().map_err(Failure::Input)? {
                Batch::Lines(batch) => self.batch(batch)?,
                Batch::Long => self.long(lines)?,
                Batch::End => return Ok(()),
            }
            report.progress(&self.counts);
        }
    }

    /// Judges the lines of one read; finishes the batch at its end, and where it must be cut.
    fn batch(&mut self, lines: &[u8]) -> Result<(), Failure> {
        // What is judged but not yet written begins here.
        let mut begin = 0;
        let mut start = 0;
        while start < lines.len() {
            let rest = lines.get(start..).unwrap_or_default();
            let (line, bytes) = match memchr(b'\n', rest) {
                Some(end) => (rest.get(..end).unwrap_or_default(), end + 1),
                None => (rest, rest.len()),
            };
            let fate = match self.judge(line)? {
                Judgement::Fate(fate) => fate,
                Judgement::Full => {
                    self.finish(lines.get(begin..start).unwrap_or_default())?;
                    begin = start;
                    continue;
                }
                Judgement::Bad(reason) => match self.bad_lines {
                    BadLines::Pass => Fate::BadPassed,
                    BadLines::Skip => Fate::BadSkipped,
                    BadLines::Stop => {
                        self.finish(lines.get(begin..start).unwrap_or_default())?;
                        return Err(self.stop_at_next(reason));
                    }
                },
            };
            self.verdicts.push(Verdict { bytes, fate });
            start += bytes;
            if self.verdicts.len() >= self.batch_lines_max {
                self.finish(lines.get(begin..start).unwrap_or_default())?;
                begin = start;
            }
        }
        self.finish(lines.get(begin..).unwrap_or_default())
    }

    fn judge(&mut self, line: &[u8]) -> Result<Judgement, Failure> {
        if line.len() > LINE_BYTES_MAX {
            return Ok(Judgement::Bad(BadLine::TooLong));
        }
        let place = match self.fields.locate(line) {
            Ok(place) => place,
            Err(reason) => return Ok(Judgement::Bad(reason)),
        };
        let lines = self.verdicts.len() + 1;
        let failed = |source| Failure::Remember { lines, source };
        let cache = match self.caches.get(place.address) {
            Ok(cache) => cache,
            Err(error @ Error::Limit { .. }) => return Ok(Judgement::Bad(BadLine::Limit(error))),
            Err(error) => return Err(failed(error)),
        };
        let transaction = match &mut self.transaction {
            Some(transaction) => transaction,
            none => none.insert(self.store.begin(OnDuplicate::Skip, Owner::NOBODY)),
        };
        match transaction.add(cache, place.id) {
            Ok(Outcome::Added) => {
                self.added += 1;
                Ok(Judgement::Fate(Fate::New))
            }
            Ok(Outcome::Duplicate(_)) => Ok(Judgement::Fate(Fate::Duplicate)),
            Ok(Outcome::Pending(owner)) => Ok(Judgement::Bad(BadLine::Pending(owner))),
            // Whether the line or the transaction is too large shows in a new transaction.
            Err(Error::Limit { .. }) if self.added > 0 => Ok(Judgement::Full),
            Err(error @ Error::Limit { .. }) => Ok(Judgement::Bad(BadLine::Limit(error))),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes the batch, whose bytes are `lines`, and remembers it.
    fn finish(&mut self, lines: &[u8]) -> Result<(), Failure> {
        let counts = self.sinks.write(lines, &self.verdicts)?;
        let source = self
            .transaction
            .take()
            .map(|transaction| transaction.commit().wait());
        if let Some(Err(source)) = source {
            return Err(Failure::Remember {
                lines: self.verdicts.len(),
                source,
            });
        }
        self.counts.add(counts);
        self.verdicts.clear();
        self.added = 0;
        Ok(())
    }

    /// A line that is too long to be held; the lines before it are done.
    fn long(&mut self, lines: &mut Lines<File>) -> Result<(), Failure> {
        let mut counts = Counts {
            read: 1,
            bad: 1,
            ..Counts::default()
        };
        match self.bad_lines {
            BadLines::Stop => return Err(self.stop_at_next(BadLine::TooLong)),
            BadLines::Skip => lines.drain(|_| Ok(())).map_err(Failure::Input)??,
            BadLines::Pass => {
                counts.written = 1;
                self.sinks
                    .pass(|put| lines.drain(put).map_err(Failure::Input)?)?;
            }
        }
        self.counts.add(counts);
        Ok(())
    }

    fn stop_at_next(&self, source: BadLine) -> Failure {
        Failure::Line {
            number: self.counts.read + 1,
            source,
        }
    }
}

/// What a line turned out to be.
enum Judgement {
    Fate(Fate),
    Bad(BadLine),
    /// The transaction has no room for it: to be judged again in the next.
    Full,
}

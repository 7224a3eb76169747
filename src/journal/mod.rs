//! The journal: the ordered log on disk, its active segment, its slots and its durable position.
//!
//! Invariants: (1) a record gets its place, and is written, under one lock; (2) a segment is
//! written to only after both copies of its header are durable and, in a life's first segment,
//! after the store file names it; (3) the header of the next segment is written only after the seal
//! that begins the active one is durable; (4) what is set aside for claims always fits behind every
//! other record.
//!
//! It does not know caches: who carries forward is told from where, and asks for the release.

mod append;
mod claiming;
mod life;
mod slots;
mod snapshot;
mod space;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Poll, Waker};

use crate::clock::{Entropy, Timeline};
use crate::commit::{Commit, SyncAll};
use crate::directory::Directory;
use crate::error::{Cause, Error, Result};
use crate::facade::Mutex;
use crate::ids::{Position, SegmentNumber, Ticks};
use crate::mutant::{self, Mutant};
use crate::ring::Ring;
use crate::segment::SegmentWriter;
use crate::storage::{Origin, StorageFile, Writes};
use crate::store_file::StoreCopy;
use crate::waits::WaitKey;

pub(crate) use crate::segment::Standing;
pub(crate) use append::{Appended, Base, Purpose, Refused};
pub(crate) use life::OpenStoreFile;
pub(crate) use slots::Oldest;
pub(crate) use snapshot::{ChainSegment, Snapshot};

/// A file of the journal, shared by who writes, syncs and reads it.
pub(crate) type File = Arc<dyn StorageFile>;

/// What a journal is made of when its store is opened.
pub(crate) struct Parts {
    pub(crate) directory: Directory,
    pub(crate) store_file: OpenStoreFile,
    pub(crate) ring: Ring<File>,
    /// Whether names of slots and the store file are known to be durable.
    pub(crate) names_are_durable: bool,
    pub(crate) live_bytes: u64,
}

/// The settings that a journal needs.
pub(crate) struct Settings {
    pub(crate) segment_bytes: u64,
    pub(crate) writes: Writes,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) timeline: Timeline,
}

/// The ordered log on disk.
pub(crate) struct Journal {
    directory: Directory,
    segment_bytes: u64,
    writes: Writes,
    entropy: Arc<dyn Entropy>,
    timeline: Timeline,
    pub(crate) commit: Commit,
    /// The process that opened it; a forked child must not write to the same segments.
    origin: Origin,
    inner: Mutex<Inner>,
    /// What is owed, if the calls must see to it, as the last append found that was owing.
    behind: AtomicU64,
    /// How many shared syncs there were when the next segment was last made ready.
    syncs_before: AtomicU64,
}

/// What the append lock guards.
struct Inner {
    ring: Ring<File>,
    store_file: OpenStoreFile,
    writer: Option<SegmentWriter>,
    next: Option<Next>,
    /// The segment before the active one, while its seal is not known to be durable.
    unsynced: Option<(SegmentNumber, File)>,
    names_are_durable: bool,
    space: space::Space,
    counts: Counts,
    is_closed: bool,
}

/// A segment whose header is durable and which the active one will be sealed to.
struct Next {
    link: crate::ring::Link<File>,
}

/// What the journal counts for [`Stats`](crate::Stats).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) record_bytes: u64,
    pub(crate) header_bytes: u64,
    pub(crate) carried_records: u64,
    pub(crate) carried_bytes: u64,
    pub(crate) segments_begun: u64,
    pub(crate) segments_released: u64,
}

/// How much there is of what, at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) slots: u64,
    pub(crate) segments: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) used_bytes: u64,
    pub(crate) live_bytes: u64,
    pub(crate) claimed_bytes: u64,
    pub(crate) is_mapped: bool,
}

impl Journal {
    pub(crate) fn new(parts: Parts, settings: Settings) -> Journal {
        let durable = parts.ring.last().map_or(Position::default(), |last| {
            Position::new(last.number, last.end)
        });
        let abandoned = parts
            .ring
            .chain()
            .map(|link| link.bytes - link.end.min(link.bytes))
            .sum();
        let commit = Commit::new(parts.directory.place().to_owned(), durable);
        Journal {
            directory: parts.directory,
            segment_bytes: settings.segment_bytes,
            writes: settings.writes,
            entropy: settings.entropy,
            timeline: settings.timeline,
            commit,
            origin: Origin::new(),
            inner: Mutex::new(Inner {
                ring: parts.ring,
                store_file: parts.store_file,
                writer: None,
                next: None,
                unsynced: None,
                names_are_durable: parts.names_are_durable,
                space: space::Space::new(parts.live_bytes, abandoned),
                counts: Counts::default(),
                is_closed: false,
            }),
            behind: AtomicU64::new(0),
            syncs_before: AtomicU64::new(0),
        }
    }

    pub(crate) fn place(&self) -> String {
        self.directory.place().to_owned()
    }

    pub(crate) fn now(&self) -> Ticks {
        self.timeline.now()
    }

    /// Everything appended so far lies before this position.
    pub(crate) fn end(&self) -> Position {
        let inner = self.inner.lock();
        inner.end()
    }

    /// Waits until everything before `position` is durable.
    pub(crate) fn wait(&self, position: Position) -> Result<()> {
        if mutant::is(Mutant::AcknowledgeBeforeSync) {
            return Ok(());
        }
        // In a child the leader may be a thread that it does not have.
        self.check_process()?;
        self.commit.wait(position, self)
    }

    /// Whether everything before `position` is durable; if not yet, `waker` is woken when it is,
    /// and somebody was called to sync.
    pub(crate) fn poll(&self, position: Position, key: WaitKey, waker: &Waker) -> Poll<Result<()>> {
        if mutant::is(Mutant::AcknowledgeBeforeSync) {
            return Poll::Ready(Ok(()));
        }
        if let Err(error) = self.check_process() {
            return Poll::Ready(Err(error));
        }
        let polled = self.commit.poll(position, key, waker);
        if polled.is_pending() {
            self.commit.waits.call();
        }
        polled
    }

    pub(crate) fn counts(&self) -> Counts {
        self.inner.lock().counts
    }

    pub(crate) fn sizes(&self) -> Sizes {
        let inner = self.inner.lock();
        let taken = u64::from(inner.next.is_some());
        Sizes {
            slots: inner.ring.chain().len() as u64 + inner.ring.free().len() as u64 + taken,
            segments: inner.ring.chain().len() as u64,
            disk_bytes: inner.ring.total_bytes(),
            used_bytes: inner.used_bytes(),
            live_bytes: inner.space.live_bytes(),
            claimed_bytes: inner.space.claimed_bytes(),
            is_mapped: inner.writer.as_ref().is_some_and(SegmentWriter::is_mapped),
        }
    }

    /// Stops the store for good, for `error`; returns it for whoever was the first to see it.
    fn fatal(&self, error: Error) -> Error {
        self.commit.poison(Cause::from(error.clone()));
        error
    }

    /// An error if the journal is poisoned, or opened by the parent of this forked process.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.check_process()?;
        self.commit.check()
    }

    /// An error in a process that was forked off the one that opened the store. Its locks may be
    /// held for ever there, so this comes before all of them.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.origin.is_elsewhere() {
            return Err(self.forked());
        }
        Ok(())
    }

    #[cold]
    fn forked(&self) -> Error {
        Error::Forked {
            place: self.place(),
        }
    }

    /// Ends this journal: makes everything durable and writes the end into the store file.
    ///
    /// A poisoned journal writes nothing.
    pub(crate) fn close(&self) -> Result<()> {
        let end = {
            let mut inner = self.inner.lock();
            if std::mem::replace(&mut inner.is_closed, true) {
                return Ok(());
            }
            inner.writer.as_ref().map(SegmentWriter::position)
        };
        self.commit.check()?;
        let Some(end) = end else {
            let inner = self.inner.lock();
            let is_marked = inner.names_are_durable || inner.ring.last().is_none();
            if is_marked {
                return Ok(());
            }
            // The mark that this life found is all that vouches for what it has shown.
            let written = inner.store_file.write_again();
            return written.map_err(|error| self.fatal(error));
        };
        self.wait(end)?;
        let mut inner = self.inner.lock();
        let Some(salt) = inner.writer.as_ref().map(SegmentWriter::salt) else {
            return Ok(());
        };
        let closed = StoreCopy {
            mark_number: end.segment(),
            mark_salt: salt,
            mark_end: end.offset(),
            ..*inner.store_file.copy()
        };
        inner
            .store_file
            .write(closed)
            .map_err(|error| self.fatal(error))
    }
}

impl Inner {
    /// The segment of this number, sealed before the active one, is durable.
    fn is_synced(&mut self, number: SegmentNumber) {
        let is_it = |(still, _): &(SegmentNumber, File)| *still == number;
        self.unsynced.take_if(|unsynced| is_it(unsynced));
    }

    fn end(&self) -> Position {
        match (&self.writer, self.ring.last()) {
            (Some(writer), _) => writer.position(),
            (None, Some(last)) => Position::new(last.number, last.end),
            (None, None) => Position::default(),
        }
    }

    /// Bytes of the chain up to where it is written; the unused rest of every segment but the
    /// active one counts.
    fn used_bytes(&self) -> u64 {
        match &self.writer {
            Some(writer) => self.ring.closed_bytes() + writer.offset(),
            None => self.ring.chain().map(|link| link.bytes).sum(),
        }
    }
}

/// Syncs one file for all who wait.
fn sync(file: &File) -> std::io::Result<()> {
    match file.sync() {
        Err(_) if mutant::is(Mutant::SyncErrorIgnored) => Ok(()),
        Err(_) if mutant::is(Mutant::SyncRetried) => file.sync(),
        result => result,
    }
}

impl SyncAll for Journal {
    fn sync_all(&self) -> Result<Position> {
        let (unsynced, active, end) = {
            let inner = self.inner.lock();
            let Some(writer) = &inner.writer else {
                return Ok(inner.end());
            };
            (inner.unsynced.clone(), writer.file(), writer.position())
        };
        let failed = |error| Error::io("sync", "a segment", error);
        // Order:
        // 1. The segment before, with the seal that begins the active one: else a power cut may
        // keep
        //    records of a segment that nothing leads to, and they are lost.
        // 2. The active segment.
        if let Some((_, before)) = &unsynced
            && !mutant::is(Mutant::NoSyncAtRotation)
            && !mutant::is(Mutant::AcknowledgedBeforeSeal)
        {
            sync(before).map_err(failed)?;
        }
        sync(&active).map_err(failed)?;
        if let Some((number, _)) = unsynced
            && !mutant::is(Mutant::AcknowledgedBeforeSeal)
        {
            self.inner.lock().is_synced(number);
        }
        Ok(end)
    }
}

//! A look at a journal that changes nothing: for the program `journal-dump`, and for fuzzing.
//!
//! It never locks, writes, creates or renames anything, and works beside a live writer. What it
//! takes for damaged is decided by the same code as in recovery, so that it accepts what
//! [`Store::open`](crate::Store::open) accepts; but it goes on behind the first fault and names
//! them all.
//!
//! # Examples
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use idjournal::inspect::{Inspection, Record};
//! use idjournal::{MemoryStorage, Options, Store};
//!
//! let storage = MemoryStorage::new();
//! let store = Store::open_on(storage.clone(), Options::default(), &mut |_| {})?;
//! store.cache("orders")?.add("order-1842")?;
//!
//! let inspection = Inspection::on(storage)?;
//! let mut ids = Vec::new();
//! inspection.records(&mut |item| {
//!     if let Record::Add(add) = &item.decoded.record {
//!         ids.push(add.id.to_vec());
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(ids, [b"order-1842"]);
//! assert!(!inspection.is_damaged());
//! # Ok::<(), idjournal::Error>(())
//! ```

mod finding;
mod reading;
mod statistics;
mod still;
mod walk;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::ids::{Position, SegmentNumber, Slot, Ticks};
use crate::storage::{FileStorage, Storage};

pub use crate::record::{
    Add, Decoded, Definition, Dropped, Element, Elements, Ordinals, PREPARED_HOLE, Record, Stop,
};
pub use finding::{Finding, FindingPlace, Reason, Severity};
pub use statistics::{AddressStatistics, Known, SegmentStatistics, Statistics};
pub use walk::{
    Item, Names, RecordPlace, SegmentEnd, decode_record, record_checksum, walk_segment,
};

use reading::Reading;

/// A journal as it was found.
pub struct Inspection {
    directory: Directory,
    reading: Reading,
}

impl std::fmt::Debug for Inspection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Inspection");
        shown.field("place", &self.place()).finish_non_exhaustive()
    }
}

/// What the store file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreFacts {
    /// Random, one per store.
    pub identity: [u8; 16],
    /// Counts the writes of the file.
    pub generation: u64,
    /// Everything before this was durable at the last clean close or the last recovery.
    pub mark: Position,
    /// The first segment of the last life; 0 if the store has none yet.
    pub first: SegmentNumber,
}

/// A segment of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentFacts {
    /// Its number.
    pub number: SegmentNumber,
    /// The slot that holds it.
    pub slot: Slot,
    /// The segment before it; 0 if there was none.
    pub previous: SegmentNumber,
    /// What the times of its short records count from.
    pub base_time: Ticks,
    /// Length of the file.
    pub bytes: u64,
    /// Where its records begin.
    pub begin: u64,
    /// Where its records end.
    pub end: u64,
}

/// A slot that the chain does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreeSlot {
    /// The slot.
    pub slot: Slot,
    /// Length of the file.
    pub bytes: u64,
    /// The segment that its header still names, if it has one.
    pub number: Option<SegmentNumber>,
}

impl Inspection {
    /// Looks at the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// - [`Error::NotAStore`]: there is no store.
    /// - [`Error::NewerFormat`]: it is of a newer version of this crate.
    /// - [`Error::Io`]: it cannot be read.
    ///
    /// Damage is no error here but a [`Finding`].
    pub fn open(path: impl AsRef<Path>) -> Result<Inspection> {
        let path = path.as_ref();
        let storage = FileStorage::read_only(path);
        let storage = storage.map_err(|error| Error::io("open", path.to_string_lossy(), error))?;
        Inspection::on(storage)
    }

    /// Looks at the store in `storage`, of which it only lists and reads.
    ///
    /// # Errors
    ///
    /// Those of [`Inspection::open`].
    pub fn on(storage: impl Storage) -> Result<Inspection> {
        let directory = Directory::new(Arc::new(storage));
        let reading = reading::read(&directory)?;
        Ok(Inspection { directory, reading })
    }

    /// The directory by name.
    pub fn place(&self) -> &str {
        self.directory.place()
    }

    /// What the store file says; none if it is damaged.
    pub fn store(&self) -> Option<StoreFacts> {
        let copy = self.reading.store?;
        Some(StoreFacts {
            identity: copy.identity,
            generation: copy.generation,
            mark: Position::new(copy.mark_number, copy.mark_end),
            first: copy.first_number,
        })
    }

    /// The segments of the chain, oldest first.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = SegmentFacts> {
        let segments = self.reading.chain.segments.iter();
        segments.map(|segment| SegmentFacts {
            number: segment.header.number,
            slot: segment.facts.slot,
            previous: segment.header.previous,
            base_time: segment.header.base_time,
            bytes: segment.facts.bytes,
            begin: crate::format::records_offset(segment.header.segment_bytes),
            end: segment.end,
        })
    }

    /// The slots that the chain does not need.
    pub fn free_slots(&self) -> impl Iterator<Item = FreeSlot> {
        let linked = |slot| {
            let mut segments = self.reading.chain.segments.iter();
            segments.any(|segment| segment.facts.slot == slot)
        };
        let free = self.reading.slots.iter();
        let free = free.filter(move |facts| !linked(facts.slot));
        free.map(|facts| FreeSlot {
            slot: facts.slot,
            bytes: facts.bytes,
            number: facts.header.map(|header| header.number),
        })
    }

    /// What was found so far; [`Inspection::statistics`] finds what contradicts itself, too.
    pub fn findings(&self) -> &[Finding] {
        &self.reading.findings
    }

    /// Whether one of the findings is damage.
    pub fn is_damaged(&self) -> bool {
        let mut findings = self.findings().iter();
        findings.any(|finding| finding.severity() == Severity::Damage)
    }

    /// Gives every record of the chain in order until `visit` breaks; what happened on the way.
    ///
    /// Beside a writer a segment may be written over before it was read to its end. That is told by
    /// a finding; what was given stood there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn records(
        &self,
        visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Finding>> {
        walk::walk(&self.reading.chain, visit)
    }

    /// The names of addresses, from the definitions anywhere in the chain.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn names(&self) -> Result<Names> {
        let mut names = Names::default();
        walk::walk(&self.reading.chain, &mut |item| {
            names.learn(item);
            ControlFlow::Continue(())
        })?;
        Ok(names)
    }

    /// Replays the chain as recovery does, and tells what lives where.
    ///
    /// Beside a writer it may have to look at the store again, so that afterwards all the other
    /// calls tell of that later state.
    ///
    /// # Errors
    ///
    /// Those of [`Inspection::open`].
    pub fn statistics(&mut self) -> Result<Statistics> {
        statistics::gather(&self.directory, &mut self.reading)
    }
}

#[cfg(test)]
mod tests;

//! The slots of a store by the segment that each holds, and what is said of one that is not there.
//!
//! Changes nothing.

use std::collections::{BTreeMap, HashMap};

use crate::directory::slot_name;
use crate::error::{DamageReason, Error, Result};
use crate::ids::SegmentNumber;
use crate::recovery::scan::{SegmentFacts, SlotFacts, scan_segment};
use crate::segment::SegmentHeader;
use crate::store_file::StoreCopy;

/// A segment by number and salt.
pub(super) type Life = (SegmentNumber, u64);

/// The slots of this store by number and salt, and those already read.
pub(super) struct Slots<'a> {
    pub(super) store: &'a StoreCopy,
    all: &'a [SlotFacts],
    pub(super) by_life: BTreeMap<Life, Vec<&'a SlotFacts>>,
    read: HashMap<Life, SegmentFacts>,
    /// What is wrong so far.
    pub(super) faults: &'a mut Vec<Error>,
}

impl<'a> Slots<'a> {
    pub(super) fn new(
        store: &'a StoreCopy,
        all: &'a [SlotFacts],
        read: HashMap<Life, SegmentFacts>,
        faults: &'a mut Vec<Error>,
    ) -> Slots<'a> {
        let mut by_life: BTreeMap<Life, Vec<&SlotFacts>> = BTreeMap::new();
        for facts in all {
            let ours = facts
                .header
                .filter(|header| header.identity == store.identity);
            if let Some(header) = ours {
                let life = (header.number, header.salt);
                by_life.entry(life).or_default().push(facts);
            }
        }
        Slots {
            store,
            all,
            by_life,
            read,
            faults,
        }
    }

    /// Keeps what is wrong with the store, once; an error of the system ends the search.
    pub(super) fn fault(&mut self, error: Error) -> Result<()> {
        match error {
            Error::Damaged { .. } if self.faults.iter().any(|fault| is_same(fault, &error)) => {
                Ok(())
            }
            Error::Damaged { .. } | Error::NewerFormat { .. } => {
                self.faults.push(error);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// The newest segment before `life` that is not older than `oldest`.
    pub(super) fn before(&self, life: Life, oldest: SegmentNumber) -> Option<Life> {
        let range = (oldest, 0)..(life.0, 0);
        let is_range = range.start < range.end;
        is_range
            .then(|| self.by_life.range(range).next_back())
            .flatten()
            .map(|(life, _)| *life)
    }

    /// The slot that holds this life of a segment, and its header.
    pub(super) fn find(&self, life: Life) -> Result<(&'a SlotFacts, SegmentHeader)> {
        let facts = match self.by_life.get(&life).map(Vec::as_slice) {
            Some([facts]) => *facts,
            Some([_, _, ..]) => return Err(damaged(life.0, DamageReason::Twice)),
            _ => return Err(self.missing(life)),
        };
        let Some(header) = facts.header else {
            return Err(self.missing(life));
        };
        if facts.bytes != header.segment_bytes {
            let (offset, reason) = (facts.bytes.min(header.segment_bytes), DamageReason::Length);
            return Err(Error::damaged(life.0, offset, reason));
        }
        Ok((facts, header))
    }

    /// The error for a segment that is needed and not there, as exactly as can be told.
    pub(super) fn missing(&self, (number, _): Life) -> Error {
        let newer = self
            .all
            .iter()
            .find_map(|facts| Some((facts, facts.newer?)));
        if let Some((facts, (what, found))) = newer {
            return Error::NewerFormat {
                file: slot_name(facts.slot),
                what,
                found,
            };
        }
        let same_number = self
            .all
            .iter()
            .filter_map(|facts| facts.header)
            .find(|header| header.number == number);
        let has_bad_header = self
            .all
            .iter()
            .any(|facts| facts.header.is_none() && !facts.is_blank);
        let reason = match same_number {
            Some(header) if header.identity != self.store.identity => DamageReason::OtherStore,
            Some(_) => DamageReason::OtherLife,
            None if has_bad_header => DamageReason::Header,
            None => DamageReason::Missing,
        };
        damaged(number, reason)
    }

    /// Reads a segment to its end, once.
    pub(super) fn read(&mut self, life: Life) -> Result<SegmentFacts> {
        if let Some(facts) = self.read.get(&life) {
            return Ok(*facts);
        }
        let (facts, header) = self.find(life)?;
        let read = scan_segment(facts, &header, None)?;
        self.read.insert(life, read);
        Ok(read)
    }
}

/// Whether two errors tell of the same place.
fn is_same(one: &Error, other: &Error) -> bool {
    let place = |error: &Error| match error {
        Error::Damaged {
            segment,
            offset,
            reason,
            ..
        } => Some((*segment, *offset, *reason)),
        _ => None,
    };
    place(one).is_some() && place(one) == place(other)
}

/// The damage of a whole segment.
pub(super) fn damaged(segment: SegmentNumber, reason: DamageReason) -> Error {
    Error::damaged(segment, 0, reason)
}

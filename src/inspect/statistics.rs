//! What lives, per address and per segment: the chain replayed as recovery does it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use crate::cache::{Cache, Remembered};
use crate::directory::Directory;
use crate::error::{Bytes, Result};
use crate::format::records_offset;
use crate::hash::IdHasher;
use crate::ids::{Namespace, Ordinal, Position, SegmentNumber, Slot, Ticks};
use crate::inspect::finding::{Finding, FindingPlace, Reason, Severity};
use crate::inspect::reading::{self, Reading};
use crate::inspect::walk::{Item, walk};
use crate::record::{Element, Record};
use crate::recovery::{At, Change, Replayed, ReplayedAddress, element_bytes};

/// How often the chain is read again if it was written over meanwhile.
const REPLAYS_MAX: u32 = 50;

/// What lives in a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The addresses that exist, by namespace and name.
    pub addresses: Vec<AddressStatistics>,
    /// The segments of the chain, oldest first.
    pub segments: Vec<SegmentStatistics>,
    /// Records in the chain.
    pub records: u64,
    /// Bookmarks that are set.
    pub bookmarks: u64,
    /// Prepared transactions that wait for an outcome.
    pub prepared: u64,
    /// The newest time in any record.
    pub newest_time: Ticks,
    /// What contradicts itself, and what changed meanwhile.
    pub findings: Vec<Finding>,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddressStatistics {
    /// The number that records name it by.
    pub number: u32,
    /// Which of the two caches of its name.
    pub namespace: Namespace,
    /// Its name.
    pub name: Bytes,
    /// How many adds its window holds.
    pub capacity: u64,
    /// Whether its capacity was set by a call, else by settings.
    pub by_call: bool,
    /// The age in ticks from which an ID is as if it were gone; 0 is none.
    pub max_age: u64,
    /// Whether that age was set by a call, else by settings.
    pub age_by_call: bool,
    /// How often it was dropped and begun again.
    pub incarnation: u32,
    /// IDs that live.
    pub live: u64,
    /// Places of the window whose IDs were removed.
    pub holes: u64,
    /// Bytes of the records of what lives.
    pub live_bytes: u64,
    /// The oldest live ID.
    pub oldest: Option<Known>,
    /// The newest live ID.
    pub newest: Option<Known>,
    /// Every ordinal below it is forgotten.
    pub floor: Ordinal,
    /// The ordinal of the last add so far.
    pub last: Ordinal,
}

/// A live ID.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// Its place.
    pub ordinal: Ordinal,
    /// The ID.
    pub id: Bytes,
    /// When it was added.
    pub time: Ticks,
}

/// A segment of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStatistics {
    /// Its number.
    pub number: SegmentNumber,
    /// The slot that holds it.
    pub slot: Slot,
    /// Length of the file.
    pub bytes: u64,
    /// Records in it.
    pub records: u64,
    /// Bytes of them.
    pub record_bytes: u64,
    /// Bytes of those that live.
    pub live_bytes: u64,
}

impl SegmentStatistics {
    /// The share of its records' bytes that lives, in thousandths.
    pub fn live_thousandths(&self) -> u64 {
        let share = u128::from(self.live_bytes) * 1000 / u128::from(self.record_bytes.max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// Replays the chain; reads it anew if it was written over meanwhile.
pub(super) fn gather(directory: &Directory, reading: &mut Reading) -> Result<Statistics> {
    let is_overtaken = |statistics: &Statistics| {
        let mut findings = statistics.findings.iter();
        findings.any(|finding| finding.reason == Reason::Overtaken)
    };
    let mut statistics = replay(reading)?;
    for _ in 1..REPLAYS_MAX {
        if !is_overtaken(&statistics) {
            return Ok(statistics);
        }
        *reading = reading::read(directory)?;
        statistics = replay(reading)?;
    }
    if is_overtaken(&statistics) {
        // What is missing makes the rest look contradictory.
        statistics.findings = vec![Finding::new(FindingPlace::Directory, Reason::Moving)];
    }
    Ok(statistics)
}

fn replay(reading: &Reading) -> Result<Statistics> {
    let mut replayed = Replayed::new(IdHasher::random());
    let mut faults = Vec::new();
    let mut segments = BTreeMap::new();
    for segment in &reading.chain.segments {
        let begin = records_offset(segment.header.segment_bytes);
        let empty = SegmentStatistics {
            number: segment.header.number,
            slot: segment.facts.slot,
            bytes: segment.facts.bytes,
            records: 0,
            record_bytes: segment.end.saturating_sub(begin),
            live_bytes: 0,
        };
        segments.insert(empty.number, empty);
    }
    let mut findings = walk(&reading.chain, &mut |item| {
        if let Some(segment) = segments.get_mut(&item.segment) {
            segment.records += 1;
        }
        let at = At {
            segment: item.segment,
            offset: item.offset,
        };
        let applied = replayed.apply(at, item.decoded);
        faults.extend(applied.err().map(|error| (error, item.slot)));
        ControlFlow::Continue(())
    })?;
    let is_whole = reading.chain.segments.last().filter(|_| {
        let known = reading.findings.iter().chain(&findings);
        known.clone().all(|finding| {
            finding.severity() == Severity::Note
                && !matches!(finding.reason, Reason::Moving | Reason::Overtaken)
        })
    });
    // A name can be known to be missing only if nothing else is.
    if let Some(last) = is_whole {
        let end = At {
            segment: last.header.number,
            offset: last.end,
        };
        let finished = replayed.finish(end);
        faults.extend(finished.err().map(|error| (error, last.facts.slot)));
    }
    for (error, slot) in faults {
        findings.push(Finding::of(error, |_| Some(slot))?);
    }
    let mut live = Live::new(&mut replayed, &mut segments);
    findings.extend(walk(&reading.chain, &mut |item| {
        live.count(item);
        ControlFlow::Continue(())
    })?);
    live.finish();
    Ok(Statistics {
        addresses: addresses(&replayed),
        segments: segments.into_values().collect(),
        records: replayed.records,
        bookmarks: replayed.bookmarks.len() as u64,
        prepared: replayed.prepared.len() as u64,
        newest_time: replayed.newest_time,
        findings,
    })
}

fn addresses(replayed: &Replayed) -> Vec<AddressStatistics> {
    let all = replayed.addresses.iter();
    let mut all: Vec<_> = all
        .filter_map(|(number, found)| address(*number, found))
        .collect();
    all.sort_by(|one, other| {
        let key = |of: &AddressStatistics| (of.namespace == Namespace::Bridge, of.number);
        let names = one.name.cmp(&other.name);
        names.then_with(|| key(one).cmp(&key(other)))
    });
    all
}

fn address(number: u32, found: &ReplayedAddress) -> Option<AddressStatistics> {
    let defined = found.defined.filter(|_| found.is_begun)?;
    let (namespace, name) = found.name.as_ref()?;
    let cache = &found.cache;
    let (last, floor) = (cache.last().0, cache.floor().0);
    let start = floor.max((last + 1).saturating_sub(cache.capacity()));
    Some(AddressStatistics {
        number,
        namespace: *namespace,
        name: Bytes::from(&**name),
        capacity: cache.capacity(),
        by_call: defined.by_call,
        max_age: cache.max_age(),
        age_by_call: defined.age_by_call,
        incarnation: found.incarnation,
        live: cache.len(),
        holes: (last + 1).saturating_sub(start).saturating_sub(cache.len()),
        live_bytes: cache.live_bytes(),
        oldest: cache.next_from(Ordinal(0)).map(known),
        newest: cache.newest().map(known),
        floor: cache.floor(),
        last: cache.last(),
    })
}

fn known(remembered: Remembered<'_>) -> Known {
    Known {
        ordinal: remembered.ordinal,
        id: Bytes::from(remembered.id),
        time: remembered.time,
    }
}

/// Counts what lives, per segment, in a second pass: only the last copy of a record lives.
struct Live<'a> {
    replayed: &'a mut Replayed,
    segments: &'a mut BTreeMap<SegmentNumber, SegmentStatistics>,
    prepared: HashMap<Box<[u8]>, PreparedAdds>,
}

/// The adds of a prepared transaction, address and bytes, and the segment that they are in.
type PreparedAdds = (SegmentNumber, Vec<(u32, u64)>);

impl<'a> Live<'a> {
    fn new(
        replayed: &'a mut Replayed,
        segments: &'a mut BTreeMap<SegmentNumber, SegmentStatistics>,
    ) -> Live<'a> {
        Live {
            replayed,
            segments,
            prepared: HashMap::new(),
        }
    }

    fn count(&mut self, item: &Item<'_>) {
        match &item.decoded.record {
            Record::Add(add) | Record::Renew { add, .. } => {
                self.add(item.segment, add.address, add.ordinal, item.decoded.bytes);
            }
            Record::Transaction { elements, .. } => {
                let count = u64::from(elements.element_count());
                for element in *elements {
                    if let Element::Add {
                        address, ordinal, ..
                    } = element
                    {
                        let bytes = element_bytes(count, &element);
                        self.add(item.segment, address, ordinal, bytes);
                    }
                }
            }
            Record::Prepare {
                transaction,
                elements,
                ..
            } => {
                let count = u64::from(elements.element_count());
                let adds = (*elements).filter_map(|element| match element {
                    Element::Add { address, .. } => Some((address, element_bytes(count, &element))),
                    _ => None,
                });
                let prepared = (item.segment, adds.collect());
                self.prepared.insert(Box::from(*transaction), prepared);
                let position = Position::new(item.segment, item.offset);
                let waits = self.replayed.prepared.get(*transaction);
                if waits.is_some_and(|prepare| prepare.position == position) {
                    self.lives(item.segment, item.decoded.bytes);
                }
            }
            Record::Commit {
                transaction,
                ordinals,
                ..
            } => {
                // They live where the prepare is.
                let Some((segment, adds)) = self.prepared.remove(*transaction) else {
                    return;
                };
                for ((address, bytes), ordinal) in adds.into_iter().zip(*ordinals) {
                    self.add(segment, address, ordinal, bytes);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, segment: SegmentNumber, address: u32, ordinal: Ordinal, bytes: u64) {
        let cache: Option<&Cache> = self
            .replayed
            .addresses
            .get(&address)
            .map(|found| &found.cache);
        if !cache.is_some_and(|cache| cache.is_live(ordinal)) {
            return;
        }
        match self.replayed.copies.get_mut(&(address, ordinal)) {
            Some(copies) if *copies > 0 => *copies -= 1,
            _ => self.lives(segment, bytes),
        }
    }

    fn lives(&mut self, segment: SegmentNumber, bytes: u64) {
        if let Some(segment) = self.segments.get_mut(&segment) {
            segment.live_bytes += bytes;
        }
    }

    /// What lives once per address or name.
    fn finish(mut self) {
        let mut found = Vec::new();
        // An address that does not exist has a definition that lives if a transaction in doubt
        // names it.
        let in_doubt = self.replayed.prepared.values();
        let named = in_doubt.flat_map(|one| one.changes.iter().filter_map(Change::address));
        let named: HashSet<u32> = named.collect();
        for (number, one) in &self.replayed.addresses {
            let defined = match named.contains(number) {
                true => one.defined.or(one.ended),
                false => one.defined.filter(|_| one.is_begun),
            };
            found.extend(defined.map(|defined| (defined.segment, defined.record_bytes)));
        }
        for bookmark in self.replayed.bookmarks.values() {
            found.push((bookmark.segment, bookmark.record_bytes));
        }
        let configured = self.replayed.configured.values();
        found.extend(configured.map(|pattern| (pattern.segment, pattern.record_bytes)));
        for (segment, bytes) in found {
            self.lives(segment, bytes);
        }
    }
}

//! The records of a chain one after the other, and single records and segments for fuzzing.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::directory::slot_name;
use crate::error::{Error, Result};
use crate::format::{SEGMENT_BYTES_MAX, kind, record_bytes_max};
use crate::ids::{Namespace, Ordinal, SegmentNumber, Slot, Ticks};
use crate::inspect::finding::{Finding, FindingPlace, Reason};
use crate::inspect::still::Still;
use crate::record::{Decoded, Record, Seed, Stop, decode};
use crate::recovery::{Chain, ChainSegment, File, read_headers};
use crate::segment::{End, SegmentReader};

/// A record and where it stands.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Item<'a> {
    /// The segment.
    pub segment: SegmentNumber,
    /// The slot that holds it.
    pub slot: Slot,
    /// The byte in the segment.
    pub offset: u64,
    /// What stands there.
    pub decoded: &'a Decoded<'a>,
}

impl Item<'_> {
    /// The number of its kind (docs/format.md, section 4.2).
    pub fn kind(&self) -> u8 {
        match &self.decoded.record {
            Record::Add(add) if add.value.is_some_and(|value| !value.is_empty()) => {
                kind::ADD_WITH_VALUE
            }
            Record::Add(_) if self.decoded.carried => kind::CARRIED_ADD,
            Record::Add(_) => kind::ADD,
            Record::Remove { .. } => kind::REMOVE,
            Record::Renew { .. } => kind::RENEW,
            Record::Clear { .. } => kind::CLEAR,
            Record::Drop { .. } => kind::DROP,
            Record::Definition(_) => kind::DEFINITION,
            Record::Transaction { .. } => kind::TRANSACTION,
            Record::Prepare { .. } => kind::PREPARE,
            Record::Commit { .. } => kind::COMMIT,
            Record::RollBack { .. } => kind::ROLL_BACK,
            Record::Bookmark { .. } => kind::BOOKMARK,
            Record::Settings { .. } => kind::SETTINGS,
            Record::Mark => kind::MARK,
            Record::Seal { .. } => kind::SEAL,
            Record::Release { .. } => kind::RELEASE,
            Record::Skipped { kind } => *kind,
        }
    }

    /// The name of its kind.
    pub fn kind_name(&self) -> &'static str {
        match self.kind() {
            kind::ADD => "add",
            kind::ADD_WITH_VALUE => "add with value",
            kind::CARRIED_ADD => "carried add",
            kind::REMOVE => "remove",
            kind::RENEW => "renew",
            kind::CLEAR => "clear",
            kind::DROP => "drop",
            kind::DEFINITION => "definition",
            kind::TRANSACTION => "transaction",
            kind::PREPARE => "prepare",
            kind::COMMIT => "commit",
            kind::ROLL_BACK => "roll back",
            kind::BOOKMARK => "bookmark",
            kind::SETTINGS => "settings",
            kind::MARK => "mark",
            kind::SEAL => "seal",
            kind::RELEASE => "release",
            _ => "unknown",
        }
    }
}

/// The names of addresses by number.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<u32, (Namespace, Box<[u8]>)>);

impl Names {
    /// The name of the address with this number, if the journal still defines it.
    pub fn get(&self, address: u32) -> Option<(Namespace, &[u8])> {
        let (namespace, name) = self.0.get(&address)?;
        Some((*namespace, name))
    }

    pub(super) fn learn(&mut self, item: &Item<'_>) {
        if let Record::Definition(definition) = &item.decoded.record {
            let name = (definition.namespace, Box::from(definition.name));
            self.0.insert(definition.address, name);
        }
    }
}

/// Gives all records of the chain, oldest first, until `visit` breaks; what happened on the way.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn walk(
    chain: &Chain,
    visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for segment in &chain.segments {
        let (is_broken_off, end) = walk_one(segment, visit)?;
        if is_broken_off {
            break;
        }
        // Its records were there when the chain was read. Every one that was given has the checksum
        // of this very segment; only that they are all is in doubt.
        if end != segment.end {
            let place = FindingPlace::Segment {
                number: segment.header.number,
                slot: Some(segment.facts.slot),
                offset: end,
            };
            findings.push(Finding::new(place, Reason::Overtaken));
        }
    }
    Ok(findings)
}

fn walk_one(
    segment: &ChainSegment,
    visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
) -> Result<(bool, u64)> {
    let failed = |error| Error::io("read", slot_name(segment.facts.slot), error);
    let file = File::clone(&segment.facts.file);
    let mut reader =
        SegmentReader::new(file, &segment.header, Some(segment.end)).map_err(failed)?;
    while let Some(item) = reader.next().map_err(failed)? {
        let item = Item {
            segment: segment.header.number,
            slot: segment.facts.slot,
            offset: item.offset,
            decoded: &item.decoded,
        };
        if visit(&item).is_break() {
            return Ok((true, 0));
        }
    }
    Ok((false, reader.valid_end()))
}

/// Where a single record stands, and what its short form counts from.
#[derive(Clone, Copy, Debug)]
pub struct RecordPlace {
    /// The identity of the store.
    pub identity: [u8; 16],
    /// The salt of the segment.
    pub salt: u64,
    /// The number of the segment.
    pub number: SegmentNumber,
    /// The record's byte in the segment.
    pub offset: u64,
    /// The length of the segment.
    pub segment_bytes: u64,
    /// The ordinal that short adds count from, if there is one.
    pub base_ordinal: Option<Ordinal>,
    /// The time that they count from.
    pub base_time: Ticks,
}

/// Reads the record that `bytes` begin with, as recovery does.
///
/// # Errors
///
/// Why there is none.
pub fn decode_record<'a>(
    bytes: &'a [u8],
    place: &RecordPlace,
) -> std::result::Result<Decoded<'a>, Stop> {
    let seed = Seed::new(&place.identity, place.salt, place.number);
    decode(
        bytes,
        (&seed, place.offset),
        record_bytes_max(place.segment_bytes.min(SEGMENT_BYTES_MAX)),
        |_| place.base_ordinal,
        place.base_time,
    )
}

/// The checksum of a record at `place` whose bytes behind the checksum are `rest`.
///
/// With it a fuzzer gets past the checksum, to the checks of the content.
pub fn record_checksum(rest: &[u8], place: &RecordPlace) -> u32 {
    Seed::new(&place.identity, place.salt, place.number).checksum(place.offset, rest)
}

/// How the records of a segment file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentEnd {
    /// There is no header.
    NoHeader,
    /// The header, or the record at `offset`, is of a newer format.
    Newer {
        /// Where.
        offset: u64,
    },
    /// With a seal to another segment.
    Sealed {
        /// The number of that one.
        next: SegmentNumber,
    },
    /// With zeros up to the end, or with too little room for a record.
    Clean {
        /// Where the records end.
        offset: u64,
    },
    /// With bytes that are no record.
    NotARecord {
        /// Where.
        offset: u64,
        /// Why they are none.
        stop: Stop,
    },
    /// With a record of impossible content.
    Malformed {
        /// Where.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Reads `bytes` as a segment file, and gives its records in order until `visit` breaks.
///
/// Whatever the bytes are, the outcome has a name.
pub fn walk_segment(
    bytes: &[u8],
    visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
) -> SegmentEnd {
    let slot = Slot(0);
    // Reading from memory does not fail; if it did, there would be nothing to be read.
    let Ok(facts) = read_headers(slot, Still::holding(bytes)) else {
        return SegmentEnd::NoHeader;
    };
    let Some(header) = facts.header else {
        return match facts.newer {
            Some(_) => SegmentEnd::Newer { offset: 0 },
            None => SegmentEnd::NoHeader,
        };
    };
    let Ok(mut reader) = SegmentReader::new(facts.file, &header, None) else {
        return SegmentEnd::NoHeader;
    };
    while let Ok(Some(item)) = reader.next() {
        let item = Item {
            segment: header.number,
            slot,
            offset: item.offset,
            decoded: &item.decoded,
        };
        if visit(&item).is_break() {
            break;
        }
    }
    let offset = reader.valid_end();
    match reader.end() {
        Some(End::Sealed { number, .. }) => SegmentEnd::Sealed { next: number },
        Some(End::NotARecord { stop, .. }) => SegmentEnd::NotARecord { offset, stop },
        Some(End::Malformed { reason, .. }) => SegmentEnd::Malformed {
            offset,
            why: reason,
        },
        Some(End::NewerKind { .. }) => SegmentEnd::Newer { offset },
        Some(End::Limit | End::OverLimit { .. } | End::Full | End::CleanZeros { .. }) | None => {
            SegmentEnd::Clean { offset }
        }
    }
}

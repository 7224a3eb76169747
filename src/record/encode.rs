//! Records to bytes.
//!
//! Each call appends one record to a buffer that is meant to be used again. A plain short add takes
//! a path of its own: it runs tens of millions of times a second.

use super::body::{long_length, value_length};
use super::length::{SHORT_ADD_BODY_BYTES, body_bytes, framed_bytes, value_of};
use super::settings::put_settings;
use super::{Add, Definition, Dropped, Record, Seed, low_32};
use crate::format::{ID_BYTES_MAX, UNIT_BYTES, flag, frame, kind};
use crate::ids::{Namespace, Ordinal, Position, Ticks};

const ZEROS: [u8; UNIT_BYTES] = [0; UNIT_BYTES];

/// Where a record will stand, and what its frame says.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The checksum state of its segment.
    pub(crate) seed: &'a Seed,
    /// Its offset in the segment.
    pub(crate) offset: u64,
    /// Everything before this position is durable.
    pub(crate) mark: Option<Position>,
    /// It repeats a record that was there before.
    pub(crate) carried: bool,
    /// It is the last record of one call.
    pub(crate) end_of_group: bool,
}

/// What a short add would count from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    /// The ordinal of the last whole add of the address in the segment that was not carried.
    pub(crate) ordinal: Option<Ordinal>,
    /// The base time in the segment's header.
    pub(crate) time: Ticks,
}

/// The two forms of an add. After a whole one that is not carried its ordinal is the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddForm {
    /// Counted from the bases.
    Short,
    /// Ordinal and time given whole.
    Whole,
}

impl Base {
    fn deltas(self, add: &Add<'_>, carried: bool) -> Option<(u32, u32)> {
        let base = self.ordinal.filter(|_| !carried)?;
        let ordinal = u32::try_from(add.ordinal.0.checked_sub(base.0)?).ok()?;
        let time = u32::try_from(add.time.0.checked_sub(self.time.0)?).ok()?;
        Some((ordinal, time))
    }
}

/// Appends an add in the shortest form that `base` allows, and says which that is.
///
/// Address, lengths and ordinal are within their limits: that is checked before.
pub(crate) fn encode_add(
    out: &mut Vec<u8>,
    place: &Place<'_>,
    add: &Add<'_>,
    base: Base,
) -> AddForm {
    let Some(deltas) = base.deltas(add, place.carried) else {
        encode(out, place, &Record::Add(*add));
        return AddForm::Whole;
    };
    match (value_of(add), place.mark) {
        (None, None) => encode_plain(out, place, add, deltas),
        (value, _) => encode_short(out, place, add, (value, deltas)),
    }
    AddForm::Short
}

/// The fast path: a short add without value and mark.
fn encode_plain(out: &mut Vec<u8>, place: &Place<'_>, add: &Add<'_>, deltas: (u32, u32)) {
    const HEAD_BYTES: usize = frame::BYTES + SHORT_ADD_BODY_BYTES;
    assert!(
        add.id.len() <= ID_BYTES_MAX,
        "an ID is checked against its limit before it is encoded"
    );
    let unpadded = HEAD_BYTES + add.id.len();
    let bytes = unpadded.next_multiple_of(UNIT_BYTES);
    let padding = bytes - unpadded;
    // In the place of the checksum stands the offset at first: so one pass covers both.
    let offset = low_32(place.offset);
    let group = if place.end_of_group {
        flag::END_OF_GROUP
    } else {
        0
    };
    let kind_and_flags = [kind::ADD, group | low_8(padding)];
    let units = low_16(bytes / UNIT_BYTES);
    let (ordinal, time) = (deltas.0.to_le_bytes(), deltas.1.to_le_bytes());
    let mut head = [0; HEAD_BYTES];
    let (begin, rest) = head.split_at_mut(frame::BYTES);
    begin[..4].copy_from_slice(&offset);
    begin[4..6].copy_from_slice(&kind_and_flags);
    begin[6..].copy_from_slice(&units);
    rest[..4].copy_from_slice(&add.address.to_le_bytes());
    rest[4..8].copy_from_slice(&ordinal);
    rest[8..].copy_from_slice(&time);

    let start = out.len();
    out.reserve(bytes);
    out.extend_from_slice(&head);
    out.extend_from_slice(add.id);
    out.extend_from_slice(&ZEROS[..padding]);
    seal(out, start, place.seed);
}

fn encode_short(
    out: &mut Vec<u8>,
    place: &Place<'_>,
    add: &Add<'_>,
    (value, deltas): (Option<&[u8]>, (u32, u32)),
) {
    let value_bytes = value.map_or(0, |value| 1 + value.len());
    let kind = if value.is_some() {
        kind::ADD_WITH_VALUE
    } else {
        kind::ADD
    };
    let body_bytes = SHORT_ADD_BODY_BYTES + value_bytes + add.id.len();
    framed(out, place, (kind, 0), body_bytes, |out| {
        put_u32(out, add.address);
        put_u32(out, deltas.0);
        put_u32(out, deltas.1);
        if let Some(value) = value {
            put_value(out, value);
        }
        out.extend_from_slice(add.id);
    });
}

/// Appends `record`, an add in its long form.
///
/// Lengths, ordinals and numbers are within their limits: that is checked before.
pub(crate) fn encode(out: &mut Vec<u8>, place: &Place<'_>, record: &Record<'_>) {
    let (kind, flags) = kind_and_flags(record, place.carried);
    framed(out, place, (kind, flags), body_bytes(record), |out| {
        put_body(out, record)
    });
}

fn kind_and_flags(record: &Record<'_>, carried: bool) -> (u8, u8) {
    let kind = match record {
        Record::Add(add) => {
            let kind = match (value_of(add), carried) {
                (Some(_), _) => kind::ADD_WITH_VALUE,
                (None, true) => kind::CARRIED_ADD,
                (None, false) => kind::ADD,
            };
            return (kind, flag::WHOLE);
        }
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
    };
    (kind, 0)
}

fn put_body(out: &mut Vec<u8>, record: &Record<'_>) {
    match record {
        Record::Add(add) => {
            put_u32(out, add.address);
            put_u64(out, add.time.0);
            put_u64(out, add.ordinal.0);
            if let Some(value) = value_of(add) {
                put_value(out, value);
            }
            out.extend_from_slice(add.id);
        }
        Record::Remove {
            address,
            ordinal: place,
            time,
        }
        | Record::Clear {
            address,
            floor: place,
            time,
        } => {
            put_u32(out, *address);
            put_u64(out, place.0);
            put_u64(out, time.0);
        }
        Record::Renew { add, old } => {
            put_u32(out, add.address);
            put_u64(out, add.time.0);
            put_u64(out, add.ordinal.0);
            put_u64(out, old.0);
            put_value(out, add.value.unwrap_or_default());
            out.extend_from_slice(add.id);
        }
        Record::Drop {
            dropped,
            other,
            time,
        } => {
            put_dropped(out, dropped);
            put_u64(out, time.0);
            if let Some(other) = other {
                put_dropped(out, other);
            }
        }
        Record::Definition(definition) => put_definition(out, definition),
        Record::Transaction { time, elements } => {
            put_u64(out, time.0);
            put_u32(out, elements.element_count());
            out.extend_from_slice(elements.bytes());
        }
        Record::Prepare {
            time,
            owner,
            transaction,
            elements,
        } => {
            put_u64(out, time.0);
            put_u64(out, owner.0);
            put_u32(out, long_length(transaction));
            put_u32(out, elements.element_count());
            out.extend_from_slice(transaction);
            out.extend_from_slice(elements.bytes());
        }
        Record::Commit {
            time,
            transaction,
            ordinals,
        } => {
            put_u64(out, time.0);
            put_u32(out, long_length(transaction));
            put_u32(out, long_length(ordinals.bytes()) / 8);
            out.extend_from_slice(transaction);
            out.extend_from_slice(ordinals.bytes());
        }
        Record::RollBack { time, transaction } => {
            put_u64(out, time.0);
            put_u32(out, long_length(transaction));
            out.extend_from_slice(transaction);
        }
        Record::Bookmark { time, name, value } => {
            put_u64(out, time.0);
            put_u32(out, long_length(name));
            out.extend_from_slice(name);
            out.extend_from_slice(value);
        }
        Record::Settings {
            time,
            pattern,
            settings,
        } => {
            put_u64(out, time.0);
            put_settings(out, settings);
            out.extend_from_slice(pattern);
        }
        Record::Mark | Record::Skipped { .. } => {}
        Record::Seal { number, salt } => {
            put_u64(out, number.0);
            put_u64(out, *salt);
        }
        Record::Release { oldest } => put_u64(out, oldest.0),
    }
}

fn put_dropped(out: &mut Vec<u8>, dropped: &Dropped) {
    put_u32(out, dropped.address);
    put_u32(out, dropped.incarnation);
    put_u64(out, dropped.floor.0);
}

fn put_definition(out: &mut Vec<u8>, definition: &Definition<'_>) {
    put_u32(out, definition.address);
    out.push(u8::from(definition.namespace == Namespace::Bridge));
    out.push(u8::from(definition.by_call) | u8::from(definition.age_by_call) << 1);
    out.extend_from_slice(&[0; 2]);
    put_u32(out, definition.incarnation);
    put_u64(out, definition.capacity);
    put_u64(out, definition.max_age);
    put_u64(out, definition.floor.0);
    put_u64(out, definition.last.0);
    put_u64(out, definition.time.0);
    out.extend_from_slice(definition.name);
}

/// Appends frame, body, padding, and at last the checksum.
fn framed(
    out: &mut Vec<u8>,
    place: &Place<'_>,
    (kind, flags): (u8, u8),
    body_bytes: usize,
    put_body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    let bytes = framed_bytes(body_bytes, place.mark.is_some());
    let units = bytes / UNIT_BYTES as u64;
    let short_units = u16::try_from(units).ok();
    let padding = body_bytes.next_multiple_of(UNIT_BYTES) - body_bytes;
    let mut flags = flags | low_8(padding);
    for (is_set, bit) in [
        (place.mark.is_some(), flag::MARKED),
        (short_units.is_none(), flag::LARGE),
        (place.carried, flag::CARRIED),
        (place.end_of_group, flag::END_OF_GROUP),
    ] {
        flags |= if is_set { bit } else { 0 };
    }
    out.extend_from_slice(&low_32(place.offset));
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&short_units.unwrap_or(0).to_le_bytes());
    if short_units.is_none() {
        out.extend_from_slice(&low_32(units));
        out.extend_from_slice(&[0; 4]);
    }
    if let Some(mark) = place.mark {
        put_u64(out, mark.to_bits());
    }
    put_body(out);
    out.extend_from_slice(&ZEROS[..padding]);
    debug_assert_eq!(
        (out.len() - start) as u64,
        bytes,
        "a record is as long as it was said to be"
    );
    seal(out, start, place.seed);
}

/// Puts the checksum where the offset stood.
fn seal(out: &mut [u8], start: usize, seed: &Seed) {
    let record = &mut out[start..];
    let checksum = seed.checksum_in_place(record);
    record[..4].copy_from_slice(&checksum.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    out.push(value_length(value));
    out.extend_from_slice(value);
}

fn low_8(number: usize) -> u8 {
    number.to_le_bytes()[0]
}

fn low_16(number: usize) -> [u8; 2] {
    let [a, b, ..] = number.to_le_bytes();
    [a, b]
}

//! Bytes to records. Nothing here panics, whatever the bytes, nor allocates.
//!
//! The order of the checks: is there a frame, is its length possible, does the checksum match, is
//! the kind known, is the content possible.

use super::body::{Cursor, Elements, Ordinals};
use super::settings::settings;
use super::{Add, Decoded, Definition, Dropped, Record, Seed, Stop};
use crate::format::{
    ADDRESS_BYTES_MAX, BOOKMARK_NAME_BYTES_MAX, CAPACITY_MAX, ID_BYTES_MAX,
    TRANSACTION_ID_BYTES_MAX, UNIT_BYTES, flag, frame, kind,
};
use crate::ids::{Namespace, Ordinal, Owner, Position, SegmentNumber, Ticks};

/// What can be told of a record before its checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    checksum: u32,
    kind: u8,
    flags: u8,
    /// Length of the whole record.
    pub(crate) bytes: u64,
    /// Where the mark stands, if there is one.
    pub(crate) mark: Option<Position>,
    reserved: u32,
    head_bytes: usize,
}

impl Frame {
    /// Whether it is that of a seal.
    pub(crate) fn is_seal(&self) -> bool {
        self.kind == kind::SEAL
    }

    /// Reads the frame that `bytes` begin with, of a record of at most `bytes_max`.
    pub(crate) fn read(bytes: &[u8], bytes_max: u64) -> Result<Frame, Stop> {
        let first = bytes
            .first_chunk::<{ frame::BYTES }>()
            .ok_or(Stop::TooShort)?;
        if *first == [0; frame::BYTES] {
            return Err(Stop::Zeros);
        }
        let [a, b, c, d, kind, flags, e, f] = *first;
        let checksum = u32::from_le_bytes([a, b, c, d]);
        let mut units = u64::from(u16::from_le_bytes([e, f]));
        let mut rest = Cursor(bytes.get(frame::BYTES..).unwrap_or_default());
        let mut reserved = 0;
        if flags & flag::LARGE != 0 {
            if units != 0 {
                return Err(Stop::Length);
            }
            units = u64::from(rest.u32().map_err(|_| Stop::TooShort)?);
            reserved = rest.u32().map_err(|_| Stop::TooShort)?;
        }
        let mut mark = None;
        if flags & flag::MARKED != 0 {
            mark = Some(Position::from_bits(rest.u64().map_err(|_| Stop::TooShort)?));
        }
        let head_bytes = bytes.len() - rest.0.len();
        let length = units * UNIT_BYTES as u64;
        let least = head_bytes as u64 + u64::from(flags & flag::PADDING);
        if length < least || length > bytes_max {
            return Err(Stop::Length);
        }
        Ok(Frame {
            checksum,
            kind,
            flags,
            bytes: length,
            mark,
            reserved,
            head_bytes,
        })
    }

    pub(crate) fn checksum(&self) -> u32 {
        self.checksum
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The bytes of the body, if flags, padding and mark are possible.
    fn body<'a>(&self, record: &'a [u8], here: Position) -> Result<Cursor<'a>, Stop> {
        if self.reserved != 0 {
            return Err(Stop::Malformed("reserved bytes are not zero"));
        }
        if self.mark.is_some_and(|mark| mark > here) {
            return Err(Stop::Malformed("a mark lies beyond its own record"));
        }
        let inner = record.get(self.head_bytes..).unwrap_or_default();
        let body_bytes = inner
            .len()
            .checked_sub(usize::from(self.flags & flag::PADDING));
        let split = body_bytes.and_then(|bytes| inner.split_at_checked(bytes));
        let (body, padding) = split.ok_or(Stop::Length)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(Stop::Malformed("the padding is not zero"));
        }
        Ok(Cursor(body))
    }

    fn check_flags(&self) -> Result<(), Stop> {
        let (is_whole, is_carried) = (self.has(flag::WHOLE), self.has(flag::CARRIED));
        match self.kind {
            kind::ADD if is_carried => Err(Stop::Malformed("a carried add has the wrong kind")),
            kind::ADD_WITH_VALUE if is_carried && !is_whole => {
                Err(Stop::Malformed("a carried add is not whole"))
            }
            kind::ADD | kind::ADD_WITH_VALUE => Ok(()),
            kind::CARRIED_ADD if !is_whole || !is_carried => {
                Err(Stop::Malformed("a carried add is not whole"))
            }
            kind::CARRIED_ADD => Ok(()),
            kind if is_whole && kind < kind::SKIPPABLE_MIN => Err(Stop::Malformed(
                "a record that is no add is in the long form",
            )),
            _ => Ok(()),
        }
    }
}

/// Reads the record that `bytes` begin with.
///
/// `bytes` reach to the end of the segment, or at least to the end of the record. They stand at
/// `offset` of the segment of `seed`. `base` gives the ordinal that short adds of an address count
/// from, and `base_time` the time.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    (seed, offset): (&Seed, u64),
    bytes_max: u64,
    base: impl Fn(u32) -> Option<Ordinal>,
    base_time: Ticks,
) -> Result<Decoded<'a>, Stop> {
    let frame = Frame::read(bytes, bytes_max)?;
    let length = usize::try_from(frame.bytes).map_err(|_| Stop::Length)?;
    let record = bytes.get(..length).ok_or(Stop::Length)?;
    let rest = record.get(frame::CHECKSUM.end()..).ok_or(Stop::Length)?;
    if seed.checksum(offset, rest) != frame.checksum {
        return Err(Stop::Checksum);
    }
    if frame.kind < kind::SKIPPABLE_MIN && frame.kind > kind::RELEASE {
        return Err(Stop::NewerKind(frame.kind));
    }
    let here = Position::new(seed.number(), offset);
    let mut body = frame.body(record, here)?;
    frame.check_flags()?;
    let record = match frame.kind {
        kind::ADD | kind::ADD_WITH_VALUE | kind::CARRIED_ADD if frame.has(flag::WHOLE) => {
            whole_add(&mut body, frame.kind)?
        }
        kind::ADD | kind::ADD_WITH_VALUE => short_add(&mut body, frame.kind, base, base_time)?,
        kind::MARK if frame.mark.is_none() => {
            return Err(Stop::Malformed("a mark record has no mark"));
        }
        kind => other(&mut body, kind, seed.number())?,
    };
    body.end()?;
    Ok(Decoded {
        record,
        bytes: frame.bytes,
        mark: frame.mark,
        carried: frame.has(flag::CARRIED),
        whole: frame.has(flag::WHOLE),
        end_of_group: frame.has(flag::END_OF_GROUP),
    })
}

fn short_add<'a>(
    body: &mut Cursor<'a>,
    kind: u8,
    base: impl Fn(u32) -> Option<Ordinal>,
    base_time: Ticks,
) -> Result<Record<'a>, Stop> {
    let address = body.u32()?;
    let ordinal_delta = u64::from(body.u32()?);
    let time_delta = u64::from(body.u32()?);
    let value = if kind == kind::ADD_WITH_VALUE {
        body.value_there()?
    } else {
        None
    };
    let id = body.rest_within(ID_BYTES_MAX)?;
    let base = base(address).ok_or(Stop::Malformed("a short add has no base"))?;
    let ordinal = base
        .0
        .checked_add(ordinal_delta)
        .map(super::body::checked_ordinal);
    let ordinal = ordinal.ok_or(Stop::Malformed("an ordinal is too high"))??;
    let time = base_time
        .0
        .checked_add(time_delta)
        .ok_or(Stop::Malformed("a time is too high"))?;
    Ok(Record::Add(Add {
        address,
        ordinal,
        time: Ticks(time),
        value,
        id,
    }))
}

fn whole_add<'a>(body: &mut Cursor<'a>, kind: u8) -> Result<Record<'a>, Stop> {
    let address = body.u32()?;
    let time = Ticks(body.u64()?);
    let ordinal = body.ordinal()?;
    let value = if kind == kind::ADD_WITH_VALUE {
        body.value_there()?
    } else {
        None
    };
    let id = body.rest_within(ID_BYTES_MAX)?;
    Ok(Record::Add(Add {
        address,
        ordinal,
        time,
        value,
        id,
    }))
}

fn dropped(body: &mut Cursor<'_>) -> Result<Dropped, Stop> {
    Ok(Dropped {
        address: body.u32()?,
        incarnation: body.u32()?,
        floor: body.place()?,
    })
}

fn other<'a>(body: &mut Cursor<'a>, kind: u8, here: SegmentNumber) -> Result<Record<'a>, Stop> {
    Ok(match kind {
        kind::REMOVE => {
            let (address, ordinal, time) = (body.u32()?, body.ordinal()?, Ticks(body.u64()?));
            Record::Remove {
                address,
                ordinal,
                time,
            }
        }
        kind::RENEW => renew(body)?,
        kind::CLEAR => {
            let (address, floor, time) = (body.u32()?, body.place()?, Ticks(body.u64()?));
            Record::Clear {
                address,
                floor,
                time,
            }
        }
        kind::DROP => {
            let (dropped, time) = (dropped(body)?, Ticks(body.u64()?));
            let other = if body.0.is_empty() {
                None
            } else {
                Some(self::dropped(body)?)
            };
            Record::Drop {
                dropped,
                other,
                time,
            }
        }
        kind::DEFINITION => definition(body)?,
        kind::TRANSACTION => {
            let (time, count) = (Ticks(body.u64()?), body.u32()?);
            Record::Transaction {
                time,
                elements: Elements::check(body.rest(), count, true)?,
            }
        }
        kind::PREPARE => {
            let (time, owner) = (Ticks(body.u64()?), Owner(body.u64()?));
            let (transaction_bytes, count) = (body.u32()?, body.u32()?);
            let transaction = body.take_within(transaction_bytes, TRANSACTION_ID_BYTES_MAX)?;
            let elements = Elements::check(body.rest(), count, false)?;
            Record::Prepare {
                time,
                owner,
                transaction,
                elements,
            }
        }
        kind::COMMIT => {
            let time = Ticks(body.u64()?);
            let (transaction_bytes, count) = (body.u32()?, body.u32()?);
            let transaction = body.take_within(transaction_bytes, TRANSACTION_ID_BYTES_MAX)?;
            Record::Commit {
                time,
                transaction,
                ordinals: Ordinals::check(body.rest(), count)?,
            }
        }
        kind::ROLL_BACK => {
            let (time, transaction_bytes) = (Ticks(body.u64()?), body.u32()?);
            Record::RollBack {
                time,
                transaction: body.take_within(transaction_bytes, TRANSACTION_ID_BYTES_MAX)?,
            }
        }
        kind::BOOKMARK => {
            let (time, name_bytes) = (Ticks(body.u64()?), body.u32()?);
            Record::Bookmark {
                time,
                name: body.take_within(name_bytes, BOOKMARK_NAME_BYTES_MAX)?,
                value: body.rest(),
            }
        }
        kind::SETTINGS => Record::Settings {
            time: Ticks(body.u64()?),
            settings: settings(body)?,
            pattern: body.rest_within(ADDRESS_BYTES_MAX)?,
        },
        kind::MARK => Record::Mark,
        kind::SEAL => {
            let (number, salt) = (SegmentNumber(body.u64()?), body.u64()?);
            if number <= here || number > SegmentNumber::MAX {
                return Err(Stop::Malformed("a seal names an impossible next segment"));
            }
            Record::Seal { number, salt }
        }
        kind::RELEASE => {
            let oldest = SegmentNumber(body.u64()?);
            if oldest > here || oldest == SegmentNumber(0) {
                return Err(Stop::Malformed("a release names an impossible segment"));
            }
            Record::Release { oldest }
        }
        kind if kind >= kind::SKIPPABLE_MIN => {
            body.rest();
            Record::Skipped { kind }
        }
        _ => return Err(Stop::Malformed("the kind is 0")),
    })
}

fn renew<'a>(body: &mut Cursor<'a>) -> Result<Record<'a>, Stop> {
    let address = body.u32()?;
    let time = Ticks(body.u64()?);
    let (ordinal, old) = (body.ordinal()?, body.ordinal()?);
    if old >= ordinal {
        return Err(Stop::Malformed("a renew does not lead to a newer place"));
    }
    let value = body.value()?;
    let id = body.rest_within(ID_BYTES_MAX)?;
    Ok(Record::Renew {
        add: Add {
            address,
            ordinal,
            time,
            value,
            id,
        },
        old,
    })
}

fn definition<'a>(body: &mut Cursor<'a>) -> Result<Record<'a>, Stop> {
    let address = body.u32()?;
    let namespace = match body.u8()? {
        0 => Namespace::Client,
        1 => Namespace::Bridge,
        _ => return Err(Stop::Malformed("a definition has an unknown namespace")),
    };
    let origin = body.u8()?;
    if origin > 3 {
        return Err(Stop::Malformed("a definition has an unknown origin"));
    }
    let (by_call, age_by_call) = (origin & 1 != 0, origin & 2 != 0);
    if body.u16()? != 0 {
        return Err(Stop::Malformed("reserved bytes are not zero"));
    }
    let incarnation = body.u32()?;
    let capacity = body.u64()?;
    if capacity > CAPACITY_MAX {
        return Err(Stop::Malformed("a capacity is too high"));
    }
    let max_age = body.u64()?;
    let (floor, last) = (body.place()?, body.place()?);
    let time = Ticks(body.u64()?);
    let name = body.rest_within(ADDRESS_BYTES_MAX)?;
    Ok(Record::Definition(Definition {
        address,
        namespace,
        by_call,
        age_by_call,
        incarnation,
        capacity,
        max_age,
        floor,
        last,
        time,
        name,
    }))
}

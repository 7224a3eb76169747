//! The check of `segment_scan`: a segment file, mended as the first byte says, read to its end.

use std::collections::HashMap;
use std::ops::ControlFlow;

use idjournal::inspect::{Record, RecordPlace, SegmentEnd, decode_record, walk_segment};
use idjournal::{Ordinal, SegmentNumber};

use crate::layout::{
    ALGORITHM, HEADER, SEGMENT_BYTES, VERSION, block_bytes, mend_header, mend_records, place, put,
};

pub const MEND_HEADERS: u8 = 1;
/// Gives both headers what does not depend on the segment: magic, version, lengths, features.
pub const FILL_HEADERS: u8 = 2;
pub const MEND_RECORDS: u8 = 4;
/// The second copy becomes one of the first.
pub const SAME_COPIES: u8 = 8;

pub fn check(data: &[u8]) {
    let Some((control, bytes)) = data.split_first() else {
        return;
    };
    let mut bytes = bytes.to_vec();
    mend(&mut bytes, *control);
    let mut at = None;
    let mut records = 0;
    let mut bases = HashMap::new();
    let mut first = None;
    let end = walk_segment(&bytes, &mut |item| {
        let decoded = item.decoded;
        assert!(item.offset >= 2 * HEADER as u64 && item.offset.is_multiple_of(8));
        assert!(
            at.is_none_or(|at| at == item.offset),
            "a gap before {}",
            item.offset
        );
        assert!(decoded.bytes >= 8 && item.offset + decoded.bytes <= bytes.len() as u64);
        if at.is_none() {
            first = header_of(&bytes, item.segment, item.offset);
        }
        at = Some(item.offset + decoded.bytes);
        records += 1;
        assert!(records <= bytes.len() / 8, "it never ends");
        if let Some(place) = first {
            let base = |address: u32| bases.get(&address).copied();
            check_item(&bytes, item.offset, &place, decoded, base);
        }
        learn(&mut bases, decoded);
        ControlFlow::Continue(())
    });
    check_end(&bytes, end, at);
    let mut again = 0;
    let half = walk_segment(&bytes, &mut |_| {
        again += 1;
        if again > records / 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(
        again,
        records.min(records / 2 + 1),
        "the second reading differs: {half:?}"
    );
}

fn mend(bytes: &mut [u8], control: u8) {
    let (length, block) = (bytes.len(), block_bytes(bytes.len()));
    if control & FILL_HEADERS != 0 {
        for copy in [0, block] {
            put(bytes, copy, b"idjsegmt");
            put(
                bytes,
                copy + VERSION,
                &[1, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            );
            put(bytes, copy + 40, &[0; 8]);
            put(bytes, copy + SEGMENT_BYTES, &(length as u64).to_le_bytes());
            put(
                bytes,
                copy + ALGORITHM,
                &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            );
        }
    }
    if control & SAME_COPIES != 0 {
        let copy = bytes.get(..HEADER).unwrap_or_default().to_vec();
        put(bytes, block, &copy);
    }
    if control & MEND_HEADERS != 0 {
        mend_header(bytes, 0);
        mend_header(bytes, block);
    }
    if control & MEND_RECORDS != 0 {
        mend_records(bytes);
    }
}

/// What the records' checksums begin from, by the copy that names this segment.
fn header_of(bytes: &[u8], number: SegmentNumber, begin: u64) -> Option<RecordPlace> {
    let copies = [0, block_bytes(bytes.len())].map(|copy| place(bytes, copy));
    let mut named = copies
        .into_iter()
        .flatten()
        .filter(|place| place.number == number);
    let first = named.next()?;
    // Two copies of one number that differ: either may be the valid one.
    let facts = |place: &RecordPlace| {
        let life = (place.salt, place.identity, place.base_time);
        (life, place.segment_bytes)
    };
    let is_alone = named.all(|other| facts(&other) == facts(&first));
    (is_alone && begin == first.offset).then_some(first)
}

/// A record of the walk is the one that is read alone, with the base that the format gives it.
fn check_item(
    bytes: &[u8],
    offset: u64,
    place: &RecordPlace,
    decoded: &idjournal::inspect::Decoded<'_>,
    base: impl Fn(u32) -> Option<Ordinal>,
) {
    let base_ordinal = match &decoded.record {
        Record::Add(add) => base(add.address),
        _ => None,
    };
    let place = RecordPlace {
        offset,
        base_ordinal,
        ..*place
    };
    let at = usize::try_from(offset).expect("it lies in the file");
    let alone = decode_record(&bytes[at..], &place);
    assert_eq!(alone.as_ref(), Ok(decoded), "at {offset}");
}

/// Notes the base of short adds: the last whole add of the address that is not carried.
fn learn(bases: &mut HashMap<u32, Ordinal>, decoded: &idjournal::inspect::Decoded<'_>) {
    match &decoded.record {
        Record::Add(add) if decoded.whole && !decoded.carried => {
            bases.insert(add.address, add.ordinal);
        }
        Record::Renew { add, .. } if !decoded.carried => {
            bases.insert(add.address, add.ordinal);
        }
        _ => {}
    }
}

fn check_end(bytes: &[u8], end: SegmentEnd, at: Option<u64>) {
    match end {
        SegmentEnd::NoHeader => assert_eq!(at, None, "records without a header"),
        SegmentEnd::Sealed { .. } => assert!(at.is_some()),
        SegmentEnd::Newer { offset }
        | SegmentEnd::Clean { offset }
        | SegmentEnd::NotARecord { offset, .. }
        | SegmentEnd::Malformed { offset, .. } => {
            // Of a file shorter than its header says, even the records' beginning lies outside.
            let is_inside = offset <= bytes.len() as u64;
            assert!(is_inside || at.is_none(), "an end at {offset}");
            assert!(at.is_none_or(|at| at == offset), "{at:?} and then {offset}");
        }
        _ => {}
    }
}

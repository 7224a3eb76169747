//! Records come in order, and each way in which they can end has its name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::super::test_file::{MemoryFile, SEGMENT_BYTES, Sketch, header};
use super::*;
use crate::format::kind;
use crate::record::{Place, encode};

/// Reads everything; gives the ordinals of adds, the end, the valid end and the highest mark.
fn read(bytes: &[u8], end: Option<u64>) -> (Vec<u64>, End, u64, Option<Position>) {
    let file = Arc::new(MemoryFile(bytes.to_vec()));
    let mut reader = SegmentReader::new(file, &header(), end).unwrap();
    let mut ordinals = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Add(add) | Record::Renew { add, .. } = item.decoded.record {
            ordinals.push(add.ordinal.0);
        }
    }
    assert!(reader.next().unwrap().is_none(), "an end stays an end");
    (
        ordinals,
        reader.end().unwrap(),
        reader.valid_end(),
        reader.highest_mark(),
    )
}

#[test]
fn records_come_in_order_with_their_bases() {
    let mut sketch = Sketch::new();
    sketch.add(1, 100, false);
    sketch.add(2, 7, false);
    sketch.add(1, 101, false);
    sketch.add(1, 40, true);
    sketch.add(1, 102, false);
    sketch.add(2, 9, false);
    sketch.renew(2, 12);
    sketch.add(2, 13, false);
    let mark = Position::new(header().number, sketch.offset);
    sketch.marked(mark);
    let end = sketch.offset;
    let (ordinals, how, valid_end, highest) = read(&sketch.bytes, None);
    assert_eq!(ordinals, [100, 7, 101, 40, 102, 9, 12, 13]);
    assert_eq!((how, valid_end), (End::CleanZeros { offset: end }, end));
    assert_eq!(highest, Some(mark));
}

#[test]
fn a_carried_add_is_no_base() {
    let mut sketch = Sketch::new();
    sketch.add(1, 40, true);
    sketch.base(1, 40);
    let offset = sketch.offset;
    sketch.add(1, 41, false);
    let (ordinals, end, ..) = read(&sketch.bytes, None);
    assert_eq!(ordinals, [40]);
    assert_eq!(
        end,
        End::Malformed {
            offset,
            reason: "a short add has no base"
        }
    );
}

#[test]
fn a_seal_is_the_last_record() {
    let mut sketch = Sketch::new();
    sketch.add(1, 1, false);
    sketch.record(&Record::Seal {
        number: SegmentNumber(20),
        salt: 21,
    });
    let offset_after = sketch.offset;
    sketch.add(1, 2, false);
    let (ordinals, end, valid_end, _) = read(&sketch.bytes, None);
    assert_eq!(
        end,
        End::Sealed {
            offset_after,
            number: SegmentNumber(20),
            salt: 21
        }
    );
    assert_eq!((ordinals, valid_end), (vec![1], offset_after));
}

#[test]
fn a_given_end_is_met_or_named() {
    let mut sketch = Sketch::new();
    sketch.add(1, 1, false);
    let second = sketch.offset;
    sketch.add(1, 2, false);
    let bytes = &sketch.bytes;
    assert_eq!(
        read(bytes, Some(second)),
        (vec![1], End::Limit, second, None)
    );
    for end in [second + 8, sketch.offset - 8] {
        let over = End::OverLimit { offset: second };
        assert_eq!(read(bytes, Some(end)), (vec![1], over, second, None));
    }
    let begin = records_offset(SEGMENT_BYTES);
    assert_eq!(read(bytes, Some(0)).1, End::OverLimit { offset: begin });
    assert_eq!(read(bytes, Some(begin)), (vec![], End::Limit, begin, None));
    let clean = End::CleanZeros {
        offset: sketch.offset,
    };
    assert_eq!(read(bytes, Some(sketch.offset + 64)).1, clean);
}

#[test]
fn a_tail_is_clean_only_if_every_byte_is_zero() {
    let mut sketch = Sketch::new();
    sketch.add(1, 1, false);
    let offset = sketch.offset;
    let last = sketch.bytes.len() - 1;
    sketch.bytes[last] = 1;
    let (_, end, valid_end, _) = read(&sketch.bytes, None);
    assert_eq!(
        (end, valid_end),
        (
            End::NotARecord {
                offset,
                stop: Stop::Zeros
            },
            offset
        )
    );
}

#[test]
fn records_of_an_earlier_life_are_no_records() {
    let mut earlier = Sketch::of_life(header().salt + 1);
    (1..9).for_each(|ordinal| earlier.add(1, ordinal, false));
    let mut sketch = Sketch::new();
    sketch.bytes = earlier.bytes;
    sketch.add(1, 1, false);
    let offset = sketch.offset;
    let (ordinals, end, ..) = read(&sketch.bytes, None);
    assert_eq!(ordinals, [1]);
    assert_eq!(
        end,
        End::NotARecord {
            offset,
            stop: Stop::Checksum
        }
    );
}

#[test]
fn a_newer_kind_is_named_and_a_skippable_one_is_given() {
    let mut sketch = Sketch::new();
    sketch.record(&Record::Skipped {
        kind: kind::SKIPPABLE_MIN + 1,
    });
    let offset = sketch.offset;
    sketch.record(&Record::Skipped { kind: 99 });
    let (_, end, valid_end, _) = read(&sketch.bytes, None);
    assert_eq!(
        (end, valid_end),
        (End::NewerKind { offset, kind: 99 }, offset)
    );
}

#[test]
fn a_full_segment_ends_as_full_and_a_cut_one_at_its_cut() {
    let mut sketch = Sketch::new();
    let mut ordinal = 1;
    while sketch.offset + 64 <= SEGMENT_BYTES {
        sketch.add(1, ordinal, false);
        ordinal += 1;
    }
    let offset = sketch.offset;
    let (ordinals, end, ..) = read(&sketch.bytes[..usize::try_from(offset).unwrap()], None);
    assert_eq!((ordinals.len() as u64, end), (ordinal - 1, End::Full));
    let cut = usize::try_from(offset).unwrap() - 5;
    let end = read(&sketch.bytes[..cut], None).1;
    assert!(
        matches!(
            end,
            End::NotARecord {
                stop: Stop::Length,
                ..
            }
        ),
        "{end:?}"
    );
    assert_eq!(read(&[], None).1, End::Full);
}

#[test]
fn a_record_longer_than_the_window_is_read() {
    let mut sketch = Sketch::new();
    sketch.add(1, 1, false);
    let value = vec![7; 150_000];
    sketch.record(&Record::Bookmark {
        time: Ticks(1),
        name: b"n",
        value: &value,
    });
    sketch.add(1, 2, false);
    let offset = sketch.offset;
    let (ordinals, end, ..) = read(&sketch.bytes, None);
    assert_eq!((ordinals, end), (vec![1, 2], End::CleanZeros { offset }));
    // One that is longer than a quarter of the segment is not read at all.
    let long = vec![7; usize::try_from(SEGMENT_BYTES / 4).unwrap()];
    let record = Record::Bookmark {
        time: Ticks(1),
        name: b"n",
        value: &long,
    };
    let mut bytes = Vec::new();
    let (seed, mark) = (header().seed(), None);
    let place = Place {
        seed: &seed,
        offset,
        mark,
        carried: false,
        end_of_group: true,
    };
    encode(&mut bytes, &place, &record);
    sketch.put(&bytes);
    assert_eq!(
        read(&sketch.bytes, None).1,
        End::NotARecord {
            offset,
            stop: Stop::Length
        }
    );
}

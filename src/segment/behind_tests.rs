//! A mark behind a bad place is found wherever it stands, and only a valid one counts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::super::test_file::{MemoryFile, SEGMENT_BYTES, Sketch, header};
use super::*;
use crate::ids::Ticks;
use crate::record::{Place, Record, encode};

fn find(sketch: &Sketch, offset: u64) -> Option<Position> {
    mark_behind(&MemoryFile(sketch.bytes.clone()), &header(), offset).unwrap()
}

fn here(offset: u64) -> Position {
    Position::new(header().number, offset)
}

/// A marked record whose body has `bytes`.
fn marked_bookmark(sketch: &mut Sketch, mark: Position, bytes: usize) {
    let value = vec![0x5a; bytes];
    let record = Record::Bookmark {
        time: Ticks(1),
        name: b"",
        value: &value,
    };
    let (mut out, seed) = (Vec::new(), header().seed());
    let (offset, mark) = (sketch.offset, Some(mark));
    let place = Place {
        seed: &seed,
        offset,
        mark,
        carried: false,
        end_of_group: true,
    };
    encode(&mut out, &place, &record);
    sketch.put(&out);
}

#[test]
fn a_mark_beyond_the_bad_place_is_found() {
    let mut sketch = Sketch::new();
    sketch.add(1, 1, false);
    let bad = sketch.offset;
    sketch.add(1, 2, false);
    let after = here(sketch.offset);
    sketch.add(1, 3, false);
    sketch.marked(here(bad));
    assert_eq!(
        find(&sketch, bad),
        None,
        "what ends at the bad place says nothing of it"
    );
    sketch.marked(after);
    assert_eq!(find(&sketch, bad), Some(after));
    assert_eq!(find(&sketch, bad + 64), None);
}

#[test]
fn a_marked_record_of_any_length_is_found() {
    // Lengths around the steps at which checksums are kept, and the large form.
    for bytes in (0..2200).step_by(8).chain([65_000, 200_000]) {
        let mut sketch = Sketch::new();
        sketch.add(1, 1, false);
        let bad = sketch.offset;
        sketch.add(1, 2, false);
        let mark = here(sketch.offset);
        marked_bookmark(&mut sketch, mark, bytes);
        assert_eq!(find(&sketch, bad), Some(mark), "{bytes} bytes");
        let last = usize::try_from(sketch.offset).unwrap() - 16;
        sketch.bytes[last] ^= 1;
        assert_eq!(find(&sketch, bad), None, "{bytes} bytes, one changed");
    }
}

#[test]
fn marks_of_an_earlier_life_and_of_the_future_do_not_count() {
    let mut earlier = Sketch::of_life(header().salt + 1);
    let bad = earlier.offset;
    earlier.add(1, 1, false);
    let mark = here(earlier.offset);
    earlier.marked(mark);
    assert_eq!(find(&earlier, bad), None);
    let mut sketch = Sketch::new();
    sketch.add(1, 1, false);
    let beyond = here(sketch.offset + 8);
    sketch.marked(beyond);
    assert_eq!(find(&sketch, bad), None);
}

#[test]
fn bytes_full_of_what_looks_like_marked_records_do_not_slow_the_search() {
    let mut sketch = Sketch::new();
    let bad = sketch.offset;
    let long = u16::MAX / 2;
    while sketch.offset + 16 <= SEGMENT_BYTES - 4096 {
        let [a, b] = long.to_le_bytes();
        let mut forged = vec![
            1,
            2,
            3,
            4,
            crate::format::kind::ADD,
            crate::format::flag::MARKED,
            a,
            b,
        ];
        forged.extend_from_slice(&here(bad + 8).to_bits().to_le_bytes());
        sketch.put(&forged);
    }
    // About fifty thousand forged records of a quarter of a megabyte each: 13 GB if each were read.
    assert_eq!(find(&sketch, bad), None);
    let mark = here(bad + 8);
    sketch.marked(mark);
    assert_eq!(find(&sketch, bad), Some(mark));
}

#[test]
fn nothing_is_found_behind_the_end() {
    let sketch = Sketch::new();
    assert_eq!(find(&sketch, SEGMENT_BYTES), None);
    assert_eq!(find(&sketch, SEGMENT_BYTES - 8), None);
}

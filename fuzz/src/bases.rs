//! Directories to begin from: the fixtures of the tests, and one with every kind of record.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::encoder::{self, Life, Segment};

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

macro_rules! fixture {
    ($($name:literal: $($file:literal)*;)*) => {
        vec![$(BTreeMap::from([$((
            $file.to_owned(),
            include_bytes!(concat!("../../tests/fixtures/v1/", $name, "/", $file)).to_vec(),
        )),*])),*]
    };
}

/// All directories to begin from; the first is empty.
pub static BASES: LazyLock<Vec<Files>> = LazyLock::new(|| {
    let mut bases: Vec<Files> = fixture! {
        "empty": "store";
        "one_segment": "store" "slot-000000" "slot-000001";
        "wrapped": "store" "slot-000000" "slot-000001" "slot-000002" "slot-000003" "slot-000004"
            "slot-000005";
        "stale": "store" "slot-000000" "slot-000001" "slot-000002" "slot-000003" "slot-000004"
            "slot-000005";
        "cleared": "store" "slot-000000" "slot-000001" "slot-000002" "slot-000003";
        "every_kind": "store" "slot-000000" "slot-000001" "slot-000002" "slot-000003";
        "torn": "store" "slot-000000" "slot-000001";
        "damaged": "store" "slot-000000" "slot-000001";
        "settings": "store" "slot-000000" "slot-000001" "slot-000002" "slot-000003";
    };
    bases.insert(0, Files::new());
    bases.push(written(&samples()));
    bases
});

/// A record with its kind and flags, without padding and checksum.
pub fn framed(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    encoder::framed(kind, flags, &[body])
}

fn words(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Every kind of record once or more, in an order that makes sense.
pub fn samples() -> Vec<Vec<u8>> {
    let (three, one, long) = (&3_u32.to_le_bytes(), &1_u32.to_le_bytes(), u64::to_le_bytes);
    let (end, whole, carried) = (1 << 7, 1 << 5, 1 << 6);
    let definition = words(&[
        three,
        &[0, 0, 0, 0],
        &0_u32.to_le_bytes(),
        &long(10),
        &long(0),
        &long(1),
        &long(0),
        &long(100),
        b"orders",
    ]);
    let add = |kind: u8, ordinal: u64| words(&[&[kind], three, &long(ordinal)]);
    let elements = words(&[
        &add(1, 9),
        one,
        b"t",
        &add(2, 10),
        &[2],
        b"va",
        one,
        b"u",
        &add(4, 2),
        &[13],
        one,
        b"b",
        one,
        b"v",
    ]);
    let prepared = words(&[&add(1, 0), one, b"p", &add(2, 0), &[1], b"v", one, b"q"]);
    let prepare = |id: &[u8]| {
        let head = words(&[
            &long(200),
            &long(5),
            one,
            &2_u32.to_le_bytes(),
            id,
            &prepared,
        ]);
        framed(10, end, &head)
    };
    let ordinals = words(&[&long(11), &long(0)]);
    vec![
        framed(8, end, &definition),
        framed(
            1,
            end | whole,
            &words(&[three, &long(200), &long(1), b"one"]),
        ),
        framed(1, end, &words(&[three, one, &5_u32.to_le_bytes(), b"two"])),
        framed(
            2,
            end,
            &words(&[three, &2_u32.to_le_bytes(), one, &[5], b"value", b"three"]),
        ),
        framed(
            2,
            end | whole,
            &words(&[three, &long(200), &long(4), &[1], b"v", b"four"]),
        ),
        framed(
            3,
            end | whole | carried,
            &words(&[three, &long(200), &long(1), b"one"]),
        ),
        framed(4, end, &words(&[three, &long(3), &long(300)])),
        framed(
            5,
            end,
            &words(&[three, &long(300), &long(5), &long(2), &[0], b"two"]),
        ),
        framed(1, end | 1 << 4, &words(&[three, one, one, b"large"])),
        framed(
            9,
            end,
            &words(&[&long(300), &4_u32.to_le_bytes(), &elements]),
        ),
        prepare(b"x"),
        framed(
            11,
            end,
            &words(&[&long(300), one, &2_u32.to_le_bytes(), b"x", &ordinals]),
        ),
        prepare(b"y"),
        framed(12, end, &words(&[&long(300), one, b"y"])),
        prepare(b"z"),
        framed(13, end, &words(&[&long(300), one, b"b", b"17"])),
        framed(14, end | 1 << 3, &[0; 8]),
        framed(200, end, b"of a later version"),
        framed(6, end, &words(&[three, &long(5), &long(400)])),
        framed(16, end, &long(1)),
        framed(7, end, &words(&[three, &[0; 4], &long(12), &long(500)])),
    ]
}

/// A store of one segment that holds these records.
pub fn written(records: &[Vec<u8>]) -> Files {
    let life = Life {
        identity: *b"identity-of-this",
        number: 1,
        salt: 7,
    };
    let mut segment = Segment::new(life, None, 8192);
    for record in records {
        segment.put(record);
    }
    BTreeMap::from([
        ("store".to_owned(), encoder::store_file(&life)),
        ("slot-000000".to_owned(), segment.into_bytes()),
    ])
}

//! A copy is read back; every other is told apart in the order of docs/format.md.

use super::*;
use crate::format::{Field, head};

fn copy() -> StoreCopy {
    StoreCopy {
        identity: *b"identity-of-this",
        generation: 5,
        mark_number: SegmentNumber(8),
        mark_salt: 13,
        mark_end: 16_384,
        first_number: SegmentNumber(6),
        first_salt: 17,
    }
}

fn changed(field: Field, value: &[u8]) -> Parsed<StoreCopy> {
    let mut bytes = copy().encode();
    put(&mut bytes, field, value);
    finish(&mut bytes);
    StoreCopy::parse(&bytes)
}

#[test]
fn a_copy_is_read_back() {
    assert_eq!(StoreCopy::parse(&copy().encode()), Parsed::Valid(copy()));
    let empty = StoreCopy {
        mark_number: SegmentNumber(0),
        first_number: SegmentNumber(0),
        ..copy()
    };
    assert_eq!(StoreCopy::parse(&empty.encode()), Parsed::Valid(empty));
}

#[test]
fn every_flipped_bit_and_every_cut_is_not_valid() {
    let bytes = copy().encode();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(StoreCopy::parse(&flipped), Parsed::NotValid, "bit {bit}");
    }
    for end in 0..bytes.len() {
        assert_eq!(
            StoreCopy::parse(&bytes[..end]),
            Parsed::NotValid,
            "cut at {end}"
        );
    }
}

#[test]
fn newer_and_impossible_copies_are_told_apart() {
    let newer = Parsed::Newer {
        what: "version",
        found: 2,
    };
    assert_eq!(changed(head::VERSION, &2_u32.to_le_bytes()), newer);
    let newer = Parsed::Newer {
        what: "epoch",
        found: 7,
    };
    assert_eq!(changed(head::EPOCH, &7_u64.to_le_bytes()), newer);
    let above = (SegmentNumber::MAX.0 + 1).to_le_bytes();
    let cases: [(Field, &[u8]); 6] = [
        (store::MARK_NUMBER, &above),
        (store::FIRST_NUMBER, &above),
        (store::FIRST_NUMBER, &[0; 8]),
        (store::GENERATION, &(1_u64 << 63).to_le_bytes()),
        (store::MARK_END, &4_u64.to_le_bytes()),
        (store::RESERVED, &[1; 28]),
    ];
    for (field, value) in cases {
        let parsed = changed(field, value);
        assert!(
            matches!(parsed, Parsed::Malformed(_)),
            "{field:?}: {parsed:?}"
        );
    }
}

//! A header is read back; every other is told apart in the order of docs/format.md.

use super::*;

fn header() -> SegmentHeader {
    SegmentHeader {
        identity: *b"identity-of-this",
        number: SegmentNumber(9),
        salt: 0x0102_0304_0506_0708,
        previous: SegmentNumber(7),
        previous_salt: 11,
        previous_end: 8192,
        oldest_needed: SegmentNumber(3),
        base_time: Ticks(170_000_000_000),
        segment_bytes: 1 << 20,
    }
}

/// The header with one field changed and the checksum that is right for it.
fn changed(field: Field, value: &[u8]) -> Parsed<SegmentHeader> {
    let mut bytes = header().encode();
    put(&mut bytes, field, value);
    finish(&mut bytes);
    SegmentHeader::parse(&bytes)
}

#[test]
fn a_header_is_read_back() {
    let mut block = header().encode().to_vec();
    assert_eq!(SegmentHeader::parse(&block), Parsed::Valid(header()));
    block.resize(4096, 0xee);
    assert_eq!(SegmentHeader::parse(&block), Parsed::Valid(header()));
    assert_eq!(
        changed(head::COMPATIBLE, &[0xff; 4]),
        Parsed::Valid(header())
    );
}

#[test]
fn every_flipped_bit_and_every_cut_is_not_valid() {
    let bytes = header().encode();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            SegmentHeader::parse(&flipped),
            Parsed::NotValid,
            "bit {bit}"
        );
    }
    for end in 0..bytes.len() {
        assert_eq!(
            SegmentHeader::parse(&bytes[..end]),
            Parsed::NotValid,
            "cut at {end}"
        );
    }
    assert_eq!(SegmentHeader::parse(&[0; 4096]), Parsed::NotValid);
}

#[test]
fn newer_formats_are_told_by_what_is_newer() {
    let newer = |what, found| Parsed::Newer { what, found };
    assert_eq!(
        changed(head::VERSION, &2_u32.to_le_bytes()),
        newer("version", 2)
    );
    let features = changed(head::INCOMPATIBLE, &4_u32.to_le_bytes());
    assert_eq!(features, newer("incompatible features", 4));
    assert_eq!(
        changed(head::EPOCH, &1_u64.to_le_bytes()),
        newer("epoch", 1)
    );
    let algorithm = changed(segment::ALGORITHM, &2_u32.to_le_bytes());
    assert_eq!(algorithm, newer("checksum algorithm", 2));
}

#[test]
fn a_longer_header_of_a_newer_version_is_newer() {
    let mut block = header().encode().to_vec();
    block.resize(4096, 0);
    block[head::HEADER_BYTES.offset..head::HEADER_BYTES.end()]
        .copy_from_slice(&256_u32.to_le_bytes());
    block[head::VERSION.offset] = 3;
    let checksum = crc32fast::hash(&block[..252]);
    block[252..256].copy_from_slice(&checksum.to_le_bytes());
    let newer = Parsed::Newer {
        what: "version",
        found: 3,
    };
    assert_eq!(SegmentHeader::parse(&block), newer);
    assert_eq!(SegmentHeader::parse(&block[..255]), Parsed::NotValid);
    for bytes in [0_u32, 127, 4097, u32::MAX] {
        let length = changed(head::HEADER_BYTES, &bytes.to_le_bytes());
        assert_eq!(length, Parsed::NotValid);
    }
}

#[test]
fn impossible_content_is_malformed() {
    let above = (SegmentNumber::MAX.0 + 1).to_le_bytes();
    let cases: [(Field, &[u8]); 10] = [
        (segment::NUMBER, &[0; 8]),
        (segment::NUMBER, &above),
        (segment::PREVIOUS_NUMBER, &9_u64.to_le_bytes()),
        (segment::PREVIOUS_NUMBER, &[0xff; 8]),
        (segment::PREVIOUS_END, &8193_u64.to_le_bytes()),
        (segment::OLDEST_NEEDED, &10_u64.to_le_bytes()),
        (segment::SEGMENT_BYTES, &1025_u64.to_le_bytes()),
        (segment::SEGMENT_BYTES, &[0; 8]),
        (
            segment::SEGMENT_BYTES,
            &(SEGMENT_BYTES_MAX + 1024).to_le_bytes(),
        ),
        (segment::RESERVED, &[0, 0, 0, 0, 0, 0, 0, 1]),
    ];
    for (field, value) in cases {
        let parsed = changed(field, value);
        assert!(
            matches!(parsed, Parsed::Malformed(_)),
            "{field:?} {value:?}: {parsed:?}"
        );
    }
}

//! What is not a record of this very place is refused, and so is impossible content.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;

use super::samples::{BASE, BYTES_MAX, IDENTITY, NUMBER, OFFSET, Parts, SALT, place, read, seed};
use super::*;
use crate::format::{flag, kind};

/// One record of every kind, some with a mark, and a short add.
fn samples(seed: &Seed) -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    let parts = Parts::example();
    for mark in [None, Some(Position::new(NUMBER, OFFSET - 64))] {
        let place = Place {
            mark,
            ..place(seed)
        };
        parts.each(|record| {
            let mut bytes = Vec::new();
            encode(&mut bytes, &place, &record);
            samples.push(bytes);
            if let Record::Add(add) = record {
                let mut bytes = Vec::new();
                assert_eq!(encode_add(&mut bytes, &place, &add, BASE), AddForm::Short);
                samples.push(bytes);
            }
        });
    }
    samples
}

/// Gives changed bytes the checksum that is right for them.
fn reseal(bytes: &mut [u8]) {
    let checksum = seed().checksum(OFFSET, &bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn a_record_of_another_place_is_refused() {
    let here = seed();
    let others = [
        Seed::new(&IDENTITY, SALT, SegmentNumber(NUMBER.0 + 1)),
        Seed::new(&IDENTITY, SALT + 1, NUMBER),
        Seed::new(b"another-identity", SALT, NUMBER),
    ];
    for bytes in samples(&here) {
        assert!(read(&bytes, &here, OFFSET).is_ok());
        assert_eq!(read(&bytes, &here, OFFSET + 8), Err(Stop::Checksum));
        for other in &others {
            assert_eq!(read(&bytes, other, OFFSET), Err(Stop::Checksum));
        }
    }
}

#[test]
fn every_flipped_bit_is_seen() {
    let seed = seed();
    for bytes in samples(&seed) {
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let result = read(&changed, &seed, OFFSET);
            let is_refused = matches!(result, Err(Stop::Checksum | Stop::Length | Stop::TooShort));
            assert!(is_refused, "bit {bit} of {bytes:?}: {result:?}");
        }
    }
}

#[test]
fn every_cut_is_seen() {
    let seed = seed();
    for bytes in samples(&seed) {
        for end in 0..bytes.len() {
            let result = read(&bytes[..end], &seed, OFFSET);
            assert!(
                matches!(result, Err(Stop::TooShort | Stop::Length)),
                "cut at {end}"
            );
            // The same with zeros or older bytes in place of what is missing.
            for rest in [0, 0xff] {
                let mut torn = bytes.clone();
                torn[end..].fill(rest);
                let result = read(&torn, &seed, OFFSET);
                assert!(torn == bytes || result.is_err(), "torn at {end}");
            }
        }
    }
}

#[test]
fn hostile_lengths_are_refused_before_anything_is_read() {
    let seed = seed();
    let frame = |flags: u8, units: u16, rest: u64| {
        let mut bytes = vec![1, 2, 3, 4, kind::ADD, flags];
        bytes.extend_from_slice(&units.to_le_bytes());
        bytes.extend_from_slice(&rest.to_le_bytes());
        bytes.resize(64, 0);
        read(&bytes, &seed, OFFSET).map(|_| ())
    };
    assert_eq!(frame(0, 0, 0), Err(Stop::Length));
    assert_eq!(frame(0, 9, 0), Err(Stop::Length));
    assert_eq!(frame(0, u16::MAX, 0), Err(Stop::Length));
    assert_eq!(frame(7, 1, 0), Err(Stop::Length));
    assert_eq!(frame(flag::MARKED, 1, 0), Err(Stop::Length));
    assert_eq!(frame(flag::LARGE, 1, 2), Err(Stop::Length));
    assert_eq!(frame(flag::LARGE, 0, 0), Err(Stop::Length));
    assert_eq!(frame(flag::LARGE, 0, 1), Err(Stop::Length));
    assert_eq!(
        frame(flag::LARGE, 0, u64::from(u32::MAX)),
        Err(Stop::Length)
    );
    assert_eq!(frame(flag::LARGE, 0, 8), Err(Stop::Checksum));
    for bytes in samples(&seed) {
        let most = bytes.len() as u64 - 8;
        let base = |_| BASE.ordinal;
        assert_eq!(
            decode(&bytes, (&seed, OFFSET), most, base, BASE.time),
            Err(Stop::Length)
        );
    }
}

#[test]
fn zeros_are_no_record() {
    assert_eq!(read(&[0; 64], &seed(), OFFSET), Err(Stop::Zeros));
    assert_eq!(read(&[0; 7], &seed(), OFFSET), Err(Stop::TooShort));
    assert_eq!(read(&[], &seed(), OFFSET), Err(Stop::TooShort));
}

#[test]
fn unknown_kinds_are_newer_or_skipped() {
    let seed = seed();
    let mut bytes = Vec::new();
    encode(&mut bytes, &place(&seed), &Record::Skipped { kind: 200 });
    for kind in 0..=u8::MAX {
        bytes[4] = kind;
        reseal(&mut bytes);
        match (
            kind,
            read(&bytes, &seed, OFFSET).map(|decoded| decoded.record),
        ) {
            (0..17, Err(Stop::Malformed(_))) => {}
            (17..128, Err(Stop::NewerKind(found))) => assert_eq!(found, kind),
            (128, Err(Stop::Malformed(_))) => {}
            (129.., Ok(Record::Skipped { kind: found })) => assert_eq!(found, kind),
            (_, other) => panic!("kind {kind}: {other:?}"),
        }
    }
}

/// Encodes `record`, puts `with` at `at`, makes the checksum right, and gives the reason of the
/// refusal.
#[track_caller]
fn refused(
    record: &Record<'_>,
    mark: Option<Position>,
    changes: &[(usize, &[u8])],
) -> &'static str {
    let seed = seed();
    let mut bytes = Vec::new();
    encode(
        &mut bytes,
        &Place {
            mark,
            ..place(&seed)
        },
        record,
    );
    for (at, with) in changes {
        bytes[*at..*at + with.len()].copy_from_slice(with);
    }
    reseal(&mut bytes);
    match read(&bytes, &seed, OFFSET) {
        Err(Stop::Malformed(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn impossible_content_is_refused_after_the_checksum() {
    let high = (1_u64 << 63).to_le_bytes();
    let zero = [0; 8];
    let add = Add {
        address: 1,
        ordinal: Ordinal(5),
        time: Ticks(6),
        value: None,
        id: b"1234",
    };
    let record = Record::Add(add);
    let refuse_add = |at, with| refused(&record, None, &[(at, with)]);
    assert_eq!(refuse_add(20, &zero), "an ordinal is 0");
    assert_eq!(refuse_add(20, &high), "an ordinal is too high");
    assert_eq!(
        refuse_add(5, &[flag::CARRIED | flag::WHOLE]),
        "a carried add has the wrong kind"
    );
    assert_eq!(
        refuse_add(4, &[kind::CARRIED_ADD]),
        "a carried add is not whole"
    );
    assert_eq!(
        refuse_add(4, &[kind::ADD_WITH_VALUE]),
        "a length goes beyond the body"
    );
    assert_eq!(refuse_add(5, &[flag::WHOLE | 1]), "the padding is not zero");
    let here = Position::new(NUMBER, OFFSET).to_bits();
    for bits in [here + 1, here + (1 << 27), u64::MAX] {
        let reason = refused(
            &record,
            Some(Position::default()),
            &[(8, &bits.to_le_bytes())],
        );
        assert_eq!(reason, "a mark lies beyond its own record");
    }
    let valued = Record::Add(Add {
        value: Some(b"v"),
        ..add
    });
    assert_eq!(
        refused(&valued, None, &[(28, &[0])]),
        "an add with value has none"
    );
    let remove = Record::Remove {
        address: 1,
        ordinal: Ordinal(5),
        time: Ticks(6),
    };
    assert_eq!(refused(&remove, None, &[(12, &zero)]), "an ordinal is 0");
    let whole = [flag::WHOLE | 4];
    let reason = "a record that is no add is in the long form";
    assert_eq!(refused(&remove, None, &[(5, &whole)]), reason);
    assert_eq!(refused(&remove, None, &[(5, &[0])]), "the body is too long");
    assert_eq!(
        refused(&remove, None, &[(5, &[7])]),
        "the body is too short"
    );
    let renew = Record::Renew {
        add,
        old: Ordinal(4),
    };
    let newest = 5_u64.to_le_bytes();
    let reason = "a renew does not lead to a newer place";
    assert_eq!(refused(&renew, None, &[(28, &newest)]), reason);
    let seal = Record::Seal {
        number: SegmentNumber(NUMBER.0 + 1),
        salt: 3,
    };
    let reason = "a seal names an impossible next segment";
    for number in [0, NUMBER.0, SegmentNumber::MAX.0 + 1] {
        assert_eq!(refused(&seal, None, &[(8, &number.to_le_bytes())]), reason);
    }
    let release = Record::Release { oldest: NUMBER };
    for number in [0, NUMBER.0 + 1] {
        let reason = refused(&release, None, &[(8, &number.to_le_bytes())]);
        assert_eq!(reason, "a release names an impossible segment");
    }
}

#[test]
fn impossible_definitions_and_lists_are_refused() {
    Parts::example().each(|record| match record {
        Record::Definition(_) => {
            let reason = |at, with| refused(&record, None, &[(at, with)]);
            assert_eq!(reason(12, &[2]), "a definition has an unknown namespace");
            assert_eq!(reason(13, &[4]), "a definition has an unknown origin");
            assert_eq!(reason(14, &[1]), "reserved bytes are not zero");
            let capacity = ((1_u64 << 31) + 1).to_le_bytes();
            assert_eq!(reason(20, &capacity), "a capacity is too high");
            assert_eq!(reason(43, &[0x80]), "an ordinal is too high");
        }
        Record::Transaction { .. } => {
            let reason = |at, with| refused(&record, None, &[(at, with)]);
            assert_eq!(reason(16, &[5]), "the body is too short");
            assert_eq!(reason(16, &[0xff; 4]), "the body is too short");
            assert_eq!(reason(16, &[3]), "the body is too long");
            assert_eq!(reason(20, &[3]), "an element has an unknown kind");
            assert_eq!(reason(25, &[0; 8]), "an ordinal is 0");
            assert_eq!(reason(33, &[0xff; 4]), "a length goes beyond the body");
        }
        Record::Prepare { transaction, .. } => {
            let at = 32 + transaction.len() + 5;
            let reason = refused(&record, None, &[(at, &[2])]);
            assert_eq!(reason, "an add is prepared with an ordinal");
        }
        Record::Commit { .. } => {
            let reason = refused(&record, None, &[(20, &[0xff; 4])]);
            assert_eq!(reason, "the count of ordinals is not theirs");
        }
        _ => {}
    });
}

#[test]
fn a_short_add_without_base_is_malformed() {
    let seed = seed();
    let add = Add {
        address: 1,
        ordinal: Ordinal(1005),
        time: Ticks(6000),
        value: None,
        id: b"1",
    };
    let mut bytes = Vec::new();
    encode_add(&mut bytes, &place(&seed), &add, BASE);
    let read = |base: Option<u64>, time| {
        decode(
            &bytes,
            (&seed, OFFSET),
            BYTES_MAX,
            |_| base.map(Ordinal),
            Ticks(time),
        )
        .err()
    };
    assert_eq!(
        read(None, 5000),
        Some(Stop::Malformed("a short add has no base"))
    );
    let high = Some(Stop::Malformed("an ordinal is too high"));
    assert_eq!(
        (read(Some(u64::MAX), 5000), read(Some((1 << 63) - 5), 5000)),
        (high, high)
    );
    assert_eq!(
        read(Some(1000), u64::MAX),
        Some(Stop::Malformed("a time is too high"))
    );
    assert_eq!(read(Some(1000), 5000), None);
}

/// A byte of a body: most often a small number, so that some bodies are right.
fn body_byte() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(0), 2 => 0_u8..16, 1 => any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Whatever the bytes: no panic, and what is accepted is what would be written.
    #[test]
    fn what_is_accepted_is_what_would_be_written(
        kind in prop_oneof![8 => 0_u8..20, 1 => Just(128), 1 => any::<u8>()], flags: u8,
        body in proptest::collection::vec(body_byte(), 0..120),
    ) {
        let flags = flags & !flag::LARGE;
        let mut bytes = vec![0, 0, 0, 0, kind, flags, 0, 0];
        bytes.extend_from_slice(&body);
        bytes.resize(bytes.len() / 8 * 8, 0);
        bytes[6] = u8::try_from(bytes.len() / 8).unwrap();
        reseal(&mut bytes);
        let seed = seed();
        let Ok(decoded) = read(&bytes, &seed, OFFSET) else { return Ok(()) };
        let Decoded { mark, carried, end_of_group, .. } = decoded;
        let place = Place { seed: &seed, offset: OFFSET, mark, carried, end_of_group };
        let mut again = Vec::new();
        match &decoded.record {
            Record::Skipped { .. } => return Ok(()),
            Record::Add(add) if !decoded.whole => {
                encode_add(&mut again, &place, add, BASE);
            }
            record => encode(&mut again, &place, record),
        }
        prop_assert_eq!(again, bytes);
    }
}

//! What is encoded is read back, in the length that was said before.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;

use super::length::{CLEAR_BODY_BYTES, DROP_BODY_BYTES, REMOVE_BODY_BYTES, framed_bytes};
use super::samples::{BASE, IDENTITY, NUMBER, OFFSET, Parts, SALT, place, read, seed};
use super::*;
use crate::format::{self, frame};

fn parts() -> impl Strategy<Value = Parts> {
    let bytes = |max| proptest::collection::vec(any::<u8>(), 0..=max);
    let numbers = (any::<u32>(), 2..(1_u64 << 63), any::<u64>(), any::<bool>());
    (numbers, bytes(80), bytes(255), bytes(3000)).prop_map(|(numbers, short, value, long)| {
        let (address, ordinal, number, flag) = numbers;
        Parts {
            address,
            ordinal,
            number,
            flag,
            short,
            value,
            long,
        }
    })
}

fn mark() -> impl Strategy<Value = Option<Position>> {
    let earlier = (0..NUMBER.0, 0..(1_u64 << 29));
    let place = prop_oneof![earlier, (Just(NUMBER.0), 0..=OFFSET)];
    proptest::option::of(
        place.prop_map(|(number, offset)| Position::new(SegmentNumber(number), offset)),
    )
}

proptest! {
    #[test]
    fn every_kind_is_read_back(
        parts in parts(), mark in mark(), carried: bool, end_of_group: bool,
        above in 0_u64..1 << 20,
    ) {
        let seed = seed();
        let offset = OFFSET + above * 8;
        let place = Place { seed: &seed, offset, mark, carried, end_of_group };
        parts.each(|record| {
            let mut bytes = vec![0xaa];
            encode(&mut bytes, &place, &record);
            let decoded = read(&bytes[1..], &seed, offset).unwrap();
            assert_eq!(decoded.bytes, (bytes.len() - 1) as u64);
            assert_eq!(decoded.bytes, encoded_bytes(&record, mark.is_some()));
            assert_eq!((decoded.mark, decoded.carried), (mark, carried));
            assert_eq!(decoded.end_of_group, end_of_group);
            assert_eq!(decoded.whole, matches!(record, Record::Add(_)));
            assert_eq!(decoded.record, record);
        });
    }

    #[test]
    fn an_add_takes_the_shortest_form(
        parts in parts(), mark in mark(), carried: bool, ordinal_delta in 0_u64..1 << 33,
        time_delta in 0_u64..1 << 33, has_base: bool,
    ) {
        let seed = seed();
        let place = Place { mark, carried, ..place(&seed) };
        let base = Base { ordinal: BASE.ordinal.filter(|_| has_base), ..BASE };
        for value in [None, Some(&parts.value[..])] {
            let add = Add {
                address: parts.address,
                ordinal: Ordinal(1000 + ordinal_delta),
                time: Ticks(5000 + time_delta),
                value: value.filter(|value| !value.is_empty()),
                id: &parts.short,
            };
            let mut bytes = Vec::new();
            let form = encode_add(&mut bytes, &place, &add, base);
            let fits = ordinal_delta.max(time_delta) <= u64::from(u32::MAX);
            let is_short = has_base && fits && !carried;
            prop_assert_eq!(form == AddForm::Short, is_short);
            let value_bytes = value.map_or(0, <[u8]>::len);
            let expected = add_bytes(parts.short.len(), value_bytes, form, mark.is_some());
            prop_assert_eq!(bytes.len() as u64, expected);
            let decoded = read(&bytes, &seed, OFFSET).unwrap();
            prop_assert_eq!((decoded.whole, decoded.mark), (!is_short, mark));
            prop_assert_eq!(decoded.record, Record::Add(add));
        }
    }
}

#[test]
fn a_usual_add_takes_the_promised_bytes() {
    let seed = seed();
    let parts = Parts::example();
    let add = Add {
        address: 7,
        ordinal: Ordinal(1042),
        time: Ticks(6000),
        value: None,
        id: &parts.short,
    };
    let bytes = |mark, carried| {
        let mut out = Vec::new();
        encode_add(
            &mut out,
            &Place {
                mark,
                carried,
                ..place(&seed)
            },
            &add,
            BASE,
        );
        out.len()
    };
    let mark = Some(Position::new(NUMBER, OFFSET));
    assert_eq!(
        (bytes(None, false), bytes(mark, false), bytes(None, true)),
        (56, 64, 64)
    );
    let seal = Record::Seal {
        number: SegmentNumber(NUMBER.0 + 1),
        salt: 1,
    };
    assert_eq!(encoded_bytes(&seal, true), format::SEAL_BYTES);
    let release = Record::Release { oldest: NUMBER };
    assert_eq!(encoded_bytes(&release, true), format::RELEASE_BYTES);
}

#[test]
fn lengths_are_known_beforehand() {
    let parts = Parts::example();
    let body = parts.elements(true);
    let adds = [None, Some(&parts.value[..])]
        .map(|value| TransactionBody::add_bytes(parts.short.len(), value));
    let bookmark = TransactionBody::bookmark_bytes(&parts.short, &parts.long);
    let element_bytes = adds[0] + adds[1] + TransactionBody::REMOVE_BYTES + bookmark;
    for marked in [false, true] {
        let framed = |bytes| framed_bytes(bytes, marked);
        parts.each(|record| {
            let expected = match &record {
                Record::Remove { .. } => framed(REMOVE_BODY_BYTES),
                Record::Clear { .. } => framed(CLEAR_BODY_BYTES),
                Record::Drop { other: None, .. } => framed(DROP_BODY_BYTES),
                Record::Definition(definition) => definition_bytes(definition.name.len(), marked),
                Record::Transaction { .. } => transaction_bytes(element_bytes, marked),
                _ => return,
            };
            assert_eq!(encoded_bytes(&record, marked), expected, "{record:?}");
        });
    }
    assert_eq!(body.elements().count(), 4);
}

#[test]
fn a_mark_record_is_read_back_only_with_its_mark() {
    let seed = seed();
    let mark = Some(Position::new(NUMBER, OFFSET));
    let mut bytes = Vec::new();
    encode(
        &mut bytes,
        &Place {
            mark,
            ..place(&seed)
        },
        &Record::Mark,
    );
    assert_eq!(bytes.len(), frame::BYTES + frame::MARK_BYTES);
    assert_eq!(read(&bytes, &seed, OFFSET).unwrap().mark, mark);
    bytes.clear();
    encode(&mut bytes, &place(&seed), &Record::Mark);
    assert!(matches!(
        read(&bytes, &seed, OFFSET),
        Err(Stop::Malformed(_))
    ));
}

#[test]
fn a_long_transaction_takes_the_large_form() {
    let seed = seed();
    let id = vec![b'x'; 65_536];
    let (address, ordinal) = (1, Ordinal(9));
    let element = Element::Add {
        address,
        ordinal,
        value: None,
        id: &id,
    };
    let mut body = TransactionBody::default();
    (0..9).for_each(|_| body.push(element));
    for mark in [None, Some(Position::new(NUMBER, 64))] {
        let record = Record::Transaction {
            time: Ticks(3),
            elements: body.elements(),
        };
        let mut bytes = Vec::new();
        encode(
            &mut bytes,
            &Place {
                mark,
                ..place(&seed)
            },
            &record,
        );
        assert_eq!(
            (bytes[6], bytes[7], bytes[5] & format::flag::LARGE),
            (0, 0, format::flag::LARGE)
        );
        assert_eq!(bytes.len() as u64, encoded_bytes(&record, mark.is_some()));
        let decoded = read(&bytes, &seed, OFFSET).unwrap();
        assert_eq!((decoded.mark, decoded.bytes), (mark, bytes.len() as u64));
        let Record::Transaction { elements, .. } = decoded.record else {
            panic!("a transaction")
        };
        assert!(elements.eq(std::iter::repeat_n(element, 9)));
    }
}

#[test]
fn the_longest_short_form_and_the_shortest_large_form_meet() {
    let seed = seed();
    let most = usize::from(u16::MAX) * 8;
    for name_bytes in [most - 21, most - 20, most - 19] {
        let value = vec![1; name_bytes];
        let record = Record::Bookmark {
            time: Ticks(1),
            name: b"",
            value: &value,
        };
        let mut bytes = Vec::new();
        encode(&mut bytes, &place(&seed), &record);
        assert_eq!(bytes.len() > most, name_bytes > most - 20);
        assert_eq!(read(&bytes, &seed, OFFSET).unwrap().record, record);
    }
}

#[test]
fn numbers_near_each_other_begin_from_different_states() {
    let state = |number: u64| {
        Seed::new(&IDENTITY, SALT, SegmentNumber(number)).checksum(OFFSET, b"the same bytes")
    };
    let mut states: Vec<u32> = (1..5000).map(state).collect();
    states.extend((0..32).map(|bit| state(5000 + (1 << bit))));
    states.sort_unstable();
    let count = states.len();
    states.dedup();
    assert_eq!(states.len(), count);
    assert_eq!(
        state(5),
        state(5 + (1 << 32)),
        "only the lower 32 bits enter"
    );
}

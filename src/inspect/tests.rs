//! Records that no call writes yet, and records that contradict each other.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use super::*;
use crate::error::DamageReason;
use crate::format::ADDRESSES_MAX;
use crate::ids::{Namespace, Ordinal, Owner};
use crate::record::{OrdinalsBody, Place, TransactionBody, encode};
use crate::segment::SegmentHeader;
use crate::storage::MemoryStorage;
use crate::store_file::StoreCopy;

/// A store of one segment that holds `records`.
fn written(records: &[Record<'_>]) -> MemoryStorage {
    let header = SegmentHeader {
        identity: *b"identity-of-this",
        number: SegmentNumber(1),
        salt: 7,
        previous: SegmentNumber(0),
        previous_salt: 0,
        previous_end: 0,
        oldest_needed: SegmentNumber(1),
        base_time: Ticks(100),
        segment_bytes: 8192,
    };
    let seed = header.seed();
    let mut bytes = vec![0; 2048];
    bytes[..128].copy_from_slice(&header.encode());
    bytes[1024..1152].copy_from_slice(&header.encode());
    for record in records {
        let place = Place {
            seed: &seed,
            offset: bytes.len() as u64,
            mark: None,
            carried: false,
            end_of_group: true,
        };
        encode(&mut bytes, &place, record);
    }
    bytes.resize(8192, 0);
    let copy = StoreCopy {
        identity: header.identity,
        generation: 1,
        mark_number: SegmentNumber(0),
        mark_salt: 0,
        mark_end: 0,
        first_number: header.number,
        first_salt: header.salt,
    };
    let mut store = vec![0; 8192];
    store[..128].copy_from_slice(&copy.encode());
    store[4096..4224].copy_from_slice(&copy.encode());
    let storage = MemoryStorage::new();
    for (name, bytes) in [("store", store), ("slot-000000", bytes)] {
        storage.create(name).unwrap().write_at(0, &bytes).unwrap();
    }
    storage
}

fn definition(address: u32, name: &'static [u8]) -> Record<'static> {
    Record::Definition(Definition {
        address,
        namespace: Namespace::Client,
        by_call: false,
        age_by_call: false,
        incarnation: 0,
        capacity: 10,
        max_age: 0,
        floor: Ordinal(1),
        last: Ordinal(0),
        time: Ticks(100),
        name,
    })
}

#[test]
fn kinds_that_no_call_writes_yet_are_read_and_counted() {
    let mut body = TransactionBody::default();
    for id in [b"one", b"two"] {
        body.push(Element::Add {
            address: 3,
            ordinal: Ordinal(0),
            value: None,
            id,
        });
    }
    let mut ordinals = OrdinalsBody::default();
    [1, 0]
        .into_iter()
        .for_each(|ordinal| ordinals.push(Ordinal(ordinal)));
    let prepare = |transaction| Record::Prepare {
        time: Ticks(200),
        owner: Owner(5),
        transaction,
        elements: body.elements(),
    };
    let add = Add {
        address: 3,
        ordinal: Ordinal(2),
        time: Ticks(300),
        value: Some(b"value"),
        id: b"three",
    };
    let renewed = Add {
        ordinal: Ordinal(3),
        ..add
    };
    let records = [
        definition(3, b"orders"),
        prepare(b"committed"),
        Record::Commit {
            time: Ticks(250),
            transaction: b"committed",
            ordinals: ordinals.ordinals(),
        },
        prepare(b"rolled back"),
        Record::RollBack {
            time: Ticks(250),
            transaction: b"rolled back",
        },
        prepare(b"waiting"),
        Record::Add(add),
        Record::Renew {
            add: renewed,
            old: Ordinal(2),
        },
        Record::Bookmark {
            time: Ticks(250),
            name: b"place",
            value: b"17",
        },
        Record::Skipped { kind: 200 },
    ];
    let storage = written(&records);
    let mut inspection = Inspection::on(storage).unwrap();
    let mut kinds = Vec::new();
    let visit = &mut |item: &Item<'_>| {
        kinds.push((item.kind(), item.kind_name()));
        ControlFlow::Continue(())
    };
    inspection.records(visit).unwrap();
    let numbers: Vec<u8> = kinds.iter().map(|kind| kind.0).collect();
    assert_eq!(numbers, [8, 10, 11, 10, 12, 10, 2, 5, 13, 200], "{kinds:?}");
    let statistics = inspection.statistics().unwrap();
    assert_eq!((statistics.bookmarks, statistics.prepared), (1, 1));
    let orders = &statistics.addresses[0];
    assert_eq!((orders.live, orders.holes, orders.last), (2, 1, Ordinal(3)));
    let newest = orders.newest.as_ref().unwrap();
    assert_eq!((&*newest.id.0, newest.time), (&b"three"[..], Ticks(300)));
    let segment = statistics.segments[0];
    assert!(segment.live_bytes > orders.live_bytes + 100, "{segment:?}");
    assert!(segment.live_bytes < segment.record_bytes);
}

#[test]
fn contradictions_are_all_named() {
    let add = |address, ordinal| {
        Record::Add(Add {
            address,
            ordinal: Ordinal(ordinal),
            time: Ticks(300),
            value: None,
            id: b"id",
        })
    };
    let records = [
        definition(3, b"orders"),
        add(3, 5),
        add(3, 5),
        definition(3, b"bills"),
        add(ADDRESSES_MAX, 1),
    ];
    let storage = written(&records);
    let mut inspection = Inspection::on(storage).unwrap();
    let found = inspection.statistics().unwrap().findings;
    let reasons: Vec<_> = found.iter().map(|finding| finding.reason.clone()).collect();
    let expected = [
        "an ordinal does not rise",
        "an address has two names",
        "an address number is too high",
    ];
    assert_eq!(
        reasons,
        expected.map(|why| Reason::Damaged(DamageReason::Malformed(why)))
    );
    let nameless = written(&[add(3, 5)]);
    let found = Inspection::on(nameless)
        .unwrap()
        .statistics()
        .unwrap()
        .findings;
    assert_eq!(found.len(), 1, "{found:?}");
}

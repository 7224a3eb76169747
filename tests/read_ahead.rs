//! Promise: a store that is large enough to be read on several threads opens as a small one does:
//! the same IDs in the same order, the first damage named, nothing left out.
//!
//! Method: fill some twenty megabytes with adds and all other kinds of change among them, open
//! again, and damage what was written in many places; each verdict is held against that of the
//! inspection, which reads on one thread.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "support/mod.rs"]
mod support;

use idjournal::inspect::{Finding, FindingPlace, Inspection, Reason};
use idjournal::{Error, MemoryStorage, Options, Store};
use support::{Answers, answers, files, storage_of, uuid};

const SEGMENT_BYTES: u64 = 1 << 20;

fn options() -> Options {
    Options::default()
        .segment_bytes(SEGMENT_BYTES)
        .id_cache_size(100_000)
        .keeper(false)
}

fn open(storage: &MemoryStorage) -> idjournal::Result<Store> {
    Store::open_on(storage.clone(), options(), &mut |_| {})
}

/// A closed store of about twenty megabytes, and what it answers.
fn large() -> (MemoryStorage, Answers) {
    let storage = MemoryStorage::default();
    let store = Store::open_on(
        storage.clone(),
        options().sync_policy(idjournal::SyncPolicy::Manual),
        &mut |_| {},
    )
    .unwrap();
    let caches: Vec<_> = (0..7)
        .map(|number| store.cache(format!("address {number}")).unwrap())
        .collect();
    for number in 0..300_000 {
        let cache = &caches[number % 13 % 7];
        let _ = cache.add(uuid(number as u64)).unwrap();
        match number % 20_000 {
            7 => drop(cache.remove(uuid(number as u64 / 2)).wait().unwrap()),
            8 => drop(caches[5].clear().wait().unwrap()),
            9 => drop(store.drop_cache("address 6").wait().unwrap()),
            10 => cache.set_capacity(40_000 + number as u64).wait().unwrap(),
            11 => support::commit(
                &store,
                &[
                    (&caches[1], uuid(1 << 40 | number as u64)),
                    (&caches[2], uuid(1 << 41)),
                ],
            ),
            _ => {}
        }
    }
    let answered = answers(&store);
    drop(caches);
    store.close().unwrap();
    (storage, answered)
}

#[test]
fn a_large_store_opens_with_every_id_in_order() {
    let (storage, answered) = large();
    for _ in 0..3 {
        let store = open(&storage).unwrap();
        assert!(
            store.recovery().read_bytes > 10 << 20,
            "{:?}",
            store.recovery()
        );
        assert_eq!(answers(&store), answered);
        store.close().unwrap();
    }
}

#[test]
fn damage_in_a_large_store_is_named_as_on_one_thread() {
    let (storage, answered) = large();
    let whole = files(&storage);
    let mut refused = 0;
    for round in 0..40_usize {
        let mut damaged = whole.clone();
        // Two places in different segments: the first in the order of the walk counts.
        for part in 0..2 {
            let slots: Vec<_> = damaged
                .keys()
                .filter(|name| name.starts_with("slot"))
                .cloned()
                .collect();
            let name = &slots[(round * 7 + part * 5) % slots.len()];
            let bytes = damaged.get_mut(name).unwrap();
            let at = (round * 104_729 + part * 65_537) % bytes.len();
            bytes[at] ^= 1 << (round % 8);
        }
        let storage = storage_of(&damaged);
        let inspection = Inspection::on(storage.clone()).unwrap();
        match open(&storage) {
            Ok(store) => {
                assert!(!inspection.is_damaged(), "round {round}");
                assert_eq!(answers(&store), answered, "round {round}");
            }
            Err(Error::Damaged {
                segment,
                offset,
                reason,
                ..
            }) => {
                let is_it = |finding: &Finding| {
                    let named = &finding.place;
                    finding.reason == Reason::Damaged(reason)
                        && matches!(named, FindingPlace::Segment { number, offset: at, .. }
                            if (*number, *at) == (segment, offset))
                };
                assert!(
                    inspection.findings().iter().any(is_it),
                    "round {round}: {segment} at {offset}"
                );
                refused += 1;
            }
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    assert!(refused > 30, "{refused} refused");
}

//! Promise: a flipped bit is refused with segment, offset and reason, or changes no answer. In a
//! store that was not closed it may also look like a torn tail: then the state is one that was
//! passed through.
//!
//! Method: flip every bit of every file of a small store with every kind of record that the calls
//! write, and of one of many segments with every kind and form that the format has; closed and
//! killed. Cut the newest segment at every byte.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    reason = "how often what came of it is worth knowing"
)]

mod cuts;
mod every_kind;
mod flips;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use idjournal::{Error, MemoryStorage, Namespace, OnDuplicate, Owner, SegmentNumber, Store};

use support::{Answers, Files, answers, commit, files, open, repeatable, small, storage_of, uuid};

/// Fills `store` with records of every kind that a call writes, carried ones and releases included;
/// what it answered after each change.
fn every_kind(store: &Store) -> Vec<Answers> {
    let mut states = Vec::new();
    let orders = store.cache("orders").unwrap();
    let bridge = store.cache_in(Namespace::Bridge, "orders").unwrap();
    let bills = store.cache("bills").unwrap();
    bills.set_capacity(3).wait().unwrap();
    states.push(answers(store));
    for number in 0..14 {
        let _ = bills.add(uuid(number)).unwrap();
        states.push(answers(store));
    }
    let _ = orders.add("an ID").unwrap();
    states.push(answers(store));
    let _ = bridge.add(b"\x00\xff").unwrap();
    states.push(answers(store));
    commit(
        store,
        &[(&orders, uuid(1)), (&bridge, uuid(2)), (&bills, uuid(3))],
    );
    states.push(answers(store));
    assert!(orders.remove("an ID").wait().unwrap());
    states.push(answers(store));
    let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
    assert!(transaction.remove(&orders, uuid(1)).unwrap());
    let _ = transaction.add(&orders, uuid(5)).unwrap();
    transaction.commit().wait().unwrap();
    states.push(answers(store));
    assert_eq!(bridge.clear().wait().unwrap(), 2);
    states.push(answers(store));
    let _ = store.cache("short").unwrap().add("x").unwrap();
    states.push(answers(store));
    assert!(store.drop_cache("short").wait().unwrap());
    states.push(answers(store));
    // Three adds behind a sync, without another one that carrying brought along.
    let mut number = 20;
    loop {
        store.sync().wait_synced().unwrap();
        let syncs = store.stats().syncs;
        for _ in 0..3 {
            let _ = orders.add(uuid(number)).unwrap();
            states.push(answers(store));
            number += 1;
        }
        if store.stats().syncs == syncs {
            break;
        }
    }
    let stats = store.stats();
    assert!(stats.segments > 1 && stats.carried_records > 0, "{stats:?}");
    assert!(stats.segments_released > 0, "{stats:?}");
    states
}

/// Every place at which a bit is flipped: all of each slot, and of the store file all that is used.
fn places(files: &Files) -> Vec<(String, usize)> {
    let mut places = Vec::new();
    for (name, bytes) in files {
        for at in 0..bytes.len() {
            if name != "store" || at % 4096 < 128 || at % 256 == 0 {
                places.push((name.clone(), at));
            }
        }
    }
    places
}

/// Flips every bit in turn; what came of it by words, with how often.
fn flip_all(
    made: &Files,
    mut check: impl FnMut(&Answers, &str, usize),
) -> BTreeMap<&'static str, u64> {
    let mut outcomes = BTreeMap::new();
    let mut flipped = made.clone();
    for (name, at) in places(made) {
        for bit in 0..8 {
            flipped.get_mut(&name).unwrap()[at] ^= 1 << bit;
            let outcome = match open(storage_of(&flipped), small(1024)) {
                Ok(store) => {
                    check(&answers(&store), &name, at);
                    "opened"
                }
                Err(error @ Error::Damaged { .. }) => {
                    assert_names_place(&error, &name, at);
                    "damaged"
                }
                Err(other) => panic!("{name} byte {at} bit {bit}: {other:?}"),
            };
            *outcomes.entry(outcome).or_insert(0) += 1;
            flipped.get_mut(&name).unwrap()[at] ^= 1 << bit;
        }
    }
    outcomes
}

/// The error names a place at or before the flipped byte, in a segment, with a reason.
fn assert_names_place(error: &Error, name: &str, at: usize) {
    let Error::Damaged {
        place,
        segment,
        offset,
        reason,
    } = error
    else {
        panic!("{error:?}");
    };
    assert_ne!(
        *segment,
        SegmentNumber(0),
        "{name} byte {at}: one copy of two was flipped"
    );
    let words = error.to_string();
    for part in [
        place,
        &segment.to_string(),
        &offset.to_string(),
        &reason.to_string(),
    ] {
        assert!(words.contains(part), "{words}");
    }
    assert!(*offset <= at as u64, "{name} byte {at}: told at {offset}");
}

#[test]
fn every_bit_of_a_closed_store_is_refused_or_changes_nothing() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), repeatable(1024, 3).0).unwrap();
    let states = every_kind(&store);
    let known = states.last().unwrap();
    store.close().unwrap();
    let made = files(&storage);
    let outcomes = flip_all(&made, |now, name, at| {
        assert!(now == known, "{name} byte {at}: other answers");
    });
    assert!(outcomes["damaged"] > 1_000, "{outcomes:?}");
}

#[test]
fn every_bit_of_a_killed_store_is_refused_or_costs_unsynced_changes_only() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), repeatable(1024, 3).0).unwrap();
    let states = every_kind(&store);
    // The three last adds were not synced.
    let legal = &states[states.len() - 4..];
    let known = states.last().unwrap();
    let made = files(&storage);
    let mut shorter = 0;
    let outcomes = flip_all(&made, |now, name, at| {
        assert!(
            legal.contains(now),
            "{name} byte {at}: not a state since the sync"
        );
        shorter += u64::from(now != known);
    });
    assert!(
        outcomes["damaged"] > 500 && shorter > 500,
        "{outcomes:?} {shorter}"
    );
}

#[test]
fn a_sector_that_reads_as_zeros_or_as_noise_is_refused_or_changes_nothing() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), repeatable(1024, 3).0).unwrap();
    let states = every_kind(&store);
    store.close().unwrap();
    let made = files(&storage);
    let mut refused = 0;
    for (name, bytes) in made.iter().filter(|(name, _)| *name != "store") {
        for sector in (0..bytes.len()).step_by(64) {
            for length in [64, 512] {
                for noise in [0, 0x5a] {
                    let mut bad = made.clone();
                    let till = (sector + length).min(bytes.len());
                    bad.get_mut(name).unwrap()[sector..till].fill(noise);
                    match open(storage_of(&bad), small(1024)) {
                        Ok(store) => assert!(answers(&store) == *states.last().unwrap()),
                        Err(Error::Damaged { .. }) => refused += 1,
                        Err(other) => panic!("{name} from {sector}: {other:?}"),
                    }
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

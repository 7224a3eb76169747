//! Promise: what an earlier life of a slot left behind the end, and a record that was written in
//! another place, never comes alive.
//!
//! Method: a ring that has gone round is killed after every change; and every record of every slot,
//! of now and of earlier lives, is put behind the end of the last segment and in the place of every
//! other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use idjournal::{Error, MemoryStorage, Outcome, Store};

use support::{Files, answers, files, killed, open, repeatable, small, storage_of, uuid};

const BEGIN: usize = 256;

/// A store of 1 KiB segments whose slots have had several lives.
fn wrapped() -> (MemoryStorage, Store) {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), repeatable(1024, 4).0).unwrap();
    let orders = store.cache("orders").unwrap();
    orders.set_capacity(8).wait().unwrap();
    for number in 0..200 {
        let _ = orders.add(uuid(number)).unwrap();
    }
    assert!(store.stats().segments_released > 5);
    (storage, store)
}

/// Where the records of a slot begin and how long they are, by the lengths in them alone.
fn records(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = BEGIN;
    while let Some(units) = bytes.get(at + 6..at + 8) {
        let length = usize::from(u16::from_le_bytes([units[0], units[1]])) * 8;
        if length == 0 || at + length > bytes.len() {
            break;
        }
        found.push((at, length));
        at += length;
    }
    found
}

fn last_segment(files: &Files) -> (String, usize) {
    let store = open(storage_of(files), small(1024)).unwrap();
    let last = *store.recovery().segments.last().unwrap();
    (
        format!("slot-{:06}", last.slot.0),
        usize::try_from(last.end).unwrap(),
    )
}

#[test]
fn a_kill_at_any_moment_of_a_wrapped_ring_leaves_exactly_what_was_added() {
    let (storage, store) = wrapped();
    let orders = store.cache("orders").unwrap();
    let mut has_leftovers = 0;
    for number in 1_000..1_120 {
        assert!(matches!(orders.add(uuid(number)), Ok(Outcome::Added)));
        let left = killed(&storage);
        let reopened = open(left.clone(), small(1024)).unwrap();
        assert_eq!(answers(&reopened), answers(&store), "after {number}");
        has_leftovers += u64::from(reopened.recovery().tail.is_some());
        // The life after that appends in a segment of its own.
        assert!(matches!(
            reopened.cache("orders").unwrap().add("next life"),
            Ok(Outcome::Added)
        ));
        let known = answers(&reopened);
        drop(reopened);
        assert_eq!(answers(&open(left, small(1024)).unwrap()), known);
    }
    assert!(
        has_leftovers > 50,
        "only {has_leftovers} kills had old records behind the end"
    );
}

#[test]
fn a_record_of_any_place_or_life_behind_the_end_is_not_replayed() {
    let (storage, store) = wrapped();
    let mut earlier = Vec::new();
    let orders = store.cache("orders").unwrap();
    for number in 300..420 {
        if number % 10 == 0 {
            earlier.push(files(&storage));
        }
        let _ = orders.add(uuid(number)).unwrap();
    }
    let known = answers(&store);
    let left = files(&storage);
    let (slot, end) = last_segment(&left);
    let mut tried = 0;
    for source in earlier.iter().chain([&left]) {
        for (_, bytes) in source.iter().filter(|(name, _)| *name != "store") {
            for (from, length) in records(bytes) {
                let mut forged = left.clone();
                let target = forged.get_mut(&slot).unwrap();
                if end + length > target.len() {
                    continue;
                }
                target[end..end + length].copy_from_slice(&bytes[from..from + length]);
                match open(storage_of(&forged), small(1024)) {
                    Ok(store) => assert_eq!(answers(&store), known),
                    Err(other) => panic!("{other:?}"),
                }
                tried += 1;
            }
            // All that an earlier life had from there on, in the very places.
            let mut forged = left.clone();
            forged.get_mut(&slot).unwrap()[end..].copy_from_slice(&bytes[end..]);
            let store = open(storage_of(&forged), small(1024)).unwrap();
            assert_eq!(answers(&store), known);
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn a_record_in_the_place_of_another_is_refused() {
    let (storage, store) = wrapped();
    let known = answers(&store);
    store.close().unwrap();
    let left = files(&storage);
    let slots: Vec<&String> = left.keys().filter(|name| *name != "store").collect();
    let (mut refused, mut same) = (0, 0);
    for from_slot in &slots {
        for (from, from_length) in records(&left[*from_slot]) {
            for to_slot in &slots {
                for (to, to_length) in records(&left[*to_slot]) {
                    let is_itself = (from_slot, from) == (to_slot, to);
                    if is_itself || from_length != to_length {
                        continue;
                    }
                    let mut forged = left.clone();
                    let bytes = left[*from_slot][from..from + from_length].to_vec();
                    forged.get_mut(*to_slot).unwrap()[to..to + to_length].copy_from_slice(&bytes);
                    match open(storage_of(&forged), small(1024)) {
                        Ok(store) => {
                            assert_eq!(answers(&store), known, "{from_slot} {from}");
                            same += 1;
                        }
                        Err(Error::Damaged { .. }) => refused += 1,
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        }
    }
    assert!(refused > 100, "{refused} refused, {same} the same");
}

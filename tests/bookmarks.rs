//! Promise: a bookmark has its latest value after any crash, and is in order with the IDs around
//! it: what was recorded before it is there with it, and it with what was recorded behind it.
//!
//! Method: alone, in transactions and in prepared ones; over closes, kills, cuts at every byte, and
//! segments that are let go.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::path::Path;

use idjournal::{
    Error, FileStorage, MemoryStorage, OnDuplicate, Options, Owner, Resolved, Store, Transaction,
    Writes,
};

use support::{Files, Random, files, killed, open, small, storage_of, uuid};

const SEGMENT_BYTES: u64 = 2048;

fn options() -> Options {
    small(SEGMENT_BYTES).writes(Writes::Positioned)
}

fn new() -> (MemoryStorage, Store) {
    let memory = MemoryStorage::new();
    let store = open(memory.clone(), options()).unwrap();
    (memory, store)
}

fn begin(store: &Store) -> Transaction {
    store.begin(OnDuplicate::Reject, Owner(1))
}

fn set(store: &Store, name: &str, value: &str) {
    store.set_bookmark(name, value).wait().unwrap();
}

fn value(store: &Store, name: &str) -> Option<String> {
    let value = store.bookmark(name)?;
    Some(String::from_utf8(value).unwrap())
}

#[test]
fn the_latest_value_is_there_after_a_close_and_after_a_kill() {
    for writes in [Writes::Mapped, Writes::Positioned] {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let open = |path: &Path| {
            let storage = FileStorage::create(path).unwrap();
            support::open(storage, small(8192).writes(writes)).unwrap()
        };
        let store = open(&path("ids"));
        assert_eq!(value(&store, "place"), None);
        set(&store, "place", "1");
        set(&store, "other", "x");
        set(&store, "place", "2");
        set(&store, "empty", "");
        std::fs::create_dir(path("killed")).unwrap();
        for (name, bytes) in support::files_in(&path("ids")) {
            std::fs::write(path("killed").join(name), bytes).unwrap();
        }
        store.close().unwrap();
        drop(store);
        for left in ["ids", "killed"] {
            let store = open(&path(left));
            assert_eq!(
                value(&store, "place").as_deref(),
                Some("2"),
                "{writes:?} {left}"
            );
            assert_eq!(value(&store, "other").as_deref(), Some("x"));
            assert_eq!(
                value(&store, "empty").as_deref(),
                Some(""),
                "a value of no bytes"
            );
            assert_eq!(value(&store, "never"), None);
        }
    }
}

#[test]
fn in_memory_the_calls_are_the_same() {
    let store = Store::in_memory(options()).unwrap();
    set(&store, "place", "1");
    let mut transaction = begin(&store);
    transaction.bookmark("place", "2").unwrap();
    transaction.bookmark("other", "x").unwrap();
    assert_eq!(
        value(&store, "place").as_deref(),
        Some("1"),
        "until the commit"
    );
    transaction.commit().wait().unwrap();
    assert_eq!(value(&store, "place").as_deref(), Some("2"));
    let mut transaction = begin(&store);
    transaction.bookmark("place", "3").unwrap();
    let prepared = transaction.prepare("x").wait().unwrap();
    set(&store, "place", "between");
    assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done);
    assert_eq!(value(&store, "place").as_deref(), Some("3"));
    assert_eq!(value(&store, "other").as_deref(), Some("x"));
}

#[test]
fn one_of_a_transaction_is_there_with_its_ids_or_not_at_all() {
    let (memory, store) = new();
    let orders = store.cache("orders").unwrap();
    set(&store, "place", "0");
    let mut rolled_back = begin(&store);
    let _ = rolled_back.add(&orders, "no").unwrap();
    rolled_back.bookmark("place", "no").unwrap();
    rolled_back.rollback();
    let mut transaction = begin(&store);
    let _ = transaction.add(&orders, "a").unwrap();
    transaction.bookmark("place", "first").unwrap();
    let _ = transaction.add(&orders, "b").unwrap();
    transaction.bookmark("place", "1").unwrap();
    let before = killed(&memory);
    transaction.commit().wait().unwrap();
    let after = killed(&memory);
    let opened = open(before, options()).unwrap();
    assert_eq!(value(&opened, "place").as_deref(), Some("0"));
    assert_eq!(opened.cache("orders").unwrap().len(), 0);
    let opened = open(after, options()).unwrap();
    assert_eq!(
        value(&opened, "place").as_deref(),
        Some("1"),
        "the last of it"
    );
    assert_eq!(opened.cache("orders").unwrap().len(), 2);
}

#[test]
fn a_transaction_of_bookmarks_alone_is_recorded() {
    let (memory, store) = new();
    let mut transaction = begin(&store);
    transaction.bookmark("place", "1").unwrap();
    transaction.commit().wait().unwrap();
    let opened = open(killed(&memory), options()).unwrap();
    assert_eq!(value(&opened, "place").as_deref(), Some("1"));
}

#[test]
fn one_of_a_prepared_transaction_is_in_effect_at_its_commit() {
    let (memory, store) = new();
    set(&store, "place", "0");
    for (xid, word) in [("x", "1"), ("y", "2"), ("z", "no")] {
        let mut transaction = begin(&store);
        transaction.bookmark("place", word).unwrap();
        drop(transaction.prepare(xid).wait().unwrap());
    }
    let look = |expected: &str| {
        assert_eq!(value(&store, "place").as_deref(), Some(expected));
        let opened = open(killed(&memory), options()).unwrap();
        assert_eq!(value(&opened, "place").as_deref(), Some(expected));
    };
    look("0");
    assert_eq!(store.commit_prepared("y").wait().unwrap(), Resolved::Done);
    look("2");
    set(&store, "place", "3");
    look("3");
    assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
    look("1");
    assert_eq!(
        store.roll_back_prepared("z").wait().unwrap(),
        Resolved::Done
    );
    look("1");
}

/// Every change has a number, which is an ID and the bookmark after it: whatever a cut leaves, the
/// bookmark is that of the newest ID or of the one before.
#[test]
fn after_every_cut_it_is_in_order_with_the_ids_around_it() {
    let (memory, store) = new();
    let orders = store.cache("orders").unwrap();
    orders.set_capacity(1000).wait().unwrap();
    store.sync().wait().unwrap();
    let mut opened = 0;
    for number in 1..=14_u64 {
        let _ = orders.add(number.to_string()).unwrap();
        match number % 3 {
            0 => set(&store, "place", &number.to_string()),
            1 => {
                let mut transaction = begin(&store);
                transaction.bookmark("place", number.to_string()).unwrap();
                transaction.commit().wait().unwrap();
            }
            _ => {
                let mut transaction = begin(&store);
                transaction.bookmark("place", number.to_string()).unwrap();
                let prepared = transaction.prepare("x").wait().unwrap();
                assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done);
            }
        }
    }
    let whole = files(&memory);
    let (name, bytes) = whole
        .iter()
        .find(|(name, bytes)| {
            name.starts_with("slot") && bytes.windows(5).any(|window| window == b"place")
        })
        .unwrap();
    let mut highest = 0;
    for cut in (512..bytes.len()).step_by(8) {
        let mut files: Files = whole.clone();
        let end = bytes.len();
        files.get_mut(name).unwrap()[cut..end].fill(0);
        // A cut below a mark is damage, and told.
        let Ok(store) = open(storage_of(&files), options()) else {
            continue;
        };
        opened += 1;
        let newest = store.cache("orders").unwrap().len();
        let place = value(&store, "place").map_or(0, |place| place.parse().unwrap());
        assert!(
            place == newest || place + 1 == newest,
            "cut at {cut}: {place} with {newest} IDs"
        );
        highest = highest.max(place);
    }
    assert!(
        opened > 100 && highest == 14,
        "{opened} cuts, up to {highest}"
    );
}

#[test]
fn values_outlive_the_segments_that_they_were_set_in() {
    for seed in 0..8 {
        let mut random = Random(seed);
        let (mut memory, mut store) = new();
        let mut expected: [Option<String>; 6] = Default::default();
        let mut in_doubt: Vec<(String, usize, String)> = Vec::new();
        for step in 0..3_000_u64 {
            let at = usize::try_from(random.below(6)).unwrap();
            let word = "v".repeat(usize::try_from(random.below(40)).unwrap()) + &step.to_string();
            let name = format!("bookmark-{at}");
            match random.below(60) {
                0 => {
                    set(&store, &name, &word);
                    expected[at] = Some(word);
                }
                1 => {
                    let mut transaction = begin(&store);
                    transaction.bookmark(&name, &word).unwrap();
                    transaction.commit().wait().unwrap();
                    expected[at] = Some(word);
                }
                2 => {
                    let mut transaction = begin(&store);
                    transaction.bookmark(&name, &word).unwrap();
                    drop(transaction.prepare(step.to_string()).wait().unwrap());
                    in_doubt.push((step.to_string(), at, word));
                }
                3 if !in_doubt.is_empty() => {
                    let which = usize::try_from(random.below(in_doubt.len() as u64)).unwrap();
                    let (xid, at, word) = in_doubt.swap_remove(which);
                    let resolved = store.commit_prepared(xid).wait().unwrap();
                    assert_eq!(resolved, Resolved::Done);
                    expected[at] = Some(word);
                }
                4 => {
                    let live_bytes = store.stats().live_bytes;
                    memory = killed(&memory);
                    store = open(memory.clone(), options()).unwrap();
                    assert_eq!(
                        store.stats().live_bytes,
                        live_bytes,
                        "seed {seed}, step {step}"
                    );
                }
                _ => {
                    let filler = store.cache("filler").unwrap();
                    filler.set_capacity(8).wait().unwrap();
                    let _ = filler.add(uuid(step)).unwrap();
                }
            }
            for (at, expected) in expected.iter().enumerate() {
                let found = value(&store, &format!("bookmark-{at}"));
                assert_eq!(&found, expected, "seed {seed}, step {step}");
            }
        }
        assert!(store.stats().segments > 0);
    }
}

#[test]
fn what_is_too_long_is_refused_by_name_and_changes_nothing() {
    let (_memory, store) = new();
    let in_memory = Store::in_memory(options()).unwrap();
    let long = vec![b'x'; idjournal::BOOKMARK_NAME_BYTES_MAX + 1];
    for store in [&store, &in_memory] {
        let error = store.set_bookmark(&long, "v").wait().unwrap_err();
        assert!(
            matches!(&error, Error::Limit { limit, max: 65_536, actual: 65_537 }
                if limit.contains("name")),
            "{error}"
        );
        let error = store
            .set_bookmark("place", &long[..600])
            .wait()
            .unwrap_err();
        assert!(
            matches!(&error, Error::Limit { limit, max: 512, .. } if limit.contains("record")),
            "{error}"
        );
        let mut transaction = begin(store);
        let error = transaction.bookmark(&long, "v").unwrap_err();
        assert!(matches!(error, Error::Limit { max: 65_536, .. }), "{error}");
        set(store, "place", "1");
        transaction.bookmark("place", "2").unwrap();
        transaction.commit().wait().unwrap();
        assert_eq!(value(store, "place").as_deref(), Some("2"));
    }
    let mut transaction = begin(&store);
    let error = transaction.bookmark("place", &long[..600]).unwrap_err();
    assert!(matches!(error, Error::Limit { max: 512, .. }), "{error}");
    transaction.commit().wait().unwrap();
}

#[test]
fn where_stored_ids_are_ended_what_was_in_doubt_and_what_bookmarks_say_is_too() {
    let (memory, store) = new();
    let orders = store.cache("orders").unwrap();
    let mut transaction = begin(&store);
    let _ = transaction.add(&orders, "a").unwrap();
    drop(transaction.prepare("x").wait().unwrap());
    set(&store, "place", "17");
    store.close().unwrap();
    drop((store, orders));
    let off = options().persistence(false);
    let refused = open(memory.clone(), off.clone()).unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Options {
                option: "persistence",
                ..
            }
        ),
        "{refused}"
    );
    let store = open(memory.clone(), off.end_stored_ids(true)).unwrap();
    assert_eq!((store.prepared().len(), value(&store, "place")), (0, None));
    drop(store);
    let store = open(memory, options()).unwrap();
    assert_eq!(store.prepared().len(), 0);
    assert_eq!(value(&store, "place").as_deref(), Some(""));
    assert_eq!(
        store.cache("orders").unwrap().add("a").unwrap(),
        idjournal::Outcome::Added
    );
}

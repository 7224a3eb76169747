//! Persistence turned off and on under everything else that a call can do to an address.

use idjournal::{Error, MemoryStorage, OnDuplicate, Owner, Resolved, Store};

use super::{add, again, cache, ids, known, none, open, plain};

/// The most that the record of a pattern of one character takes.
const PATTERN_BYTES: u64 = 64;
const MARK_BYTES: u64 = 2 * 8;

fn off() -> idjournal::AddressSettings {
    none().persistence(false)
}

fn on() -> idjournal::AddressSettings {
    none().persistence(true)
}

/// A store whose address `a` was in memory only, holds these IDs, and is stored from now on.
fn turned_on(storage: &MemoryStorage, numbers: std::ops::Range<u64>) -> Store {
    let store = open(storage, plain());
    store.configure("a", off()).wait().unwrap();
    add(&store, "a", numbers);
    store.configure("a", on()).wait().unwrap();
    store
}

/// Ends what `a` has stored, and stores it from now on.
fn turn_off_and_on(store: &Store) {
    let ending = off().end_stored_ids(true);
    store.configure("a", ending).wait().unwrap();
    store.configure("a", on()).wait().unwrap();
}

#[test]
fn a_drop_ends_an_address_that_was_turned_on_and_has_no_record_yet() {
    let storage = MemoryStorage::new();
    let store = turned_on(&storage, 0..5);
    assert!(store.drop_cache("a").wait().unwrap());
    assert!(known(&store, "a").is_empty() && store.caches(None, 9).is_empty());
    assert!(store.stats().live_bytes <= PATTERN_BYTES);
    add(&store, "a", 3..6);
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "a"), [3, 4, 5]);
}

/// The bytes that live beside the IDs of `a`: records of patterns and definitions.
fn beside(store: &Store) -> u64 {
    store.stats().live_bytes - cache(store, "a").stats().live_bytes
}

#[test]
fn turning_off_and_on_leaves_nothing_counted_as_living() {
    let storage = MemoryStorage::new();
    let store = turned_on(&storage, 0..5);
    let before = beside(&store);
    for _ in 0..10 {
        turn_off_and_on(&store);
    }
    assert_eq!(known(&store, "a"), [0, 1, 2, 3, 4]);
    assert!(beside(&store) <= before + MARK_BYTES);
    assert_eq!(cache(&store, "a").clear().wait().unwrap(), 5);
    assert!(store.stats().live_bytes <= before + MARK_BYTES);
}

#[test]
fn what_is_ended_behind_turning_on_does_not_count_as_living() {
    let storage = MemoryStorage::new();
    let store = turned_on(&storage, 0..5);
    let before = beside(&store);
    for number in 0..5 {
        assert!(
            cache(&store, "a")
                .remove(number.to_string())
                .wait()
                .unwrap()
        );
    }
    assert_eq!(store.stats().live_bytes, before);
}

#[test]
fn an_id_renewed_behind_turning_on_is_stored() {
    let storage = MemoryStorage::new();
    let store = turned_on(&storage, 0..5);
    assert!(cache(&store, "a").renew("2").wait().unwrap());
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "a"), [2]);
}

#[test]
fn an_id_renewed_behind_turning_off_and_on_is_stored() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "a", 0..5);
    turn_off_and_on(&store);
    assert!(cache(&store, "a").renew("2").wait().unwrap());
    assert!(cache(&store, "a").remove("3").wait().unwrap());
    assert!(cache(&store, "a").renew("4").wait().unwrap());
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "a"), [2, 4]);
}

#[test]
fn a_clear_behind_turning_off_and_on_holds_over_a_restart() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "a", 0..5);
    turn_off_and_on(&store);
    assert_eq!(cache(&store, "a").clear().wait().unwrap(), 5);
    add(&store, "a", 0..2);
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "a"), [0, 1]);
}

#[test]
fn a_capacity_set_while_only_a_prepared_transaction_names_an_address_holds_over_a_restart() {
    let storage = MemoryStorage::new();
    let options = || plain().id_cache_size(2);
    let store = open(&storage, options());
    let mut branch = store.begin(OnDuplicate::Reject, Owner(7));
    let _ = branch.add(&cache(&store, "a"), "0").unwrap();
    let prepared = branch.prepare("xid").wait().unwrap();
    store.configure("a", ids(10)).wait().unwrap();
    assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done);
    drop(prepared);
    add(&store, "a", 1..6);
    assert_eq!(known(&store, "a"), [0, 1, 2, 3, 4, 5]);
    let store = again(store, &storage, options());
    assert_eq!(known(&store, "a"), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_shrink_while_only_a_prepared_transaction_names_an_address_is_not_undone_by_a_restart() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    let mut branch = store.begin(OnDuplicate::Reject, Owner(7));
    let _ = branch.add(&cache(&store, "a"), "0").unwrap();
    let prepared = branch.prepare("xid").wait().unwrap();
    store.configure("a", ids(2)).wait().unwrap();
    assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done);
    drop(prepared);
    add(&store, "a", 1..6);
    store.configure("a", none()).wait().unwrap();
    assert_eq!(known(&store, "a"), [4, 5]);
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "a"), [4, 5]);
    assert_eq!(cache(&store, "a").capacity(), 2);
}

#[test]
fn too_many_addresses_to_be_stored_are_refused_before_anything_is_changed() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain().addresses_max(2));
    store.configure("#", off()).wait().unwrap();
    for name in ["a", "b", "c"] {
        add(&store, name, 0..2);
    }
    let before = store.configured();
    let error = store
        .configure("#", on().id_cache_size(1))
        .wait()
        .unwrap_err();
    assert!(matches!(error, Error::Limit { max: 2, .. }), "{error}");
    assert_eq!(store.configured(), before);
    for name in ["a", "b", "c"] {
        let stats = cache(&store, name).stats();
        assert_eq!((stats.is_stored, stats.len), (false, 2));
    }
    assert!(store.drop_cache("c").wait().unwrap());
    store.configure("#", on().id_cache_size(1)).wait().unwrap();
    for name in ["a", "b"] {
        assert_eq!(known(&store, name), [1]);
    }
}

#[test]
fn a_commit_into_an_address_that_was_turned_on_since_the_prepare_holds_over_a_restart() {
    let storage = MemoryStorage::new();
    let options = || plain().id_cache_size(2);
    let store = open(&storage, options());
    store.configure("a", off()).wait().unwrap();
    add(&store, "a", 0..1);
    let mut branch = store.begin(OnDuplicate::Reject, Owner(7));
    assert!(branch.remove(&cache(&store, "a"), "0").unwrap());
    for id in ["0", "1", "2"] {
        let _ = branch.add(&cache(&store, "a"), id).unwrap();
    }
    assert!(branch.remove(&cache(&store, "a"), "2").unwrap());
    let prepared = branch.prepare("xid").wait().unwrap();
    store.configure("a", on()).wait().unwrap();
    assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done);
    drop(prepared);
    assert_eq!(known(&store, "a"), [1], "the removed one has taken a place");
    let store = again(store, &storage, options());
    assert_eq!(known(&store, "a"), [1]);
}

//! Addresses that are in memory only, beside those that are stored, in one prepared transaction.

use idjournal::{AddressSettings, Resolved, State};

use super::support::{killed, open, small};
use super::*;

fn options() -> Options {
    small(2048).address_settings("memory", AddressSettings::default().persistence(false))
}

fn new() -> (MemoryStorage, Store) {
    let memory = MemoryStorage::new();
    let store = open(memory.clone(), options()).unwrap();
    (memory, store)
}

fn configure(store: &Store, is_stored: bool) {
    let settings = AddressSettings::default().persistence(is_stored);
    let settings = settings.end_stored_ids(!is_stored);
    store.configure("memory", settings).wait().unwrap();
}

/// Adds `a` to a stored address and `m` and `n` to one in memory only, prepared as `x`.
fn prepare_both(store: &Store) {
    let (orders, memory) = (
        store.cache("orders").unwrap(),
        store.cache("memory").unwrap(),
    );
    let mut transaction = begin(store);
    let _ = transaction.add(&memory, "m").unwrap();
    let _ = transaction.add(&orders, "a").unwrap();
    let _ = transaction.add(&memory, "n").unwrap();
    drop(transaction.prepare("x").wait().unwrap());
}

fn commit(store: &Store) {
    let resolved = store.commit_prepared("x").wait().unwrap();
    assert_eq!(resolved, Resolved::Done);
}

fn known(store: &Store, address: &str) -> Vec<String> {
    ids(&store.cache(address).unwrap())
}

#[test]
fn what_is_in_memory_only_is_pending_and_committed_there_and_free_after_a_restart() {
    let (memory, store) = new();
    prepare_both(&store);
    assert_pending(&store.cache("memory").unwrap(), "m");
    let copy = open(killed(&memory), options()).unwrap();
    assert_pending(&copy.cache("orders").unwrap(), "a");
    assert_eq!(copy.cache("memory").unwrap().state("m"), State::Absent);
    commit(&copy);
    assert_eq!(known(&copy, "orders"), ["a"]);
    assert_eq!(known(&copy, "memory"), [""; 0]);
    commit(&store);
    assert_eq!(known(&store, "memory"), ["m", "n"]);
    let live_bytes = store.stats().live_bytes;
    let copy = open(killed(&memory), options()).unwrap();
    assert_eq!(copy.stats().live_bytes, live_bytes);
    assert_eq!(known(&copy, "orders"), ["a"]);
    assert_eq!(known(&copy, "memory"), [""; 0]);
}

#[test]
fn what_becomes_stored_between_is_recorded_by_the_commit() {
    let (memory, store) = new();
    prepare_both(&store);
    configure(&store, true);
    assert_pending(&store.cache("memory").unwrap(), "m");
    commit(&store);
    assert_eq!(known(&store, "memory"), ["m", "n"]);
    let copy = open(killed(&memory), options()).unwrap();
    assert_eq!(known(&copy, "memory"), ["m", "n"]);
    assert_eq!(known(&copy, "orders"), ["a"]);
}

#[test]
fn what_is_stored_no_more_at_the_commit_is_not_recorded_by_it() {
    let (memory, store) = new();
    configure(&store, true);
    add(&store.cache("memory").unwrap(), &["old"]);
    prepare_both(&store);
    configure(&store, false);
    let copy = open(killed(&memory), options()).unwrap();
    assert_pending(&copy.cache("memory").unwrap(), "m");
    for (memory, store) in [(None, &copy), (Some(&memory), &store)] {
        let old = known(store, "memory");
        commit(store);
        assert_eq!(
            known(store, "memory"),
            [old, vec!["m".into(), "n".into()]].concat()
        );
        let Some(memory) = memory else { continue };
        let copy = open(killed(memory), options()).unwrap();
        assert_eq!(copy.cache("memory").unwrap().len(), 0);
        assert_eq!(known(&copy, "orders"), ["a"]);
        assert_eq!(copy.stats().live_bytes, store.stats().live_bytes);
    }
}

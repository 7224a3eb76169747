//! A kill after each record of a change by pattern: the next open shows it whole or not at all.

use std::time::Duration;

use idjournal::{AddressSettings, MemoryStorage, Store};

use super::support::{Files, files, storage_of};
use super::{add, cache, ids, known, none, open, plain};

const ADDRESSES: [&str; 5] = ["a.a", "a.b", "a.c", "a.d", "other"];

/// What each address knows and is, and an address that comes.
fn told(store: &Store) -> Vec<(Vec<u64>, u64, Option<Duration>, bool)> {
    let tell = |address: &str| {
        let stats = cache(store, address).stats();
        (
            known(store, address),
            stats.capacity,
            stats.max_age,
            stats.is_stored,
        )
    };
    ADDRESSES.into_iter().chain(["a.later"]).map(tell).collect()
}

/// The directory as it was after each byte of `after` that differs from `before`, at record ends:
/// the one slot that changed is cut back to where it was, unit by unit.
fn cuts(before: &Files, after: &Files) -> Vec<Files> {
    let changed: Vec<&String> = after
        .keys()
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    assert_eq!(changed.len(), 1, "one segment holds it all: {changed:?}");
    let (old, new) = (&before[changed[0]], &after[changed[0]]);
    let first = (0..new.len()).find(|at| old[*at] != new[*at]).unwrap();
    let last = (0..new.len()).rfind(|at| old[*at] != new[*at]).unwrap();
    let mut found = Vec::new();
    for cut in (first / 8 * 8..=last + 8).step_by(8) {
        let mut bytes = new.clone();
        bytes[cut..].copy_from_slice(&old[cut..]);
        let mut files = after.clone();
        files.insert(changed[0].clone(), bytes);
        found.push(files);
    }
    found
}

fn whole_or_not_at_all(settings: AddressSettings, same_after: bool) {
    let options = || plain().segment_bytes(16_384);
    let storage = MemoryStorage::new();
    let store = Store::open_on(storage.clone(), options(), &mut |_| {}).unwrap();
    for address in ADDRESSES {
        add(&store, address, 0..10);
    }
    let (old, before) = (told(&store), files(&storage));
    store.configure("a.#", settings).wait().unwrap();
    let (new, after) = (told(&store), files(&storage));
    assert_ne!(old, new);
    let restarted = told(&open(&storage_of(&after), options()));
    assert_eq!(restarted == new, same_after);
    let (mut shown_old, mut shown_new) = (0, 0);
    for files in cuts(&before, &after) {
        let storage = storage_of(&files);
        let shown = told(&open(&storage, options()));
        shown_old += u32::from(shown == old);
        shown_new += u32::from(shown == restarted);
        assert!(shown == old || shown == restarted, "{shown:?}");
        assert_eq!(told(&open(&storage, options())), shown, "and again");
    }
    assert!(shown_old > 0 && shown_new > 5, "{shown_old} {shown_new}");
}

#[test]
fn a_capacity_by_pattern_is_there_for_all_or_for_none() {
    whole_or_not_at_all(ids(4), true);
}

#[test]
fn an_age_by_pattern_is_there_for_all_or_for_none() {
    whole_or_not_at_all(
        none()
            .max_age(Duration::from_secs(1_000_000))
            .id_cache_size(3),
        true,
    );
}

#[test]
fn persistence_by_pattern_is_off_for_all_or_for_none() {
    whole_or_not_at_all(none().persistence(false).end_stored_ids(true), false);
}

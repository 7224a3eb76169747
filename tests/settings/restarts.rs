//! What holds over restarts with other options.

use idjournal::{Bytes, ID_CACHE_SIZE, MemoryStorage, Namespace, Origin, Wildcards};

use super::{add, again, cache, ids, known, none, open, plain};

#[test]
fn a_smaller_size_at_open_keeps_the_newest_and_is_reported() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain().id_cache_size(150));
    add(&store, "orders", 0..200);
    let store = again(store, &storage, plain().id_cache_size(100));
    assert_eq!(known(&store, "orders"), Vec::from_iter(100..200));
    let changes = &store.recovery().capacity_changes;
    assert_eq!(changes.len(), 1);
    let change = &changes[0];
    assert_eq!(
        (change.namespace, &change.address),
        (Namespace::Client, &Bytes::from(&b"orders"[..]))
    );
    assert_eq!((change.old, change.new, change.forgotten), (150, 100, 50));
    assert_eq!(cache(&store, "orders").stats().shrunk, 50);
    let store = again(store, &storage, plain());
    assert!(store.recovery().capacity_changes.is_empty());
    assert_eq!(
        cache(&store, "orders").capacity(),
        100,
        "it was journaled before open returned"
    );
}

#[test]
fn a_pattern_that_a_call_has_set_holds_after_a_restart_for_addresses_that_come() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "a.old", 0..20);
    store.configure("a.#", ids(5)).wait().unwrap();
    store.configure("b", ids(6)).wait().unwrap();
    store.configure("b", none()).wait().unwrap();
    let mut store = again(store, &storage, plain());
    assert_eq!(store.configured(), [(Bytes::from(&b"a.#"[..]), ids(5))]);
    for round in 0..3 {
        assert_eq!(known(&store, "a.old"), Vec::from_iter(15..20));
        let stats = cache(&store, &format!("a.new-{round}")).stats();
        assert_eq!(
            (stats.capacity, stats.capacity_origin),
            (5, Origin::PatternByCall)
        );
        assert_eq!(cache(&store, "b").capacity(), ID_CACHE_SIZE, "taken away");
        store = again(store, &storage, plain());
    }
}

#[test]
fn settings_are_carried_when_the_journal_goes_round() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    store.configure("a.#", ids(5)).wait().unwrap();
    store.configure("gone", ids(6)).wait().unwrap();
    store.configure("gone", none()).wait().unwrap();
    cache(&store, "busy").set_capacity(10).wait().unwrap();
    add(&store, "busy", 0..1000);
    let stats = store.stats();
    assert!(
        stats.segments_released > 3 && stats.carried_records > 0,
        "{stats:?}"
    );
    store.compact().unwrap();
    let live = store.stats().live_bytes;
    let store = again(store, &storage, plain());
    assert_eq!(
        store.stats().live_bytes,
        live,
        "counted alike live and at open"
    );
    assert_eq!(cache(&store, "a.b").capacity(), 5);
    assert_eq!(cache(&store, "gone").capacity(), ID_CACHE_SIZE);
}

#[test]
fn the_last_explicit_capacity_wins_and_persists() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    let named = cache(&store, "named");
    named.set_capacity(50_000).wait().unwrap();
    named.set_capacity(30).wait().unwrap();
    drop(named);
    add(&store, "named", 0..60);
    let store = again(store, &storage, plain().id_cache_size(50_000));
    assert_eq!(cache(&store, "named").capacity(), 30);
    store.compact().unwrap();
    assert_eq!(known(&store, "named"), Vec::from_iter(30..60));
    assert!(store.recovery().capacity_changes.is_empty());
}

#[test]
fn other_settings_of_an_address_survive_a_change_of_one() {
    let age = std::time::Duration::from_secs(3600);
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    let orders = cache(&store, "orders");
    orders.set_max_age(Some(age)).wait().unwrap();
    drop(orders);
    add(&store, "orders", 0..5);
    store.configure("orders", ids(7)).wait().unwrap();
    let store = again(store, &storage, plain().id_cache_size(9));
    let stats = cache(&store, "orders").stats();
    assert_eq!(
        (stats.max_age, stats.max_age_origin),
        (Some(age), Origin::Call)
    );
    assert_eq!(
        (stats.capacity, stats.capacity_origin),
        (7, Origin::PatternByCall)
    );
}

#[test]
fn a_pattern_that_means_nothing_with_other_wildcards_is_told_and_kept() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    store.configure("a.*", ids(5)).wait().unwrap();
    store.configure("b.#", ids(6)).wait().unwrap();
    let other = plain().wildcards(Wildcards::default().any_words(b'.').delimiter(b'/'));
    let store = again(store, &storage, other);
    let inactive = &store.recovery().inactive_patterns;
    assert_eq!(
        inactive,
        &[Bytes::from(&b"a.*"[..]), Bytes::from(&b"b.#"[..])]
    );
    let store = again(store, &storage, plain());
    assert_eq!(
        (
            cache(&store, "a.b").capacity(),
            cache(&store, "b").capacity()
        ),
        (5, 6)
    );
}

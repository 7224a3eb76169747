//! What holds for an address while a store is open, and where it comes from.

use std::time::Duration;

use idjournal::{AddressSettings, Error, ID_CACHE_SIZE, MemoryStorage, Options, Origin, Wildcards};

use super::{add, cache, ids, known, none, open, plain};

/// The capacity of an address and where it comes from.
fn capacity(store: &idjournal::Store, address: &str) -> (u64, Origin) {
    let stats = cache(store, address).stats();
    (stats.capacity, stats.capacity_origin)
}

#[test]
fn each_capacity_tells_where_it_comes_from_and_the_order_is_as_told() {
    let storage = MemoryStorage::new();
    let options = plain().address_settings("a.*", ids(30));
    let store = open(&storage, options.clone());
    assert_eq!(capacity(&store, "b"), (ID_CACHE_SIZE, Origin::Stored));
    assert_eq!(capacity(&store, "a.b"), (30, Origin::PatternByOptions));
    store.configure("a.#", ids(40)).wait().unwrap();
    assert_eq!(
        capacity(&store, "a.b"),
        (30, Origin::PatternByOptions),
        "more specific"
    );
    assert_eq!(capacity(&store, "a.b.c"), (40, Origin::PatternByCall));
    store.configure("a.*", ids(50)).wait().unwrap();
    assert_eq!(
        capacity(&store, "a.b"),
        (50, Origin::PatternByCall),
        "the same pattern"
    );
    cache(&store, "a.b").set_capacity(60).wait().unwrap();
    assert_eq!(capacity(&store, "a.b"), (60, Origin::Call));
    store.configure("a.b", ids(70)).wait().unwrap();
    assert_eq!(
        capacity(&store, "a.b"),
        (60, Origin::Call),
        "never changed by settings"
    );
    assert_eq!(capacity(&store, "a.c"), (50, Origin::PatternByCall));

    let store = super::again(store, &storage, options.id_cache_size(20));
    assert_eq!(capacity(&store, "b"), (20, Origin::Options));
    assert_eq!(capacity(&store, "a.b"), (60, Origin::Call));
    assert_eq!(capacity(&store, "a.c"), (50, Origin::PatternByCall));
}

#[test]
fn a_live_change_reaches_every_address_that_matches_in_both_namespaces_and_no_other() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    for address in ["a", "a.b", "a.b.c", "ab", "b"] {
        add(&store, address, 0..20);
    }
    let bridge = store.cache_in(idjournal::Namespace::Bridge, "a.b").unwrap();
    for number in 0..20 {
        let _ = bridge.add(number.to_string()).unwrap();
    }
    store.configure("a.#", ids(5)).wait().unwrap();
    for (address, count) in [("a", 5), ("a.b", 5), ("a.b.c", 5), ("ab", 20), ("b", 20)] {
        assert_eq!(
            known(&store, address),
            Vec::from_iter(20 - count..20),
            "{address}"
        );
    }
    assert_eq!((bridge.len(), bridge.stats().shrunk), (5, 15));
    assert_eq!(store.stats().shrunk, 4 * 15, "every shrink is told");
    let (_, by) = capacity(&store, "a.later");
    assert_eq!(by, Origin::PatternByCall, "an address that comes later");
}

#[test]
fn handles_without_a_cache_are_changed_and_no_cache_comes_into_being() {
    let store = open(&MemoryStorage::new(), plain());
    let orders = cache(&store, "orders");
    store.configure("#", ids(7)).wait().unwrap();
    assert_eq!((orders.capacity(), orders.stats().shrunk), (7, 0));
    assert!(store.caches(None, 10).is_empty());
    assert_eq!(store.stats().caches, 0);
}

#[test]
fn growing_revives_nothing_and_unset_keeps_what_is() {
    let store = open(&MemoryStorage::new(), plain());
    add(&store, "orders", 0..20);
    for (settings, count) in [(ids(5), 5), (ids(100), 5), (none(), 5)] {
        store.configure("orders", settings).wait().unwrap();
        assert_eq!(known(&store, "orders"), Vec::from_iter(20 - count..20));
    }
    assert_eq!(
        capacity(&store, "orders"),
        (100, Origin::Stored),
        "it stays"
    );
    assert_eq!(capacity(&store, "other"), (ID_CACHE_SIZE, Origin::Stored));
}

#[test]
fn ages_come_by_pattern_too() {
    let week = Duration::from_secs(7 * 86_400);
    let options = plain()
        .max_age(Some(week))
        .address_settings("a.#", none().max_age(Duration::from_secs(60)))
        .address_settings("a.forever", none().max_age(Duration::ZERO));
    let store = open(&MemoryStorage::new(), options);
    let age = |address| {
        let stats = cache(&store, address).stats();
        (stats.max_age, stats.max_age_origin)
    };
    assert_eq!(age("b"), (Some(week), Origin::Options));
    assert_eq!(
        age("a.b"),
        (Some(Duration::from_secs(60)), Origin::PatternByOptions)
    );
    assert_eq!(age("a.forever"), (None, Origin::PatternByOptions));
    store
        .configure("a.b", none().max_age(Duration::from_millis(15)))
        .wait()
        .unwrap();
    let rounded_up = Some(Duration::from_millis(20));
    assert_eq!(age("a.b"), (rounded_up, Origin::PatternByCall));
    cache(&store, "a.b").set_max_age(None).wait().unwrap();
    assert_eq!(age("a.b"), (None, Origin::Call));
}

#[test]
fn per_address_size_beats_the_global_one() {
    let options = plain().id_cache_size(2).address_settings("one", ids(1));
    for store in [
        open(&MemoryStorage::new(), options.clone()),
        idjournal::Store::in_memory(options).unwrap(),
    ] {
        add(&store, "one", 0..3);
        add(&store, "other", 0..3);
        assert_eq!(known(&store, "one"), [2]);
        assert_eq!(known(&store, "other"), [1, 2]);
    }
}

#[test]
fn defaults_are_those_of_artemis_and_the_figures_tell_what_is_configured() {
    let store = open(&MemoryStorage::new(), Options::default().keeper(false));
    let stats = cache(&store, "orders").stats();
    assert_eq!((stats.capacity, stats.is_stored), (20_000, true));
    let options = plain()
        .id_cache_size(0)
        .address_settings("tmp.#", none().persistence(false));
    let store = open(&MemoryStorage::new(), options);
    add(&store, "orders", 0..3);
    let stats = cache(&store, "orders").stats();
    assert_eq!((stats.capacity, stats.len, stats.is_stored), (0, 0, true));
    let stats = cache(&store, "tmp.1").stats();
    assert_eq!(
        (stats.is_stored, stats.persistence_origin),
        (false, Origin::PatternByOptions)
    );
}

#[test]
fn what_means_nothing_is_refused_and_changes_nothing() {
    let refused = |options: Options| match idjournal::Store::in_memory(options) {
        Err(Error::Options { option, .. }) => option,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(plain().address_settings("#.a", ids(1))),
        "address_settings"
    );
    let same = Wildcards::default().delimiter(b'*');
    assert_eq!(refused(plain().wildcards(same)), "wildcards");
    let too_many = plain().address_settings("a", ids((1 << 31) + 1));
    let limit = idjournal::Store::in_memory(too_many).unwrap_err();
    assert!(
        matches!(
            limit,
            Error::Limit {
                limit: "capacity",
                ..
            }
        ),
        "{limit}"
    );

    let store = open(
        &MemoryStorage::new(),
        plain().address_bytes_max(8).addresses_max(2),
    );
    add(&store, "orders", 0..3);
    let before = store.stats();
    let wrong = |pattern: &str, settings: AddressSettings| {
        store.configure(pattern, settings).wait().unwrap_err()
    };
    assert!(matches!(
        wrong("#.a", ids(1)),
        Error::Options {
            option: "pattern",
            ..
        }
    ));
    assert!(matches!(
        wrong("orders", ids(u64::MAX)),
        Error::Limit {
            limit: "capacity",
            ..
        }
    ));
    assert!(matches!(
        wrong("too.long.#", ids(1)),
        Error::Limit { max: 8, .. }
    ));
    assert_eq!(store.stats(), before);
    store.configure("a", ids(1)).wait().unwrap();
    store.configure("b", ids(1)).wait().unwrap();
    assert!(matches!(
        wrong("c", ids(1)),
        Error::Limit {
            limit: "patterns",
            max: 2,
            ..
        }
    ));
    store.close().unwrap();
    assert!(matches!(wrong("a", ids(1)), Error::Closed));
}

#[test]
fn a_drop_gives_the_next_incarnation_what_settings_say() {
    let store = open(
        &MemoryStorage::new(),
        plain().address_settings("a.#", ids(9)),
    );
    let orders = cache(&store, "a.b");
    orders.set_capacity(3).wait().unwrap();
    add(&store, "a.b", 0..5);
    assert!(store.drop_cache("a.b").wait().unwrap());
    assert_eq!(capacity(&store, "a.b"), (9, Origin::PatternByOptions));
}

#[test]
fn an_address_that_does_not_exist_begins_with_what_is_said_then_whoever_holds_a_handle() {
    let age = Duration::from_secs(100);
    let begun = |is_held: bool| {
        let store = open(&MemoryStorage::new(), plain());
        let handle = is_held.then(|| cache(&store, "a"));
        let settings = ids(3).max_age(age);
        store.configure("a", settings).wait().unwrap();
        if let Some(handle) = &handle {
            assert_eq!((handle.capacity(), handle.max_age()), (3, Some(age)));
        }
        store.configure("a", none()).wait().unwrap();
        add(&store, "a", 0..1);
        let cached = cache(&store, "a");
        (cached.capacity(), cached.max_age())
    };
    assert_eq!(begun(false), (ID_CACHE_SIZE, None));
    assert_eq!(begun(true), (ID_CACHE_SIZE, None));
}

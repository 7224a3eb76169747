//! Bytes appended per ID, through full caches at the default segment size.
#![allow(
    clippy::print_stdout,
    reason = "the measured figures are part of the result"
)]

use idjournal::{Cache, MemoryStorage, Options, Outcome, Store, SyncPolicy};

use crate::bound::Bound;
use crate::support::{open, uuid};

const IDS: u64 = 20_000;
const SEGMENT_BYTES: u64 = 4 << 20;

fn options(keeper: bool) -> Options {
    Options::default()
        .keeper(keeper)
        .sync_policy(SyncPolicy::Manual)
}

fn add(cache: &Cache, number: u64) {
    let added = cache.add(uuid(number)).unwrap();
    assert!(matches!(added, Outcome::Added), "{number}: {added:?}");
}

/// Bytes appended per ID added since `before`.
fn per_id(store: &Store, before: &idjournal::Stats) -> f64 {
    let stats = store.stats();
    let bytes = stats.appended_bytes() - before.appended_bytes();
    bytes as f64 / (stats.added - before.added) as f64
}

#[test]
fn a_million_adds_through_a_full_cache() {
    for keeper in [false, true] {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), options(keeper)).unwrap();
        let orders = store.cache("orders").unwrap();
        let mut bound = Bound::new(SEGMENT_BYTES);
        let mut before = store.stats();
        for number in 0..IDS + 1_000_000 {
            add(&orders, number);
            if number + 1 == IDS {
                before = store.stats();
            }
            if number % 100 == 0 {
                bound.note(&store.stats());
            }
            if number % 1000 == 0 {
                bound.check(&store.stats(), format!("keeper {keeper}, add {number}"));
            }
        }
        let bytes = per_id(&store, &before);
        let stats = store.stats();
        println!(
            "one cache, keeper {keeper}: {bytes:.2} bytes per ID, {} on disk, \
             {}% of the bound at most",
            stats.disk_bytes, bound.worst
        );
        assert!(bytes <= 65.0, "{bytes} bytes per ID");
        assert_eq!(orders.len(), IDS);
        store.close().unwrap();
        let store = open(storage, options(false)).unwrap();
        let ids: Vec<Vec<u8>> = store.cache("orders").unwrap().ids().collect();
        let expected = (1_000_000..1_000_000 + IDS).map(|number| uuid(number).to_vec());
        assert!(ids.into_iter().eq(expected));
    }
}

#[test]
fn one_hot_and_ninety_nine_slow_full_addresses() {
    for keeper in [false, true] {
        let store = open(MemoryStorage::new(), options(keeper).id_cache_size(2_000)).unwrap();
        let hot = store.cache("hot").unwrap();
        let slow = (0..99).map(|number| store.cache(format!("slow-{number}")).unwrap());
        let slow: Vec<Cache> = slow.collect();
        let mut bound = Bound::new(SEGMENT_BYTES);
        let mut next = 0;
        let mut add_to = |cache: &Cache| {
            next += 1;
            add(cache, next);
        };
        for cache in slow.iter().chain([&hot]) {
            for _ in 0..2_000 {
                add_to(cache);
            }
            bound.check(&store.stats(), "filling");
        }
        let before = store.stats();
        for round in 0..1_000_usize {
            for _ in 0..1_000 {
                add_to(&hot);
            }
            add_to(&slow[round % slow.len()]);
            bound.check(&store.stats(), format!("keeper {keeper}, round {round}"));
        }
        let bytes = per_id(&store, &before);
        let share = bytes / 65.0;
        println!(
            "one hot, 99 slow, keeper {keeper}: {bytes:.2} bytes per ID, {share:.2} of 65, \
             {} on disk, \
             {}% of the bound at most",
            store.stats().disk_bytes,
            bound.worst
        );
        assert!(bytes <= 130.0, "{bytes} bytes per ID");
    }
}

#[test]
fn ten_thousand_addresses_in_turn() {
    let store = open(MemoryStorage::new(), options(false).id_cache_size(10)).unwrap();
    let caches = (0..10_000).map(|number| store.cache(format!("address-{number:05}")).unwrap());
    let caches: Vec<Cache> = caches.collect();
    let mut bound = Bound::new(SEGMENT_BYTES);
    let mut before = store.stats();
    let mut next = 0;
    for round in 0..40 {
        if round == 10 {
            before = store.stats();
        }
        for (at, cache) in caches.iter().enumerate() {
            next += 1;
            add(cache, next);
            if at % 1000 == 0 {
                bound.check(&store.stats(), format!("round {round}, address {at}"));
            }
        }
    }
    let bytes = per_id(&store, &before);
    let stats = store.stats();
    println!(
        "10,000 addresses in turn: {bytes:.2} bytes per ID, {} live, {} on disk, \
         {}% of the bound at most",
        stats.live_bytes, stats.disk_bytes, bound.worst
    );
}

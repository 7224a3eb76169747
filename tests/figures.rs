//! Promise: every figure of a cache is counted at one point, those of a store are their sums with
//! what dropped addresses had, and what the ordinals say is true over restarts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idjournal::{
    Cache, CacheStats, Clock, Confirmed, MemoryStorage, OnDuplicate, Options, Outcome, Owner,
    Reserve, Stats, Store, SyncPolicy,
};

/// A clock that goes on when it is told to.
#[derive(Default)]
struct Set(AtomicU64);

impl Set {
    fn go_on(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for Set {
    fn wall(&self) -> Duration {
        Duration::from_millis(1_000_000_000 + self.0.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn options(clock: &Arc<Set>) -> Options {
    let options = Options::default().id_cache_size(3).segment_bytes(4096);
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    options
        .sync_policy(SyncPolicy::Manual)
        .keeper(false)
        .clock(clock)
}

/// Runs `test` on a store in memory only, and on one with a journal.
fn on_both(test: impl Fn(&Store, &Set)) {
    let clock = Arc::new(Set::default());
    test(&Store::in_memory(options(&clock)).unwrap(), &clock);
    let clock = Arc::new(Set::default());
    let storage = MemoryStorage::default();
    test(&open(&storage, &clock), &clock);
}

fn open(storage: &MemoryStorage, clock: &Arc<Set>) -> Store {
    Store::open_on(storage.clone(), options(clock), &mut |_| {}).unwrap()
}

fn add(cache: &Cache, id: impl AsRef<[u8]>) {
    assert_eq!(cache.add(id).unwrap(), Outcome::Added);
}

/// The figures that count answers, of a cache and of its store.
macro_rules! counted {
    ($stats:expr) => {
        (
            ($stats.added, $stats.duplicates, $stats.pending),
            ($stats.confirmed, $stats.released, $stats.leases_lost),
            (
                $stats.evicted,
                $stats.removed,
                $stats.cleared,
                $stats.shrunk,
            ),
        )
    };
}

#[test]
fn every_answer_of_an_add_is_counted_once() {
    on_both(|store, _| {
        let orders = store.cache("orders").unwrap();
        for id in ["a", "b", "c", "d", "e"] {
            add(&orders, id);
        }
        for _ in 0..3 {
            assert!(matches!(orders.add("e").unwrap(), Outcome::Duplicate(_)));
        }
        let Reserve::Reserved(claim) = orders.reserve("f").unwrap() else {
            panic!("it is new")
        };
        assert!(matches!(orders.add("f").unwrap(), Outcome::Pending(_)));
        assert!(matches!(orders.reserve("f").unwrap(), Reserve::Pending(_)));
        assert!(matches!(
            orders.reserve("e").unwrap(),
            Reserve::Duplicate(_)
        ));
        drop(claim);
        let expected = ((5, 4, 2), (0, 1, 0), (2, 0, 0, 0));
        assert_eq!(counted!(orders.stats()), expected);
        assert_eq!(counted!(store.stats()), expected);
    });
}

#[test]
fn claims_are_counted_where_they_end() {
    on_both(|store, clock| {
        let orders = store.cache("orders").unwrap();
        let lease = Some(Duration::from_secs(1));
        let claim = |id: &str, owner| match orders.reserve_as(id, Owner(owner), lease).unwrap() {
            Reserve::Reserved(claim) => claim,
            other => panic!("{other:?}"),
        };
        let late = claim("a", 1);
        clock.go_on(1000);
        let taker = claim("a", 2);
        let confirmed = |receipt: idjournal::Receipt<Confirmed>| *receipt.outcome().unwrap();
        assert_eq!(confirmed(late.confirm()), Confirmed::LeaseLost);
        assert_eq!(confirmed(taker.confirm()), Confirmed::Recorded);
        claim("b", 1).release();
        claim("c", 1).keep();
        drop(orders.held("c", Owner(1)));
        let expected = ((1, 0, 0), (1, 2, 1), (0, 0, 0, 0));
        assert_eq!(counted!(orders.stats()), expected);
        assert_eq!(counted!(store.stats()), expected);
        assert_eq!(orders.stats().claims, 0);
    });
}

#[test]
fn what_leaves_a_window_is_counted_by_its_reason() {
    on_both(|store, _| {
        let orders = store.cache("orders").unwrap();
        for number in 0..10 {
            add(&orders, format!("{number}"));
        }
        assert!(orders.remove("9").wait().unwrap());
        assert!(!orders.remove("9").wait().unwrap());
        // The hole goes out of the window as an ID would, but nothing is evicted with it.
        for id in ["x", "y", "z"] {
            add(&orders, id);
        }
        assert_eq!(orders.stats().evicted, 7 + 2);
        orders.set_capacity(1).wait().unwrap();
        assert_eq!((orders.stats().shrunk, orders.len()), (2, 1));
        assert_eq!(orders.clear().wait().unwrap(), 1);
        add(&orders, "last");
        assert!(store.drop_cache("orders").wait().unwrap());
        let expected = ((14, 0, 0), (0, 0, 0), (9, 1, 2, 2));
        assert_eq!(counted!(store.stats()), expected);
        assert_eq!(
            counted!(orders.stats()),
            expected,
            "the handle starts a new one"
        );
    });
}

#[test]
fn a_transaction_counts_what_it_adds_and_removes_when_it_commits() {
    on_both(|store, _| {
        let (orders, bills) = (
            store.cache("orders").unwrap(),
            store.cache("bills").unwrap(),
        );
        add(&orders, "known");
        let mut batch = store.begin(OnDuplicate::Skip, Owner::NOBODY);
        for id in ["a", "known", "b", "a", "d"] {
            let _ = batch.add(&orders, id).unwrap();
        }
        let _ = batch.add(&bills, "e").unwrap();
        assert!(batch.remove(&orders, "d").unwrap());
        assert_eq!(
            counted!(store.stats()).0,
            (1, 2, 0),
            "nothing but answers yet"
        );
        batch.commit().wait().unwrap();
        let added = orders.stats().last_ordinal;
        assert_eq!(
            (added, orders.stats().added, bills.stats().added),
            (4, 4, 1)
        );
        assert_eq!(orders.stats().removed, 1);
        assert_eq!((orders.stats().evicted, orders.len()), (1, 2));
        assert_eq!(store.stats().added, added + 1);
        let mut undone = store.begin(OnDuplicate::Skip, Owner::NOBODY);
        let _ = undone.add(&bills, "f").unwrap();
        let before = counted!(store.stats());
        undone.rollback();
        assert_eq!(counted!(store.stats()), before);
    });
}

#[test]
fn adds_at_capacity_0_are_counted_though_nothing_is_stored() {
    on_both(|store, _| {
        let orders = store.cache("orders").unwrap();
        orders.set_capacity(0).wait().unwrap();
        add(&orders, "a");
        add(&orders, "a");
        let Reserve::Reserved(claim) = orders.reserve("a").unwrap() else {
            panic!("nothing is known")
        };
        assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
        let stats = orders.stats();
        assert_eq!(
            (stats.added, stats.confirmed, stats.last_ordinal),
            (3, 1, 0)
        );
        assert_eq!(store.stats().added, 3);
    });
}

#[test]
fn ages_are_those_of_the_oldest_and_of_the_last_pushed_out() {
    on_both(|store, clock| {
        let orders = store.cache("orders").unwrap();
        let ages = |stats: CacheStats| {
            let milliseconds = |age: Option<Duration>| age.map(|age| age.as_millis());
            (
                milliseconds(stats.oldest_age),
                milliseconds(stats.age_at_last_eviction),
            )
        };
        assert_eq!(ages(orders.stats()), (None, None));
        for (number, pause) in [10, 200, 3000, 40_000].into_iter().enumerate() {
            add(&orders, format!("{number}"));
            clock.go_on(pause);
        }
        assert_eq!(ages(orders.stats()), (Some(43_200), Some(3210)));
        clock.go_on(1_000_000);
        assert_eq!(
            ages(orders.stats()),
            (Some(1_043_200), Some(3210)),
            "only one of them goes on"
        );
        add(&orders, "next");
        assert_eq!(ages(orders.stats()), (Some(1_043_000), Some(1_043_200)));
        orders.clear().wait().unwrap();
        assert_eq!(ages(orders.stats()).0, None);
    });
}

#[test]
fn what_ordinals_and_windows_say_is_true_after_a_restart() {
    let (clock, storage) = (Arc::new(Set::default()), MemoryStorage::default());
    let store = open(&storage, &clock);
    let orders = store.cache("orders").unwrap();
    for number in 0..5 {
        add(&orders, format!("{number}"));
        clock.go_on(1000);
    }
    let before = orders.stats();
    assert_eq!((before.added, before.evicted), (5, 2));
    drop(orders);
    store.close().unwrap();
    drop(store);

    let store = open(&storage, &clock);
    let orders = store.cache("orders").unwrap();
    let after = orders.stats();
    let lasting = |stats: CacheStats| {
        let ordinals = (stats.added, stats.last_ordinal, stats.len, stats.capacity);
        (ordinals, stats.live_bytes, stats.oldest_age)
    };
    assert_eq!(lasting(after), lasting(before));
    assert_eq!(
        (after.evicted, after.age_at_last_eviction),
        (0, None),
        "of this life"
    );
    assert_eq!(store.stats().added, 0, "of this life");
    add(&orders, "next");
    assert_eq!((orders.stats().added, store.stats().added), (6, 1));
}

#[test]
fn what_dropped_addresses_have_counted_stays_in_the_figures_of_the_store() {
    on_both(|store, _| {
        let keep = store.cache("keep").unwrap();
        for round in 0..200_u64 {
            let name = format!("temporary-{round}");
            let temporary = store.cache(&name).unwrap();
            for id in ["a", "b", "c", "d"] {
                add(&temporary, id);
            }
            assert!(matches!(temporary.add("d").unwrap(), Outcome::Duplicate(_)));
            drop(temporary);
            assert!(store.drop_cache(&name).wait().unwrap());
            add(&keep, format!("{round}"));
            if round % 50 == 49 {
                store.compact().unwrap();
            }
        }
        let stats = store.stats();
        assert_eq!(
            counted!(stats),
            ((1000, 200, 0), (0, 0, 0), (200 + 197, 0, 600, 0))
        );
        assert_eq!(stats.caches, 1);
    });
}

#[test]
fn a_store_tells_of_its_journal_and_of_its_recovery() {
    let (clock, storage) = (Arc::new(Set::default()), MemoryStorage::default());
    let store = open(&storage, &clock);
    assert_eq!(store.stats().records_per_sync(), None);
    let orders = store.cache("orders").unwrap();
    for number in 0..500 {
        add(&orders, format!("{number}"));
    }
    store.sync().wait().unwrap();
    let stats = store.stats();
    let per_sync = stats.records_per_sync().unwrap();
    assert!((per_sync - stats.records as f64 / stats.syncs as f64).abs() < 1e-9);
    assert!(per_sync > 1.0, "{per_sync}");
    assert!(stats.live_bytes > 0 && stats.live_bytes < stats.disk_bytes);
    assert!(stats.slots > 0 && !stats.is_poisoned && !stats.recovery_found_tail);
    drop(orders);
    store.close().unwrap();
    drop(store);

    clock.go_on(70_000);
    let store = open(&storage, &clock);
    let Stats {
        clock_ahead_milliseconds,
        recovery_milliseconds,
        ..
    } = store.stats();
    assert_eq!(clock_ahead_milliseconds, 70_000);
    assert_eq!(recovery_milliseconds, store.recovery().took_milliseconds);
}

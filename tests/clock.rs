//! Promise: a clock that jumps, forward and back, over restarts and within a run, puts no time back
//! in the journal, ends no lease too early, and stops no interval (F34).
//!
//! Method: both clocks are set by hand; the times are read from the records.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use idjournal::inspect::{Inspection, Record};
use idjournal::{
    Clock, MemoryStorage, OnDuplicate, Options, Owner, Reserve, Seen, State, Store, SyncPolicy,
    Ticks,
};

use support::{Jumping, killed, open, small, uuid};

fn with_clock(clock: &Arc<Jumping>, options: Options) -> Options {
    options.clock(Arc::clone(clock) as Arc<dyn Clock>)
}

const YEAR: u64 = 365 * 24 * 3_600_000;
const NOW: u64 = 54 * YEAR;

/// The times of all records in the order of the journal.
fn times(storage: &MemoryStorage) -> Vec<Ticks> {
    let inspection = Inspection::on(storage.clone()).unwrap();
    assert!(!inspection.is_damaged(), "{:?}", inspection.findings());
    let mut times = Vec::new();
    inspection
        .records(&mut |item| {
            times.extend(match &item.decoded.record {
                Record::Add(add) if !item.decoded.carried => Some(add.time),
                Record::Remove { time, .. }
                | Record::Clear { time, .. }
                | Record::Drop { time, .. }
                | Record::Transaction { time, .. } => Some(*time),
                Record::Definition(definition) => Some(definition.time),
                _ => None,
            });
            ControlFlow::Continue(())
        })
        .unwrap();
    times
}

fn time_of(store: &Store, id: &[u8]) -> Ticks {
    match store.cache("orders").unwrap().state(id) {
        State::Known(Seen { time, .. }) | State::Unsynced(Seen { time, .. }) => time,
        other => panic!("{other:?}"),
    }
}

/// One record of each kind that has a time.
fn change(store: &Store, number: &mut u64) {
    let orders = store.cache("orders").unwrap();
    for _ in 0..3 {
        let _ = orders.add(uuid(*number)).unwrap();
        *number += 1;
    }
    let mut batch = store.begin(OnDuplicate::Skip, Owner(1));
    let _ = batch.add(&orders, uuid(*number)).unwrap();
    *number += 1;
    batch.commit().wait().unwrap();
    let gone = store.cache("gone").unwrap();
    let _ = (gone.add("a").unwrap(), gone.add("b").unwrap());
    assert!(gone.remove("a").wait().unwrap());
    assert_eq!(gone.clear().wait().unwrap(), 1);
    assert!(store.drop_cache("gone").wait().unwrap());
}

#[test]
fn f34_times_never_go_back_whatever_both_clocks_do() {
    // Wall and monotonic clock at the begin of a life, and where the monotonic one jumps within it.
    let lives: [(u64, u64, &[u64]); 8] = [
        (NOW, 5_000, &[5_010, 6_000, 1_000, 0, 7_000, 6_999, 7_010]),
        // Years back, then years ahead, then back again.
        (NOW - 20 * YEAR, 9_000, &[9_500, 100]),
        (NOW + 75 * YEAR, 0, &[10, YEAR, 20, 3 * YEAR]),
        (NOW, 80 * YEAR, &[80 * YEAR + 10, 40]),
        (0, 0, &[0, 0, 10]),
        // Beyond what can be told in a short record, and at the end of all times.
        (NOW, 3, &[600 * YEAR, 4]),
        (u64::MAX, 3, &[u64::MAX, 4]),
        (NOW, u64::MAX, &[0, 10]),
    ];
    for segment_bytes in [1024, 64 << 10] {
        let mut storage = MemoryStorage::new();
        let clock = Arc::new(Jumping::default());
        let mut number = 0;
        let mut newest = Ticks(0);
        for (at, (wall, monotonic, jumps)) in lives.into_iter().enumerate() {
            clock.set(wall, monotonic);
            let store = open(storage.clone(), with_clock(&clock, small(segment_bytes))).unwrap();
            if at > 0 {
                let ahead = store.recovery().clock_ahead_milliseconds;
                let is_behind = Ticks(wall / Ticks::MILLISECONDS) < newest;
                assert_eq!(ahead < 0, is_behind, "life {at}: {ahead} ms ahead");
            }
            for jump in [monotonic].iter().chain(jumps) {
                clock.set(wall, *jump);
                change(&store, &mut number);
                let last = time_of(&store, &uuid(number - 1));
                assert!(
                    last >= newest,
                    "life {at}, {jump}: {last:?} after {newest:?}"
                );
                newest = last;
                // The wall clock is not asked again.
                clock.set(0, *jump);
                change(&store, &mut number);
                newest = newest.max(time_of(&store, &uuid(number - 1)));
            }
            store.sync().wait_synced().unwrap();
            let all = times(&storage);
            assert!(all.len() > 10 && all.is_sorted(), "life {at}: {all:?}");
            // One life ends by a close, the next by a kill.
            if at % 2 == 0 {
                store.close().unwrap();
            }
            storage = killed(&storage);
        }
    }
}

#[test]
fn f34_a_clock_that_goes_back_ends_no_lease_and_one_that_goes_on_ends_it() {
    let clock = Arc::new(Jumping::default());
    clock.set(NOW, 100_000);
    let options = with_clock(&clock, small(4096));
    let store = open(MemoryStorage::new(), options).unwrap();
    let orders = store.cache("orders").unwrap();
    let lease = Some(Duration::from_secs(10));
    let Reserve::Reserved(claim) = orders.reserve_as("a", Owner(1), lease).unwrap() else {
        panic!("it is claimed");
    };
    for (wall, monotonic) in [
        (NOW + YEAR, 100_010),
        (0, 109_990),
        (NOW, 50_000),
        (u64::MAX, 0),
        (NOW, 109_999),
    ] {
        clock.set(wall, monotonic);
        assert!(
            matches!(orders.reserve("a").unwrap(), Reserve::Pending(Owner(1))),
            "the lease ended at {monotonic}"
        );
    }
    clock.set(NOW, 110_000);
    assert!(matches!(orders.reserve("a").unwrap(), Reserve::Reserved(_)));
    drop(claim);
}

#[test]
fn f34_intervals_still_end_after_the_clock_went_back() {
    let clock = Arc::new(Jumping::default());
    clock.set(NOW, 10_000_000);
    let policy = SyncPolicy::Interval(Duration::from_secs(1));
    let options = with_clock(&clock, small(4096).sync_policy(policy));
    let store = open(MemoryStorage::new(), options).unwrap();
    let orders = store.cache("orders").unwrap();
    assert!(!orders.submit("a").is_synced(), "the interval is not over");
    // Back by hours: what was recorded is on disk an interval later at most, by the new time.
    clock.set(NOW, 5_000);
    let first = orders.submit("b");
    clock.set(NOW, 6_000);
    assert!(orders.submit("c").is_synced() && first.is_synced());
    clock.set(NOW, 6_500);
    assert!(!orders.submit("d").is_synced(), "a new interval has begun");
    // Ahead by years: over at once, and then as always.
    clock.set(NOW, YEAR);
    assert!(orders.submit("e").is_synced());
    assert!(!orders.submit("f").is_synced());
    clock.set(0, YEAR + 1_000);
    assert!(orders.submit("g").is_synced());
}

#[test]
fn f34_a_clock_that_stands_still_does_not_wait_for_a_lock_for_ever() {
    let clock = Arc::new(Jumping::default());
    let storage = MemoryStorage::new();
    let _held = open(storage.clone(), small(4096)).unwrap();
    let options = small(4096).lock_wait(Duration::from_millis(50));
    assert!(open(storage, with_clock(&clock, options)).is_err());
}

//! Promise: under `Interval` an acknowledged record is on disk once the interval is over, with the
//! keeper also when nobody calls, without it at the next call.
//!
//! Method: a clock that is set by hand; receipts tell what is on disk.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::{MemoryStorage, Options, Store, SyncPolicy};
use support::HandClock;

const INTERVAL: Duration = Duration::from_secs(1);

fn open(clock: &Arc<HandClock>, keeper: bool) -> Store {
    let options = Options::default()
        .segment_bytes(4096)
        .keeper(keeper)
        .sync_policy(SyncPolicy::Interval(INTERVAL))
        .clock(Arc::clone(clock) as Arc<dyn idjournal::Clock>);
    Store::open_on(MemoryStorage::default(), options, &mut |_| {}).unwrap()
}

#[test]
fn without_a_keeper_the_next_call_after_the_interval_syncs() {
    let clock = Arc::new(HandClock::default());
    let store = open(&clock, false);
    let orders = store.cache("orders").unwrap();
    let first = orders.submit("a");
    assert!(!first.is_synced());
    let second = orders.submit("b");
    assert!(!second.is_synced(), "the interval is not over");
    clock.0.fetch_add(1_000, Ordering::Relaxed);
    let third = orders.submit("c");
    assert!(first.is_synced() && second.is_synced() && third.is_synced());
    assert!(!orders.submit("d").is_synced(), "a new interval has begun");
    let waited = orders.submit("e");
    assert!(
        waited.wait().is_ok(),
        "waiting is for a kill, not for the disk"
    );
}

#[test]
fn with_a_keeper_the_interval_ends_without_a_call() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::default()
        .segment_bytes(1 << 16)
        .sync_policy(SyncPolicy::Interval(Duration::from_millis(20)));
    let store = Store::open(directory.path(), options).unwrap();
    let receipt = store.cache("orders").unwrap().submit("a");
    // Bounded by count, not by time: the keeper needs a few of these.
    let synced = (0..2_000_000_000_u64).any(|_| {
        std::thread::yield_now();
        receipt.is_synced()
    });
    assert!(synced);
}

//! Promise: under `Interval` a record is on disk once the interval has gone by, whatever else the
//! keeper is called for meanwhile.
//!
//! Method: the keeper is called for upkeep again and again before the interval is over; how long
//! receipts wait for their sync.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;
use std::time::{Duration, Instant};

use idjournal::{MemoryStorage, Options, Store, SyncPolicy};

#[test]
fn upkeep_does_not_put_off_the_sync_of_an_interval() {
    let interval = Duration::from_millis(500);
    let options = Options::default()
        .sync_policy(SyncPolicy::Interval(interval))
        .segment_bytes(65_536)
        .id_cache_size(10);
    let store = Store::open_on(MemoryStorage::new(), options, &mut |_| {}).unwrap();
    let orders = store.cache("orders").unwrap();
    // More than a segment is dead, so that every few adds call the keeper.
    let mut number = 0_u64;
    let mut add = || {
        number += 1;
        orders.submit([&number.to_le_bytes()[..], &[0; 28]].concat())
    };
    let dead = || store.stats().used_bytes - store.stats().live_bytes;
    for _ in 0..4 {
        while dead() < 65_536 + 8_192 {
            add().detach();
        }
        // From a sync on that the interval asked for: the first may be that of a release.
        for _ in 0..2 {
            let before = add();
            while !before.is_synced() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let begun = Instant::now();
        let first = add();
        // The keeper is called shortly before the interval is over.
        thread::sleep(interval * 9 / 10);
        (0..30).for_each(|_| add().detach());
        while !first.is_synced() && begun.elapsed() < 3 * interval {
            thread::sleep(Duration::from_millis(5));
        }
        let waited = begun.elapsed();
        assert!(waited < interval * 13 / 10, "synced after {waited:?}");
    }
}

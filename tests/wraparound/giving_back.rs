//! What a clear, a drop or a shrink frees is given back within half of the disk use in further
//! bytes, or at once.
#![allow(
    clippy::print_stdout,
    reason = "the measured figures are part of the result"
)]

use idjournal::{Cache, MemoryStorage, Options, Store, SyncPolicy};

use crate::bound::Bound;
use crate::support::{answers, open, uuid};

fn filled(segment_bytes: u64, ids: u64, storage: &MemoryStorage) -> (Store, Cache) {
    let options = Options::default()
        .keeper(false)
        .segment_bytes(segment_bytes)
        .id_cache_size(ids)
        .sync_policy(SyncPolicy::Manual);
    let store = open(storage.clone(), options).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..ids + ids / 2 {
        let _ = orders.add(uuid(number)).unwrap();
    }
    (store, orders)
}

fn free(what: &str, store: &Store, orders: &Cache) {
    match what {
        "clear" => drop(orders.clear().wait().unwrap()),
        "drop" => assert!(store.drop_cache("orders").wait().unwrap()),
        _ => orders.set_capacity(10).wait().unwrap(),
    }
}

#[test]
fn the_space_comes_back_within_half_of_it_in_further_bytes() {
    for (segment_bytes, ids) in [(1024, 500), (4096, 2_000), (64 << 10, 20_000)] {
        for what in ["clear", "drop", "shrink"] {
            let storage = MemoryStorage::new();
            let (store, orders) = filled(segment_bytes, ids, &storage);
            let before = store.stats();
            free(what, &store, &orders);
            let freed = before.live_bytes - store.stats().live_bytes;
            let other = store.cache("other").unwrap();
            other.set_capacity(10).wait().unwrap();
            let mut bound = Bound::new(segment_bytes);
            let mut next = 10_000_000;
            let mut bytes = 0;
            while bytes < before.disk_bytes / 2 {
                next += 1;
                let _ = other.add(uuid(next)).unwrap();
                let stats = store.stats();
                bytes = stats.appended_bytes() - before.appended_bytes();
                bound.note(&stats);
            }
            let after = store.stats();
            println!(
                "{what} of {ids} IDs in segments of {segment_bytes}: {} on disk, \
                 {freed} freed, then {}",
                before.disk_bytes, after.disk_bytes
            );
            let kept = before.disk_bytes - freed + 2 * segment_bytes;
            assert!(after.disk_bytes <= kept, "{what}: {after:?}");
            // By now no record is left from when the IDs lived.
            bound.check(&after, what);
        }
    }
}

#[test]
fn compact_gives_it_back_at_once_and_keeps_what_lives() {
    for (segment_bytes, ids) in [(1024, 500), (4096, 2_000), (64 << 10, 20_000)] {
        for what in ["clear", "drop", "shrink"] {
            let storage = MemoryStorage::new();
            let (store, orders) = filled(segment_bytes, ids, &storage);
            let keep = store.cache("keep").unwrap();
            for number in 0..20 {
                let _ = keep.add(uuid(number)).unwrap();
            }
            free(what, &store, &orders);
            let known = answers(&store);
            store.compact().unwrap();
            let stats = store.stats();
            let allowed = 4 * segment_bytes + 2 * stats.live_bytes;
            assert!(stats.disk_bytes <= allowed, "{what}: {stats:?}");
            // Nothing dead is left but the frame of what was just written.
            let dead = stats.used_bytes - stats.live_bytes;
            assert!(dead <= 2 * segment_bytes, "{what}: {stats:?}");
            assert!(answers(&store) == known, "{what}");
            let released = stats.segments_released;
            store.compact().unwrap();
            store.close().unwrap();
            let store = open(storage, small_of(segment_bytes)).unwrap();
            assert!(answers(&store) == known, "{what}");
            println!(
                "{what} and compact: {} bytes, {released} released",
                stats.disk_bytes
            );
        }
    }
}

fn small_of(segment_bytes: u64) -> Options {
    crate::support::small(segment_bytes)
}

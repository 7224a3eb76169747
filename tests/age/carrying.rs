//! What carrying does about expired IDs, and that their space comes back.

use std::time::Duration;

use idjournal::{MemoryStorage, Options, Outcome, Store};

use super::support::{kept::Kept, killed, open, small, uuid};
use super::{AGE, NOW, Time, ids};

fn fill(store: &Store, address: &str, from: u64, count: u64) {
    let cache = store.cache(address).unwrap();
    for number in from..from + count {
        assert_eq!(cache.add(uuid(number)).unwrap(), Outcome::Added);
    }
}

/// Bytes that carrying copies while 500 IDs that have ended lie in front; the books are exact.
fn carried(mut kept: Kept, end: impl Fn(&Store, &Time)) -> u64 {
    let time = Time::begin();
    let options = || time.options().id_cache_size(1000);
    let store = kept.open(options());
    let old = store.cache("old").unwrap();
    old.set_max_age(Some(AGE)).wait().unwrap();
    fill(&store, "old", 0, 500);
    end(&store, &time);
    let busy = store.cache("busy").unwrap();
    busy.set_capacity(20).wait().unwrap();
    fill(&store, "busy", 0, 3000);
    let stats = store.stats();
    assert!(stats.segments_released > 10, "{stats:?}");
    assert!(stats.disk_bytes <= 8 * 4096, "{stats:?}");
    drop((old, busy));
    let store = kept.again(store, false, options());
    assert_eq!(store.stats().live_bytes, stats.live_bytes);
    assert_eq!(store.cache("busy").unwrap().len(), 20);
    stats.carried_bytes
}

#[test]
fn an_expired_id_is_not_carried() {
    for (kept, other) in Kept::all().into_iter().zip(Kept::all()) {
        let expired = carried(kept, |store, time| {
            time.set(100);
            assert!(store.cache("busy").unwrap().is_empty());
        });
        let cleared = carried(other, |store, _| {
            store.cache("old").unwrap().clear().wait().unwrap();
        });
        assert!(expired <= cleared + 256, "{expired} and {cleared} bytes");
    }
}

/// The IDs of "old" with lower ordinals come to stand behind those with higher ones, by carrying;
/// then those in front expire and are passed over, and the clock goes back.
#[test]
fn f53_what_carrying_passed_over_is_never_less_than_a_prefix() {
    for is_reading in [true, false] {
        let time = Time::begin();
        let mut storage = MemoryStorage::new();
        let options = || time.options().id_cache_size(1000).segment_bytes(2048);
        let store = open(storage.clone(), options()).unwrap();
        let old = store.cache("old").unwrap();
        old.set_max_age(Some(Duration::from_secs(1)))
            .wait()
            .unwrap();
        fill(&store, "old", 0, 20);
        let busy = store.cache("busy").unwrap();
        busy.set_capacity(3).wait().unwrap();
        time.set(500);
        fill(&store, "busy", 0, 15);
        fill(&store, "old", 20, 20);
        let mut next = 15;
        let mut states = Vec::new();
        for milliseconds in [500, 900, 1000, 1100, 1400, 1499, 1500, 1600] {
            for _ in 0..30 {
                time.set(milliseconds);
                if is_reading {
                    let _ = old.len();
                }
                fill(&store, "busy", next, 1);
                next += 1;
                // Back to the beginning: time is then that of the newest record.
                let again = killed(&storage);
                time.0.set(NOW, 0);
                let copy = open(again, options()).unwrap();
                let found = copy.cache("old").unwrap().ids().collect::<Vec<_>>();
                let all: Vec<Vec<u8>> = (0..40).map(|id| uuid(id).to_vec()).collect();
                assert!(all.ends_with(&found), "{milliseconds} ms: a hole in front");
                assert_eq!(copy.stats().live_bytes, {
                    time.set(milliseconds);
                    let _ = old.len();
                    store.stats().live_bytes
                });
                states.push(found.len());
            }
        }
        assert!(states.is_sorted_by(|one, other| one >= other), "{states:?}");
        assert!(states.contains(&40) && states.contains(&20), "{states:?}");
        assert_eq!(states.last(), Some(&0));
        drop((old, busy));
        storage = killed(&storage);
        drop(store);
        time.0.set(NOW, 0);
        let store = open(storage, options()).unwrap();
        assert!(store.cache("old").unwrap().is_empty());
    }
}

#[test]
fn the_space_of_addresses_that_nobody_uses_any_more_comes_back() {
    for is_compacting in [false, true] {
        let time = Time::begin();
        let options: Options = time.options().max_age(Some(AGE)).id_cache_size(1_000_000);
        let store = open(MemoryStorage::new(), options).unwrap();
        for address in 0..50 {
            fill(&store, &format!("idle {address}"), 0, 100);
        }
        let before = store.stats();
        assert!(before.live_bytes > 5000 * 56, "{before:?}");
        time.set(100);
        if is_compacting {
            store.compact().unwrap();
        } else {
            // All of this lives: nothing but age makes anything dead.
            let recent = store.cache("recent").unwrap();
            recent.set_max_age(None).wait().unwrap();
            let bytes = before.disk_bytes / 2;
            let until = before.record_bytes + bytes;
            let mut number = 0;
            while store.stats().record_bytes < until {
                fill(&store, "recent", number, 1);
                number += 1;
            }
        }
        let after = store.stats();
        let idle = store.cache("idle 7").unwrap();
        assert!(ids(&idle).is_empty());
        let left = after.disk_bytes - after.live_bytes.min(after.disk_bytes);
        assert!(left <= 5 * 4096 + after.live_bytes, "{before:?} {after:?}");
    }
}

#[test]
fn a_clock_that_stands_and_an_age_that_is_never_reached_cost_no_record() {
    let run = |age: Option<Duration>| {
        let time = Time::begin();
        let options = small(4096).id_cache_size(200).clock(time.0.clone());
        let store = open(MemoryStorage::new(), options.max_age(age)).unwrap();
        fill(&store, "orders", 0, 5000);
        let stats = store.stats();
        (stats.records, stats.record_bytes, stats.carried_bytes)
    };
    assert_eq!(run(None), run(Some(AGE)));
}

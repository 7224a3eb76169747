//! Rows 36 to 40, 51 and 54: the bound of a cache, and what it costs.

use std::sync::atomic::{AtomicBool, Ordering};

use idjournal::Store;

use super::common::simulated::{CallKind, SimulatedDisk};
use super::support::home::{
    assert_absent, assert_added, assert_duplicate, everywhere, fill, ids, numbers, seen,
    where_stored, window,
};
use super::support::{killed, open, small, uuid};

#[test]
fn r36_beyond_the_size_the_oldest_go_and_no_more_than_need_be() {
    everywhere(&window(10), |home| {
        let orders = home.orders();
        for number in 0..50_u64 {
            fill(&orders, [number]);
            let first = (number + 1).saturating_sub(10);
            assert_eq!(numbers(&orders), Vec::from_iter(first..=number));
        }
        assert_eq!(orders.stats().evicted, 40);
        orders.set_capacity(4).wait().unwrap();
        assert_eq!(numbers(&orders), [46, 47, 48, 49]);
        assert_eq!(orders.stats().shrunk, 6);
    });
}

#[test]
fn r37_the_newest_id_is_there_after_its_own_add() {
    for size in [1, 2, 100] {
        everywhere(&window(size), |home| {
            let orders = home.orders();
            for number in 0..30_u64 {
                assert_added(&orders, number.to_string());
                assert!(orders.contains(number.to_string()).unwrap());
                assert_eq!(
                    assert_duplicate(&orders, number.to_string()).adds_left,
                    size
                );
            }
        });
    }
}

#[test]
fn r38_at_no_moment_are_there_more_ids_than_the_size() {
    everywhere(&window(20), |home| {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let (orders, mut looks) = (home.orders(), 0_u64);
                while !is_over.load(Ordering::Relaxed) || looks == 0 {
                    assert!(orders.len() <= 20 && orders.stats().len <= 20);
                    let info = home.store().caches(None, 9);
                    assert!(info.iter().all(|info| info.len <= 20));
                    looks += 1;
                }
                looks
            });
            let adders = [0, 1].map(|thread| {
                let orders = home.orders();
                scope.spawn(move || fill(&orders, thread * 1_000..(thread + 1) * 1_000))
            });
            let joined = adders.map(|adder| adder.join());
            is_over.store(true, Ordering::Relaxed);
            assert!(joined.iter().all(Result::is_ok) && looker.join().unwrap() > 0);
        });
        assert_eq!(home.orders().len(), 20);
    });
}

#[test]
fn r39_order_and_content_after_a_restart_are_those_before() {
    where_stored(&small(2048).id_cache_size(30), |home| {
        for life in 0..6_u64 {
            fill(&home.orders(), life * 50..(life + 1) * 50);
            for number in [life * 50 + 25, life * 50 + 44] {
                assert!(home.orders().remove(number.to_string()).wait().unwrap());
            }
            assert!(
                home.orders()
                    .renew((life * 50 + 30).to_string())
                    .wait()
                    .unwrap()
            );
            let before = ids(&home.orders());
            match life % 3 {
                0 => home.reopen(),
                1 => home.kill(),
                _ => {
                    home.store().compact().unwrap();
                    home.kill();
                }
            }
            assert_eq!(ids(&home.orders()), before);
        }
    });
}

#[test]
fn r40_a_hit_renews_nothing_unless_that_is_asked_for() {
    everywhere(&window(3), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        assert_duplicate(&orders, "0");
        assert!(orders.contains("0").unwrap());
        let _ = orders.reserve("0").map(drop);
        assert_eq!(numbers(&orders), [0, 1, 2]);
        assert_added(&orders, "3");
        assert_absent(&orders, "0");
        assert!(orders.renew("1").wait().unwrap());
        assert_eq!(seen(&orders, "1").adds_left, 3);
        assert_added(&orders, "4");
        assert!(orders.contains("1").unwrap());
        assert_absent(&orders, "2");
    });
}

/// What some adds have cost the disk.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Calls of the disk by the add that made the most.
    most_calls: u64,
    writes: u64,
    syncs: u64,
    /// Of records and headers.
    bytes: u64,
}

#[test]
fn r51_an_add_costs_as_much_after_three_times_the_size_as_before() {
    const SIZE: u64 = 4_000;
    let disk = SimulatedDisk::new(512);
    let options = small(256 << 10).id_cache_size(SIZE);
    let store = Store::open_on(disk.clone(), options, &mut |_| {}).unwrap();
    let orders = store.cache("orders").unwrap();
    let so_far = || Cost {
        most_calls: 0,
        writes: disk.count(CallKind::Write),
        syncs: disk.count(CallKind::Sync),
        bytes: store.stats().appended_bytes(),
    };
    let mut rounds = Vec::new();
    for round in 0..6 {
        let (before, mut most_calls) = (so_far(), 0);
        for number in round * SIZE..(round + 1) * SIZE {
            let calls = disk.calls();
            assert_added(&orders, uuid(number));
            most_calls = most_calls.max(disk.calls() - calls);
        }
        let after = so_far();
        rounds.push(Cost {
            most_calls,
            writes: after.writes - before.writes,
            syncs: after.syncs - before.syncs,
            bytes: after.bytes - before.bytes,
        });
    }
    // The first rounds make slots, which later ones use again.
    let (full, last) = (rounds[1], rounds[5]);
    let is_alike = |one: u64, other: u64| one.abs_diff(other) * 20 <= one;
    assert!(is_alike(full.bytes, last.bytes), "{rounds:?}");
    assert!(is_alike(full.writes, last.writes), "{rounds:?}");
    assert!(last.syncs <= full.syncs + 4, "{rounds:?}");
    // 64 bytes each, and a header and a seal for as many as fit a segment.
    let is_lean = rounds.iter().all(|round| round.bytes <= 68 * SIZE);
    assert!(is_lean, "{rounds:?}");
    assert!(last.most_calls <= rounds[0].most_calls, "{rounds:?}");
}

#[test]
fn r54_what_is_read_at_open_is_bounded_by_what_lives_not_by_history() {
    const SEGMENT_BYTES: u64 = 4096;
    let storage = idjournal::MemoryStorage::new();
    let options = || small(SEGMENT_BYTES).id_cache_size(100);
    let store = open(storage.clone(), options()).unwrap();
    let orders = store.cache("orders").unwrap();
    let (mut next, mut most_live) = (0, 0);
    for history in [100, 1_000, 10_000] {
        while next < history {
            assert_added(&orders, uuid(next));
            most_live = most_live.max(store.stats().live_bytes);
            next += 1;
        }
        let again = open(killed(&storage), options()).unwrap();
        let report = again.recovery();
        assert_eq!(report.ids, 100);
        let bound = 2 * most_live + 4 * SEGMENT_BYTES;
        assert!(
            report.read_bytes <= bound,
            "{} of {bound}",
            report.read_bytes
        );
        assert!(report.records < 1_000, "{} records", report.records);
    }
}

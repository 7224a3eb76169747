//! Rows N: what no test of Artemis pins.

use std::sync::Barrier;

use idjournal::inspect::Inspection;
use idjournal::{Error, MemoryStorage, Outcome, State, SyncPolicy};

use super::common::deaths::at_every_call;
use super::support::gated::Gated;
use super::support::home::{
    assert_absent, assert_added, assert_duplicate, everywhere, fill, ids, numbers, plain, seen,
    where_stored, window,
};
use super::support::{
    Files, answers, assert_same, files, files_in, killed, open, small, storage_of,
};

#[test]
fn n1_an_id_that_is_added_twice_has_one_place_and_is_not_forgotten_early() {
    everywhere(&window(3), |home| {
        let orders = home.orders();
        fill(&orders, 0..2);
        for _ in 0..5 {
            assert_eq!(assert_duplicate(&orders, "0").adds_left, 2);
        }
        assert_added(&orders, "2");
        assert_eq!(numbers(&orders), [0, 1, 2]);
        assert_added(&orders, "3");
        assert_eq!(numbers(&orders), [1, 2, 3]);
    });
}

#[test]
fn n2_an_abort_undoes_evictions_since_none_were_done() {
    everywhere(&window(3), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        let before = [0, 1, 2].map(|number: u64| seen(&orders, number.to_string()));
        let mut transaction = home.begin();
        for number in 3..9_u64 {
            let _ = transaction.add(&orders, number.to_string()).unwrap();
        }
        assert_eq!(numbers(&orders), [0, 1, 2]);
        transaction.rollback();
        let after = [0, 1, 2].map(|number: u64| seen(&orders, number.to_string()));
        assert_eq!(before, after);
        assert_eq!(orders.stats().evicted, 0);
    });
}

#[test]
fn n3_a_clear_does_not_touch_what_commits_later() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        let mut transaction = home.begin();
        let _ = transaction.add(&orders, "3").unwrap();
        assert_eq!(orders.clear().wait().unwrap(), 3);
        assert!(matches!(orders.state("3"), State::Pending(_)));
        transaction.commit().wait().unwrap();
        assert_eq!(numbers(&orders), [3]);
        if home.is_stored() {
            home.kill();
            assert_eq!(numbers(&home.orders()), [3]);
        }
    });
}

#[test]
fn n4_the_order_after_a_remove_and_a_restart_is_that_before() {
    where_stored(&window(5), |home| {
        fill(&home.orders(), 0..5);
        assert!(home.orders().remove("2").wait().unwrap());
        for _ in 0..2 {
            assert_eq!(numbers(&home.orders()), [0, 1, 3, 4]);
            assert_eq!(seen(&home.orders(), "3").adds_left, 4);
            home.kill();
        }
        fill(&home.orders(), [2]);
        assert_eq!(numbers(&home.orders()), [1, 3, 4, 2], "the hole counts");
        home.reopen();
        fill(&home.orders(), [5, 6]);
        assert_eq!(numbers(&home.orders()), [3, 4, 2, 5, 6]);
    });
}

#[test]
fn n6_a_size_that_is_raised_at_restart_revives_nothing() {
    where_stored(&window(3), |home| {
        fill(&home.orders(), 0..6);
        home.reopen_with(window(6));
        assert_eq!(numbers(&home.orders()), [3, 4, 5]);
        assert_eq!(seen(&home.orders(), "3").adds_left, 4);
        fill(&home.orders(), 0..3);
        home.kill();
        assert_eq!(numbers(&home.orders()), [3, 4, 5, 0, 1, 2]);
    });
}

#[test]
fn n7_a_size_of_0_ends_the_ids_on_disk_for_good() {
    where_stored(&window(5), |home| {
        fill(&home.orders(), 0..5);
        home.reopen_with(window(0));
        let change = &home.store().recovery().capacity_changes[0];
        assert_eq!((change.old, change.new, change.forgotten), (5, 0, 5));
        assert_added(&home.orders(), "0");
        assert_added(&home.orders(), "0");
        assert_eq!((home.orders().len(), home.live_records()), (0, 0));
        home.reopen_with(window(5));
        assert!(home.orders().is_empty());
        fill(&home.orders(), 0..5);
    });
}

#[test]
fn n8_of_two_threads_with_one_id_one_is_told_that_it_was_added() {
    everywhere(&plain(), |home| {
        let both = Barrier::new(2);
        for number in 0..200_u64 {
            let add = || {
                let orders = home.orders();
                both.wait();
                matches!(orders.add(number.to_string()).unwrap(), Outcome::Added)
            };
            let told = std::thread::scope(|scope| {
                let threads = [scope.spawn(add), scope.spawn(add)];
                threads.map(|thread| thread.join().unwrap())
            });
            assert_ne!(told[0], told[1], "{number}");
        }
        assert_eq!(numbers(&home.orders()), Vec::from_iter(0..200));
    });
}

#[test]
fn n9_a_death_between_an_add_and_the_eviction_it_causes_shows_both_or_neither() {
    let options = small(1024).id_cache_size(3).sync_policy(SyncPolicy::Always);
    let states = at_every_call(
        &options,
        |store| fill(&store.cache("orders").unwrap(), 0..3),
        10,
        |store, step| fill(&store.cache("orders").unwrap(), [3 + step as u64]),
        4,
        |left| {
            let known = numbers(&left.store.cache("orders").unwrap());
            let first = known[0];
            assert_eq!(known, [first, first + 1, first + 2]);
            let steps = left.acknowledged as u64..=left.begun as u64;
            assert!(steps.contains(&first), "{known:?} after {steps:?}");
        },
    );
    assert!(states > 50, "{states}");
}

/// A small store of many kinds of change, closed.
fn closed() -> Files {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(1024).id_cache_size(5)).unwrap();
    let orders = store.cache("orders").unwrap();
    fill(&orders, 0..30);
    fill(&store.cache("bills").unwrap(), 0..3);
    assert!(orders.remove("27").wait().unwrap());
    store.close().unwrap();
    files(&storage)
}

#[test]
fn n10_a_flipped_bit_is_refused_or_changes_no_answer() {
    let whole = closed();
    let right = answers(&open(storage_of(&whole), small(1024)).unwrap());
    let (mut refused, mut same) = (0, 0);
    for (name, bytes) in &whole {
        for at in 0..bytes.len() {
            let mut harmed = whole.clone();
            harmed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let storage = storage_of(&harmed);
            match open(storage.clone(), small(1024)) {
                Ok(store) => {
                    assert_eq!(answers(&store), right, "{name}, byte {at}");
                    same += 1;
                }
                Err(Error::Damaged { .. } | Error::NewerFormat { .. }) => {
                    assert_same(&files(&storage), &harmed);
                    refused += 1;
                }
                Err(other) => panic!("{name}, byte {at}: {other}"),
            }
        }
    }
    assert!(refused > 100 && same > 1_000, "{refused}, {same}");
}

#[test]
fn n11_an_id_that_looks_like_records_is_an_id() {
    where_stored(&window(20), |home| {
        assert_added(&home.orders(), "a");
        assert_added(&home.orders(), "b");
        assert!(home.orders().remove("a").wait().unwrap());
        // All that was written so far, from every place where a record may begin.
        let slots = files_in(home.path());
        let bytes = &slots["slot-000000"];
        let mut looks = Vec::new();
        for first in (bytes.len() / 4..bytes.len()).step_by(8).take(10) {
            let records = bytes[first..first + 256].to_vec();
            assert_added(&home.orders(), &records);
            looks.push(records);
        }
        for is_compacted in [false, true] {
            if is_compacted {
                home.store().compact().unwrap();
            }
            home.kill();
            let known: Vec<Vec<u8>> = home.orders().ids().collect();
            assert_eq!(known[0], b"b");
            assert_eq!(known[1..], looks);
            assert_absent(&home.orders(), "a");
        }
    });
}

#[test]
fn n12_a_death_while_segments_are_used_again_shows_a_window_that_was() {
    const BEFORE: u64 = 150;
    let options = small(1024).id_cache_size(5).sync_policy(SyncPolicy::Always);
    let mut reused = 0;
    let states = at_every_call(
        &options,
        |store| {
            fill(&store.cache("slow").unwrap(), 0..5);
            fill(&store.cache("orders").unwrap(), 0..BEFORE);
            assert!(store.stats().segments_released > 3);
        },
        60,
        |store, step| fill(&store.cache("orders").unwrap(), [BEFORE + step as u64]),
        3,
        |left| {
            assert_eq!(numbers(&left.store.cache("slow").unwrap()), [0, 1, 2, 3, 4]);
            let known = numbers(&left.store.cache("orders").unwrap());
            let first = known[0];
            assert_eq!(known, Vec::from_iter(first..first + 5));
            let added = first + 5 - BEFORE;
            let steps = left.acknowledged as u64..=left.begun as u64;
            assert!(steps.contains(&added), "{known:?} after {steps:?}");
            let segments = &left.store.recovery().segments;
            let newest = segments.last().unwrap();
            reused += u64::from(newest.number.0 > left.store.stats().slots);
        },
    );
    assert!(states > 400 && reused > 100, "{states}, {reused}");
}

#[test]
fn n13_a_failed_sync_is_never_taken_for_an_answer() {
    for keeper in [false, true] {
        let storage = Gated::default();
        let options = || small(4096).sync_policy(SyncPolicy::Always).keeper(keeper);
        let store = open(storage.clone(), options()).unwrap();
        let orders = store.cache("orders").unwrap();
        assert_added(&orders, "a");
        storage.fail_syncs();
        let unknown = orders.add("b");
        assert!(
            matches!(unknown, Err(Error::OutcomeUnknown { .. })),
            "{unknown:?}"
        );
        for id in ["a", "b", "c"] {
            let refused = orders.add(id);
            assert!(
                matches!(refused, Err(Error::Poisoned { .. })),
                "{refused:?}"
            );
            assert!(matches!(orders.contains(id), Err(Error::Poisoned { .. })));
        }
        assert!(store.stats().is_poisoned);
        let left = killed(storage.inner());
        let store = open(left, options()).unwrap();
        let orders = store.cache("orders").unwrap();
        assert_duplicate(&orders, "a");
        assert_absent(&orders, "c");
        let again = orders.add("b").unwrap();
        assert!(matches!(again, Outcome::Added | Outcome::Duplicate(_)));
        assert_duplicate(&orders, "b");
    }
}

#[test]
fn n14_a_look_changes_nothing_whatever_state_the_store_is_in() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(1024).id_cache_size(5)).unwrap();
    let mut looks = 0;
    for number in 0..120 {
        fill(&store.cache("orders").unwrap(), [number]);
        let before = files(&storage);
        let mut inspection = Inspection::on(storage.clone()).unwrap();
        let statistics = inspection.statistics().unwrap();
        assert_eq!(
            statistics.addresses[0].live,
            store.cache("orders").unwrap().len()
        );
        assert!(!inspection.is_damaged());
        assert_same(&files(&storage), &before);
        looks += 1;
    }
    assert!(looks == 120 && store.stats().segments_released > 2);
}

#[test]
fn n15_a_storm_of_one_id_writes_nothing() {
    everywhere(&window(3), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        let (records, syncs) = (home.store().stats().records, home.store().stats().syncs);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let orders = orders.clone();
                scope.spawn(move || {
                    for _ in 0..2_500 {
                        assert_eq!(assert_duplicate(&orders, "0").adds_left, 1);
                    }
                });
            }
        });
        let stats = home.store().stats();
        assert_eq!((stats.records, stats.syncs), (records, syncs));
        assert_eq!(stats.duplicates, 10_000);
        assert_eq!(ids(&orders), ["0", "1", "2"]);
    });
}

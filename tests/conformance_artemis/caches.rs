//! Rows C: the cache itself; how much it holds, what is remembered of its size, and numbers that
//! are never used again.

use std::collections::BTreeSet;
use std::time::Duration;

use idjournal::inspect::Inspection;
use idjournal::{AddressSettings, Options, Origin, Store, SyncPolicy};
use proptest::collection::{btree_set, vec};
use proptest::prelude::{Just, ProptestConfig, prop_oneof};

use super::common::generator::{Choices, Generator};
use super::common::media::{Cut, Media};
use super::common::simulated::SimulatedDisk;
use super::support::home::{
    Home, assert_absent, assert_added, assert_duplicate, everywhere, fill, numbers, plain, seen,
    where_stored, window, without_persistence,
};
use super::support::small;

/// A transaction may have a quarter of a segment.
fn large() -> Options {
    small(1 << 20).id_cache_size(2_000)
}

fn a_cache_holds_the_last_of_a_transaction_larger_than_itself(home: &mut Home) {
    let orders = home.orders();
    for _ in 0..2 {
        let mut transaction = home.begin();
        for number in 0..5_000_u64 {
            let outcome = transaction.add(&orders, number.to_string()).unwrap();
            assert_eq!(outcome, idjournal::Outcome::Added, "{number}");
        }
        transaction.commit().wait().unwrap();
        assert_eq!(numbers(&orders), Vec::from_iter(3_000..5_000));
    }
    assert_added(&orders, "a");
    assert!(orders.contains("a").unwrap());
    assert!(orders.remove("a").wait().unwrap());
    assert!(!orders.contains("a").unwrap());
    assert_eq!(orders.clear().wait().unwrap(), 1_999);
    assert!(orders.is_empty());
    home.reopen();
    assert!(home.orders().is_empty());
    assert_eq!(home.live_records(), 0);
}

#[test]
fn c1_a_transaction_larger_than_the_cache_leaves_its_last_ids() {
    where_stored(&large(), |home| {
        a_cache_holds_the_last_of_a_transaction_larger_than_itself(home);
        assert_absent(&home.orders(), "4999");
    });
}

#[test]
fn c2_the_same_without_persistence_and_without_a_transaction() {
    without_persistence(&large(), |home| {
        fill(&home.orders(), 0..5_000);
        assert_eq!(numbers(&home.orders()), Vec::from_iter(3_000..5_000));
        home.orders().clear().wait().map(drop).unwrap();
        a_cache_holds_the_last_of_a_transaction_larger_than_itself(home);
    });
}

#[test]
fn c3_an_add_at_size_0_is_no_error() {
    where_stored(&window(0), |home| {
        assert_added(&home.orders(), "a");
        home.reopen();
        assert_added(&home.orders(), "a");
    });
}

#[test]
fn c4_the_same_without_persistence() {
    without_persistence(&window(0), |home| {
        assert_added(&home.orders(), "a");
        assert_added(&home.orders(), "a");
    });
}

#[test]
fn c5_a_hundred_adds_to_a_window_of_ten_leave_the_last_ten_in_order() {
    where_stored(&window(10), |home| {
        for first in [0, 100] {
            fill(&home.orders(), first..first + 100);
            home.reopen();
            assert_eq!(home.store().recovery().ids, 10);
            let last = Vec::from_iter(first + 90..first + 100);
            assert_eq!(numbers(&home.orders()), last);
        }
    });
}

#[test]
fn c6_the_size_of_a_cache_is_remembered_and_compacting_leaves_that_many_records() {
    where_stored(&plain(), |home| {
        home.orders().set_capacity(30).wait().unwrap();
        fill(&home.orders(), 0..60);
        home.reopen();
        assert_eq!(home.orders().capacity(), 30);
        home.store().compact().unwrap();
        assert_eq!(home.live_records(), 30);
        assert_eq!(numbers(&home.orders()), Vec::from_iter(30..60));
    });
}

#[test]
fn c7_what_is_set_for_a_cache_stays_when_other_things_are_set() {
    everywhere(&plain(), |home| {
        let age = Duration::from_secs(3_600);
        let orders = home.orders();
        orders.set_max_age(Some(age)).wait().unwrap();
        orders.set_capacity(30).wait().unwrap();
        let settings = AddressSettings::default().id_cache_size(7);
        home.store().configure("#", settings).wait().unwrap();
        home.cache("other").set_capacity(5).wait().unwrap();
        let place = b"segment 7, offset 900".to_vec();
        home.store()
            .set_bookmark("messages", &place)
            .wait()
            .unwrap();
        let assert_set = |home: &Home| {
            let orders = home.orders();
            assert_eq!((orders.capacity(), orders.max_age()), (30, Some(age)));
            let other = home.cache("other");
            assert_eq!((other.capacity(), other.max_age()), (5, None));
            assert_eq!(home.cache("new").capacity(), 7);
            assert_eq!(home.store().bookmark("messages"), Some(place.clone()));
        };
        assert_set(home);
        if home.is_stored() {
            home.reopen();
            assert_set(home);
            home.store().compact().unwrap();
            home.kill();
            assert_set(home);
        }
    });
}

#[test]
fn c8_the_last_size_that_was_set_wins_and_stays() {
    where_stored(&window(50_000), |home| {
        home.orders().set_capacity(50_000).wait().unwrap();
        home.orders().set_capacity(30).wait().unwrap();
        fill(&home.orders(), 0..60);
        home.reopen_with(window(50_000));
        let stats = home.orders().stats();
        assert_eq!((stats.capacity, stats.capacity_origin), (30, Origin::Call));
        assert_eq!(stats.len, 30);
    });
}

#[test]
fn c9_of_20_000_ids_the_oldest_is_the_first_to_go() {
    everywhere(&large().id_cache_size(20_000), |home| {
        let orders = home.orders();
        fill(&orders, 0..20_000);
        assert!(orders.contains("0").unwrap() && !orders.contains("absent").unwrap());
        for number in 20_000..20_010_u64 {
            assert_added(&orders, number.to_string());
            let oldest = number - 20_000;
            assert_absent(&orders, oldest.to_string());
            assert_eq!(seen(&orders, (oldest + 1).to_string()).adds_left, 1);
        }
    });
}

#[test]
fn c10_ids_are_told_apart_by_their_bytes_whatever_their_length() {
    // Bytes of which there are two, so that IDs are alike.
    let lengths = || vec(prop_oneof![Just(0_u8), Just(0x80)], 0..40);
    let config = ProptestConfig::with_cases(40);
    proptest::proptest!(config, |(known in btree_set(lengths(), 1..60), other in lengths())| {
        everywhere(&plain(), |home| {
            let orders = home.orders();
            for id in &known {
                assert_added(&orders, id);
            }
            for id in &known {
                assert_duplicate(&orders, id);
            }
            assert_eq!(orders.contains(&other).unwrap(), known.contains(&other));
            assert_eq!(orders.ids().collect::<BTreeSet<_>>(), known);
        });
    });
}

/// The number of the newest segment on disk.
fn newest_segment(home: &Home) -> u64 {
    let inspection = Inspection::open(home.path()).unwrap();
    let numbers = inspection.segments().map(|segment| segment.number.0);
    numbers.max().unwrap()
}

#[test]
fn c11_numbers_of_segments_and_adds_only_grow_over_restarts_also_of_an_empty_journal() {
    where_stored(&plain(), |home| {
        let (mut segment, mut ordinal) = (0, 0);
        for life in 0..12_u64 {
            home.orders().set_capacity(10 + life).wait().unwrap();
            fill(&home.orders(), [life]);
            let next = seen(&home.orders(), life.to_string()).ordinal.0;
            assert!(next > ordinal, "add {next} after {ordinal}");
            ordinal = next;
            let next = newest_segment(home);
            assert!(next > segment, "segment {next} after {segment}");
            if life % 3 > 0 {
                home.orders().clear().wait().map(drop).unwrap();
                home.store().compact().unwrap();
                assert_eq!(home.live_records(), 0);
            }
            segment = newest_segment(home);
            match life % 2 {
                0 => home.reopen(),
                _ => home.kill(),
            }
        }
    });
}

/// The highest number in any header of a slot that is finished.
fn highest_number(media: &Media) -> u64 {
    let slots = media.names().into_iter();
    let is_finished = |name: &String| name.starts_with("slot-") && !name.contains('.');
    let numbers = slots.filter(is_finished).map(|name| {
        let content = media.content(&name).unwrap();
        let bytes = content.get(48..56).unwrap_or(&[0; 8]);
        u64::from_le_bytes(bytes.try_into().unwrap())
    });
    numbers.max().unwrap_or(0)
}

#[test]
fn c12_after_a_death_at_any_call_no_number_is_used_again() {
    let options = || small(1024).id_cache_size(8).sync_policy(SyncPolicy::Always);
    let open = |disk: &SimulatedDisk| Store::open_on(disk.clone(), options(), &mut |_| {}).unwrap();
    let disk = SimulatedDisk::new(512);
    let store = open(&disk);
    disk.take_snapshots(100, Generator::new(0));
    let mut snapshots = Vec::new();
    for number in 0..60_u64 {
        fill(&store.cache("orders").unwrap(), [number]);
        snapshots.extend(disk.snapshots().into_iter().map(|one| (number, one.media)));
    }
    assert!(snapshots.len() > 100);
    for (at, (acknowledged, media)) in snapshots.into_iter().enumerate() {
        for cut in [Cut::Everything, Cut::Nothing, Cut::Free] {
            let left = media.image(cut, &mut Choices::random(at as u64));
            let used = highest_number(&left);
            let disk = SimulatedDisk::holding(left);
            let store = open(&disk);
            let orders = store.cache("orders").unwrap();
            assert_added(&orders, "next");
            let ordinal = seen(&orders, "next").ordinal.0;
            assert!(
                ordinal > acknowledged,
                "{ordinal} after {acknowledged} adds"
            );
            let next = highest_number(&disk.media());
            assert!(next > used, "segment {next} after {used}");
        }
    }
}

#[test]
fn c13_when_the_last_add_was_is_told_and_a_drop_takes_the_cache_along() {
    everywhere(&plain(), |home| {
        fill(&home.orders(), 0..3);
        let info = home.store().caches(None, 9).remove(0);
        assert_eq!(info.newest, Some(seen(&home.orders(), "2")));
        assert!(info.newest.is_some_and(|newest| newest.time.0 > 0));
        assert!(home.store().drop_cache("orders").wait().unwrap());
        assert!(home.store().caches(None, 9).is_empty());
        home.reopen();
        assert!(home.store().caches(None, 9).is_empty());
    });
}

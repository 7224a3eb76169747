//! Rows B: bridges, mirrors and clients that send again, and what a full or dying disk does to it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;

use idjournal::{Namespace, OnDuplicate, Options, Outcome, Store, SyncPolicy};

use super::common::deaths::at_every_call;
use super::support::gated::{Counted, Gated, block_on, poll};
use super::support::home::{
    Home, OWNER, assert_absent, assert_added, assert_duplicate, everywhere, fill, ids, numbers,
    plain, scratch, seen, where_stored, window,
};
use super::support::{open, small};

#[test]
fn b1_of_the_ids_that_were_seeded_in_a_transaction_none_passes() {
    everywhere(&plain(), |home| {
        let bridge = home.bridge("target");
        let mut transaction = home.begin();
        for number in 0..100_u64 {
            let outcome = transaction.add(&bridge, number.to_string()).unwrap();
            assert_eq!(outcome, Outcome::Added);
        }
        transaction.commit().wait().unwrap();
        for number in 0..200_u64 {
            let is_new = bridge.add(number.to_string()).unwrap() == Outcome::Added;
            assert_eq!(is_new, number >= 100, "{number}");
        }
    });
}

#[test]
fn b2_there_is_one_live_record_per_message_if_they_are_stored() {
    everywhere(&plain(), |home| {
        let bridge = home.bridge("target");
        for number in (0..50_u64).chain(20..50) {
            let outcome = bridge.add(number.to_string()).unwrap();
            assert!(matches!(outcome, Outcome::Added | Outcome::Duplicate(_)));
        }
        let stored = if home.is_stored() { 50 } else { 0 };
        assert_eq!((bridge.len(), home.live_records()), (50, stored));
    });
}

#[test]
fn b3_an_acknowledgement_comes_only_after_the_sync() {
    for keeper in [true, false] {
        let storage = Gated::default();
        let options = Options::default().segment_bytes(1 << 16).keeper(keeper);
        let store = open(storage.clone(), options).unwrap();
        let bridge = store.cache_in(Namespace::Bridge, "target").unwrap();
        assert_added(&bridge, "first");
        storage.shut();
        let counted = Arc::new(Counted::default());
        let mut receipt = bridge.submit("a");
        assert_eq!(receipt.outcome().unwrap(), &Outcome::Added);
        assert!(!receipt.is_synced());
        if keeper {
            assert!(matches!(poll(&mut receipt, &counted), Poll::Pending));
            storage.await_a_sync();
            assert!(matches!(poll(&mut receipt, &counted), Poll::Pending));
        }
        assert!(!receipt.is_synced(), "the sync waits at the gate");
        storage.unlatch();
        assert_eq!(block_on(receipt).unwrap(), Outcome::Added);
        assert!(bridge.submit("a").is_synced());
    }
}

#[test]
fn b4_what_is_sent_again_is_dropped_by_ids_in_real_files() {
    where_stored(&plain().sync_policy(SyncPolicy::Always), |home| {
        fill(&home.bridge("target"), 0..10);
        assert!(fs::read_dir(home.path()).unwrap().count() > 1);
        home.kill();
        for number in 0..10_u64 {
            assert_duplicate(&home.bridge("target"), number.to_string());
        }
        assert_added(&home.bridge("target"), "10");
    });
}

#[test]
fn b7_a_message_that_comes_back_is_not_swallowed() {
    everywhere(&plain(), |home| {
        let ways = |home: &Home| {
            [
                home.cache("here"),
                home.bridge("there"),
                home.cache("there"),
                home.bridge("here"),
            ]
        };
        for cache in ways(home) {
            assert_added(&cache, "a");
        }
        if home.is_stored() {
            home.reopen();
        }
        for cache in ways(home) {
            assert_duplicate(&cache, "a");
        }
        assert!(home.bridge("here").remove("a").wait().unwrap());
        assert_duplicate(&home.cache("here"), "a");
        assert_duplicate(&home.bridge("there"), "a");
    });
}

#[test]
fn b8_no_bridge_cache_is_left_when_its_queue_goes() {
    everywhere(&plain(), |home| {
        for round in 0..100_u64 {
            fill(&home.bridge("temporary"), round..round + 3);
            assert!(home.store().drop_cache("temporary").wait().unwrap());
        }
        assert_eq!(home.store().stats().caches, 0);
        home.reopen();
        assert!(home.store().caches(None, 9).is_empty());
        assert_eq!(home.live_records(), 0);
    });
}

#[test]
fn b11_after_a_run_and_a_compaction_there_are_no_more_records_than_the_size() {
    where_stored(&window(1_000), |home| {
        for round in 0..3_u64 {
            fill(&home.bridge("target"), round * 1_500..(round + 1) * 1_500);
            home.store().compact().unwrap();
            assert_eq!(home.live_records(), 1_000);
            home.kill();
        }
        let last = Vec::from_iter(3_500..4_500);
        assert_eq!(numbers(&home.bridge("target")), last);
    });
}

#[test]
fn b16_an_abort_frees_the_id_and_what_it_would_have_pushed_out_stays() {
    everywhere(&window(2), |home| {
        let orders = home.orders();
        fill(&orders, 0..2);
        let mut transaction = home.begin();
        let _ = transaction.add(&orders, "2").unwrap();
        let inside = transaction.add(&orders, "0").unwrap();
        assert_eq!(inside, Outcome::Added, "as seen from inside it is gone");
        transaction.rollback();
        assert_eq!(numbers(&orders), [0, 1]);
        assert_duplicate(&orders, "0");
        assert_added(&orders, "2");
        assert_eq!(numbers(&orders), [1, 2]);
    });
}

#[test]
fn b17_a_transaction_is_there_whole_or_not_at_all_whatever_it_dies_at() {
    const EACH: u64 = 7;
    let options = small(2048)
        .id_cache_size(40)
        .sync_policy(SyncPolicy::Always);
    let commit = |store: &Store, number: usize| {
        let mut transaction = store.begin(OnDuplicate::Reject, OWNER);
        for id in 0..EACH {
            let address = if id % 2 == 0 { "even" } else { "odd" };
            let cache = store.cache(address).unwrap();
            let _ = transaction.add(&cache, format!("{number}-{id}")).unwrap();
        }
        transaction.commit().wait().unwrap();
    };
    let states = at_every_call(
        &options,
        |_| {},
        30,
        commit,
        4,
        |left| {
            let (even, odd) = ("even", "odd");
            let [even, odd] = [even, odd].map(|name| left.store.cache(name).unwrap());
            let count = |number: usize| -> usize {
                let known = |id: &u64| {
                    let id = format!("{number}-{id}");
                    even.contains(&id).unwrap() || odd.contains(&id).unwrap()
                };
                (0..EACH).filter(known).count()
            };
            // Of "even" the last 40 are ten transactions.
            for number in left.acknowledged.saturating_sub(9)..left.begun {
                let count = count(number);
                let is_whole = count == EACH as usize;
                assert!(is_whole || count == 0, "{number}: {count}");
                assert!(is_whole || number >= left.acknowledged, "{number}");
            }
        },
    );
    assert!(states > 500, "{states}");
}

#[test]
fn b18_a_renewed_id_moves_and_takes_no_second_place() {
    everywhere(&window(3), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        assert!(orders.renew("0").wait().unwrap());
        assert_eq!((ids(&orders).len(), seen(&orders, "0").adds_left), (3, 3));
        assert_eq!(numbers(&orders), [1, 2, 0]);
        if home.is_stored() {
            home.kill();
        }
        let orders = if home.is_stored() {
            home.orders()
        } else {
            orders
        };
        fill(&orders, 3..5);
        assert_eq!(numbers(&orders), [0, 3, 4]);
        assert_added(&orders, "5");
        assert_absent(&orders, "0");
        assert!(!orders.renew("0").wait().unwrap());
    });
}

#[test]
fn b19_what_older_versions_have_written_is_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut directories = 0;
    for version in fs::read_dir(&fixtures).unwrap() {
        for name in ["one_segment", "wrapped", "stale", "torn", "every_kind"] {
            let from = version.as_ref().unwrap().path().join(name);
            let copy = scratch();
            for file in fs::read_dir(&from).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
            }
            let store = Store::open(copy.path(), plain()).unwrap();
            let info = store.caches(None, 1).remove(0);
            let cache = store.cache_in(info.namespace, &info.address.0).unwrap();
            assert!(info.len > 0, "{name}");
            for id in cache.ids() {
                assert_duplicate(&cache, id);
            }
            assert_added(&cache, "an ID of this version");
            store.close().unwrap();
            let store = Store::open(copy.path(), plain()).unwrap();
            let cache = store.cache_in(info.namespace, &info.address.0).unwrap();
            assert_duplicate(&cache, "an ID of this version");
            directories += 1;
        }
    }
    assert!(directories >= 5);
}

#[test]
fn b20_a_drop_also_ends_caches_that_were_not_asked_for_in_this_life() {
    where_stored(&plain(), |home| {
        fill(&home.bridge("gone"), 0..5);
        fill(&home.cache("gone"), 0..5);
        fill(&home.cache("here"), 0..5);
        home.reopen();
        assert!(home.store().drop_cache("gone").wait().unwrap());
        assert_eq!((home.stored_addresses(), home.live_records()), (1, 5));
        home.kill();
        assert!(home.bridge("gone").is_empty() && home.cache("gone").is_empty());
        assert_eq!(home.cache("here").len(), 5);
    });
}

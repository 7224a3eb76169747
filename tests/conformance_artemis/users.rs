//! Rows P: caches as protocols, clients and long runs use them.

use std::sync::atomic::{AtomicBool, Ordering};

use idjournal::{OnDuplicate, SyncPolicy};

use super::common::deaths::at_every_call;
use super::support::home::{
    Home, OWNER, assert_absent, assert_added, assert_duplicate, everywhere, fill, ids, plain,
    reserved, where_stored, window,
};
use super::support::{Random, small};

#[test]
fn p1_of_three_sends_with_two_ids_two_pass() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        assert_added(&orders, "123");
        assert_duplicate(&orders, "123");
        assert_added(&orders, "456");
        assert_eq!(ids(&orders), ["123", "456"]);
    });
}

#[test]
fn p2_a_roll_back_frees_the_id_also_where_it_was_reserved_at_once() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let mut transaction = home.begin();
        let _ = transaction.add(&orders, "a").unwrap();
        transaction.rollback();
        assert_absent(&orders, "a");
        let claim = reserved(&orders, "a");
        let mut transaction = home.begin();
        let outcome = transaction.add(&orders, "a").unwrap();
        assert!(matches!(outcome, idjournal::Outcome::Pending(_)));
        assert!(transaction.rejected().is_some());
        transaction.rollback();
        claim.release();
        assert_absent(&orders, "a");
        assert_added(&orders, "a");
    });
}

#[test]
fn p3_of_many_sends_with_one_id_one_passes() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        assert_added(&orders, "a");
        for _ in 0..50 {
            assert_eq!(assert_duplicate(&orders, "a").ordinal.0, 1);
        }
        let stats = orders.stats();
        assert_eq!((stats.len, stats.added, stats.duplicates), (1, 1, 50));
    });
}

#[test]
fn p8_there_are_as_many_live_records_as_ids_were_added() {
    everywhere(&plain(), |home| {
        for count in [0, 0, 100] {
            let first = home.orders().len();
            fill(&home.orders(), first..first + count);
            let stored = if home.is_stored() { count } else { 0 };
            assert_eq!(home.live_records(), stored);
        }
    });
}

#[test]
fn p9_an_add_whose_answer_was_lost_is_a_duplicate_when_it_is_sent_again() {
    let options = small(1024).sync_policy(SyncPolicy::Always);
    let mut resent = 0;
    let states = at_every_call(
        &options,
        |_| {},
        40,
        |store, number| assert_added(&store.cache("orders").unwrap(), number.to_string()),
        3,
        |left| {
            let orders = left.store.cache("orders").unwrap();
            for number in 0..left.acknowledged {
                assert_duplicate(&orders, number.to_string());
                resent += 1;
            }
            assert!(orders.len() <= left.begun as u64);
        },
    );
    assert!(states > 400 && resent > 4_000, "{states}, {resent}");
    where_stored(&plain(), |home| {
        assert_added(&home.orders(), "a");
        home.kill();
        assert_duplicate(&home.orders(), "a");
    });
}

#[test]
fn p10_thirty_writers_beside_compaction_without_pause_meet_no_error() {
    const WRITERS: u64 = 30;
    const EACH: u64 = 100;
    where_stored(&window(500).keeper(true), |home| {
        let (store, is_over) = (home.store().clone(), AtomicBool::new(false));
        let mut compactions = 0;
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let orders = home.orders();
                    scope.spawn(move || fill(&orders, writer * EACH..(writer + 1) * EACH))
                })
                .collect();
            let compactor = scope.spawn(|| {
                let mut count = 0;
                while !is_over.load(Ordering::Relaxed) || count == 0 {
                    store.compact().unwrap();
                    count += 1;
                }
                count
            });
            let joined = writers.into_iter().map(|writer| writer.join());
            let joined: Vec<_> = joined.collect();
            is_over.store(true, Ordering::Relaxed);
            assert!(joined.iter().all(Result::is_ok), "a writer met an error");
            compactions = compactor.join().unwrap();
        });
        drop(store);
        assert!(compactions > 0);
        let stats = home.orders().stats();
        assert_eq!((stats.len, stats.last_ordinal), (500, WRITERS * EACH));
        assert_eq!(stats.evicted, WRITERS * EACH - 500);
        let last = ids(&home.orders());
        home.kill();
        assert_eq!(ids(&home.orders()), last);
        home.reopen_without_persistence();
        home.store().compact().unwrap();
        assert_eq!((home.live_records(), home.orders().len()), (0, 0));
        fill(&home.orders(), 0..5);
        assert_eq!(home.live_records(), 0);
    });
}

fn names(home: &Home) -> Vec<String> {
    let caches = home.store().caches(None, 9).into_iter();
    caches.map(|info| info.address.to_string()).collect()
}

#[test]
fn p13_a_cache_is_there_from_its_first_id_to_the_clean_end_of_its_flow() {
    where_stored(&plain(), |home| {
        assert!(names(home).is_empty());
        assert!(home.cache("packets").is_empty());
        assert!(names(home).is_empty(), "asking makes none");
        assert_added(&home.cache("packets"), [0, 17]);
        assert_eq!(names(home), ["packets"]);
        home.reopen();
        assert_eq!(home.cache("packets").len(), 1);
        assert_duplicate(&home.cache("packets"), [0, 17]);
        assert!(home.cache("packets").remove([0, 17]).wait().unwrap());
        assert_eq!((home.cache("packets").len(), home.live_records()), (0, 0));
        assert!(home.store().drop_cache("packets").wait().unwrap());
        assert!(names(home).is_empty());
    });
}

#[test]
fn p14_who_comes_back_is_told_the_ids_that_are_left() {
    where_stored(&plain(), |home| {
        fill(&home.cache("packets"), 0..5);
        for number in ["1", "3"] {
            assert!(home.cache("packets").remove(number).wait().unwrap());
        }
        home.reopen();
        assert_eq!(ids(&home.cache("packets")), ["0", "2", "4"]);
        home.kill();
        assert_eq!(ids(&home.cache("packets")), ["0", "2", "4"]);
        for number in ["0", "2", "4"] {
            assert_duplicate(&home.cache("packets"), number);
            assert!(home.cache("packets").remove(number).wait().unwrap());
        }
        assert_eq!((home.cache("packets").len(), home.live_records()), (0, 0));
        assert!(home.store().drop_cache("packets").wait().unwrap());
        home.reopen();
        assert!(names(home).is_empty());
    });
}

#[test]
fn p15_the_end_of_a_client_ends_all_of_it_also_after_a_restart() {
    everywhere(&plain(), |home| {
        fill(&home.cache("packets"), 0..5);
        assert!(home.store().drop_cache("packets").wait().unwrap());
        for _ in 0..2 {
            assert!(names(home).is_empty());
            assert_eq!(home.live_records(), 0);
            home.reopen();
        }
        assert_added(&home.cache("packets"), "0");
    });
}

#[test]
fn p16_an_id_is_a_duplicate_while_it_lives_and_free_once_it_is_removed() {
    everywhere(&plain(), |home| {
        let packets = home.cache("packets");
        for round in 1..=10_u64 {
            assert_added(&packets, [0, 17]);
            assert_eq!(assert_duplicate(&packets, [0, 17]).ordinal.0, round);
            assert!(packets.remove([0, 17]).wait().unwrap());
            assert_absent(&packets, [0, 17]);
        }
        assert!(packets.is_empty());
    });
    where_stored(&plain(), |home| {
        assert_added(&home.cache("packets"), [0, 17]);
        home.kill();
        assert_duplicate(&home.cache("packets"), [0, 17]);
    });
}

#[test]
fn p17_after_long_use_with_crashes_nothing_is_left_and_the_disk_stays_bounded() {
    where_stored(&small(4096).id_cache_size(1_000), |home| {
        let mut random = Random(17);
        let mut disk_bytes = Vec::new();
        for life in 0..12_u64 {
            for number in 0..300 {
                let id = (life * 300 + number).to_string();
                assert_added(&home.cache("packets"), &id);
                if random.below(4) > 0 {
                    assert!(home.cache("packets").remove(id).wait().unwrap());
                }
            }
            home.kill();
            // The client sends again what it has no answer for, and then all is answered.
            for id in ids(&home.cache("packets")) {
                assert_duplicate(&home.cache("packets"), &id);
                let mut transaction = home.store().begin(OnDuplicate::Skip, OWNER);
                assert!(transaction.remove(&home.cache("packets"), &id).unwrap());
                transaction.commit().wait().unwrap();
            }
            assert_eq!((home.cache("packets").len(), home.live_records()), (0, 0));
            disk_bytes.push(home.store().stats().disk_bytes);
        }
        let most = disk_bytes.iter().max().unwrap();
        // Twice the most that lived (about 75 IDs), four segments, and one for each death.
        assert!(*most <= 2 * 120 * 56 + 16 * 4096, "{disk_bytes:?}");
    });
}

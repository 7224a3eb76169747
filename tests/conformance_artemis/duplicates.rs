//! Rows D: what is a duplicate, per address, in transactions, and over restarts.

use idjournal::{AddressSettings, Error, RejectedBecause};

use super::support::home::{
    assert_absent, assert_added, assert_duplicate, everywhere, fill, ids, numbers, plain, reserved,
    where_stored, window, without_persistence,
};

#[test]
fn d1_a_known_id_is_dropped_and_a_new_one_is_not() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        assert_added(&orders, "a");
        assert!(orders.contains("a").unwrap());
        assert_duplicate(&orders, "a");
        assert_added(&orders, "b");
        assert_duplicate(&orders, "b");
        assert_eq!(ids(&orders), ["a", "b"]);
    });
}

#[test]
fn d2_size_0_accepts_every_copy_and_writes_nothing() {
    everywhere(&window(0), |home| {
        let orders = home.orders();
        assert_added(&orders, "a");
        assert_added(&orders, "a");
        assert_absent(&orders, "a");
        assert_eq!((orders.len(), home.store().stats().records), (0, 0));
        assert_eq!(home.live_records(), 0);
    });
}

#[test]
fn d3_size_0_lets_bridge_ids_pass_in_one_step_too() {
    everywhere(&window(0), |home| {
        let bridge = home.bridge("orders");
        for _ in 0..3 {
            reserved(&bridge, "a").confirm().wait().map(drop).unwrap();
            assert_added(&bridge, "a");
        }
        assert!(bridge.is_empty());
    });
}

#[test]
fn d4_a_bridge_id_seen_once_is_dropped() {
    everywhere(&plain(), |home| {
        let bridge = home.bridge("orders");
        assert_added(&bridge, "a");
        assert_duplicate(&bridge, "a");
        assert_absent(&home.orders(), "a");
    });
}

#[test]
fn d5_a_hundred_rounds_leave_no_cache_behind() {
    everywhere(&plain(), |home| {
        let mut live_bytes = Vec::new();
        for round in 0..100_u64 {
            fill(&home.orders(), round..round + 2);
            fill(&home.bridge("orders"), round..round + 2);
            assert_eq!(home.store().stats().caches, 2);
            assert!(home.store().drop_cache("orders").wait().unwrap());
            let stats = home.store().stats();
            assert_eq!(stats.caches, 0);
            live_bytes.push(stats.live_bytes);
        }
        assert!(home.store().caches(None, 9).is_empty());
        assert_eq!(live_bytes.iter().max(), live_bytes.first(), "it stays flat");
    });
}

#[test]
fn d7_after_the_rounds_and_a_restart_there_is_no_cache() {
    where_stored(&plain(), |home| {
        for _ in 0..100 {
            fill(&home.orders(), 0..2);
            fill(&home.bridge("orders"), 0..2);
            assert!(home.store().drop_cache("orders").wait().unwrap());
        }
        home.reopen();
        assert!(home.store().caches(None, 9).is_empty());
        assert_eq!((home.stored_addresses(), home.live_records()), (0, 0));
    });
}

#[test]
fn d9_a_smaller_size_at_restart_keeps_the_newest() {
    where_stored(&window(150), |home| {
        fill(&home.orders(), 0..200);
        home.reopen_with(window(100));
        let orders = home.orders();
        for number in 0..200_u64 {
            let is_known = orders.contains(number.to_string()).unwrap();
            assert_eq!(is_known, number >= 100, "{number}");
        }
        assert_eq!(home.live_records(), 100);
        let change = &home.store().recovery().capacity_changes[0];
        assert_eq!((change.old, change.new, change.forgotten), (150, 100, 50));
        let mut last = home.begin();
        let _ = last.add(&orders, "new").unwrap();
        for number in 150..200_u64 {
            let _ = last.add(&orders, number.to_string()).unwrap();
        }
        assert!(last.commit().wait().is_err());
        assert_absent(&orders, "new");
    });
}

#[test]
fn d10_ids_of_two_byte_characters_are_bytes_like_others() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let wide = |text: &str| -> Vec<u8> {
            let units = text.encode_utf16();
            units.flat_map(u16::to_le_bytes).collect()
        };
        assert_added(&orders, wide("a"));
        assert!(orders.contains(wide("a")).unwrap());
        assert_duplicate(&orders, wide("a"));
        assert_absent(&orders, "a");
        assert_added(&orders, wide("b"));
        assert_duplicate(&orders, wide("b"));
    });
}

#[test]
fn d11_each_address_keeps_its_own_last_ten() {
    everywhere(&window(10), |home| {
        let addresses = ["one", "two", "three"].map(|address| home.cache(address));
        for number in 0..20_u64 {
            for cache in &addresses {
                assert_added(cache, number.to_string());
            }
        }
        for cache in &addresses {
            assert_eq!(numbers(cache), Vec::from_iter(10..20));
            assert_duplicate(cache, "10");
            assert_added(cache, "0");
            assert_eq!(cache.len(), 10);
            assert_absent(cache, "10");
        }
    });
}

#[test]
fn d12_a_size_for_an_address_beats_the_size_for_all() {
    let options = window(2).address_settings("one", AddressSettings::default().id_cache_size(1));
    everywhere(&options, |home| {
        for address in ["one", "two"] {
            fill(&home.cache(address), 0..5);
        }
        assert_eq!(numbers(&home.cache("one")), [4]);
        assert_eq!(numbers(&home.cache("two")), [3, 4]);
    });
}

#[test]
fn d13_an_id_of_a_transaction_that_was_let_go_is_free() {
    everywhere(&plain(), |home| {
        let mut transaction = home.begin();
        let _ = transaction.add(&home.orders(), "a").unwrap();
        drop(transaction);
        assert_added(&home.orders(), "a");
    });
}

#[test]
fn d14_an_id_of_a_transaction_that_was_rolled_back_is_free() {
    everywhere(&plain(), |home| {
        let mut transaction = home.begin();
        let _ = transaction.add(&home.orders(), "a").unwrap();
        transaction.rollback();
        assert_added(&home.orders(), "a");
    });
}

#[test]
fn d15_ids_of_a_committed_transaction_are_duplicates() {
    everywhere(&plain(), |home| {
        commit(home, &["a", "b"]);
        assert_duplicate(&home.orders(), "a");
        assert_duplicate(&home.orders(), "b");
    });
}

#[test]
fn d16_after_a_roll_back_the_same_id_commits_once() {
    everywhere(&plain(), |home| {
        let mut transaction = home.begin();
        let _ = transaction.add(&home.orders(), "a").unwrap();
        transaction.rollback();
        commit(home, &["a"]);
        assert_eq!(ids(&home.orders()), ["a"]);
        assert_eq!(home.orders().stats().added, 1);
    });
}

#[test]
fn d17_a_duplicate_inside_a_transaction_makes_commit_fail_and_undoes_the_rest() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        fill(&orders, 0..2);
        let mut transaction = home.begin();
        let _ = transaction.add(&orders, "new").unwrap();
        assert!(transaction.remove(&orders, "1").unwrap());
        assert!(transaction.rejected().is_none());
        let _ = transaction.add(&orders, "0").unwrap();
        let told = transaction.rejected().cloned();
        for error in [told, transaction.commit().wait().err()] {
            let Some(Error::Rejected { address, id, state }) = error else {
                panic!("{error:?}")
            };
            let named = (address.to_string(), id.to_string());
            assert_eq!(named, ("orders".to_owned(), "0".to_owned()));
            assert_eq!(state, RejectedBecause::Known);
        }
        assert_eq!(numbers(&orders), [0, 1]);
        assert_absent(&orders, "new");
        if home.is_stored() {
            home.reopen();
            assert_eq!(numbers(&home.orders()), [0, 1]);
            assert_absent(&home.orders(), "new");
        }
    });
}

#[test]
fn d18_a_branch_that_was_not_prepared_leaves_its_id_free_when_its_client_goes() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let mut branch = home.begin();
        let _ = branch.add(&orders, "a").unwrap();
        drop(branch);
        assert_absent(&orders, "a");
        assert_added(&orders, "a");
    });
}

#[test]
fn d19_a_branch_that_is_rolled_back_unprepared_leaves_its_id_free() {
    everywhere(&plain(), |home| {
        let mut branch = home.begin();
        let _ = branch.add(&home.orders(), "a").unwrap();
        branch.rollback();
        commit(home, &["a"]);
        assert_duplicate(&home.orders(), "a");
    });
}

#[test]
fn d24_a_drop_takes_the_cache_away() {
    everywhere(&plain(), |home| {
        fill(&home.orders(), 0..2);
        assert_eq!(home.store().caches(None, 9).len(), 1);
        assert!(home.store().drop_cache("orders").wait().unwrap());
        assert!(home.store().caches(None, 9).is_empty());
        assert!(!home.store().drop_cache("orders").wait().unwrap());
        assert_added(&home.orders(), "0");
    });
}

#[test]
fn d25_two_ids_survive_a_restart() {
    where_stored(&plain(), |home| {
        for is_killed in [false, true] {
            let names = [format!("a-{is_killed}"), format!("b-{is_killed}")];
            for id in &names {
                assert_added(&home.orders(), id);
            }
            match is_killed {
                true => home.kill(),
                false => home.reopen(),
            }
            for id in &names {
                assert_duplicate(&home.orders(), id);
            }
        }
    });
}

#[test]
fn d26_a_window_that_is_just_full_survives_a_restart() {
    where_stored(&window(5), |home| {
        fill(&home.orders(), 0..5);
        home.reopen();
        assert_eq!(numbers(&home.orders()), [0, 1, 2, 3, 4]);
        assert_added(&home.orders(), "5");
        assert_eq!(numbers(&home.orders()), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn d27_without_persistence_ids_are_free_after_a_restart() {
    without_persistence(&plain(), |home| {
        fill(&home.orders(), 0..2);
        home.reopen();
        fill(&home.orders(), 0..2);
        assert_eq!(numbers(&home.orders()), [0, 1]);
    });
}

#[test]
fn d28_without_persistence_ids_of_a_transaction_are_free_after_a_restart() {
    without_persistence(&plain(), |home| {
        commit(home, &["a", "b"]);
        assert_duplicate(&home.orders(), "a");
        home.reopen();
        commit(home, &["a", "b"]);
        assert_eq!(ids(&home.orders()), ["a", "b"]);
    });
}

#[test]
fn d29_ids_of_a_transaction_are_duplicates_after_a_restart() {
    where_stored(&plain(), |home| {
        commit(home, &["a", "b"]);
        home.reopen();
        assert_duplicate(&home.orders(), "a");
        home.kill();
        assert_duplicate(&home.orders(), "b");
    });
}

#[test]
fn d31_of_a_branch_neither_prepared_nor_committed_nothing_is_kept() {
    everywhere(&plain(), |home| {
        for is_killed in [true, false] {
            let mut branch = home.begin();
            let _ = branch.add(&home.orders(), "a").unwrap();
            match is_killed {
                true => home.kill(),
                false => home.reopen(),
            }
            drop(branch);
            assert_absent(&home.orders(), "a");
        }
        assert_added(&home.orders(), "a");
    });
}

/// Commits these, all of them new, in one transaction.
fn commit(home: &super::support::home::Home, ids: &[&str]) {
    let mut transaction = home.begin();
    for id in ids {
        let outcome = transaction.add(&home.orders(), id).unwrap();
        assert_eq!(outcome, idjournal::Outcome::Added, "{id}");
    }
    transaction.commit().wait().unwrap();
}

//! Rows 27 to 35: what is known after a restart, and by whom.

use idjournal::{Error, FileStorage, Store};

use super::support::home::{
    Home, assert_absent, assert_added, assert_duplicate, confirm, everywhere, fill, ids, numbers,
    plain, reserved, seen, where_stored, window,
};
use super::support::small;

#[test]
fn r27_an_id_that_was_added_before_the_route_starts_counts() {
    everywhere(&plain(), |home| {
        assert_added(&home.orders(), "a");
        let route = home.store().clone();
        assert_duplicate(&route.cache("orders").unwrap(), "a");
        if home.is_stored() {
            home.reopen();
            assert_duplicate(&home.orders(), "a");
        }
    });
}

#[test]
fn r28_ids_of_a_store_that_is_there_already_are_known_after_open() {
    where_stored(&plain(), |home| {
        fill(&home.orders(), 0..50);
        confirm(reserved(&home.orders(), "50"));
        home.reopen();
        assert_eq!(home.store().recovery().ids, 51);
        assert_eq!(numbers(&home.orders()), Vec::from_iter(0..51));
    });
}

/// Sends messages of these numbers; how many were new.
fn pass(home: &Home, numbers: std::ops::Range<u64>) -> usize {
    let orders = home.orders();
    let is_new =
        |number: &u64| orders.add(number.to_string()).unwrap() == idjournal::Outcome::Added;
    numbers.filter(is_new).count()
}

#[test]
fn r29_after_each_restart_the_same_messages_are_all_refused() {
    where_stored(&plain(), |home| {
        assert_eq!(pass(home, 0..100), 100);
        for life in 0..6 {
            match life % 2 {
                0 => home.reopen(),
                _ => home.kill(),
            }
            assert_eq!((pass(home, 0..100), pass(home, 0..100)), (0, 0), "{life}");
        }
        assert_eq!(numbers(&home.orders()), Vec::from_iter(0..100));
    });
}

#[test]
fn r30_after_a_restart_messages_that_were_not_seen_pass() {
    where_stored(&plain(), |home| {
        for life in 0..4_u64 {
            assert_eq!(
                pass(home, life * 10..life * 10 + 20),
                if life == 0 { 20 } else { 10 }
            );
            home.reopen();
        }
    });
}

#[test]
fn r31_replay_ends_where_the_records_end() {
    // Slots that were used before hold records of earlier lives behind the end.
    where_stored(&small(1024).id_cache_size(10), |home| {
        for life in 0..8_u64 {
            fill(&home.orders(), life * 37..(life + 1) * 37);
            fill(&home.cache("slow"), [life]);
            // Up to where each part of the messages was read, in order with the IDs around it.
            for part in ["part-0", "part-1"] {
                let place = format!("{part} at {life}");
                home.store().set_bookmark(part, place).wait().unwrap();
            }
            let right = (ids(&home.orders()), home.orders().stats().last_ordinal);
            match life % 2 {
                0 => home.reopen(),
                _ => home.kill(),
            }
            let found = (ids(&home.orders()), home.orders().stats().last_ordinal);
            assert_eq!(found, right);
            assert_eq!(numbers(&home.cache("slow")), Vec::from_iter(0..=life));
            for part in ["part-0", "part-1"] {
                let place = home.store().bookmark(part).unwrap();
                assert_eq!(place, format!("{part} at {life}").into_bytes());
            }
        }
        assert!(home.store().recovery().segments[0].number.0 > 4);
        home.store().close().unwrap();
        let (mut done, mut total) = (0, 0);
        let storage = FileStorage::create(home.path()).unwrap();
        let progress = &mut |told: idjournal::Progress| {
            assert!(told.done_bytes >= done && told.done_bytes <= told.total_bytes);
            (done, total) = (told.done_bytes, told.total_bytes);
        };
        let store = Store::open_on(storage, plain(), progress).unwrap();
        assert!(total > 0 && done == total, "{done} of {total}");
        store.close().unwrap();
    });
}

#[test]
fn r32_after_a_clear_and_a_restart_nothing_is_known() {
    where_stored(&plain(), |home| {
        fill(&home.orders(), 0..50);
        assert_eq!(home.orders().clear().wait().unwrap(), 50);
        home.kill();
        assert!(home.orders().is_empty());
        home.reopen();
        assert_eq!((home.orders().len(), home.live_records()), (0, 0));
        fill(&home.orders(), 0..50);
    });
}

#[test]
fn r33_a_removed_id_stays_removed_after_a_restart() {
    where_stored(&window(10), |home| {
        fill(&home.orders(), 0..5);
        assert!(home.orders().remove("2").wait().unwrap());
        for is_compacted in [false, true] {
            if is_compacted {
                home.store().compact().unwrap();
            }
            home.kill();
            assert_eq!(numbers(&home.orders()), [0, 1, 3, 4]);
            assert_absent(&home.orders(), "2");
        }
        assert_added(&home.orders(), "2");
        home.reopen();
        assert_duplicate(&home.orders(), "2");
    });
}

#[test]
fn r34_a_stop_and_a_start_lose_nothing() {
    where_stored(&window(40), |home| {
        for life in 0..5_u64 {
            fill(&home.orders(), life * 15..(life + 1) * 15);
            assert!(home.orders().renew((life * 15).to_string()).wait().unwrap());
            let before: Vec<_> = home
                .orders()
                .ids()
                .map(|id| (seen(&home.orders(), &id), id))
                .collect();
            home.reopen();
            let after: Vec<_> = home
                .orders()
                .ids()
                .map(|id| (seen(&home.orders(), &id), id))
                .collect();
            assert_eq!(before, after);
        }
    });
}

#[test]
fn r35_a_second_store_on_the_same_directory_is_refused() {
    everywhere(&plain(), |home| {
        assert_added(&home.orders(), "a");
        let options = plain().persistence(home.is_stored());
        let second = Store::open(home.path(), options.clone());
        assert!(matches!(second, Err(Error::Locked { .. })), "{second:?}");
        assert_duplicate(&home.orders(), "a");
        home.store().close().unwrap();
        let second = Store::open(home.path(), options).unwrap();
        let orders = second.cache("orders").unwrap();
        assert_eq!(orders.contains("a").unwrap(), home.is_stored());
        second.close().unwrap();
    });
}

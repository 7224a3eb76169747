//! Rows 1 to 12: the contract of a set of IDs.

use idjournal::State;

use super::support::home::{
    assert_absent, assert_added, assert_duplicate, confirm, everywhere, fill, ids, numbers, plain,
    reserved, seen,
};

#[test]
fn r1_an_add_of_a_new_id_says_that_it_is_new() {
    everywhere(&plain(), |home| {
        assert_added(&home.orders(), "a");
        assert_eq!(ids(&home.orders()), ["a"]);
    });
}

#[test]
fn r2_an_add_of_an_id_that_is_there_says_so_and_changes_nothing() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        let before = (seen(&orders, "0"), home.store().stats().records);
        assert_eq!(assert_duplicate(&orders, "0"), before.0);
        assert_eq!((seen(&orders, "0"), home.store().stats().records), before);
        assert_eq!(numbers(&orders), [0, 1, 2]);
    });
}

#[test]
fn r3_an_id_is_there_after_its_add_and_not_before() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        assert!(!orders.contains("a").unwrap());
        assert_added(&orders, "a");
        assert!(orders.contains("a").unwrap());
    });
}

#[test]
fn r4_a_remove_of_an_id_that_is_there_says_so_and_it_is_gone() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        assert_added(&orders, "a");
        assert!(orders.remove("a").wait().unwrap());
        assert_absent(&orders, "a");
    });
}

#[test]
fn r5_a_remove_of_an_absent_id_says_so_and_writes_nothing() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        assert_added(&orders, "a");
        let records = home.store().stats().records;
        assert!(!orders.remove("b").wait().unwrap());
        assert!(!home.cache("other").remove("a").wait().unwrap());
        let stats = home.store().stats();
        assert_eq!(
            (stats.records, stats.removed, stats.caches),
            (records, 0, 1)
        );
    });
}

#[test]
fn r6_an_id_that_was_removed_may_be_added_again() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        for _ in 0..3 {
            assert_added(&orders, "a");
            assert!(orders.remove("a").wait().unwrap());
        }
        assert_added(&orders, "a");
        assert_duplicate(&orders, "a");
    });
}

#[test]
fn r7_a_confirmed_id_stays() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        confirm(reserved(&orders, "a"));
        assert!(orders.contains("a").unwrap());
        assert_duplicate(&orders, "a");
    });
}

#[test]
fn r8_ids_do_not_depend_on_each_other() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        for id in ["a", "b", "c"] {
            assert_absent(&orders, id);
            assert_added(&orders, id);
        }
        assert!(orders.remove("b").wait().unwrap());
        assert_eq!(ids(&orders), ["a", "c"]);
        assert_duplicate(&orders, "a");
        assert_added(&orders, "b");
    });
}

#[test]
fn r9_a_clear_makes_all_ids_of_an_address_absent() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        fill(&orders, 0..20);
        assert_eq!(orders.clear().wait().unwrap(), 20);
        for number in 0..20_u64 {
            assert_absent(&orders, number.to_string());
        }
    });
}

/// One of them is a prefix, and one a suffix, of another.
const ALIKE: [&str; 5] = ["orders", "order", "orders.eu", "eu", ""];

#[test]
fn r10_a_clear_touches_no_other_address() {
    everywhere(&plain(), |home| {
        for cleared in ALIKE {
            for address in ALIKE {
                let _ = home.cache(address).add("a").unwrap();
            }
            assert_eq!(home.cache(cleared).clear().wait().unwrap(), 1);
            for address in ALIKE {
                let is_known = home.cache(address).contains("a").unwrap();
                assert_eq!(is_known, address != cleared, "{address:?}, {cleared:?}");
            }
        }
    });
}

#[test]
fn r11_one_id_under_two_addresses_is_two() {
    everywhere(&plain(), |home| {
        for address in ALIKE {
            assert_absent(&home.cache(address), "a");
            assert_added(&home.cache(address), "a");
        }
        for address in ALIKE {
            assert_duplicate(&home.cache(address), "a");
        }
        // Nor do address and ID together.
        assert_added(&home.cache("ab"), "c");
        assert_eq!(home.cache("a").state("bc"), State::Absent);
    });
}

#[test]
fn r12_after_a_clear_adds_work_again() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        for _ in 0..3 {
            fill(&orders, 0..5);
            assert_eq!(numbers(&orders), [0, 1, 2, 3, 4]);
            assert_eq!(orders.clear().wait().unwrap(), 5);
        }
        fill(&orders, 0..5);
    });
}

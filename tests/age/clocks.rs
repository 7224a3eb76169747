//! Clocks that jump forward and back, over restarts and within a run.

use idjournal::{Outcome, State};

use super::support::kept::Kept;
use super::{AGE, NOW, Time, ids, seen};

#[test]
fn f53_what_an_expiry_let_in_stays_when_the_clock_goes_back() {
    for is_closed in [true, false] {
        for mut kept in Kept::all() {
            let time = Time::begin();
            let address = "orders";
            time.0.set(NOW + 10_000, 0);
            let store = kept.open(time.options());
            let orders = store.cache(address).unwrap();
            orders.set_max_age(Some(AGE)).wait().unwrap();
            let _ = (orders.add("a").unwrap(), orders.add("b").unwrap());
            time.0.set(0, 200);
            assert_eq!(orders.add("a").unwrap(), Outcome::Added);
            drop(orders);
            // Years back, twice.
            let mut store = store;
            for _ in 0..2 {
                time.0.set(5, 77);
                store = kept.again(store, is_closed, time.options());
                let report = store.recovery();
                let behind = -i64::try_from(NOW + 10_200).unwrap();
                assert_eq!(report.clock_ahead_milliseconds, behind);
                assert_eq!(report.ids, 1);
                let orders = store.cache(address).unwrap();
                assert_eq!(ids(&orders), ["a"]);
                assert_eq!(seen(&orders, "a").ordinal.0, 3);
                assert!(matches!(orders.add("a").unwrap(), Outcome::Duplicate(_)));
                assert_eq!(orders.state("b"), State::Absent);
                // Time stands where it was, and goes on by the monotonic clock.
                time.0.set(0, 77 + 90);
                assert_eq!(ids(&orders), ["a"]);
            }
            let orders = store.cache(address).unwrap();
            // A higher age, and none, revive nothing: neither here nor after a restart.
            orders.set_max_age(Some(AGE * 1000)).wait().unwrap();
            assert_eq!(ids(&orders), ["a"]);
            orders.set_max_age(None).wait().unwrap();
            assert_eq!(ids(&orders), ["a"]);
            assert_eq!(orders.add("b").unwrap(), Outcome::Added);
            drop(orders);
            time.0.set(0, 0);
            let store = kept.again(store, is_closed, time.options());
            assert_eq!(ids(&store.cache(address).unwrap()), ["a", "b"]);
            assert!(store.drop_cache(address).wait().unwrap());
        }
    }
}

#[test]
fn f53_a_clock_that_jumps_ahead_over_a_restart_ends_what_is_too_old_by_it() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let options = || time.options().max_age(Some(AGE));
        let store = kept.open(options());
        let orders = store.cache("orders").unwrap();
        let _ = (orders.add("a").unwrap(), orders.add("b").unwrap());
        drop(orders);
        time.0.set(NOW + 99, 5);
        let store = kept.again(store, false, options());
        assert_eq!(store.recovery().clock_ahead_milliseconds, 90);
        assert_eq!(
            (store.recovery().ids, store.cache("orders").unwrap().len()),
            (2, 2)
        );
        time.0.set(NOW + 100, 3);
        let store = kept.again(store, false, options());
        assert_eq!(store.recovery().clock_ahead_milliseconds, 100);
        assert_eq!(
            (store.recovery().ids, store.cache("orders").unwrap().len()),
            (0, 0)
        );
        // Only seen to expire, and in no record: back on the old clock it is there again.
        time.0.set(NOW + 50, 9);
        let store = kept.again(store, false, options());
        assert_eq!(ids(&store.cache("orders").unwrap()), ["a", "b"]);
    }
}

#[test]
fn f53_what_had_expired_before_a_clear_does_not_come_back_with_the_clock() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let options = || time.options().max_age(Some(AGE));
        let store = kept.open(options());
        let orders = store.cache("orders").unwrap();
        let _ = orders.add("a").unwrap();
        time.0.set(0, 500);
        assert_eq!(orders.clear().wait().unwrap(), 0);
        let records = store.stats().records;
        assert_eq!(orders.clear().wait().unwrap(), 0);
        assert_eq!(store.stats().records, records, "once is enough");
        drop(orders);
        time.0.set(NOW, 0);
        let store = kept.again(store, false, options().max_age(None));
        assert!(store.cache("orders").unwrap().is_empty());
    }
}

#[test]
fn a_monotonic_clock_that_goes_back_in_a_run_revives_nothing() {
    for kept in Kept::all() {
        let time = Time::begin();
        let store = kept.open(time.options().max_age(Some(AGE)));
        let orders = store.cache("orders").unwrap();
        let _ = orders.add("a").unwrap();
        time.set(100);
        assert!(orders.is_empty());
        time.set(10);
        assert!(orders.is_empty());
        let _ = orders.add("b").unwrap();
        time.set(199);
        assert_eq!(ids(&orders), ["b"], "it was added at 100");
        time.set(0);
        assert_eq!(ids(&orders), ["b"]);
        time.set(200);
        assert!(orders.is_empty());
    }
}

#[test]
fn at_the_end_of_all_times_nothing_is_lost_and_nothing_overflows() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        time.0.set(u64::MAX, u64::MAX);
        let options = || time.options().max_age(Some(AGE));
        let store = kept.open(options());
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.add("a").unwrap(), Outcome::Added);
        time.0.set(0, 0);
        assert!(matches!(orders.add("a").unwrap(), Outcome::Duplicate(_)));
        drop(orders);
        let store = kept.again(store, false, options());
        assert_eq!(ids(&store.cache("orders").unwrap()), ["a"]);
    }
}

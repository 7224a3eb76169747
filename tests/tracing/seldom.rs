//! Duplicates and windows that are too small: told, and seldom.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::{Namespace, OnDuplicate, Options, Owner, Store};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::listener::{Told, listening};
use super::support::{HandClock, Jumping};
use super::{add, assert_on_the_page};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// A store in memory with a window of three, on a clock that is set by hand.
fn store() -> (Store, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let options = Options::default().id_cache_size(3).clock(clock.clone());
    (Store::in_memory(options).unwrap(), clock)
}

fn pass(clock: &HandClock, milliseconds: u64) {
    clock.0.fetch_add(milliseconds, Ordering::Relaxed);
}

fn one(told: Vec<Told>) -> Told {
    let [one] = &told[..] else {
        panic!("one, not {told:?}")
    };
    assert_on_the_page(one);
    assert_eq!(one.level, Level::WARN);
    one.clone()
}

#[test]
fn a_storm_of_duplicates_is_told_once_a_minute_and_address() {
    listening(LevelFilter::WARN, |heard| {
        let (store, clock) = store();
        let orders = store.cache("orders").unwrap();
        add(&orders, "a");
        pass(&clock, 2_000);
        for _ in 0..1_000 {
            let _ = orders.add("a").unwrap();
        }
        let told = one(heard.named("duplicate"));
        assert_eq!(
            (told.get("address"), told.get("namespace")),
            ("orders", "client")
        );
        assert_eq!((told.get("id"), told.number("ordinal")), ("a", 1));
        assert_eq!(
            (told.number("age_milliseconds"), told.number("adds_left")),
            (2_000, 3)
        );
        assert_eq!(told.number("untold"), 0);
        pass(&clock, MINUTE - 10);
        let _ = orders.add("a").unwrap();
        assert_eq!(heard.take(), [], "the minute is not over");
        let bridge = store.cache_in(Namespace::Bridge, "orders").unwrap();
        add(&bridge, "a");
        let _ = bridge.add("a").unwrap();
        assert_eq!(one(heard.named("duplicate")).get("namespace"), "bridge");
        pass(&clock, 10);
        let _ = orders.add("a").unwrap();
        assert_eq!(one(heard.named("duplicate")).number("untold"), 1_000);
        assert_eq!(orders.stats().duplicates, 1_002);
    });
}

#[test]
fn a_clock_that_goes_back_silences_nothing() {
    listening(LevelFilter::WARN, |heard| {
        let clock = Arc::new(Jumping::default());
        clock.set(HOUR, 100 * HOUR);
        let options = Options::default().id_cache_size(1).clock(clock.clone());
        let store = Store::in_memory(options).unwrap();
        store.tell_evictions_before(Duration::from_secs(10));
        let orders = store.cache("orders").unwrap();
        for (id, now) in [("a", 100 * HOUR), ("b", 2 * HOUR), ("c", 3 * HOUR)] {
            clock.set(HOUR, now);
            add(&orders, format!("{id}1"));
            add(&orders, id);
            let _ = orders.add(id).unwrap();
            let told = heard.take();
            let names: Vec<&str> = told.iter().map(|one| &*one.name).collect();
            assert_eq!(names, ["evicted young", "duplicate"], "{id}");
        }
    });
}

#[test]
fn each_call_that_says_duplicate_tells_it() {
    listening(LevelFilter::WARN, |heard| {
        let (store, clock) = store();
        let orders = store.cache("orders").unwrap();
        add(&orders, "a");
        for call in 0..4 {
            pass(&clock, MINUTE);
            match call {
                0 => drop(orders.add("a").unwrap()),
                1 => drop(orders.submit("a").wait().unwrap()),
                2 => drop(orders.reserve("a").unwrap()),
                _ => {
                    let mut batch = store.begin(OnDuplicate::Skip, Owner(1));
                    let _ = batch.add(&orders, "a").unwrap();
                    batch.commit().wait().unwrap();
                }
            }
            assert_eq!(one(heard.named("duplicate")).get("id"), "a", "{call}");
        }
    });
}

#[test]
fn what_is_shown_of_an_id_is_short_and_plain() {
    listening(LevelFilter::WARN, |heard| {
        let (store, _) = store();
        let orders = store.cache("orders\u{1b}[2J").unwrap();
        let long = vec![0_u8; 65_536];
        add(&orders, &long);
        let _ = orders.add(&long).unwrap();
        let told = one(heard.named("duplicate"));
        assert_eq!(told.get("id"), format!("0x{}", "00".repeat(64)));
        assert_eq!(told.get("address"), "0x6f72646572731b5b324a");
    });
}

#[test]
fn a_window_too_small_for_its_age_is_told_once_an_hour_and_address() {
    listening(LevelFilter::WARN, |heard| {
        let (store, clock) = store();
        let orders = store.cache("orders").unwrap();
        orders
            .set_max_age(Some(Duration::from_secs(60)))
            .wait()
            .unwrap();
        let mut number = 0_u64;
        let mut add_some = |count: u64| {
            for _ in 0..count {
                add(&orders, number.to_string());
                number += 1;
                pass(&clock, 1_000);
            }
        };
        add_some(3);
        assert_eq!(heard.take(), [], "nothing was pushed out");
        add_some(1_000);
        let told = one(heard.take());
        assert_eq!(
            (&*told.name, told.get("address")),
            ("evicted young", "orders")
        );
        assert_eq!(
            (told.number("age_milliseconds"), told.number("capacity")),
            (3_000, 3)
        );
        assert_eq!(told.number("max_age_milliseconds"), 60_000);
        assert_eq!(told.number("stated_age_milliseconds"), 0);
        add_some(HOUR / 1_000 - 1_000);
        assert_eq!(heard.take(), [], "the hour is not over");
        add_some(1);
        one(heard.take());
        // What its age ends is no eviction.
        pass(&clock, HOUR);
        add_some(3);
        assert_eq!(heard.take(), []);
    });
}

#[test]
fn ids_pushed_out_before_a_stated_age_are_told_whatever_call_did_it() {
    listening(LevelFilter::WARN, |heard| {
        let (store, clock) = store();
        store.tell_evictions_before(Duration::from_secs(10));
        let calls = ["add", "confirm", "commit", "renew", "prepare"];
        for call in calls {
            let cache = store.cache(call).unwrap();
            for id in ["a", "b", "c"] {
                add(&cache, id);
            }
            pass(&clock, 9_990);
            match call {
                "add" => add(&cache, "d"),
                "confirm" => {
                    let idjournal::Reserve::Reserved(claim) = cache.reserve("d").unwrap() else {
                        panic!("it is new")
                    };
                    let _ = claim.confirm().wait().unwrap();
                }
                "renew" => {
                    assert!(cache.remove("a").wait().unwrap());
                    // The hole goes, then the oldest.
                    assert!(cache.renew("c").wait().unwrap() && cache.renew("c").wait().unwrap());
                }
                _ => {
                    let mut batch = store.begin(OnDuplicate::Reject, Owner(1));
                    let _ = batch.add(&cache, "d").unwrap();
                    match call {
                        "commit" => batch.commit().wait().unwrap(),
                        _ => drop(batch.prepare("t").wait().unwrap().commit().wait().unwrap()),
                    }
                }
            }
            let told = one(heard.take());
            assert_eq!(told.get("address"), call);
            assert_eq!(told.number("stated_age_milliseconds"), 10_000);
            assert_eq!(told.number("age_milliseconds"), 9_990);
        }
        let late = store.cache("late").unwrap();
        for id in ["a", "b", "c"] {
            add(&late, id);
        }
        pass(&clock, 10_000);
        add(&late, "d");
        assert_eq!(heard.take(), [], "it was old enough");
    });
}

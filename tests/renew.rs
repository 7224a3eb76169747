//! Promise: a renewed ID has the newest place and nothing else changes: no second place, no other
//! ID forgotten before the count says so.
//!
//! Method: each case against a plain list, mapped, positioned and in memory, over restarts and with
//! slots reused many times.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::collections::VecDeque;

use idjournal::{
    Cache, Confirmed, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Reserve, Seen, State,
    Store,
};

use support::kept::Kept;
use support::{Random, killed, open, small};

fn ids(cache: &Cache) -> Vec<String> {
    let ids = cache.ids().map(|id| String::from_utf8(id).unwrap());
    let ids: Vec<String> = ids.collect();
    assert_eq!(cache.len(), ids.len() as u64);
    ids
}

fn seen(cache: &Cache, id: &str) -> Seen {
    match cache.state(id) {
        State::Known(seen) | State::Unsynced(seen) => seen,
        other => panic!("{id} is {other:?}"),
    }
}

fn add_all(cache: &Cache, ids: &[&str]) {
    for id in ids {
        assert_eq!(cache.add(id).unwrap(), Outcome::Added);
    }
}

#[test]
fn a_renewed_id_has_the_newest_place_and_its_old_one_is_a_hole() {
    for is_closed in [true, false] {
        for mut kept in Kept::all() {
            let options = || small(4096).id_cache_size(4);
            let store = kept.open(options());
            let orders = store.cache("orders").unwrap();
            add_all(&orders, &["a", "b", "c"]);
            assert!(orders.renew("a").wait().unwrap());
            assert_eq!(ids(&orders), ["b", "c", "a"]);
            let renewed = seen(&orders, "a");
            assert_eq!((renewed.ordinal.0, renewed.adds_left), (4, 4));
            assert_eq!(seen(&orders, "b").adds_left, 2);
            // The window holds four places: that of "a" before is gone with the next add.
            add_all(&orders, &["d"]);
            assert_eq!(ids(&orders), ["b", "c", "a", "d"]);
            assert!(orders.renew("d").wait().unwrap(), "the newest one too");
            assert_eq!(ids(&orders), ["c", "a", "d"], "it counts as an add");
            drop(orders);
            let store = kept.again(store, is_closed, options());
            let orders = store.cache("orders").unwrap();
            assert_eq!(ids(&orders), ["c", "a", "d"]);
            assert_eq!(seen(&orders, "d").ordinal.0, 6);
            add_all(&orders, &["e", "f"]);
            assert_eq!(ids(&orders), ["d", "e", "f"]);
        }
    }
}

#[test]
fn what_is_not_known_is_not_renewed_and_nothing_is_written() {
    for kept in Kept::all() {
        let store = kept.open(small(4096));
        let orders = store.cache("orders").unwrap();
        assert!(!orders.renew("a").wait().unwrap());
        let Reserve::Reserved(claim) = orders.reserve("a").unwrap() else {
            panic!("it is new");
        };
        assert!(!orders.renew("a").wait().unwrap(), "pending is not known");
        let mut open = store.begin(OnDuplicate::Skip, Owner(1));
        assert_eq!(open.add(&orders, "b").unwrap(), Outcome::Added);
        assert!(!orders.renew("b").wait().unwrap());
        open.rollback();
        assert_eq!(store.stats().records, 0);
        assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
        assert!(orders.remove("a").wait().unwrap());
        let records = store.stats().records;
        assert!(!orders.renew("a").wait().unwrap());
        orders.set_capacity(0).wait().unwrap();
        assert!(!orders.renew("a").wait().unwrap());
        assert_eq!(store.stats().records, records + 1);
    }
}

#[test]
fn the_oldest_of_a_full_window_is_renewed_without_a_loss() {
    for mut kept in Kept::all() {
        let options = || small(4096).id_cache_size(3);
        let store = kept.open(options());
        let orders = store.cache("orders").unwrap();
        add_all(&orders, &["a", "b", "c"]);
        // The one that would leave for it is itself.
        for expected in [["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]] {
            assert!(orders.renew(expected[2]).wait().unwrap());
            assert_eq!(ids(&orders), expected);
        }
        let live = store.stats().live_bytes;
        let definition = live - orders.stats().live_bytes;
        assert!((80..200).contains(&definition), "{live} bytes live");
        drop(orders);
        let store = kept.again(store, false, options());
        assert_eq!(store.stats().live_bytes, live);
        assert_eq!(ids(&store.cache("orders").unwrap()), ["a", "b", "c"]);
    }
}

#[test]
fn a_renewal_keeps_the_value() {
    for mut kept in Kept::all() {
        let store = kept.open(small(4096));
        let orders = store.cache("orders").unwrap();
        for (id, value) in [("a", &b"reply"[..]), ("b", b"")] {
            let Reserve::Reserved(claim) = orders.reserve(id).unwrap() else {
                panic!("it is new");
            };
            assert_eq!(
                claim.confirm_with(value).wait().unwrap(),
                Confirmed::Recorded
            );
            assert!(orders.renew(id).wait().unwrap());
        }
        let check = |orders: &Cache| {
            let mut value = Vec::new();
            assert!(orders.value("a", &mut value).unwrap());
            assert_eq!(value, b"reply");
            assert!(orders.value("b", &mut value).unwrap());
            assert_eq!(value, b"");
        };
        check(&orders);
        drop(orders);
        let store = kept.again(store, false, small(4096));
        check(&store.cache("orders").unwrap());
    }
}

#[test]
fn an_open_transaction_sees_a_renewal_as_it_sees_adds() {
    let options = Options::default().id_cache_size(2);
    let store = Store::in_memory(options).unwrap();
    let orders = store.cache("orders").unwrap();
    add_all(&orders, &["a", "b"]);
    let mut open = store.begin(OnDuplicate::Skip, Owner(1));
    assert!(open.remove(&orders, "a").unwrap());
    let Outcome::Duplicate(inside) = open.add(&orders, "b").unwrap() else {
        panic!("it is known");
    };
    assert_eq!((inside.ordinal.0, inside.adds_left), (2, 2));
    assert_eq!(open.add(&orders, "c").unwrap(), Outcome::Added);
    let Outcome::Duplicate(inside) = open.add(&orders, "b").unwrap() else {
        panic!("it is known");
    };
    assert_eq!((inside.ordinal.0, inside.adds_left), (2, 1));
    let Outcome::Duplicate(own) = open.add(&orders, "c").unwrap() else {
        panic!("it was added");
    };
    assert_eq!((own.ordinal.0, own.adds_left), (3, 2));
    // The removal ends the place that it saw, not the one of the renewal.
    assert!(orders.renew("a").wait().unwrap());
    open.commit().wait().unwrap();
    assert_eq!(ids(&orders), ["a", "c"]);
}

#[test]
fn renewals_among_all_else_leave_what_a_plain_list_has() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let mut storage = MemoryStorage::new();
        let options = || small(1024).id_cache_size(9);
        let mut store = open(storage.clone(), options()).unwrap();
        // Places from the oldest to the newest, the last nine.
        let mut places: VecDeque<Option<String>> = VecDeque::new();
        for step in 0..3000 {
            let orders = store.cache("orders").unwrap();
            let id = random.below(14).to_string();
            let at = places.iter().position(|place| place.as_ref() == Some(&id));
            match random.below(10) {
                0..4 => {
                    let outcome = orders.add(&id).unwrap();
                    assert_eq!(outcome == Outcome::Added, at.is_none(), "{seed}, {step}");
                    if at.is_none() {
                        places.push_back(Some(id));
                    }
                }
                4..8 => {
                    let is_renewed = orders.renew(&id).wait().unwrap();
                    assert_eq!(is_renewed, at.is_some(), "{seed}, {step}");
                    if let Some(at) = at {
                        places[at] = None;
                        places.push_back(Some(id));
                    }
                }
                8 => {
                    assert_eq!(orders.remove(&id).wait().unwrap(), at.is_some());
                    if let Some(at) = at {
                        places[at] = None;
                    }
                }
                _ => {
                    let other = store.cache(format!("other {}", random.below(4))).unwrap();
                    let _ = other.add(id).unwrap();
                }
            }
            while places.len() > 9 {
                places.pop_front();
            }
            let expected: Vec<String> = places.iter().flatten().cloned().collect();
            assert_eq!(ids(&orders), expected, "{seed}, {step}");
            if random.below(40) == 0 {
                let live = store.stats().live_bytes;
                drop(orders);
                storage = killed(&storage);
                store = open(storage.clone(), options()).unwrap();
                assert_eq!(store.stats().live_bytes, live, "{seed}, {step}");
                let orders = store.cache("orders").unwrap();
                assert_eq!(ids(&orders), expected, "{seed}, {step}, again");
            }
        }
    }
}

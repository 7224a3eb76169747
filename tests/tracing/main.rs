//! Promise: what happens to a store is told to `tracing` as events with fields, those and no others
//! that docs/operations.md says, and never a storm of them; no subscriber is called under a lock.
//!
//! Method: a subscriber of this thread that keeps what it is told; a clock that is set by hand; no
//! keeper, so that all happens on this thread.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod listener;
mod opening;
mod seldom;

use std::sync::{Arc, OnceLock};

use idjournal::{Cache, Error, MemoryStorage, Outcome, Store};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use listener::{Told, listening, listening_and};
use support::gated::Gated;
use support::{killed, open, small, uuid};

const PAGE: &str = include_str!("../../docs/operations.md");

pub(crate) fn add(cache: &Cache, id: impl AsRef<[u8]>) {
    assert_eq!(cache.add(id).unwrap(), Outcome::Added);
}

/// Asserts that the page has a row for this event, with its level and all of its fields.
pub(crate) fn assert_on_the_page(told: &Told) {
    let level = told.level.as_str().to_lowercase();
    let begin = format!("| `{}` | {level} | ", told.name);
    let row = PAGE.lines().find_map(|line| line.strip_prefix(&begin));
    let row = row.unwrap_or_else(|| panic!("no row begins with {begin}"));
    let cell = row.split(" | ").next().unwrap();
    let mut fields: Vec<&str> = cell
        .split(", ")
        .map(|name| name.trim_matches('`'))
        .collect();
    fields.sort_unstable();
    // Fields without a value are left out of an event.
    let optional = ["left_out", "old", "new"];
    let names = told.names();
    assert!(
        names.iter().all(|name| fields.contains(name)),
        "{names:?}: {begin}"
    );
    let missing = fields.iter().filter(|name| !names.contains(name));
    assert!(
        missing.clone().all(|name| optional.contains(name)),
        "{names:?}: {begin}"
    );
}

#[test]
fn each_rotation_and_each_release_is_told_once_in_order() {
    listening(LevelFilter::DEBUG, |heard| {
        let store = open(MemoryStorage::new(), small(1024).id_cache_size(5)).unwrap();
        let orders = store.cache("orders").unwrap();
        for number in 0..500 {
            add(&orders, uuid(number));
        }
        let told = heard.take();
        let of = |name: &str| {
            told.iter()
                .filter(|one| one.name == name)
                .collect::<Vec<_>>()
        };
        let (rotated, released) = (of("rotated"), of("released"));
        let stats = store.stats();
        assert_eq!(rotated.len() as u64, stats.segments_begun - 1);
        assert_eq!(released.len() as u64, stats.segments_released);
        assert!(released.len() > 20, "{stats:?}");
        for (at, event) in rotated.iter().enumerate() {
            assert_on_the_page(event);
            assert_eq!(event.number("next"), event.number("segment") + 1);
            assert!(event.number("end") <= 1024 && event.level == Level::DEBUG);
            let before = at
                .checked_sub(1)
                .map(|before| rotated[before].number("next"));
            assert!(before.is_none_or(|before| before == event.number("segment")));
        }
        for event in released {
            assert_on_the_page(event);
            assert!(event.number("oldest") > event.number("segment"));
        }
    });
}

#[test]
fn a_failure_that_stops_the_store_is_told_once_with_its_cause() {
    listening(LevelFilter::INFO, |heard| {
        let disk = Gated::default();
        let store = open(disk.clone(), small(4096)).unwrap();
        let orders = store.cache("orders").unwrap();
        add(&orders, "a");
        heard.take();
        disk.fail_writes();
        assert!(matches!(orders.add("b"), Err(Error::OutcomeUnknown { .. })));
        for _ in 0..10 {
            assert!(matches!(orders.add("b"), Err(Error::Poisoned { .. })));
        }
        assert!(store.close().is_err());
        let [told] = &heard.take()[..] else {
            panic!("once")
        };
        assert_on_the_page(told);
        assert_eq!((&*told.name, told.level), ("poisoned", Level::ERROR));
        assert!(!told.get("cause").is_empty() && !told.get("place").is_empty());
    });
}

#[test]
fn plain_use_tells_nothing() {
    listening(LevelFilter::TRACE, |heard| {
        let store = open(MemoryStorage::new(), small(1 << 20).id_cache_size(100)).unwrap();
        heard.take();
        let orders = store.cache("orders").unwrap();
        for number in 0..1_000 {
            add(&orders, uuid(number));
        }
        assert!(orders.remove(uuid(999)).wait().unwrap());
        orders.clear().wait().unwrap();
        store.close().unwrap();
        assert_eq!(heard.take(), []);
    });
}

#[test]
fn a_subscriber_may_call_the_store_whatever_it_is_told() {
    let held: Arc<OnceLock<Store>> = Arc::default();
    let called = Arc::clone(&held);
    let then = Box::new(move |told: &Told| {
        if let Some(store) = called.get() {
            let cache = store.cache("orders").unwrap();
            let _ = (cache.state("a"), cache.stats(), store.stats());
            let _ = store.cache("events").unwrap().add(&told.name).unwrap();
        }
    });
    listening_and(LevelFilter::DEBUG, then, |heard| {
        let store = open(MemoryStorage::new(), small(1024).id_cache_size(3)).unwrap();
        assert!(held.set(store.clone()).is_ok());
        let orders = store.cache("orders").unwrap();
        for number in 0..200 {
            add(&orders, uuid(number));
            let _ = orders.add(uuid(number)).unwrap();
        }
        let told = heard.take();
        for name in ["rotated", "released", "duplicate"] {
            assert!(told.iter().any(|one| one.name == name), "{name}");
            assert!(store.cache("events").unwrap().contains(name).unwrap());
        }
    });
}

#[test]
fn what_nobody_listens_to_is_told_to_nobody_later() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(1024).id_cache_size(3)).unwrap();
    let orders = store.cache("orders").unwrap();
    listening(LevelFilter::ERROR, |heard| {
        for number in 0..200 {
            add(&orders, uuid(number));
            let _ = orders.add(uuid(number)).unwrap();
        }
        assert_eq!(heard.take(), []);
        assert!(open(killed(&storage), small(1024)).is_ok());
        assert_eq!(heard.take(), []);
    });
}

#[test]
fn a_subscriber_that_panics_stops_neither_the_call_nor_the_store() {
    let then = Box::new(|told: &Told| panic!("of the subscriber's own, at {}", told.name));
    listening_and(LevelFilter::DEBUG, then, |heard| {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), small(1024).id_cache_size(3)).unwrap();
        let orders = store.cache("orders").unwrap();
        for number in 0..50 {
            add(&orders, uuid(number));
            assert!(matches!(
                orders.add(uuid(number)),
                Ok(Outcome::Duplicate(_))
            ));
        }
        assert!(!store.stats().is_poisoned);
        let told = heard.take();
        for name in ["recovered", "rotated", "released", "duplicate"] {
            assert!(told.iter().any(|one| one.name == name), "{name}");
        }
        store.close().unwrap();
    });
}

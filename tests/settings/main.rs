//! Promise: settings of addresses by pattern hold for all that match, at open and live, over
//! restarts and crashes; what a call has set stays; every shrink is told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod any_order;
mod crashes;
mod listed;
mod patterns;
mod persistence;
mod restarts;
mod threads;
mod turning;

use idjournal::{AddressSettings, Cache, MemoryStorage, Options, Outcome, Store};

/// Options that say nothing of addresses.
fn plain() -> Options {
    support::small(4096)
}

fn open(storage: &MemoryStorage, options: Options) -> Store {
    support::open(storage.clone(), options).unwrap()
}

/// Closes `store`, of which no cache is held, and opens it again.
fn again(store: Store, storage: &MemoryStorage, options: Options) -> Store {
    store.close().unwrap();
    drop(store);
    open(storage, options)
}

fn ids(count: u64) -> AddressSettings {
    AddressSettings::default().id_cache_size(count)
}

fn none() -> AddressSettings {
    AddressSettings::default()
}

fn cache(store: &Store, address: &str) -> Cache {
    store.cache(address).unwrap()
}

/// Adds IDs of these numbers, all of them new.
fn add(store: &Store, address: &str, numbers: std::ops::Range<u64>) {
    let cache = cache(store, address);
    for number in numbers {
        assert_eq!(cache.add(number.to_string()).unwrap(), Outcome::Added);
    }
}

/// The numbers of the IDs that are known, oldest first.
fn known(store: &Store, address: &str) -> Vec<u64> {
    let number = |id: Vec<u8>| String::from_utf8(id).unwrap().parse().unwrap();
    cache(store, address).ids().map(number).collect()
}

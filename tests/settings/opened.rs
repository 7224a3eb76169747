//! What the tests of settings share: stores in memory, and what an address of them knows.

use idjournal::{AddressSettings, Cache, MemoryStorage, Options, Outcome, Store};

use super::support;

/// Options that say nothing of addresses.
pub(super) fn plain() -> Options {
    support::small(4096)
}

pub(super) fn open(storage: &MemoryStorage, options: Options) -> Store {
    support::open(storage.clone(), options).unwrap()
}

pub(super) fn none() -> AddressSettings {
    AddressSettings::default()
}

pub(super) fn cache(store: &Store, address: &str) -> Cache {
    store.cache(address).unwrap()
}

/// Adds IDs of these numbers, all of them new.
pub(super) fn add(store: &Store, address: &str, numbers: std::ops::Range<u64>) {
    let cache = cache(store, address);
    for number in numbers {
        assert_eq!(cache.add(number.to_string()).unwrap(), Outcome::Added);
    }
}

/// The numbers of the IDs that are known, oldest first.
pub(super) fn known(store: &Store, address: &str) -> Vec<u64> {
    let number = |id: Vec<u8>| String::from_utf8(id).unwrap().parse().unwrap();
    cache(store, address).ids().map(number).collect()
}

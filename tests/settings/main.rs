//! Promise: settings of addresses by pattern hold for all that match, at open and live, over
//! restarts and crashes; what a call has set stays; every shrink is told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod any_order;
mod crashes;
mod listed;
mod opened;
mod patterns;
mod persistence;
mod restarts;
mod steps;
mod threads;
mod turning;

use idjournal::{AddressSettings, MemoryStorage, Options, Store};

use opened::{add, cache, known, none, open, plain};

/// Closes `store`, of which no cache is held, and opens it again.
fn again(store: Store, storage: &MemoryStorage, options: Options) -> Store {
    store.close().unwrap();
    drop(store);
    open(storage, options)
}

fn ids(count: u64) -> AddressSettings {
    AddressSettings::default().id_cache_size(count)
}

//! Promise: an address that is dropped gives its number back once the journal has let it go,
//! however often it was dropped before.
//!
//! Method: more addresses than the limit allows, one after the other, each used and dropped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use idjournal::{MemoryStorage, Outcome};

use support::{open, small};

#[test]
fn an_address_that_is_dropped_twice_gives_its_number_back() {
    let options = small(4096).id_cache_size(5).addresses_max(10);
    let store = open(MemoryStorage::new(), options).unwrap();
    let other = store.cache("other").unwrap();
    let mut added = 0_u64;
    for round in 0..40 {
        let name = format!("temporary-{round}");
        for _ in 0..2 {
            let temporary = store.cache(&name).unwrap();
            assert_eq!(temporary.add("a").unwrap(), Outcome::Added, "{name}");
            assert!(store.drop_cache(&name).wait().unwrap());
        }
        // The journal goes round.
        for _ in 0..500 {
            added += 1;
            assert_eq!(other.add(added.to_le_bytes()).unwrap(), Outcome::Added);
        }
    }
}

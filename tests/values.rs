//! Promise: what is kept with an ID at its confirmation is there as long as the ID is, over any
//! restart and carrying; and keeping it never fails for want of space.
//!
//! Method: values of every length, mapped, positioned and in memory, with restarts and slots reused
//! many times; a disk that is full.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use idjournal::{
    Cache, Confirmed, Error, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Receipt, Reserve,
    Store, VALUE_BYTES_MAX,
};

use support::kept::Kept;
use support::limited::Limited;
use support::{open, small, uuid};

fn confirm_with(cache: &Cache, id: impl AsRef<[u8]>, value: &[u8]) -> Receipt<Confirmed> {
    let Reserve::Reserved(claim) = cache.reserve(id).unwrap() else {
        panic!("it is new");
    };
    claim.confirm_with(value)
}

fn keep(cache: &Cache, id: impl AsRef<[u8]>, value: &[u8]) {
    let confirmed = confirm_with(cache, id, value).wait().unwrap();
    assert_eq!(confirmed, Confirmed::Recorded);
}

/// The value of a known ID.
fn value(cache: &Cache, id: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let mut value = b"what was there before".to_vec();
    let is_known = cache.value(id, &mut value).unwrap();
    assert!(is_known || value.is_empty(), "nothing is left in it");
    is_known.then_some(value)
}

fn of_length(bytes: usize) -> Vec<u8> {
    let pattern = (0..=u8::MAX).cycle();
    pattern.skip(bytes).take(bytes).collect()
}

#[test]
fn a_value_of_every_length_is_there_after_a_restart() {
    for is_closed in [true, false] {
        for mut kept in Kept::all() {
            let store = kept.open(small(4096));
            let orders = store.cache("orders").unwrap();
            for bytes in 0..=VALUE_BYTES_MAX {
                keep(&orders, uuid(bytes as u64), &of_length(bytes));
            }
            let check = |orders: &Cache| {
                for bytes in 0..=VALUE_BYTES_MAX {
                    let found = value(orders, uuid(bytes as u64));
                    assert_eq!(found, Some(of_length(bytes)));
                }
                assert_eq!(value(orders, "another"), None);
            };
            check(&orders);
            drop(orders);
            let store = kept.again(store, is_closed, small(4096));
            check(&store.cache("orders").unwrap());
        }
    }
}

#[test]
fn a_value_is_carried_with_its_id_as_often_as_that_is() {
    for mut kept in Kept::all() {
        let mut store = kept.open(small(4096));
        let orders = store.cache("orders").unwrap();
        for number in 0..20 {
            keep(&orders, uuid(number as u64), &of_length(number * 12));
        }
        drop(orders);
        for life in 0..4 {
            let busy = store.cache("busy").unwrap();
            busy.set_capacity(3).wait().unwrap();
            for number in 0..1000 {
                let _ = busy.add(uuid(life * 1000 + number)).unwrap();
            }
            let (stats, orders) = (store.stats(), store.cache("orders").unwrap());
            assert!(stats.carried_bytes > 5_000, "{stats:?}");
            for number in 0..20 {
                let found = value(&orders, uuid(number as u64));
                assert_eq!(found, Some(of_length(number * 12)));
            }
            drop((busy, orders));
            store = kept.again(store, life % 2 == 0, small(4096));
            assert_eq!(store.stats().live_bytes, stats.live_bytes, "life {life}");
        }
    }
}

#[test]
fn the_same_id_with_another_content_can_be_told_apart() {
    let store = Store::in_memory(Options::default()).unwrap();
    let orders = store.cache("orders").unwrap();
    keep(&orders, "order-1842", b"fingerprint of one message");
    let Reserve::Duplicate(seen) = orders.reserve("order-1842").unwrap() else {
        panic!("it is known");
    };
    assert_eq!(seen.wait().unwrap().ordinal.0, 1);
    let kept = value(&orders, "order-1842").unwrap();
    assert_eq!(kept, b"fingerprint of one message");
    assert_ne!(kept, b"fingerprint of another");
}

#[test]
fn a_value_ends_with_its_id_and_is_not_that_of_the_next_one() {
    for mut kept in Kept::all() {
        let mut store = kept.open(small(4096).id_cache_size(3));
        for ending in 0..5 {
            let address = format!("orders {ending}");
            let orders = store.cache(&address).unwrap();
            keep(&orders, "a", b"first");
            match ending {
                0 => assert!(orders.remove("a").wait().unwrap()),
                1 => assert_eq!(orders.clear().wait().unwrap(), 1),
                2 => assert!(store.drop_cache(&address).wait().unwrap()),
                3 => orders.set_capacity(0).wait().unwrap(),
                _ => (0..3).for_each(|id| assert_eq!(orders.add([id]).unwrap(), Outcome::Added)),
            }
            assert_eq!(value(&orders, "a"), None);
            if ending == 3 {
                orders.set_capacity(3).wait().unwrap();
            }
            // Without a value: by an add, by a confirmation, in a transaction.
            match ending % 3 {
                0 => assert_eq!(orders.add("a").unwrap(), Outcome::Added),
                1 => keep(&orders, "a", b""),
                _ => {
                    let mut one = store.begin(OnDuplicate::Reject, Owner(1));
                    assert_eq!(one.add(&orders, "a").unwrap(), Outcome::Added);
                    one.commit().wait().unwrap();
                }
            }
            assert_eq!(value(&orders, "a"), Some(Vec::new()));
            drop(orders);
            store = kept.again(store, false, small(4096).id_cache_size(3));
            let orders = store.cache(&address).unwrap();
            assert_eq!(value(&orders, "a"), Some(Vec::new()), "{address}");
        }
    }
}

#[test]
fn a_value_that_is_too_long_is_an_error_that_names_the_limit() {
    for store in [
        Store::in_memory(Options::default()).unwrap(),
        open(MemoryStorage::new(), small(4096)).unwrap(),
    ] {
        let orders = store.cache("orders").unwrap();
        let error = confirm_with(&orders, "a", &of_length(256)).wait();
        assert!(matches!(
            error,
            Err(Error::Limit {
                limit: "bytes of a value",
                max: 255,
                actual: 256
            })
        ));
        assert!(!orders.contains("a").unwrap(), "and the claim is given up");
        keep(&orders, "a", &of_length(255));
    }
    // A record is a quarter of a segment at most: what fits is kept, what does not is named.
    let store = open(MemoryStorage::new(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    let longest = (1..=VALUE_BYTES_MAX).rev().find(|bytes| {
        let outcome = confirm_with(&orders, uuid(1), &of_length(*bytes)).wait();
        assert!(
            matches!(outcome, Ok(_) | Err(Error::Limit { .. })),
            "{outcome:?}"
        );
        outcome.is_ok()
    });
    let longest = longest.unwrap();
    assert!((150..256).contains(&longest), "{longest}");
    assert_eq!(value(&orders, uuid(1)), Some(of_length(longest)));
}

#[test]
fn on_a_full_disk_every_claim_is_confirmed_with_the_longest_value() {
    for segment_bytes in [1024, 4096] {
        let disk = Limited::new(MemoryStorage::new(), false);
        let store = open(disk.clone(), small(segment_bytes)).unwrap();
        let orders = store.cache("orders").unwrap();
        for number in 0..100 {
            let _ = store.cache("before").unwrap().add(uuid(number)).unwrap();
        }
        disk.fill_after(0);
        let longest = if segment_bytes == 1024 { 150 } else { 255 };
        let mut claims = Vec::new();
        for number in 0.. {
            match orders.reserve(uuid(number)) {
                Ok(Reserve::Reserved(claim)) => claims.push(claim),
                Ok(other) => panic!("{other:?}"),
                Err(Error::NoSpace { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let count = claims.len() as u64;
        assert!(count > 0 && disk.full_calls() > 0, "{count}");
        for claim in claims {
            let confirmed = claim.confirm_with(of_length(longest)).wait().unwrap();
            assert_eq!(confirmed, Confirmed::Recorded);
        }
        let store = open(disk.killed(), small(segment_bytes)).unwrap();
        let orders = store.cache("orders").unwrap();
        for number in 0..count {
            assert_eq!(value(&orders, uuid(number)), Some(of_length(longest)));
        }
    }
}

#[test]
fn what_a_claim_sets_aside_is_given_back_whole_with_or_without_a_value() {
    let store = open(MemoryStorage::new(), small(4 << 20)).unwrap();
    let orders = store.cache("orders").unwrap();
    let reserved = (0..10_000).map(|number| match orders.reserve(uuid(number)).unwrap() {
        Reserve::Reserved(claim) => claim,
        other => panic!("{other:?}"),
    });
    let claims: Vec<_> = reserved.collect();
    // A definition, and an add with the longest value.
    assert_eq!(store.stats().claimed_bytes, 10_000 * (80 + 328));
    for (number, claim) in claims.into_iter().enumerate() {
        let value = of_length(number % 256);
        assert_eq!(
            claim.confirm_with(value).wait().unwrap(),
            Confirmed::Recorded
        );
    }
    assert_eq!(store.stats().claimed_bytes, 0);
}

//! Promise: a claim is one holder's alone until it is settled, given up, or taken by others after
//! its lease.
//!
//! Method: leases on a clock that the test sets; every call that could take a claim by mistake.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idjournal::{
    Cache, Clock, Confirmed, MemoryStorage, OnDuplicate, Options, Outcome, Owner, State, Store,
};

use support::home::reserved_as;

const LEASE: Duration = Duration::from_secs(30);

/// A clock that stands until it is moved.
#[derive(Default)]
struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn wall(&self) -> Duration {
        self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(1_700_000_000 + self.0.load(Ordering::Relaxed))
    }
}

fn store() -> (Store, Cache, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let options = Options::default().clock(clock.clone());
    let store = Store::open_on(MemoryStorage::new(), options, &mut |_| {}).unwrap();
    let orders = store.cache("orders").unwrap();
    (store, orders, clock)
}

#[test]
fn a_look_at_an_id_whose_lease_is_over_does_not_take_the_claim() {
    let (_store, orders, clock) = store();
    let claim = reserved_as(&orders, "a", 7, Some(LEASE));
    clock.0.fetch_add(31, Ordering::Relaxed);
    assert_eq!(orders.state("a"), State::Absent);
    assert!(!orders.contains("a").unwrap());
    assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
}

#[test]
fn a_take_over_that_fails_leaves_the_claim() {
    let (store, orders, clock) = store();
    let claim = reserved_as(&orders, "a", 7, Some(LEASE));
    clock.0.fetch_add(31, Ordering::Relaxed);
    let mut batch = store.begin(OnDuplicate::Reject, Owner(8));
    let long = vec![b'x'; 60_000];
    // Filled up to its limit, so that the next add is refused.
    let mut number = 0_u32;
    loop {
        let id = [&number.to_le_bytes()[..], &long].concat();
        match batch.add(&orders, id) {
            Ok(outcome) => assert_eq!(outcome, Outcome::Added),
            Err(_) => break,
        }
        number += 1;
    }
    let mut small = 0_u64;
    while batch.add(&orders, small.to_le_bytes()).is_ok() {
        small += 1;
    }
    assert!(batch.add(&orders, "a").is_err(), "the transaction is full");
    assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
}

#[test]
fn one_of_two_takes_a_claim_over_and_the_first_holder_learns_it() {
    for taking in ["add", "reserve", "transaction"] {
        let (store, orders, clock) = store();
        let first = reserved_as(&orders, "a", 7, Some(LEASE));
        assert_eq!(orders.add("a").unwrap(), Outcome::Pending(Owner(7)));
        clock.0.fetch_add(31, Ordering::Relaxed);
        match taking {
            "add" => assert_eq!(orders.add("a").unwrap(), Outcome::Added),
            "reserve" => {
                let second = reserved_as(&orders, "a", 8, None);
                assert_eq!(orders.add("a").unwrap(), Outcome::Pending(Owner(8)));
                assert!(!first.renew(LEASE));
                assert_eq!(second.confirm().wait().unwrap(), Confirmed::Recorded);
            }
            _ => {
                let mut batch = store.begin(OnDuplicate::Reject, Owner(8));
                assert_eq!(batch.add(&orders, "a").unwrap(), Outcome::Added);
                assert_eq!(orders.add("a").unwrap(), Outcome::Pending(Owner(8)));
                batch.commit().wait().unwrap();
            }
        }
        assert_eq!(first.confirm().wait().unwrap(), Confirmed::LeaseLost);
        assert!(orders.contains("a").unwrap());
        let stats = store.stats();
        assert_eq!((stats.claimed_bytes, orders.stats().claims), (0, 0));
    }
}

#[test]
fn only_a_claim_that_was_kept_is_taken_up_again_and_only_once() {
    let (store, orders, _) = store();
    let guard = reserved_as(&orders, "a", 7, None);
    assert!(orders.held("a", Owner(7)).is_none(), "its guard is alive");
    let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
    assert_eq!(batch.add(&orders, "b").unwrap(), Outcome::Added);
    assert!(
        orders.held("b", Owner(7)).is_none(),
        "the transaction has it"
    );
    assert_eq!(orders.add("b").unwrap(), Outcome::Pending(Owner(7)));
    batch.commit().wait().unwrap();
    guard.keep();
    assert!(orders.held("a", Owner(8)).is_none());
    let first = orders.held("a", Owner(7)).unwrap();
    assert!(orders.held("a", Owner(7)).is_none(), "it was taken up");
    first.keep();
    let second = orders.held("a", Owner(7)).unwrap();
    assert_eq!(second.confirm().wait().unwrap(), Confirmed::Recorded);
}

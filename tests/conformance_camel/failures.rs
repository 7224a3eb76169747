//! Rows 41 to 46 and 50: calls of the disk that fail, and claims that end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::{Cache, Confirmed, Error, MemoryStorage, Outcome, Owner, Reserve, State, Store};

use super::support::gated::Gated;
use super::support::home::{
    assert_absent, assert_added, assert_duplicate, confirm, everywhere, fill, numbers, plain,
    reserved,
};
use super::support::limited::Limited;
use super::support::{HandClock, killed, open, small, uuid};

/// A store whose disk has no space for another add, and how many IDs it knows.
fn full() -> (Limited, Store, Cache, u64) {
    let disk = Limited::new(MemoryStorage::new(), false);
    let store = open(disk.clone(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    assert_added(&orders, uuid(0));
    disk.fill_after(0);
    let mut known = 1;
    while orders
        .add(uuid(known))
        .is_ok_and(|outcome| outcome == Outcome::Added)
    {
        known += 1;
    }
    assert!(disk.full_calls() > 0);
    (disk, store, orders, known)
}

/// A store on a disk whose writes fail, with one ID.
fn failing() -> (Gated, Store, Cache) {
    let disk = Gated::default();
    let store = open(disk.clone(), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    assert_added(&orders, "a");
    disk.fail_writes();
    (disk, store, orders)
}

#[test]
fn r41_an_add_that_was_not_written_is_an_error_and_its_retry_works() {
    let (disk, _store, orders, known) = full();
    for _ in 0..3 {
        let refused = orders.add(uuid(known));
        assert!(matches!(refused, Err(Error::NoSpace { .. })), "{refused:?}");
        assert_absent(&orders, uuid(known));
    }
    disk.free();
    assert_added(&orders, uuid(known));
    assert_duplicate(&orders, uuid(known));
    // Differs: of any other failed write it is not known whether it is on the disk.
    let (disk, store, orders) = failing();
    let unknown = orders.add("b");
    assert!(
        matches!(unknown, Err(Error::OutcomeUnknown { .. })),
        "{unknown:?}"
    );
    assert!(matches!(orders.add("b"), Err(Error::Poisoned { .. })));
    assert!(store.stats().is_poisoned);
    let store = open(killed(disk.inner()), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    let again = orders.add("b").unwrap();
    assert!(matches!(again, Outcome::Added | Outcome::Duplicate(_)));
    assert_duplicate(&orders, "b");
    assert_duplicate(&orders, "a");
}

#[test]
fn r42_a_remove_or_confirmation_that_was_not_written_is_an_error_and_changes_nothing() {
    // A full disk never refuses what space was kept for.
    let disk = Limited::new(MemoryStorage::new(), false);
    let store = open(disk.clone(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    assert_added(&orders, "a");
    let claim = reserved(&orders, "claimed");
    disk.fill_after(0);
    while orders.add(uuid(orders.len())).is_ok() {}
    confirm(claim);
    assert!(orders.remove("a").wait().unwrap());
    assert_duplicate(&orders, "claimed");
    for is_a_remove in [true, false] {
        let disk = Gated::default();
        let store = open(disk.clone(), small(4096)).unwrap();
        let orders = store.cache("orders").unwrap();
        assert_added(&orders, "a");
        let claim = reserved(&orders, "claimed");
        disk.fail_writes();
        let error = match is_a_remove {
            true => orders.remove("a").wait().map(drop),
            false => claim.confirm().wait().map(drop),
        };
        assert!(
            matches!(error, Err(Error::OutcomeUnknown { .. })),
            "{error:?}"
        );
        assert!(matches!(orders.contains("a"), Err(Error::Poisoned { .. })));
        // Nothing of it was written here, so the state is that before.
        let store = open(killed(disk.inner()), small(4096)).unwrap();
        let orders = store.cache("orders").unwrap();
        assert_duplicate(&orders, "a");
        assert_absent(&orders, "claimed");
        assert!(orders.remove("a").wait().unwrap());
        confirm(reserved(&orders, "claimed"));
    }
}

#[test]
fn r43_a_release_touches_no_claim_under_another_name() {
    everywhere(&plain(), |home| {
        let (orders, bills) = (home.orders(), home.cache("bills"));
        let first = orders.reserve_as("a", Owner(1), None).unwrap();
        let Reserve::Reserved(first) = first else {
            panic!("it is free")
        };
        reserved(&bills, "a").release();
        reserved(&orders, "b").release();
        assert!(orders.held("a", Owner(1)).is_none(), "it has a guard");
        first.keep();
        assert!(orders.held("a", Owner(2)).is_none());
        assert!(bills.held("a", Owner(1)).is_none());
        assert_eq!(orders.state("a"), State::Pending(Owner(1)));
        confirm(orders.held("a", Owner(1)).unwrap());
        assert_duplicate(&orders, "a");
        assert_absent(&bills, "a");
    });
}

#[test]
fn r44_a_release_of_what_is_not_held_leaves_a_confirmed_id() {
    let clock = Arc::new(HandClock::default());
    let lease = Some(Duration::from_millis(100));
    everywhere(&plain().clock(clock.clone()), |home| {
        let orders = home.orders();
        let Reserve::Reserved(stale) = orders.reserve_as("a", Owner(1), lease).unwrap() else {
            panic!("it is free")
        };
        clock.0.fetch_add(100, Ordering::Relaxed);
        let Reserve::Reserved(claim) = orders.reserve_as("a", Owner(2), lease).unwrap() else {
            panic!("its lease is over")
        };
        assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
        stale.release();
        assert_duplicate(&orders, "a");
        assert!(orders.held("a", Owner(1)).is_none());
        let reserve = orders.reserve("a").unwrap();
        assert!(matches!(reserve, Reserve::Duplicate(_)));
        drop(reserve);
        assert_duplicate(&orders, "a");
    });
}

#[test]
fn r45_a_batch_that_fails_halfway_leaves_nothing_claimed() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        fill(&orders, [2]);
        let mut batch = home.begin();
        for number in 0..5_u64 {
            let _ = batch.add(&orders, number.to_string()).unwrap();
            if batch.rejected().is_some() {
                break;
            }
        }
        assert!(matches!(orders.state("0"), State::Pending(_)));
        assert!(batch.commit().wait().is_err());
        for number in [0, 1, 3, 4] {
            assert_absent(&orders, number.to_string());
        }
        assert_eq!((numbers(&orders), orders.stats().claims), (vec![2], 0));
        assert_eq!(home.store().stats().claimed_bytes, 0);
    });
}

#[test]
fn r46_a_claim_that_nobody_keeps_alive_is_free_after_its_lease() {
    let clock = Arc::new(HandClock::default());
    let lease = Duration::from_millis(100);
    everywhere(&plain().clock(clock.clone()), |home| {
        let orders = home.orders();
        let claim = |id| match orders.reserve_as(id, Owner(1), Some(lease)).unwrap() {
            Reserve::Reserved(claim) => claim,
            other => panic!("{other:?}"),
        };
        claim("orphan").keep();
        let alive = claim("alive");
        for _ in 0..5 {
            clock.0.fetch_add(99, Ordering::Relaxed);
            assert!(alive.renew(lease));
        }
        let other = orders.reserve_as("alive", Owner(2), None).unwrap();
        assert!(matches!(other, Reserve::Pending(Owner(1))), "{other:?}");
        let other = orders.reserve_as("orphan", Owner(2), None).unwrap();
        let Reserve::Reserved(taken) = other else {
            panic!("{other:?}")
        };
        confirm(alive);
        confirm(taken);
        // One tick before its end a lease still holds.
        claim("last").keep();
        clock.0.fetch_add(99, Ordering::Relaxed);
        assert_eq!(orders.add("last").unwrap(), Outcome::Pending(Owner(1)));
        clock.0.fetch_add(1, Ordering::Relaxed);
        assert_added(&orders, "last");
    });
}

#[test]
fn r50_a_full_disk_is_an_error_never_a_duplicate_and_the_store_works_again() {
    let (disk, store, orders, mut known) = full();
    for _ in 0..3 {
        for number in known..known + 5 {
            let refused = orders.add(uuid(number));
            assert!(matches!(refused, Err(Error::NoSpace { .. })), "{refused:?}");
            let refused = orders.reserve(uuid(number));
            assert!(matches!(refused, Err(Error::NoSpace { .. })), "{refused:?}");
        }
        for number in 0..known {
            assert_duplicate(&orders, uuid(number));
        }
        disk.free();
        for _ in 0..100 {
            assert_added(&orders, uuid(known));
            known += 1;
        }
        disk.fill_after(0);
        while orders
            .add(uuid(known))
            .is_ok_and(|outcome| outcome == Outcome::Added)
        {
            known += 1;
        }
        assert!(!store.stats().is_poisoned);
    }
    disk.free();
    let store = open(disk.killed(), small(1024)).unwrap();
    assert_eq!(store.cache("orders").unwrap().len(), known);
}

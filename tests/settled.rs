//! Promise: who waits for the end of a claim is woken by each of its ends, and by the end of the
//! store, and takes nothing from the claim's holder.
//!
//! Method: every end, in both forms of waiting; leases on a clock that the test sets; wakers that
//! count.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use idjournal::{
    Cache, Confirmed, Error, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Reservation,
    Reserve, Resolved, Settled, Store,
};

use support::gated::{Counted, Gated, assert_alone, block_on, poll, waiting};
use support::home::reserved_as;
use support::{HandClock, hand_clocked, open, uuid};

const LEASE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

/// A store in memory only, and one with a journal.
fn stores() -> [(Store, Arc<HandClock>); 2] {
    let ((one, its_clock), (other, clock)) = (hand_clocked(), hand_clocked());
    [
        (Store::in_memory(one).unwrap(), its_clock),
        (open(MemoryStorage::new(), other).unwrap(), clock),
    ]
}

#[track_caller]
fn assert_woken((mut settled, counted): (Settled, Arc<Counted>)) {
    counted.await_woken(1);
    assert_eq!(counted.woken(), 1);
    assert!(matches!(poll(&mut settled, &counted), Poll::Ready(Ok(()))));
    drop(settled);
    assert_alone(&counted);
}

#[test]
fn each_end_of_a_reservation_wakes_who_waits_for_it() {
    type End = fn(Reservation, &Cache, &HandClock);
    let ends: [End; 6] = [
        |claim, _, _| assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded),
        |claim, _, _| claim.release(),
        |claim, _, _| drop(claim),
        |claim, orders, clock| {
            clock.0.fetch_add(31_000, Ordering::Relaxed);
            assert_eq!(orders.add("a").unwrap(), Outcome::Added);
            drop(claim);
        },
        |claim, orders, clock| {
            clock.0.fetch_add(31_000, Ordering::Relaxed);
            let other = reserved_as(orders, "a", 8, None);
            other.keep();
            drop(claim);
        },
        |claim, orders, _| {
            claim.keep();
            drop(orders.held("a", Owner(7)).unwrap());
        },
    ];
    for end in ends {
        for (store, clock) in stores() {
            let orders = store.cache("orders").unwrap();
            let claim = reserved_as(&orders, "a", 7, Some(LEASE));
            let waits = waiting(&orders, "a");
            let blocking = {
                let settled = orders.settled("a");
                thread::spawn(move || settled.wait(LONG).unwrap())
            };
            end(claim, &orders, &clock);
            assert_woken(waits);
            assert!(blocking.join().unwrap());
        }
    }
}

#[test]
fn each_end_of_a_transaction_wakes_who_waits_for_its_ids() {
    for (store, _) in stores() {
        let orders = store.cache("orders").unwrap();
        for is_committed in [false, true] {
            let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
            let ids = ["a", "b"];
            for id in ids {
                assert_eq!(batch.add(&orders, id).unwrap(), Outcome::Added);
            }
            let waits = ids.map(|id| waiting(&orders, id));
            match is_committed {
                true => batch.commit().wait().unwrap(),
                false => batch.rollback(),
            }
            waits.into_iter().for_each(assert_woken);
        }
        assert_eq!(orders.len(), 2);
    }
}

#[test]
fn the_end_of_a_prepared_transaction_wakes_who_waits_for_its_ids_also_after_a_restart() {
    for is_committed in [false, true] {
        for is_reopened in [false, true] {
            let storage = MemoryStorage::new();
            let store = open(storage.clone(), hand_clocked().0).unwrap();
            let orders = store.cache("orders").unwrap();
            let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
            assert_eq!(batch.add(&orders, "a").unwrap(), Outcome::Added);
            let before = waiting(&orders, "a");
            let prepared = batch.prepare("xid").wait().unwrap();
            let (store, prepared) = match is_reopened {
                false => (store, prepared),
                true => {
                    drop((before, prepared, orders));
                    store.close().unwrap();
                    let store = open(storage, hand_clocked().0).unwrap();
                    let prepared = store.find_prepared("xid").unwrap();
                    (store, prepared)
                }
            };
            let orders = store.cache("orders").unwrap();
            let waits = waiting(&orders, "a");
            assert!(!orders.settled("a").wait(SHORT).unwrap());
            match is_committed {
                true => assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done),
                false => assert_eq!(prepared.roll_back().wait().unwrap(), Resolved::Done),
            }
            assert_woken(waits);
            assert_eq!(orders.contains("a").unwrap(), is_committed);
        }
    }
}

#[test]
fn where_nobody_has_a_claim_there_is_nothing_to_wait_for() {
    for (store, _) in stores() {
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.add("known").unwrap(), Outcome::Added);
        for id in ["known", "absent"] {
            block_on(orders.settled(id)).unwrap();
            assert!(orders.settled(id).wait(Duration::ZERO).unwrap());
        }
    }
}

#[test]
fn a_wait_that_times_out_leaves_the_claim_and_no_waker() {
    for (store, _) in stores() {
        let orders = store.cache("orders").unwrap();
        let claim = reserved_as(&orders, "a", 7, Some(LEASE));
        // The clock stands: the wait ends all the same.
        assert!(!orders.settled("a").wait(SHORT).unwrap());
        assert!(!orders.settled("a").wait(Duration::ZERO).unwrap());
        let (settled, counted) = waiting(&orders, "a");
        drop(settled);
        assert_alone(&counted);
        assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
        assert_eq!(counted.woken(), 0);
    }
}

#[test]
fn a_wait_is_for_the_claim_that_there_was_and_not_for_the_next_one() {
    for (store, _) in stores() {
        let orders = store.cache("orders").unwrap();
        let first = reserved_as(&orders, "a", 7, None);
        let settled = orders.settled("a");
        first.release();
        let _second = reserved_as(&orders, "a", 8, None);
        assert!(settled.wait(Duration::ZERO).unwrap());
        assert!(!orders.settled("a").wait(Duration::ZERO).unwrap());
    }
}

#[test]
fn a_lease_that_is_over_ends_the_wait_and_leaves_the_claim_to_its_holder() {
    for (store, clock) in stores() {
        let orders = store.cache("orders").unwrap();
        let claim = reserved_as(&orders, "a", 7, Some(LEASE));
        let (mut settled, counted) = waiting(&orders, "a");
        clock.0.fetch_add(29_999, Ordering::Relaxed);
        assert!(poll(&mut settled, &counted).is_pending());
        assert!(!orders.settled("a").wait(Duration::ZERO).unwrap());
        clock.0.fetch_add(1, Ordering::Relaxed);
        assert!(orders.settled("a").wait(Duration::ZERO).unwrap());
        assert!(matches!(poll(&mut settled, &counted), Poll::Ready(Ok(()))));
        assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
    }
}

#[test]
fn the_end_of_a_lease_wakes_who_waits() {
    for store in [
        Store::in_memory(Options::default()).unwrap(),
        open(MemoryStorage::new(), Options::default()).unwrap(),
    ] {
        let orders = store.cache("orders").unwrap();
        let later = reserved_as(&orders, "b", 7, Some(LONG));
        let others = waiting(&orders, "b");
        // Longer for a machine on which it is over before it is looked at.
        let (claim, waits) = (1..)
            .find_map(|times| {
                let lease = Duration::from_millis(20 * times);
                let claim = reserved_as(&orders, "a", 7, Some(lease));
                let (mut settled, counted) = (orders.settled("a"), Arc::default());
                let is_pending = poll(&mut settled, &counted).is_pending();
                is_pending.then_some((claim, (settled, counted)))
            })
            .unwrap();
        let settled = orders.settled("a");
        assert!(
            thread::spawn(move || settled.wait(LONG).unwrap())
                .join()
                .unwrap()
        );
        waits.1.await_woken(1);
        assert_woken(waits);
        assert_eq!(others.1.woken(), 0);
        // Renewed for less than it had: its waiter looks at the new end.
        assert!(later.renew(SHORT));
        block_on(others.0).unwrap();
        drop(claim);
    }
}

#[test]
fn a_close_ends_every_wait_with_an_error() {
    for (store, _) in stores() {
        let orders = store.cache("orders").unwrap();
        let _claim = reserved_as(&orders, "a", 7, Some(LEASE));
        let (mut settled, counted) = waiting(&orders, "a");
        let blocking = orders.settled("a");
        let blocking = thread::spawn(move || blocking.wait(LONG));
        store.close().unwrap();
        assert_eq!(counted.woken(), 1);
        assert!(matches!(
            poll(&mut settled, &counted),
            Poll::Ready(Err(Error::Closed))
        ));
        assert!(matches!(blocking.join().unwrap(), Err(Error::Closed)));
        assert!(matches!(orders.settled("a").wait(LONG), Err(Error::Closed)));
    }
}

#[test]
fn a_store_that_is_poisoned_ends_every_wait_with_an_error() {
    for is_by_a_write in [true, false] {
        let storage = Gated::default();
        let store = open(storage.clone(), Options::default()).unwrap();
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.add("first").unwrap(), Outcome::Added);
        let claim = reserved_as(&orders, "a", 7, None);
        claim.keep();
        let (mut settled, counted) = waiting(&orders, "a");
        let blocking = orders.settled("a");
        let blocking = thread::spawn(move || blocking.wait(LONG));
        match is_by_a_write {
            true => storage.fail_writes(),
            false => storage.fail_syncs(),
        }
        assert!(orders.add("b").is_err());
        counted.await_woken(1);
        let Poll::Ready(Err(Error::Poisoned { .. })) = poll(&mut settled, &counted) else {
            panic!("the store is poisoned")
        };
        assert!(matches!(
            blocking.join().unwrap(),
            Err(Error::Poisoned { .. })
        ));
    }
}

/// A task that holds a claim, and lets go of it when it is woken.
struct Holding(
    std::sync::Mutex<Option<(Reservation, Settled)>>,
    mpsc::Sender<()>,
);

impl Wake for Holding {
    fn wake(self: Arc<Self>) {
        let held = self.0.lock().unwrap().take();
        drop(held);
        self.1.send(()).unwrap();
    }
}

#[test]
fn a_waker_may_let_go_of_claims_and_waits_of_the_same_address() {
    for (store, _) in stores() {
        let orders = store.cache("orders").unwrap();
        let claim = reserved_as(&orders, "a", 7, None);
        let own = reserved_as(&orders, "b", 8, None);
        let (sender, woken) = mpsc::channel();
        let (task, mut settled) = (Holding(None.into(), sender), orders.settled("a"));
        let task = Arc::new(task);
        let waker = Waker::from(Arc::clone(&task));
        let mut context = std::task::Context::from_waker(&waker);
        let polled = std::future::Future::poll(std::pin::Pin::new(&mut settled), &mut context);
        assert!(polled.is_pending());
        let (others, counted) = waiting(&orders, "b");
        *task.0.lock().unwrap() = Some((own, settled));
        claim.release();
        woken.recv_timeout(LONG).unwrap();
        assert_woken((others, counted));
        assert_eq!(orders.add("b").unwrap(), Outcome::Added);
    }
}

#[test]
fn nobody_who_waits_is_left_behind_by_many_who_claim_and_let_go() {
    for keeper in [true, false] {
        let options = Options::default().segment_bytes(4096).keeper(keeper);
        let store = open(MemoryStorage::new(), options).unwrap();
        let added: u64 = thread::scope(|scope| {
            let work = |worker: u64| {
                let orders = store.cache("orders").unwrap();
                move || {
                    (0..400)
                        .map(|n| u64::from(take(&orders, n, worker)))
                        .sum::<u64>()
                }
            };
            let workers: Vec<_> = (0..6).map(|worker| scope.spawn(work(worker))).collect();
            let added = workers.into_iter().map(|worker| worker.join().unwrap());
            added.sum::<u64>()
        });
        assert_eq!(added, 400);
        let stats = store.cache("orders").unwrap().stats();
        assert_eq!(stats.claims, 0);
    }
}

/// Goes for an ID until somebody has it; whether it is this one.
fn take(orders: &Cache, number: u64, worker: u64) -> bool {
    let id = uuid(number);
    for attempt in 0_u64.. {
        match orders.reserve_as(id, Owner(worker), Some(LONG)).unwrap() {
            // Given up now and then, so that another one must go on.
            Reserve::Reserved(claim) if (number + worker + attempt).is_multiple_of(3) => {
                drop(claim)
            }
            Reserve::Reserved(claim) => {
                assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
                return true;
            }
            Reserve::Duplicate(seen) => {
                let _ = block_on(seen).unwrap();
                return false;
            }
            Reserve::Pending(_) if worker.is_multiple_of(2) => {
                assert!(orders.settled(id).wait(LONG).unwrap(), "left waiting");
            }
            Reserve::Pending(_) => block_on(orders.settled(id)).unwrap(),
        }
    }
    false
}

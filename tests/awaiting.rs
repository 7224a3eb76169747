//! Promise: a receipt is a future for any runtime: ready once its record is on disk, and never left
//! unwoken, however it is polled, dropped, or the store ends meanwhile.
//!
//! Method: a storage whose syncs wait at a gate, and wakers that count.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use idjournal::{Cache, Error, Options, Outcome, Receipt, Reserve, Store, SyncPolicy};

use support::gated::{Counted, Gated, assert_alone, block_on, poll};
use support::{open, uuid};

/// A store that has begun its life, at a shut gate.
fn at_the_gate(options: Options) -> (Gated, Store, Cache) {
    let storage = Gated::default();
    let store = open(storage.clone(), options).unwrap();
    let orders = store.cache("orders").unwrap();
    assert_eq!(orders.add("first").unwrap(), Outcome::Added);
    // The keeper has made its segment ahead, so that it is not in the middle of one.
    store.sync().wait().unwrap();
    storage.shut();
    (storage, store, orders)
}

fn pending<T>(receipt: &mut Receipt<T>, counted: &Arc<Counted>) {
    assert!(poll(receipt, counted).is_pending());
}

#[test]
fn an_awaited_receipt_is_ready_once_its_record_is_on_disk() {
    let (storage, _store, orders) = at_the_gate(Options::default());
    let counted = Arc::new(Counted::default());
    let mut receipt = orders.submit("a");
    pending(&mut receipt, &counted);
    storage.await_a_sync();
    pending(&mut receipt, &counted);
    assert!(!receipt.is_synced());
    storage.unlatch();
    counted.await_woken(1);
    assert!(matches!(
        poll(&mut receipt, &counted),
        Poll::Ready(Ok(Outcome::Added))
    ));
}

#[test]
fn a_duplicate_awaited_waits_for_the_sync_of_the_first_copy() {
    let (storage, _store, orders) = at_the_gate(Options::default());
    let counted = Arc::new(Counted::default());
    let mut added = orders.submit("a");
    let mut again = orders.submit("a");
    let Reserve::Duplicate(mut seen) = orders.reserve("a").unwrap() else {
        panic!("it is known")
    };
    pending(&mut again, &counted);
    pending(&mut seen, &counted);
    pending(&mut added, &counted);
    storage.unlatch();
    let Ok(Outcome::Duplicate(known)) = block_on(again) else {
        panic!("it is known")
    };
    assert_eq!(block_on(seen).unwrap(), known);
    assert!(added.is_synced());
    assert_eq!(block_on(added).unwrap(), Outcome::Added);
}

#[test]
fn a_future_dropped_half_way_leaves_no_waker_and_undoes_nothing() {
    let (storage, store, orders) = at_the_gate(Options::default());
    let counted = Arc::new(Counted::default());
    let mut receipt = orders.submit("a");
    pending(&mut receipt, &counted);
    assert!(Arc::strong_count(&counted) > 1);
    drop(receipt);
    assert_alone(&counted);
    storage.unlatch();
    store.sync().wait().unwrap();
    assert_eq!(counted.woken(), 0);
    assert!(orders.contains("a").unwrap());
}

#[test]
fn of_changing_wakers_the_latest_is_woken() {
    let (storage, _store, orders) = at_the_gate(Options::default());
    let wakers: Vec<_> = (0..3).map(|_| Arc::new(Counted::default())).collect();
    let mut receipt = orders.submit("a");
    for counted in &wakers {
        pending(&mut receipt, counted);
    }
    storage.unlatch();
    wakers[2].await_woken(1);
    assert_eq!(wakers[0].woken() + wakers[1].woken(), 0);
    wakers.iter().for_each(assert_alone);
}

#[test]
fn one_sync_serves_all_who_await() {
    let (storage, store, orders) = at_the_gate(Options::default());
    let counted = Arc::new(Counted::default());
    let mut first = orders.submit("a");
    pending(&mut first, &counted);
    storage.await_a_sync();
    let syncs = store.stats().syncs;
    let mut receipts: Vec<_> = (0..1_000).map(|n| orders.submit(uuid(n))).collect();
    receipts.iter_mut().for_each(|one| pending(one, &counted));
    storage.unlatch();
    counted.await_woken(1_001);
    assert_eq!(
        store.stats().syncs - syncs,
        2,
        "the first's, and one for all"
    );
    for receipt in receipts {
        assert_eq!(block_on(receipt).unwrap(), Outcome::Added);
    }
}

#[test]
fn a_failed_sync_wakes_all_who_await_and_tells_them_the_cause() {
    let (storage, store, orders) = at_the_gate(Options::default());
    let counted = Arc::new(Counted::default());
    let mut receipts: Vec<_> = (0..10).map(|n| orders.submit(uuid(n))).collect();
    receipts.iter_mut().for_each(|one| pending(one, &counted));
    storage.fail_syncs();
    storage.unlatch();
    counted.await_woken(10);
    for mut receipt in receipts {
        let Poll::Ready(Err(Error::OutcomeUnknown { source, .. })) = poll(&mut receipt, &counted)
        else {
            panic!("the sync has failed")
        };
        assert!(source.to_string().contains("sync"), "{source}");
    }
    assert!(store.stats().is_poisoned);
    assert_alone(&counted);
}

#[test]
fn a_failed_write_of_another_call_wakes_who_awaits() {
    let (storage, _store, orders) = at_the_gate(Options::default());
    let counted = Arc::new(Counted::default());
    let mut receipt = orders.submit("a");
    pending(&mut receipt, &counted);
    storage.await_a_sync();
    storage.fail_writes();
    assert!(matches!(
        orders.submit("b").outcome(),
        Err(Error::OutcomeUnknown { .. })
    ));
    counted.await_woken(1);
    assert!(matches!(
        poll(&mut receipt, &counted),
        Poll::Ready(Err(Error::OutcomeUnknown { .. }))
    ));
    storage.unlatch();
}

#[test]
fn a_close_makes_durable_what_is_awaited_and_wakes_who_awaits() {
    for keeper in [true, false] {
        let (storage, store, orders) = at_the_gate(Options::default().keeper(keeper));
        let counted = Arc::new(Counted::default());
        let mut receipt = orders.submit("a");
        if keeper {
            pending(&mut receipt, &counted);
        }
        let closing = thread::spawn(move || store.close());
        storage.await_a_sync();
        if keeper {
            pending(&mut receipt, &counted);
        }
        storage.unlatch();
        closing.join().unwrap().unwrap();
        assert_eq!(block_on(receipt).unwrap(), Outcome::Added);
        assert_eq!(counted.woken(), usize::from(keeper));
    }
}

#[test]
fn without_a_keeper_the_poll_does_the_sync_itself() {
    let storage = Gated::default();
    let store = open(storage, Options::default().keeper(false)).unwrap();
    let orders = store.cache("orders").unwrap();
    let receipt = orders.submit("a");
    assert!(!receipt.is_synced());
    assert_eq!(block_on(receipt).unwrap(), Outcome::Added);
    assert_eq!(store.stats().syncs, 1);
}

#[test]
fn under_the_other_policies_a_receipt_is_ready_at_once_and_a_sync_is_awaited() {
    for policy in [
        SyncPolicy::Manual,
        SyncPolicy::Interval(Duration::from_secs(3_600)),
    ] {
        let (storage, store, orders) = at_the_gate(Options::default().sync_policy(policy));
        let counted = Arc::new(Counted::default());
        let mut receipt = orders.submit("a");
        assert!(poll(&mut receipt, &counted).is_ready());
        let mut synced = store.sync();
        pending(&mut synced, &counted);
        storage.unlatch();
        block_on(synced).unwrap();
        assert_alone(&counted);
    }
}

#[test]
fn a_receipt_awaited_again_says_that_its_outcome_was_taken() {
    let store = Store::in_memory(Options::default()).unwrap();
    let mut receipt = store.cache("orders").unwrap().submit("a");
    let counted = Arc::new(Counted::default());
    assert!(matches!(
        poll(&mut receipt, &counted),
        Poll::Ready(Ok(Outcome::Added))
    ));
    let Poll::Ready(Err(Error::OutcomeTaken)) = poll(&mut receipt, &counted) else {
        panic!("it was taken")
    };
    assert!(matches!(receipt.outcome(), Err(Error::OutcomeTaken)));
    assert!(matches!(receipt.wait(), Err(Error::OutcomeTaken)));
}

/// A task whose waker holds what the task holds, and lets go of it when it is woken, as an executor
/// does that has ended.
struct Ended(Mutex<Option<(Store, Cache)>>, mpsc::Sender<()>);

impl Wake for Ended {
    fn wake(self: Arc<Self>) {
        let held = self.0.lock().unwrap().take();
        drop(held);
        self.1.send(()).unwrap();
    }
}

#[test]
fn a_waker_may_let_go_of_the_store_itself() {
    let (storage, store, orders) = at_the_gate(Options::default());
    let (sender, ended) = mpsc::channel();
    let mut receipt = orders.submit("a");
    let task = Arc::new(Ended(Mutex::new(Some((store, orders))), sender));
    let waker = Waker::from(task);
    let mut context = std::task::Context::from_waker(&waker);
    assert!(
        std::pin::Pin::new(&mut receipt)
            .poll(&mut context)
            .is_pending()
    );
    storage.await_a_sync();
    storage.unlatch();
    ended.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(block_on(receipt).unwrap(), Outcome::Added);
    let store = open(storage, Options::default()).unwrap();
    assert_eq!(store.recovery().rewritten_bytes, 0, "it was closed");
    assert!(store.cache("orders").unwrap().contains("a").unwrap());
}

/// A waker that panics.
struct Faulty;

impl Wake for Faulty {
    fn wake(self: Arc<Self>) {
        panic!("of the waker's own");
    }
}

#[test]
fn a_waker_that_panics_stops_neither_the_keeper_nor_the_store() {
    let (storage, store, orders) = at_the_gate(Options::default());
    let faulty = Waker::from(Arc::new(Faulty));
    let mut first = orders.submit("a");
    let mut context = Context::from_waker(&faulty);
    assert!(Pin::new(&mut first).poll(&mut context).is_pending());
    let counted = Arc::new(Counted::default());
    let mut second = orders.submit("b");
    pending(&mut second, &counted);
    storage.unlatch();
    counted.await_woken(1);
    for receipt in [first, second] {
        assert_eq!(receipt.wait().unwrap(), Outcome::Added);
    }
    // The keeper is still there for who awaits.
    let added = block_on(orders.submit("c")).unwrap();
    assert_eq!(added, Outcome::Added);
    assert!(!store.stats().is_poisoned);
}

#[test]
fn of_many_tasks_and_threads_nobody_is_left_waiting() {
    for keeper in [true, false] {
        let storage = Gated::default();
        let options = Options::default().segment_bytes(4096).keeper(keeper);
        let store = open(storage.clone(), options.clone()).unwrap();
        thread::scope(|scope| {
            for worker in 0..6_u64 {
                let orders = store.cache("orders").unwrap();
                scope.spawn(move || {
                    for number in 0..300 {
                        let id = uuid(worker * 1_000 + number);
                        let added = match number % 3 {
                            0 => orders.add(id).unwrap(),
                            1 => block_on(orders.submit(id)).unwrap(),
                            _ => {
                                let counted = Arc::new(Counted::default());
                                let mut receipt = orders.submit(id);
                                let _ = poll(&mut receipt, &counted);
                                *receipt.outcome().unwrap_or(&Outcome::Added)
                            }
                        };
                        assert_eq!(added, Outcome::Added);
                    }
                });
            }
        });
        store.close().unwrap();
        let store = open(storage, options).unwrap();
        assert_eq!(store.cache("orders").unwrap().len(), 1_800);
    }
}

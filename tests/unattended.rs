//! Promise: in a store without its background thread, too, who waits for the end of a lease is
//! woken: by the next call.
//!
//! Method: leases on a clock that the test sets, wakers that count, and each kind of call.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::{Cache, MemoryStorage, Outcome, Store};

use support::gated::{poll, waiting};
use support::home::reserved_as;
use support::{hand_clocked, open};

const LEASE: Duration = Duration::from_secs(30);

#[test]
fn without_a_keeper_the_next_call_wakes_who_waits_for_the_end_of_a_lease() {
    type Call = fn(&Cache);
    let calls: [Call; 5] = [
        |orders| assert!(!matches!(orders.add("c").unwrap(), Outcome::Pending(_))),
        |orders| assert!(!orders.remove("c").wait().unwrap()),
        |orders| drop(reserved_as(orders, "c", 8, None)),
        |orders| assert!(!orders.renew("c").wait().unwrap()),
        |orders| drop(waiting(orders, "b")),
    ];
    for call in calls {
        let ((one, its_clock), (other, clock)) = (hand_clocked(), hand_clocked());
        let in_memory = Store::in_memory(one.keeper(false)).unwrap();
        let stored = open(MemoryStorage::new(), other.keeper(false)).unwrap();
        for (store, clock) in [(in_memory, its_clock), (stored, clock)] {
            let orders = store.cache("orders").unwrap();
            let _claim = reserved_as(&orders, "a", 7, Some(LEASE));
            let _later = reserved_as(&orders, "b", 7, Some(2 * LEASE));
            let ((mut first, waits), (mut second, later)) =
                (waiting(&orders, "a"), waiting(&orders, "b"));
            clock.0.fetch_add(29_999, Ordering::Relaxed);
            call(&orders);
            assert_eq!((waits.woken(), later.woken()), (0, 0));
            clock.0.fetch_add(1, Ordering::Relaxed);
            assert_eq!(waits.woken(), 0, "nobody looks at the clock");
            call(&orders);
            assert_eq!(waits.woken(), 1);
            assert!(poll(&mut first, &waits).is_ready());
            assert_eq!(later.woken(), 0);
            clock.0.fetch_add(30_000, Ordering::Relaxed);
            let _ = orders.add("d").unwrap();
            assert_eq!(later.woken(), 1);
            assert!(poll(&mut second, &later).is_ready());
        }
    }
}

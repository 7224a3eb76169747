//! Who waits for a claim without a thread, at each of its ends: woken within the call that ends
//! it, by the thread that makes that call, since the store has no other.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::{
    Cache, OnDuplicate, Outcome, Owner, Prepared, Reservation, Result, Settled, Store, Transaction,
};

use super::support::gated::{Counted, Gated, waiting};
use super::support::home::reserved_as;
use super::support::{HandClock, hand_clocked, open};

const LEASE: Duration = Duration::from_secs(30);

/// A store with one address.
struct Stage {
    storage: Gated,
    store: Store,
    orders: Cache,
    clock: Arc<HandClock>,
}

impl Stage {
    fn new() -> Result<Stage> {
        let (options, clock) = hand_clocked();
        let storage = Gated::default();
        let store = open(storage.clone(), options.keeper(false))?;
        let orders = store.cache("orders")?;
        Ok(Stage {
            storage,
            store,
            orders,
            clock,
        })
    }

    /// A claim, and who waits for it.
    fn claim(&self) -> (Reservation, Waiting) {
        let claim = reserved_as(&self.orders, "a", 7, Some(LEASE));
        (claim, self.waiting())
    }

    fn batch(&self) -> Transaction {
        let mut batch = self.store.begin(OnDuplicate::Reject, Owner(8));
        assert_eq!(batch.add(&self.orders, "a").unwrap(), Outcome::Added);
        batch
    }

    fn prepared(&self) -> (Prepared, Waiting) {
        let prepared = self.batch().prepare("xid").wait().unwrap();
        (prepared, self.waiting())
    }

    fn waiting(&self) -> Waiting {
        let (settled, counted) = waiting(&self.orders, "a");
        Waiting {
            _settled: settled,
            counted,
        }
    }

    fn end_lease(&self) {
        let milliseconds = u64::try_from(LEASE.as_millis()).unwrap();
        self.clock.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

struct Waiting {
    _settled: Settled,
    counted: Arc<Counted>,
}

impl Waiting {
    fn woken(&self) -> usize {
        self.counted.woken()
    }
}

/// Ends of a claim; each tells how often who waits for it was woken.
const ENDS: [fn(&Stage) -> usize; 15] = [
    |stage| {
        let (claim, waiting) = stage.claim();
        claim.confirm().detach();
        waiting.woken()
    },
    |stage| {
        let (claim, waiting) = stage.claim();
        claim.release();
        waiting.woken()
    },
    |stage| {
        let (claim, waiting) = stage.claim();
        claim.keep();
        drop(stage.orders.held("a", Owner(7)).unwrap());
        waiting.woken()
    },
    |stage| {
        let (claim, waiting) = stage.claim();
        assert!(claim.renew(LEASE / 2));
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.end_lease();
        let _ = stage.orders.add("b").unwrap();
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.end_lease();
        let _ = stage.orders.add("a").unwrap();
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.end_lease();
        reserved_as(&stage.orders, "a", 8, None).keep();
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.end_lease();
        drop(stage.batch());
        waiting.woken()
    },
    |stage| {
        let batch = stage.batch();
        let waiting = stage.waiting();
        batch.commit().detach();
        waiting.woken()
    },
    |stage| {
        let batch = stage.batch();
        let waiting = stage.waiting();
        batch.rollback();
        waiting.woken()
    },
    |stage| {
        let (prepared, waiting) = stage.prepared();
        prepared.commit().detach();
        waiting.woken()
    },
    |stage| {
        let (prepared, waiting) = stage.prepared();
        prepared.roll_back().detach();
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.store.close().unwrap();
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.storage.fail_writes();
        assert!(stage.orders.add("b").is_err());
        waiting.woken()
    },
    |stage| {
        let (_claim, waiting) = stage.claim();
        stage.storage.fail_syncs();
        assert!(stage.orders.add("b").is_err());
        waiting.woken()
    },
];

/// How many ends there were, and at how many of them who waited was not woken once.
pub(crate) fn left_asleep() -> Result<(u64, u64)> {
    let mut asleep = 0;
    for end in ENDS {
        asleep += u64::from(end(&Stage::new()?) != 1);
    }
    Ok((ENDS.len() as u64, asleep))
}

//! What all handles of a store and its keeper share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::address_settings::Patterns;
use crate::clock::Timeline;
use crate::compaction::Carrier;
use crate::error::{Cause, Error, Result};
use crate::facade::Mutex;
use crate::hash::IdHasher;
use crate::ids::{Position, Ticks};
use crate::journal::Journal;
use crate::keeper::Keeper;
use crate::mutant::{self, Mutant};
use crate::options::Options;
use crate::receipt::Receipt;
use crate::recovery::RecoveryReport;
use crate::storage::StorageLock;
use crate::store::address::AddressState;
use crate::store::aging::Sweep;
use crate::store::extras::Extras;
use crate::store::registry::Registry;
#[cfg(feature = "tracing")]
use crate::store::telling::Stated;
use crate::sync_policy::SyncPolicy;
use crate::waits::Waits;

/// See the head of this file.
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// Whether the policy syncs by the clock.
    pub(crate) has_interval: bool,
    pub(crate) hasher: IdHasher,
    pub(crate) registry: Registry,
    /// None in a store that is in memory only.
    pub(crate) journal: Option<Arc<Journal>>,
    pub(crate) timeline: Timeline,
    pub(crate) extras: Mutex<Extras>,
    /// The settings of addresses by pattern. Whoever holds an address may lock it, not the reverse;
    /// whoever holds it may lock the extras, not the reverse.
    pub(crate) patterns: Mutex<Patterns>,
    /// Held by the one call that changes settings by pattern.
    pub(crate) configuring: Mutex<()>,
    /// Where carrying stands; whoever holds it maintains the journal.
    pub(crate) maintenance: Mutex<Carrier>,
    pub(crate) sweep: Sweep,
    #[cfg(feature = "tracing")]
    pub(crate) stated: Stated,
    /// How often room was made in the journal.
    pub(crate) rooms: AtomicU64,
    pub(crate) keeper: Keeper,
    /// Those who wait without a thread.
    pub(crate) waits: Arc<Waits>,
    pub(crate) report: OnceLock<RecoveryReport>,
    /// How many caches exist.
    pub(crate) caches: AtomicU64,
    /// Adds that the addresses had seen before this life.
    pub(crate) added_before: u64,
    tokens: AtomicU64,
    is_closed: AtomicBool,
    /// What came of closing, once it is done.
    closed: Mutex<Option<Result<()>>>,
    last_sync: Mutex<Duration>,
    lock: Mutex<Option<Box<dyn StorageLock>>>,
}

/// What a store begins with, as `open` has put it together.
pub(crate) struct Begin {
    pub(crate) options: Options,
    pub(crate) hasher: IdHasher,
    pub(crate) registry: Registry,
    pub(crate) journal: Option<Arc<Journal>>,
    pub(crate) timeline: Timeline,
    pub(crate) extras: Extras,
    pub(crate) patterns: Patterns,
    pub(crate) carrier: Carrier,
    /// How many caches exist.
    pub(crate) caches: u64,
    /// Adds that the addresses have seen.
    pub(crate) added_before: u64,
    pub(crate) lock: Option<Box<dyn StorageLock>>,
}

impl Shared {
    pub(crate) fn new(begin: Begin) -> Shared {
        let last_sync = Mutex::new(begin.timeline.monotonic());
        let has_interval = matches!(begin.options.sync_policy, SyncPolicy::Interval(_));
        Shared {
            has_interval,
            options: begin.options,
            hasher: begin.hasher,
            registry: begin.registry,
            waits: match &begin.journal {
                Some(journal) => Arc::clone(&journal.commit.waits),
                None => Arc::default(),
            },
            journal: begin.journal,
            timeline: begin.timeline,
            // Those in doubt have the first ones.
            tokens: AtomicU64::new(begin.extras.restored + 1),
            extras: Mutex::new(begin.extras),
            patterns: Mutex::new(begin.patterns),
            configuring: Mutex::new(()),
            maintenance: Mutex::new(begin.carrier),
            sweep: Sweep::default(),
            #[cfg(feature = "tracing")]
            stated: Stated::default(),
            rooms: AtomicU64::new(0),
            keeper: Keeper::default(),
            report: OnceLock::new(),
            caches: AtomicU64::new(begin.caches),
            added_before: begin.added_before,
            is_closed: AtomicBool::new(false),
            closed: Mutex::new(None),
            last_sync,
            lock: Mutex::new(begin.lock),
        }
    }

    /// The same, for all its handles and its keeper.
    pub(crate) fn share(self) -> Arc<Shared> {
        let shared = Arc::new(self);
        let served = Arc::downgrade(&shared);
        shared.waits.serve_with(move || {
            if let Some(shared) = served.upgrade() {
                shared.serve();
            }
        });
        shared
    }

    #[inline]
    pub(crate) fn hash(&self, id: &[u8]) -> u64 {
        self.hasher.hash(id)
    }

    #[inline]
    pub(crate) fn now(&self) -> Ticks {
        self.timeline.now()
    }

    pub(crate) fn policy(&self) -> SyncPolicy {
        self.options.sync_policy
    }

    /// A token that no other claim of this life has.
    pub(crate) fn token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }

    /// The cache exists from now on.
    #[inline]
    pub(crate) fn begun(&self, state: &mut AddressState) {
        if !state.is_begun {
            state.is_begun = true;
            self.caches.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The cache does not exist any more.
    pub(crate) fn ended(&self, state: &mut AddressState) {
        if state.is_begun {
            state.is_begun = false;
            self.caches.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// An error if the store is closed, poisoned, or opened by the parent of this forked process.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        match &self.journal {
            Some(journal) => journal.check(),
            None => Ok(()),
        }
    }

    /// An error in a forked child of the process that opened the store, whose locks may be held
    /// there by threads that only the parent has.
    pub(crate) fn check_process(&self) -> Result<()> {
        match &self.journal {
            Some(journal) => journal.check_process(),
            None => Ok(()),
        }
    }

    pub(crate) fn check_id(&self, id: &[u8]) -> Result<()> {
        let (max, actual) = (self.options.limits.id_bytes as u64, id.len() as u64);
        if actual > max {
            return Err(Error::Limit {
                limit: "bytes of an ID",
                max,
                actual,
            });
        }
        Ok(())
    }

    pub(crate) fn receipt<T>(&self, result: Result<T>, position: Option<Position>) -> Receipt<T> {
        Receipt::new(result, self.journal.as_ref(), position, self.policy())
    }

    /// Waits for what the policy promises of everything before `position`.
    pub(crate) fn wait(&self, position: Option<Position>) -> Result<()> {
        match (&self.journal, position) {
            (Some(journal), Some(position)) if self.policy() == SyncPolicy::Always => {
                let waited = journal.wait(position);
                self.waits.wake_due();
                waited
            }
            _ => Ok(()),
        }
    }

    /// Whether the interval of the policy is over; if so it begins anew.
    pub(crate) fn is_sync_due(&self) -> bool {
        let SyncPolicy::Interval(interval) = self.policy() else {
            return false;
        };
        let now = self.timeline.monotonic();
        let mut last = self.last_sync.lock();
        // A clock that went back ends the interval: else there would be no sync until it has made
        // up for that.
        if now >= *last && now.saturating_sub(*last) < interval {
            return false;
        }
        *last = now;
        true
    }

    /// Stops the store if the thread panics before the guard is dropped: what a half-done call left
    /// behind is not known.
    #[inline]
    pub(crate) fn guard(&self) -> PanicGuard<'_> {
        PanicGuard {
            shared: self,
            was_panicking: std::thread::panicking(),
        }
    }

    /// Ends everything; only the first call does something, and all others wait for its outcome.
    pub(crate) fn close(&self) -> Result<()> {
        self.check_process()?;
        let closed = self.close_once();
        self.waits.wake_due();
        closed
    }

    fn close_once(&self) -> Result<()> {
        self.is_closed.store(true, Ordering::Release);
        // Order: closed first, so that who enters later sees it.
        if !mutant::is(Mutant::CloseWakesNobody) {
            self.waits.closed();
        }
        let mut outcome = self.closed.lock();
        if let Some(closed) = &*outcome {
            return closed.clone();
        }
        self.keeper.end();
        let closed = match &self.journal {
            Some(journal) => {
                let _maintenance = self.maintenance.lock();
                journal.close()
            }
            None => Ok(()),
        };
        *self.lock.lock() = None;
        *outcome = Some(closed.clone());
        closed
    }
}

/// See [`Shared::guard`].
pub(crate) struct PanicGuard<'a> {
    shared: &'a Shared,
    was_panicking: bool,
}

impl Drop for PanicGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking()
            && !self.was_panicking
            && let Some(journal) = &self.shared.journal
        {
            let cause = std::io::Error::other("a call ended in a panic");
            journal.commit.poison(Cause::from(cause));
        }
    }
}

//! Who waits without a thread: the futures of receipts and of claims, and how they are woken.
//!
//! Invariants: (1) who is not woken stands in the table: it is entered before it looks for the last
//! time, and what it waits for happens before it is taken out; (2) no waker is woken or dropped
//! under a lock of the engine, for that may run code of the caller, which may drop a claim or the
//! store itself. So what has happened only makes wakers due, under whatever lock there is, and
//! [`wake_due`](Waits::wake_due) is called where none is held.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::task::Waker;
use std::time::Duration;

use crate::events::{Events, apart};
use crate::facade::{AtomicBool, AtomicU64, Mutex, Ordering};
use crate::ids::Position;
use crate::mutant::{self, Mutant};

/// A waiter's name in the table; no two have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitKey(NonZeroU64);

/// All who wait without a thread in one store.
pub(crate) struct Waits {
    table: Mutex<Table>,
    keys: AtomicU64,
    /// Whether some are due, or may be.
    is_due: AtomicBool,
    /// What is to be told, at the same places.
    pub(crate) events: Events,
    /// Whether nobody looks at leases but those who wake.
    is_unattended: AtomicBool,
    server: OnceLock<Server>,
}

/// Sees to it that those who wait are served: that a sync is done, that leases are looked at.
type Server = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Table {
    /// Those who wait until everything before a position is durable.
    syncs: BTreeMap<(Position, WaitKey), Waker>,
    /// Those who wait for the end of a claim, with the end of its lease.
    claims: BTreeMap<WaitKey, (Waker, Option<Duration>)>,
    leases: BTreeSet<(Duration, WaitKey)>,
    due: VecDeque<Waker>,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits {
            table: Mutex::new(Table::default()),
            keys: AtomicU64::new(1),
            is_due: AtomicBool::new(false),
            events: Events::default(),
            is_unattended: AtomicBool::new(false),
            server: OnceLock::new(),
        }
    }
}

impl Waits {
    /// Says who is called when somebody has begun to wait; the first word counts.
    pub(crate) fn serve_with(&self, server: impl Fn() + Send + Sync + 'static) {
        let _ = self.server.set(Box::new(server));
    }

    /// Calls who serves.
    pub(crate) fn call(&self) {
        if let Some(server) = self.server.get() {
            server();
        }
    }

    pub(crate) fn key(&self) -> WaitKey {
        let key = self.keys.fetch_add(1, Ordering::Relaxed);
        WaitKey(NonZeroU64::new(key).unwrap_or(NonZeroU64::MAX))
    }

    /// Enters one who waits until everything before `position` is durable; look again afterwards.
    pub(crate) fn for_sync(&self, position: Position, key: WaitKey, waker: &Waker) {
        let waker = waker.clone();
        let mut table = self.table.lock();
        let before = table.syncs.insert((position, key), waker);
        drop(table);
        drop(before);
    }

    /// Enters one who waits for the end of a claim; look again afterwards.
    pub(crate) fn for_claim(&self, key: WaitKey, waker: &Waker) {
        let waker = waker.clone();
        let mut table = self.table.lock();
        let before = table.take_claim(key);
        table.claims.insert(key, (waker, None));
        drop(table);
        drop(before);
    }

    /// Has one who waits for the end of a claim woken at `end` too, unless that was done already.
    pub(crate) fn for_lease(&self, key: WaitKey, end: Duration) {
        let mut table = self.table.lock();
        if let Some((_, lease_end)) = table.claims.get_mut(&key) {
            *lease_end = Some(end);
            table.leases.insert((end, key));
        }
    }

    pub(crate) fn forget_sync(&self, position: Position, key: WaitKey) {
        let mut table = self.table.lock();
        let gone = table.syncs.remove(&(position, key));
        drop(table);
        drop(gone);
    }

    pub(crate) fn forget_claim(&self, key: WaitKey) {
        let mut table = self.table.lock();
        let gone = table.take_claim(key);
        drop(table);
        drop(gone);
    }

    /// Everything before `position` is durable.
    pub(crate) fn durable(&self, position: Position) {
        let mut table = self.table.lock();
        while let Some(first) = table.syncs.first_entry()
            && first.key().0 <= position
        {
            let waker = first.remove();
            table.due.push_back(waker);
        }
        self.note_due(&table);
    }

    /// The claims that these wait for have ended, or have another lease.
    pub(crate) fn ended(&self, keys: &[WaitKey]) {
        let mut table = self.table.lock();
        for key in keys {
            let waker = table.take_claim(*key);
            table.due.extend(waker);
        }
        self.note_due(&table);
    }

    /// It is `now`: those whose claim's lease is over look again.
    pub(crate) fn lapsed(&self, now: Duration) {
        let mut table = self.table.lock();
        while let Some((end, key)) = table.leases.first().copied()
            && end <= now
        {
            let waker = table.take_claim(key);
            table.due.extend(waker);
        }
        self.note_due(&table);
    }

    /// The store has come to its end: all look again, but those that the last sync serves.
    pub(crate) fn closed(&self) {
        let mut table = self.table.lock();
        let claims = std::mem::take(&mut table.claims);
        table.leases.clear();
        table
            .due
            .extend(claims.into_values().map(|(waker, _)| waker));
        self.note_due(&table);
    }

    /// Nothing becomes durable any more: all look again.
    pub(crate) fn poisoned(&self) {
        if !mutant::is(Mutant::PoisonWakesNobody) {
            self.closed();
        }
        let mut table = self.table.lock();
        let syncs = std::mem::take(&mut table.syncs);
        table.due.extend(syncs.into_values());
        self.note_due(&table);
    }

    /// Nobody looks at leases by the clock: whoever comes to wake does, as long as there are some.
    pub(crate) fn unattended(&self) {
        self.is_unattended.store(true, Ordering::Relaxed);
        let table = self.table.lock();
        self.note_due(&table);
    }

    /// Wakes all that are due, and tells what is. The caller holds no lock of the engine.
    #[inline]
    pub(crate) fn wake_due(&self) {
        if self.is_due() {
            self.wake();
        }
    }

    /// Whether somebody, or something to tell, is due.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire) || self.events.is_due()
    }

    #[cold]
    fn wake(&self) {
        self.events.tell_due();
        loop {
            let waker = {
                let mut table = self.table.lock();
                let waker = table.due.pop_front();
                if waker.is_none() {
                    self.is_due
                        .store(self.may_be_due(&table), Ordering::Release);
                }
                waker
            };
            match waker {
                Some(waker) => apart(|| waker.wake()),
                None => return,
            }
        }
    }

    /// Whether somebody waits for a sync.
    pub(crate) fn need_sync(&self) -> bool {
        !self.table.lock().syncs.is_empty()
    }

    /// When the first lease ends that somebody waits for.
    pub(crate) fn first_lease_end(&self) -> Option<Duration> {
        self.table.lock().leases.first().map(|(end, _)| *end)
    }

    /// Whether a lease may end that nobody else looks at.
    fn may_be_due(&self, table: &Table) -> bool {
        !table.leases.is_empty() && self.is_unattended.load(Ordering::Relaxed)
    }

    fn note_due(&self, table: &Table) {
        if !table.due.is_empty() || self.may_be_due(table) {
            self.is_due.store(true, Ordering::Release);
        }
    }
}

impl Table {
    fn take_claim(&mut self, key: WaitKey) -> Option<Waker> {
        let (waker, lease_end) = self.claims.remove(&key)?;
        if let Some(end) = lease_end {
            self.leases.remove(&(end, key));
        }
        Some(waker)
    }
}

#[cfg(all(test, loom))]
#[path = "waits_loom_tests.rs"]
mod loom_tests;

//! Age: what has expired goes out of a cache when the cache is looked at, and from time to time
//! where nobody looks.
//!
//! An add that was accepted because of an expiry stays, whatever a clock does over a restart: its
//! record holds a time, and no later time is less. Where expired IDs lose their records without
//! such an add, in carrying, a definition with the new floor is written first. An expiry that was
//! only looked at is in no record: a clock that went back over a restart may show the ID again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cache::Forgotten;
use crate::facade::MutexGuard;
use crate::ids::SegmentNumber;
use crate::journal::Journal;
use crate::store::adding::signed;
use crate::store::address::{Address, AddressState};
use crate::store::shared::Shared;

/// One address is looked at for so many appended bytes: all of them before a fifth of the disk use
/// was appended, since the definition of each takes more than a hundred.
const BYTES_PER_ADDRESS: u64 = 16;
/// Addresses that are taken from the registry under one lock.
const PIECE: u64 = 1024;

/// Where looking for expired IDs stands; used under the lock of maintenance.
#[derive(Default)]
pub(crate) struct Sweep {
    /// Whether any address had an age yet.
    has_ages: AtomicBool,
    next_number: AtomicU64,
    /// The segment that was active when it was last done.
    segment: AtomicU64,
}

impl Sweep {
    /// There is an address with an age.
    pub(crate) fn has_age(&self) {
        if !self.has_ages.load(Ordering::Relaxed) {
            self.has_ages.store(true, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// Locks an address. What has expired is out of it.
    #[inline]
    pub(crate) fn lock<'a>(&self, address: &'a Address) -> MutexGuard<'a, AddressState> {
        let state = address.state.lock();
        if state.cache.max_age() == 0 {
            return state;
        }
        self.lock_aging(address, state)
    }

    #[inline(never)]
    fn lock_aging<'a>(
        &self,
        address: &'a Address,
        mut state: MutexGuard<'a, AddressState>,
    ) -> MutexGuard<'a, AddressState> {
        self.sweep.has_age();
        let Some(forgotten) = self.expire(&mut state) else {
            return state;
        };
        // The memory of what was forgotten goes outside of the lock.
        drop(state);
        drop(forgotten);
        address.state.lock()
    }

    /// Takes what has expired out of an address; the one place where IDs expire while a store is
    /// open.
    pub(crate) fn expire(&self, state: &mut AddressState) -> Option<Forgotten> {
        if state.cache.max_age() == 0 {
            return None;
        }
        let before = state.cache.len();
        let forgotten = state.cache.expire(self.now())?;
        state.figures.count().expired += before - state.cache.len();
        state.unsynced.forget_below(state.cache.floor());
        state.owes_floor = !state.is_memory_only;
        // In a forked child the books may be locked for good, and are not its own.
        if let (Some(journal), Ok(())) = (self.journal_of(state), self.check_process()) {
            journal.change_live(-signed(forgotten.bytes));
        }
        Some(forgotten)
    }

    /// The same for several, whose memory goes when the caller has let go of them.
    pub(crate) fn expire_all(&self, states: &mut [MutexGuard<'_, AddressState>]) -> Vec<Forgotten> {
        let expired = states.iter_mut().filter_map(|state| self.expire(state));
        expired.collect()
    }

    /// Looks at some addresses for what has expired, once per segment, so that its space is given
    /// back although nobody uses the address.
    pub(crate) fn sweep(&self, journal: &Journal) {
        if !self.sweep.has_ages.load(Ordering::Relaxed) {
            return;
        }
        let SegmentNumber(active) = journal.end().segment();
        if self.sweep.segment.swap(active, Ordering::Relaxed) != active {
            self.sweep_some(self.options.segment_bytes / BYTES_PER_ADDRESS);
        }
    }

    /// Looks at all addresses.
    pub(crate) fn sweep_all(&self) {
        if self.sweep.has_ages.load(Ordering::Relaxed) {
            self.sweep_some(u64::MAX);
        }
    }

    fn sweep_some(&self, mut left: u64) {
        let numbers = self.registry.number_count();
        left = left.min(numbers);
        while left > 0 {
            let next = self.sweep.next_number.load(Ordering::Relaxed);
            let first = if next < numbers { next } else { 0 };
            let count = left.min(PIECE).min(numbers - first);
            for address in self.registry.numbered_from(first, count) {
                drop(self.lock(&address));
            }
            self.sweep
                .next_number
                .store(first + count, Ordering::Relaxed);
            left -= count;
        }
    }
}

//! What addresses have counted: under their locks while they are there, and summed up when they go.
//!
//! What the ordinals say is not counted: an address that nothing is done with pays eight bytes for
//! this, one that evicts or answers anything but "added" a box. A plain add to a window that is not
//! full counts nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::facade::Mutex;
use crate::ids::{Ordinal, Ticks};
use crate::stats::{CacheStats, Counts, Stats};
use crate::store::address::{Address, AddressState};
use crate::store::shared::Shared;

/// Addresses that are asked under one lock of the registry.
const BATCH: usize = 256;

/// What one address has counted since it was opened.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    counts: Option<Box<Counts>>,
}

/// What addresses have counted that are not there any more.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    totals: Mutex<(u64, Counts)>,
}

impl Figures {
    /// The counts, to count in.
    #[inline]
    pub(crate) fn count(&mut self) -> &mut Counts {
        self.counts.get_or_insert_default()
    }

    /// How old the ID was that was pushed out last, if that was not asked since.
    #[cfg(feature = "tracing")]
    #[inline]
    pub(crate) fn take_evicted_age(&mut self) -> Option<Ticks> {
        let counts = self.counts.as_mut()?;
        let has_evicted = std::mem::take(&mut counts.told.has_evicted);
        has_evicted.then_some(Ticks(counts.evicted_ticks))
    }

    /// So many were ended by a clear or a drop.
    pub(crate) fn cleared(&mut self, ids: u64) {
        if ids > 0 {
            self.count().cleared += ids;
        }
    }

    /// So many were forgotten since the capacity was made smaller.
    pub(crate) fn shrunk(&mut self, ids: u64) {
        if ids > 0 {
            self.count().shrunk += ids;
        }
    }

    fn counts(&self) -> Counts {
        self.counts.as_deref().copied().unwrap_or_default()
    }
}

impl Gone {
    /// Takes over what `state` has counted: its address is about to go.
    pub(crate) fn take(&self, state: &AddressState) {
        let mut totals = self.totals.lock();
        totals.0 = totals.0.wrapping_add(state.added());
        totals.1.sum(&state.figures.counts());
    }
}

impl AddressState {
    /// Remembers `id` in the cache, and counts what goes for it.
    #[inline]
    pub(crate) fn remember(
        &mut self,
        (hash, id): (u64, &[u8]),
        value: &[u8],
        time: Ticks,
        record_bytes: u64,
    ) -> Ordinal {
        let (ordinal, evicted) = self.cache.add(hash, id, value, time, record_bytes);
        if let Some(added) = evicted {
            let counts = self.figures.count();
            counts.evicted += 1;
            counts.evicted_ticks = time.0.saturating_sub(added.0);
            #[cfg(feature = "tracing")]
            {
                counts.told.has_evicted = true;
            }
        }
        ordinal
    }

    /// IDs told "added" ever. Ordinals from disk may be high: sums of them wrap, and their
    /// differences are right all the same.
    fn added(&self) -> u64 {
        let counts = self.figures.counts();
        let placed = self.cache.last().0.wrapping_sub(counts.renewed);
        placed.wrapping_add(counts.unplaced)
    }

    /// Figures that do not need the clock.
    pub(crate) fn cache_stats(&self, now: Ticks) -> CacheStats {
        let oldest = self.cache.next_from(self.cache.window_start());
        let mut stats = CacheStats {
            len: self.cache.len(),
            capacity: self.cache.capacity(),
            last_ordinal: self.cache.last().0,
            claims: self.claims.len() as u64,
            live_bytes: self.cache.live_bytes(),
            added: self.added(),
            oldest_age: oldest.map(|oldest| age(oldest.time, now)),
            ..CacheStats::default()
        };
        self.figures.counts().tell_cache(&mut stats);
        stats
    }
}

impl Shared {
    /// Writes what all addresses have counted since the store was opened into `stats`. Its work is
    /// in proportion to the number of addresses.
    pub(crate) fn sum_figures(&self, stats: &mut Stats) {
        let (mut added, mut totals) = *self.registry.gone.totals.lock();
        let mut last: Option<Arc<Address>> = None;
        loop {
            let after = last.as_ref().map(|last| (last.namespace, &*last.name));
            let addresses = self.registry.after(after, BATCH);
            for address in &addresses {
                let state = address.state.lock();
                added = added.wrapping_add(state.added());
                totals.sum(&state.figures.counts());
            }
            match addresses.last() {
                Some(address) => last = Some(Arc::clone(address)),
                None => break,
            }
        }
        totals.tell_store(stats);
        stats.added = added.wrapping_sub(self.added_before);
    }
}

/// The time from one tick to another.
fn age(from: Ticks, to: Ticks) -> Duration {
    let apart = Ticks(to.0.saturating_sub(from.0));
    Duration::from_millis(apart.milliseconds())
}

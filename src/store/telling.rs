//! What a store tells `tracing` of its addresses and its opening, and how seldom.
//!
//! A duplicate is told at most once a minute and address, with how many were not; a window that is
//! too small once an hour. Without the feature nothing here does anything but count.

use std::sync::Arc;

#[cfg(feature = "tracing")]
use crate::error::Bytes;
use crate::error::{Error, Result};
use crate::events::{self, Changed, Event, Recovered, Weight};
#[cfg(feature = "tracing")]
use crate::events::{Duplicate, EvictedYoung};
use crate::facade::MutexGuard;
#[cfg(feature = "tracing")]
use crate::ids::Ticks;
use crate::recovery::RecoveryReport;
use crate::store::Handle;
use crate::store::address::{Address, AddressState, Seen};
use crate::store::shared::Shared;

/// Ticks between two duplicates of an address that are told.
#[cfg(feature = "tracing")]
const DUPLICATE_TICKS: u64 = 60_000 / Ticks::MILLISECONDS;

/// Ticks between two evictions of an address that are told.
#[cfg(feature = "tracing")]
const EVICTION_TICKS: u64 = 3_600_000 / Ticks::MILLISECONDS;

/// Most bytes of an ID that are shown.
#[cfg(feature = "tracing")]
const SHOWN_ID_BYTES: usize = 64;

/// Changes by options that are told one by one.
const CHANGES_TOLD: usize = 100;

/// From which age on an eviction is as it should be, whatever the addresses' ages say.
#[cfg(feature = "tracing")]
#[derive(Default)]
pub(crate) struct Stated {
    ticks: std::sync::atomic::AtomicU64,
}

impl Shared {
    /// Counts a duplicate, and tells of it.
    #[inline]
    pub(crate) fn duplicate(
        &self,
        address: &Address,
        state: &mut AddressState,
        id: &[u8],
        seen: Seen,
    ) {
        state.figures.count().duplicates += 1;
        #[cfg(feature = "tracing")]
        if events::is_on(Weight::Warn) {
            self.tell_duplicate(address, state, id, seen);
        }
        #[cfg(not(feature = "tracing"))]
        let _ = (address, id, seen);
    }

    #[cfg(feature = "tracing")]
    fn tell_duplicate(&self, address: &Address, state: &mut AddressState, id: &[u8], seen: Seen) {
        let (now, counts) = (self.now(), state.figures.count());
        let (told, moment) = (&mut counts.told, self.moment());
        if is_early(told.duplicate, moment, DUPLICATE_TICKS) {
            return;
        }
        let untold = counts.duplicates - told.duplicates - 1;
        (told.duplicate, told.duplicates) = (Some(moment), counts.duplicates);
        let shown = id.get(..SHOWN_ID_BYTES).unwrap_or(id);
        let age = Ticks(now.0.saturating_sub(seen.time.0));
        self.waits.events.add(Weight::Warn, || {
            Event::Duplicate(Duplicate {
                namespace: address.namespace,
                address: Bytes::from(&*address.name).to_string(),
                id: Bytes::from(shown).to_string(),
                ordinal: seen.ordinal.0,
                age_milliseconds: age.milliseconds(),
                adds_left: seen.adds_left,
                untold,
            })
        });
    }

    /// After adds: tells of an ID that was pushed out younger than it should have been.
    #[inline]
    pub(crate) fn look_at_eviction(&self, address: &Address, state: &mut AddressState) {
        #[cfg(feature = "tracing")]
        if let Some(age) = state.figures.take_evicted_age() {
            let stated = self.stated.ticks.load(std::sync::atomic::Ordering::Relaxed);
            if age.0 < stated.max(state.cache.max_age()) {
                self.tell_eviction(address, state, age, Ticks(stated));
            }
        }
        #[cfg(not(feature = "tracing"))]
        let _ = (address, state);
    }

    /// The same for all addresses of a transaction.
    pub(crate) fn look_at_evictions(
        &self,
        addresses: &[Arc<Address>],
        states: &mut [MutexGuard<'_, AddressState>],
    ) {
        for (address, state) in addresses.iter().zip(states) {
            self.look_at_eviction(address, state);
        }
    }

    #[cfg(feature = "tracing")]
    #[cold]
    fn tell_eviction(
        &self,
        address: &Address,
        state: &mut AddressState,
        age: Ticks,
        stated: Ticks,
    ) {
        let moment = self.moment();
        let told = &mut state.figures.count().told;
        if !events::is_on(Weight::Warn) || is_early(told.eviction, moment, EVICTION_TICKS) {
            return;
        }
        told.eviction = Some(moment);
        let (max_age, capacity) = (Ticks(state.cache.max_age()), state.cache.capacity());
        self.waits.events.add(Weight::Warn, || {
            Event::EvictedYoung(EvictedYoung {
                namespace: address.namespace,
                address: Bytes::from(&*address.name).to_string(),
                age_milliseconds: age.milliseconds(),
                max_age_milliseconds: max_age.milliseconds(),
                stated_age_milliseconds: stated.milliseconds(),
                capacity,
            })
        });
    }

    /// What the time between two events is taken by: unlike that of records it does not stand still
    /// where a clock has gone back.
    #[cfg(feature = "tracing")]
    fn moment(&self) -> Ticks {
        crate::clock::ticks(self.timeline.monotonic())
    }

    fn tell_recovery(&self, report: &RecoveryReport) {
        let changes = changes(report);
        events::tell(Weight::Info, || {
            Event::Recovered(Recovered {
                place: self
                    .journal
                    .as_ref()
                    .map(|journal| journal.place())
                    .unwrap_or_default(),
                is_new: report.is_new,
                segments: report.segments.len() as u64,
                left_out: report.left_out.map(|segment| segment.0),
                records: report.records,
                caches: report.caches,
                ids: report.ids,
                prepared: report.prepared,
                rewritten_bytes: report.rewritten_bytes,
                changes: changes.len() as u64,
                clock_ahead_milliseconds: report.clock_ahead_milliseconds,
                took_milliseconds: report.took_milliseconds,
            })
        });
        if let Some(tail) = report.tail {
            events::tell(Weight::Warn, || Event::Tail {
                segment: tail.segment,
                offset: tail.offset,
                bytes: tail.bytes,
            });
        }
        for change in changes.into_iter().take(CHANGES_TOLD) {
            events::tell(Weight::Warn, || Event::Changed(change));
        }
        for pattern in report.inactive_patterns.iter().take(CHANGES_TOLD) {
            events::tell(Weight::Warn, || Event::PatternInactive {
                pattern: pattern.to_string(),
            });
        }
    }
}

/// Tells how an open went.
pub(crate) fn opened(opened: Result<Handle>) -> Result<Handle> {
    match &opened {
        Ok(handle) => {
            if let (true, Some(report)) = (events::is_on(Weight::Warn), handle.shared.report.get())
            {
                handle.shared.tell_recovery(report);
            }
        }
        Err(Error::Damaged {
            place,
            segment,
            offset,
            reason,
        }) => {
            events::tell(Weight::Error, || Event::Damaged {
                place: place.clone(),
                segment: *segment,
                offset: *offset,
                reason: reason.to_string(),
            });
        }
        Err(_) => {}
    }
    opened
}

/// What the options changed, and what that cost.
fn changes(report: &RecoveryReport) -> Vec<Changed> {
    let milliseconds = |age: Option<std::time::Duration>| {
        age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
    };
    let capacities = report.capacity_changes.iter().map(|change| Changed {
        what: "capacity",
        namespace: change.namespace,
        address: change.address.to_string(),
        old: Some(change.old),
        new: Some(change.new),
        forgotten: change.forgotten,
    });
    let ages = report.age_changes.iter().map(|change| Changed {
        what: "max_age in milliseconds",
        namespace: change.namespace,
        address: change.address.to_string(),
        old: milliseconds(change.old),
        new: milliseconds(change.new),
        forgotten: change.forgotten,
    });
    let ended = report.ended_caches.iter().map(|ended| Changed {
        what: "persistence",
        namespace: ended.namespace,
        address: ended.address.to_string(),
        old: None,
        new: None,
        forgotten: ended.forgotten,
    });
    capacities.chain(ages).chain(ended).collect()
}

/// Whether what was told at `last` need not be told again before so many ticks have gone by. A
/// clock that went back ends that: else nothing would be told until it has made up for it.
#[cfg(feature = "tracing")]
fn is_early(last: Option<Ticks>, now: Ticks, ticks: u64) -> bool {
    let gone = last.and_then(|last| now.0.checked_sub(last.0));
    gone.is_some_and(|gone| gone < ticks)
}

#[cfg(feature = "tracing")]
impl crate::store::Store {
    /// Has `tracing` told of windows that push out IDs younger than this, once an hour and address;
    /// zero, as it begins, is none. An address with a highest age of its own is also told of when
    /// its IDs are pushed out before they have it.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// // Clients send again for ten minutes at most.
    /// store.tell_evictions_before(std::time::Duration::from_secs(600));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tell_evictions_before(&self, age: std::time::Duration) {
        let ticks = crate::options::ticks_of(age);
        let stated = &self.shared().stated.ticks;
        stated.store(ticks, std::sync::atomic::Ordering::Relaxed);
    }
}

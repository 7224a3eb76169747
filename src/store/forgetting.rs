//! Remove, clear and drop: what ends IDs, each as one record. All under the lock of the address.

use std::sync::Arc;

use crate::cache::Forgotten;
use crate::error::Result;
use crate::facade::MutexGuard;
use crate::ids::{Ordinal, Position};
use crate::journal::{Purpose, Standing};
use crate::mutant::{self, Mutant};
use crate::options::Fresh;
use crate::record::{Dropped, Record};
use crate::store::adding::{Placed, signed};
use crate::store::address::{Address, AddressState, lock_all};
use crate::store::shared::Shared;

impl Shared {
    /// Removes `id` if it is known.
    pub(crate) fn remove(
        self: &Arc<Self>,
        address: &Arc<Address>,
        id: &[u8],
    ) -> Result<Placed<bool>> {
        self.check()?;
        self.check_id(id)?;
        let hash = self.hash(id);
        self.with_room(Purpose::Freeing, || {
            let mut state = self.lock(address);
            let Some(ordinal) = state.cache.find(hash, id) else {
                return Ok(((false, self.last_change(&state)), false));
            };
            let (Some(journal), Some(number)) = (self.journal_of(&state), state.number) else {
                state.cache.remove(ordinal);
                state.figures.count().removed += 1;
                return Ok(((true, None), false));
            };
            let freed = state
                .cache
                .get(ordinal)
                .map_or(0, |known| known.record_bytes);
            let record = Record::Remove {
                address: number,
                ordinal,
                time: self.now(),
            };
            let live = |_| -signed(freed);
            let appended = journal.append(&record, Standing::Alone, Purpose::Freeing, live)?;
            state.cache.remove(ordinal);
            state.figures.count().removed += 1;
            state.last_change = appended.end;
            Ok(((true, Some(appended.end)), appended.is_owing))
        })
    }

    /// What an answer waits for that says "not there": the last change of the address.
    pub(crate) fn last_change(&self, state: &AddressState) -> Option<Position> {
        let journal = self.journal.as_ref()?;
        (state.last_change > journal.commit.durable()).then_some(state.last_change)
    }

    /// Forgets all that is recorded of an address; how many IDs that were.
    pub(crate) fn clear(self: &Arc<Self>, address: &Arc<Address>) -> Result<Placed<u64>> {
        self.check()?;
        let mut forgotten = None;
        let placed = self.with_room(Purpose::Freeing, || {
            let mut state = self.lock(address);
            let count = state.cache.len();
            // What has only been seen to expire might come back with a clock that goes back.
            if count == 0 && !state.owes_floor {
                return Ok(((0, self.last_change(&state)), false));
            }
            let floor = Ordinal(state.cache.last().0 + 1);
            let (Some(journal), Some(number)) = (self.journal_of(&state), state.number) else {
                forgotten = Some(state.cache.forget_below(floor));
                state.figures.cleared(count);
                return Ok(((count, None), false));
            };
            let freed = state.cache.live_bytes();
            let record = Record::Clear {
                address: number,
                floor,
                time: self.now(),
            };
            let live = |_| -signed(freed);
            let appended = journal.append(&record, Standing::Alone, Purpose::Freeing, live)?;
            forgotten = Some(state.cache.forget_below(floor));
            state.figures.cleared(count);
            state.forgot(floor, appended.end);
            let end = Some(appended.end).filter(|_| !mutant::is(Mutant::ClearNotSynced));
            Ok(((count, end), appended.is_owing))
        });
        // The memory of what was forgotten goes outside of the lock.
        drop(forgotten);
        placed
    }

    /// Ends the addresses, those of one name in its namespaces, as one record; whether one existed.
    pub(crate) fn drop_addresses(
        self: &Arc<Self>,
        addresses: &[Arc<Address>],
    ) -> Result<Placed<bool>> {
        self.check()?;
        let mut forgotten = Vec::new();
        let placed = self.with_room(Purpose::Freeing, || {
            let mut states = lock_all(addresses);
            let existed = states.iter().any(|state| state.is_begun);
            // Asked here: whoever changes patterns holds them while it takes the extras, and comes
            // to these addresses later.
            let fresh = addresses.iter().map(|address| self.fresh(&address.name));
            let fresh: Vec<Fresh> = fresh.collect();
            let Some(journal) = &self.journal else {
                for (fresh, state) in fresh.into_iter().zip(states.iter_mut()) {
                    self.ended(state);
                    state.end(fresh);
                }
                return Ok(((existed, None), false));
            };
            let mut dropped = states.iter().filter_map(|state| state.dropped());
            let Some(first) = dropped.next() else {
                drop(dropped);
                let last = states.iter().map(|state| self.last_change(state)).max();
                self.end_unstored(&fresh, &mut states, &mut forgotten);
                return Ok(((existed, last.flatten()), false));
            };
            let (other, time) = (dropped.next(), self.now());
            drop(dropped);
            // A definition that a transaction in doubt needs for the name lives on.
            let mut extras = self.extras.lock();
            let freed: u64 = states
                .iter()
                .map(|state| match state.number {
                    Some(number) if extras.is_named(number) => state.cache.live_bytes(),
                    _ => state.all_live_bytes(),
                })
                .sum();
            let record = Record::Drop {
                dropped: first,
                other,
                time,
            };
            let live = |_| -signed(freed);
            let appended = journal.append(&record, Standing::Alone, Purpose::Freeing, live)?;
            let all = addresses.iter().zip(&fresh);
            for ((address, fresh), state) in all.zip(states.iter_mut()) {
                let Some(dropped) = state.dropped() else {
                    continue;
                };
                forgotten.extend(self.begin_anew(fresh, state));
                state.forgot(dropped.floor, appended.end);
                if let Some(defined) = state.defined.take() {
                    extras.end_name(dropped.address, &defined);
                }
                state.incarnation = dropped.incarnation.saturating_add(1);
                let named_in = appended.end.segment();
                self.registry.dropped(dropped.address, address, named_in);
            }
            self.end_unstored(&fresh, &mut states, &mut forgotten);
            Ok(((existed, Some(appended.end)), appended.is_owing))
        });
        drop(forgotten);
        placed
    }

    /// Ends those of the addresses that exist in memory only, beside a journal.
    fn end_unstored(
        &self,
        fresh: &[Fresh],
        states: &mut [MutexGuard<'_, AddressState>],
        forgotten: &mut Vec<Forgotten>,
    ) {
        for (fresh, state) in fresh.iter().zip(states) {
            if state.defined.is_none() && state.is_begun {
                forgotten.extend(self.begin_anew(fresh, state));
            }
        }
    }

    /// Forgets all of an address, which is as a new one then, but for its ordinals.
    fn begin_anew(&self, fresh: &Fresh, state: &mut AddressState) -> [Forgotten; 2] {
        let (ended, floor) = (state.cache.len(), Ordinal(state.cache.last().0 + 1));
        state.figures.cleared(ended);
        let forgotten = state.cache.forget_below(floor);
        let rest = state.cache.set_capacity(fresh.capacity);
        state.cache.set_max_age(fresh.max_age);
        self.ended(state);
        (state.by_call, state.age_by_call) = (false, false);
        [forgotten, rest]
    }
}

impl AddressState {
    /// What a drop says of this address; none if it has no definition.
    pub(crate) fn dropped(&self) -> Option<Dropped> {
        let (Some(_), Some(address)) = (self.defined, self.number) else {
            return None;
        };
        let floor = Ordinal(self.cache.last().0 + 1);
        let incarnation = self.incarnation;
        Some(Dropped {
            address,
            incarnation,
            floor,
        })
    }

    /// Bytes of everything that lives of it in the journal.
    pub(crate) fn all_live_bytes(&self) -> u64 {
        self.defined
            .map_or(0, |defined| defined.bytes + self.cache.live_bytes())
    }

    /// Forgets everything but claims, in a store that is in memory only.
    fn end(&mut self, fresh: Fresh) {
        let claims = std::mem::take(&mut self.claims);
        let mut figures = std::mem::take(&mut self.figures);
        figures.cleared(self.cache.len());
        let (last, next) = (self.cache.last(), self.cache.next());
        *self = AddressState {
            claims,
            figures,
            ..AddressState::new(fresh)
        };
        // What an open transaction has seen must not be taken for what comes later: ordinals go on.
        self.cache.restore_last(last);
        drop(self.cache.forget_below(next));
    }
}

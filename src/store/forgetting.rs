//! Remove, clear, drop and capacities: what ends IDs, each as one record. All under the lock of the
//! address.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::ids::Ordinal;
use crate::ids::Position;
use crate::journal::{Appended, Purpose, Refused};
use crate::record::{Definition, Record};
use crate::store::adding::{Placed, signed};
use crate::store::address::{Address, State};
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
            let mut state = address.state.lock();
            let Some(ordinal) = state.cache.find(hash, id) else {
                return Ok(((false, self.last_change(&state)), false));
            };
            let (Some(journal), Some(number)) = (&self.journal, state.number) else {
                state.cache.remove(ordinal);
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
            let appended = journal.append(&record, false, Purpose::Freeing, live)?;
            state.cache.remove(ordinal);
            state.last_change = appended.end;
            Ok(((true, Some(appended.end)), appended.is_owing))
        })
    }

    /// What an answer waits for that says "not there": the last change of the address.
    pub(crate) fn last_change(&self, state: &State) -> Option<Position> {
        let journal = self.journal.as_ref()?;
        (state.last_change > journal.commit.durable()).then_some(state.last_change)
    }

    /// Forgets all that is recorded of an address; how many IDs that were.
    pub(crate) fn clear(self: &Arc<Self>, address: &Arc<Address>) -> Result<Placed<u64>> {
        self.check()?;
        let mut forgotten = None;
        let placed = self.with_room(Purpose::Freeing, || {
            let mut state = address.state.lock();
            let count = state.cache.len();
            if count == 0 {
                return Ok(((0, self.last_change(&state)), false));
            }
            let floor = Ordinal(state.cache.last().0 + 1);
            let (Some(journal), Some(number)) = (&self.journal, state.number) else {
                forgotten = Some(state.cache.forget_below(floor));
                return Ok(((count, None), false));
            };
            let freed = state.cache.live_bytes();
            let record = Record::Clear {
                address: number,
                floor,
                time: self.now(),
            };
            let live = |_| -signed(freed);
            let appended = journal.append(&record, false, Purpose::Freeing, live)?;
            forgotten = Some(state.cache.forget_below(floor));
            state.forgot(floor, appended.end);
            Ok(((count, Some(appended.end)), appended.is_owing))
        });
        // The memory of what was forgotten goes outside of the lock.
        drop(forgotten);
        placed
    }

    /// Ends an address, if it exists.
    pub(crate) fn drop_address(self: &Arc<Self>, address: &Arc<Address>) -> Result<Placed<bool>> {
        self.check()?;
        let mut forgotten = None;
        let placed = self.with_room(Purpose::Freeing, || {
            let mut state = address.state.lock();
            let floor = Ordinal(state.cache.last().0 + 1);
            let capacity = self.options.new_capacity();
            let (Some(journal), Some(number)) = (&self.journal, state.number) else {
                let existed = state.cache.last() > Ordinal(0) || state.by_call;
                if existed {
                    *state = State {
                        claims: std::mem::take(&mut state.claims),
                        ..State::new(capacity)
                    };
                }
                return Ok(((existed, None), false));
            };
            let Some(defined) = state.defined else {
                return Ok(((false, self.last_change(&state)), false));
            };
            let existed = state.exists();
            let freed = state.cache.live_bytes() + defined.bytes;
            let (incarnation, time) = (state.incarnation, self.now());
            let record = Record::Drop {
                address: number,
                incarnation,
                floor,
                time,
            };
            let live = |_| -signed(freed);
            let appended = journal.append(&record, false, Purpose::Freeing, live)?;
            forgotten = Some(state.cache.forget_below(floor));
            drop(state.cache.set_capacity(capacity));
            state.forgot(floor, appended.end);
            state.defined = None;
            state.by_call = false;
            state.incarnation = incarnation.saturating_add(1);
            self.registry.dropped(address, appended.end.segment());
            Ok(((existed, Some(appended.end)), appended.is_owing))
        });
        drop(forgotten);
        placed
    }

    /// Sets the capacity of an address; how many live IDs that forgets.
    pub(crate) fn set_capacity(
        self: &Arc<Self>,
        address: &Arc<Address>,
        capacity: u64,
        by_call: bool,
    ) -> Result<Placed<u64>> {
        self.check()?;
        let max = crate::format::CAPACITY_MAX;
        if capacity > max {
            return Err(Error::Limit {
                limit: "capacity",
                max,
                actual: capacity,
            });
        }
        let mut forgotten = None;
        let placed = self.with_room(Purpose::Ordinary, || {
            let mut state = address.state.lock();
            let before = (state.cache.capacity(), state.by_call, state.cache.len());
            if (before.0, before.1) == (capacity, by_call) {
                return Ok(((0, self.last_change(&state)), false));
            }
            let Some(journal) = &self.journal else {
                forgotten = Some(state.cache.set_capacity(capacity));
                state.by_call = by_call;
                return Ok(((before.2 - state.cache.len(), None), false));
            };
            let appended = self.define_capacity(address, &mut state, capacity, by_call)?;
            let gone = state.cache.set_capacity(capacity);
            state.by_call = by_call;
            journal.change_live(-signed(gone.bytes));
            forgotten = Some(gone);
            let floor = state.cache.floor();
            state.forgot(floor, appended.end);
            let count = before.2 - state.cache.len();
            Ok(((count, Some(appended.end)), appended.is_owing))
        });
        drop(forgotten);
        placed
    }

    /// Writes the definition that an address will have with another capacity: one record that
    /// raises a floor, so that growing revives nothing (rule 12 of docs/design.md).
    fn define_capacity(
        &self,
        address: &Arc<Address>,
        state: &mut State,
        capacity: u64,
        by_call: bool,
    ) -> std::result::Result<Appended, Refused> {
        let Some(journal) = &self.journal else {
            return Err(Refused::NoRoom);
        };
        let number = match state.number {
            Some(number) => number,
            None => self
                .registry
                .assign(address, self.options.limits.addresses)?,
        };
        state.number = Some(number);
        let last = state.cache.last();
        let kept = state.cache.capacity().min(capacity);
        let floor = state.cache.floor().0.max((last.0 + 1).saturating_sub(kept));
        let mut record = self.definition(address, state, number);
        if let Record::Definition(definition) = &mut record {
            *definition = Definition {
                by_call,
                capacity,
                floor: Ordinal(floor),
                ..*definition
            };
        }
        let before = state.defined.map_or(0, |defined| defined.bytes);
        let live = |bytes| signed(bytes) - signed(before);
        let appended = journal.append(&record, false, Purpose::Ordinary, live)?;
        state.set_defined(&appended);
        Ok(appended)
    }
}

//! Check and add as one step, and every other change of one address. All under the lock of the
//! address.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::claim::Claim;
use crate::error::Result;
use crate::ids::{Ordinal, Owner, Position, Ticks};
use crate::journal::{Appended, Journal, Purpose, Refused, Standing};
use crate::mutant::{self, Mutant};
use crate::record::{Add, Definition, Record};
use crate::store::address::{Address, AddressState, Defined, Seen};
use crate::store::shared::Shared;

/// What became of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an ID that was not added means a message that must not be handled"]
pub enum Outcome {
    /// It was new, and is recorded.
    Added,
    /// It is known; nothing was written.
    Duplicate(Seen),
    /// It is claimed by this owner; nothing was written.
    Pending(Owner),
}

/// An answer and the position that it waits for; none if it waits for nothing.
pub(crate) type Placed<T> = (T, Option<Position>);

/// What is done to an address under its lock: an answer, and whether maintenance is owed.
pub(crate) type Attempt<T> = std::result::Result<(Placed<T>, bool), Refused>;

impl Shared {
    /// Runs `attempt` until it finds room, making room in between, outside of every lock of an
    /// address.
    #[inline]
    pub(crate) fn with_room<T>(
        self: &Arc<Self>,
        purpose: Purpose,
        mut attempt: impl FnMut() -> Attempt<T>,
    ) -> Result<Placed<T>> {
        let guard = self.guard();
        loop {
            let rooms = self.rooms.load(Ordering::Acquire);
            match attempt() {
                Ok((placed, is_owing)) => {
                    if is_owing || self.has_interval || self.waits.is_due() {
                        self.tend_and_wake(guard, is_owing);
                    }
                    return Ok(placed);
                }
                Err(Refused::Failed(error)) => {
                    drop(guard);
                    self.waits.wake_due();
                    return Err(error);
                }
                Err(Refused::NoRoom) => self.make_room(purpose, rooms)?,
            }
        }
    }

    /// Adds `id`, unless it is known or pending.
    #[inline]
    pub(crate) fn add(
        self: &Arc<Self>,
        address: &Arc<Address>,
        id: &[u8],
    ) -> Result<Placed<Outcome>> {
        self.check()?;
        self.check_id(id)?;
        let hash = self.hash(id);
        self.with_room(Purpose::Ordinary, || {
            let mut state = self.lock(address);
            if state.cache.capacity() == 0 {
                state.figures.count().unplaced += 1;
                return Ok(((Outcome::Added, None), false));
            }
            if let Some(ordinal) = state.cache.find(hash, id) {
                let seen = state.seen(ordinal);
                self.duplicate(address, &mut state, id, seen);
                let position = self.unsynced(&state, ordinal);
                return Ok(((Outcome::Duplicate(seen), position), false));
            }
            if let Some(owner) = self.holder(&state, hash, id) {
                state.figures.count().pending += 1;
                return Ok(((Outcome::Pending(owner), None), false));
            }
            let (appended, _) =
                self.record(address, &mut state, (hash, id, &[]), Purpose::Ordinary)?;
            if !mutant::is(Mutant::AddLeavesClaim) {
                self.take_over(&mut state, hash, id);
            }
            let position = appended.map(|appended| appended.end);
            let is_owing = appended.is_some_and(|appended| appended.is_owing);
            Ok(((Outcome::Added, position), is_owing))
        })
    }

    /// The position that an answer about a recorded ID waits for.
    pub(crate) fn unsynced(&self, state: &AddressState, ordinal: Ordinal) -> Option<Position> {
        let journal = self.journal.as_ref()?;
        if mutant::is(Mutant::DuplicateAtOnce) {
            return None;
        }
        let position = state.unsynced.position_of(ordinal)?;
        (position > journal.commit.durable()).then_some(position)
    }

    /// Who holds `id`; a claim whose lease is over is as if it were gone. It stays until somebody
    /// has [taken it over](Shared::take_over), so that its holder may still confirm.
    #[inline]
    pub(crate) fn holder(&self, state: &AddressState, hash: u64, id: &[u8]) -> Option<Owner> {
        let claim = state.claims.get(hash, id)?;
        let is_over = claim.is_over(|| self.timeline.monotonic());
        (!is_over).then_some(claim.owner)
    }

    /// Ends the claim on `id` whose lease is over, if there is one: others have the ID now.
    #[inline]
    pub(crate) fn take_over(&self, state: &mut AddressState, hash: u64, id: &[u8]) {
        if let Some(claim) = state.claims.get(hash, id) {
            if mutant::is(Mutant::TakeOverKeepsSpace) {
                self.settle_claim(state, hash, id, claim.token);
            }
            self.unclaim(state, hash, id, claim.token);
        }
    }

    /// Ends a claim; those who wait for that are due then, and woken when no lock is held.
    pub(crate) fn settle_claim(
        &self,
        state: &mut AddressState,
        hash: u64,
        id: &[u8],
        token: u64,
    ) -> Option<Claim> {
        let (claim, waiters) = state.claims.settle(hash, id, token)?;
        if !waiters.is_empty() && !mutant::is(Mutant::EndWakesNobody) {
            self.waits.ended(&waiters);
        }
        Some(claim)
    }

    /// Ends a claim and gives back what was set aside for it; whether it was there.
    pub(crate) fn unclaim(
        &self,
        state: &mut AddressState,
        hash: u64,
        id: &[u8],
        token: u64,
    ) -> bool {
        let Some(claim) = self.settle_claim(state, hash, id, token) else {
            return false;
        };
        if let (Some(journal), true) = (&self.journal, claim.journal_bytes > 0) {
            journal.unclaim(claim.journal_bytes);
        }
        true
    }

    /// Records `id`, which is neither known nor pending for others, with a value if that has bytes.
    #[inline]
    pub(crate) fn record(
        &self,
        address: &Arc<Address>,
        state: &mut AddressState,
        (hash, id, value): (u64, &[u8], &[u8]),
        purpose: Purpose,
    ) -> std::result::Result<(Option<Appended>, Ordinal), Refused> {
        let time = self.now();
        let Some(journal) = &self.journal else {
            let ordinal = self.record_in_memory(state, (hash, id, value), time, purpose);
            self.look_at_eviction(address, state);
            return Ok((None, ordinal));
        };
        let number = match (state.defined, state.number) {
            (Some(_), Some(number)) => number,
            _ if state.is_memory_only && !mutant::is(Mutant::WrittenWhileOff) => {
                let ordinal = self.record_in_memory(state, (hash, id, value), time, purpose);
                self.look_at_eviction(address, state);
                return Ok((None, ordinal));
            }
            _ => self.define(address, state, within(purpose))?,
        };
        let ordinal = state.cache.next();
        let add = Add {
            address: number,
            ordinal,
            time,
            value: (!value.is_empty()).then_some(value),
            id,
        };
        let evicted = signed(state.cache.eviction_bytes());
        let base = state.base.segment();
        let appended = journal.append_add(&add, &mut state.base, purpose, -evicted)?;
        state.remember((hash, id), value, time, appended.bytes);
        self.look_at_eviction(address, state);
        if state.base.segment() != base {
            state.begins_segment(ordinal);
        }
        self.begun(state);
        state.note(ordinal, appended.end, journal.commit.durable());
        Ok((Some(appended), ordinal))
    }

    /// Remembers an ID that is written nowhere; what was set aside for that is given back.
    fn record_in_memory(
        &self,
        state: &mut AddressState,
        (hash, id, value): (u64, &[u8], &[u8]),
        time: Ticks,
        purpose: Purpose,
    ) -> Ordinal {
        let ordinal = state.remember((hash, id), value, time, id.len() as u64);
        self.begun(state);
        if let (Some(journal), Purpose::Claimed(bytes)) = (&self.journal, purpose)
            && !mutant::is(Mutant::UnwrittenKeepsSpace)
        {
            journal.unclaim(bytes);
        }
        ordinal
    }

    /// The journal, if what happens to this address is written to it.
    pub(crate) fn journal_of(&self, state: &AddressState) -> Option<&Arc<Journal>> {
        self.journal.as_ref().filter(|_| !state.is_memory_only)
    }

    /// The number of `address`, which gets one if it has none: from then on it is one of those that
    /// are limited, so that a claim, which comes here first, is never refused when it is confirmed.
    pub(crate) fn number(&self, address: &Arc<Address>, state: &mut AddressState) -> Result<u32> {
        if let Some(number) = state.number {
            return Ok(number);
        }
        let max = self.options.limits.addresses;
        let number = self.registry.assign(address, max)?;
        state.number = Some(number);
        Ok(number)
    }

    /// The number of `address`; its definition is written first, if it has none.
    #[inline]
    pub(crate) fn defined_number(
        &self,
        address: &Arc<Address>,
        state: &mut AddressState,
        purpose: Purpose,
    ) -> std::result::Result<u32, Refused> {
        match (state.defined, state.number) {
            (Some(_), Some(number)) => Ok(number),
            _ => self.define(address, state, purpose),
        }
    }

    /// Writes the definition of `address` with what holds now, before its first add; gives its
    /// number.
    pub(crate) fn define(
        &self,
        address: &Arc<Address>,
        state: &mut AddressState,
        purpose: Purpose,
    ) -> std::result::Result<u32, Refused> {
        let Some(journal) = &self.journal else {
            return Ok(0);
        };
        let number = self.number(address, state)?;
        let record = self.definition(address, state, number);
        let before = self.definition_before(state, number);
        let live = |bytes| signed(bytes) - signed(before);
        let appended = journal.append(&record, Standing::Before, purpose, live)?;
        self.defined(state, number, &appended);
        Ok(number)
    }

    /// The definition of `address` as it stands.
    pub(crate) fn definition<'a>(
        &self,
        address: &'a Address,
        state: &AddressState,
        number: u32,
    ) -> Record<'a> {
        Record::Definition(Definition {
            address: number,
            namespace: address.namespace,
            by_call: state.by_call,
            age_by_call: state.age_by_call,
            incarnation: state.incarnation,
            capacity: state.cache.capacity(),
            max_age: state.cache.max_age(),
            floor: state.cache.floor().max(state.stored_from),
            last: state.cache.last(),
            time: self.now(),
            name: &address.name,
        })
    }

    /// Bytes of the definition that lives before another is written.
    pub(crate) fn definition_before(&self, state: &AddressState, number: u32) -> u64 {
        let ended = || {
            self.extras
                .lock()
                .ended(number)
                .map_or(0, |ended| ended.bytes)
        };
        state.defined.map_or_else(ended, |defined| defined.bytes)
    }

    /// A definition was written.
    pub(crate) fn defined(&self, state: &mut AddressState, number: u32, appended: &Appended) {
        if state.defined.is_none() {
            self.extras.lock().forget_ended(number);
        }
        state.set_defined(appended);
    }
}

impl AddressState {
    /// Notes that the add with `ordinal` ends at `end`.
    #[inline]
    pub(crate) fn note(&mut self, ordinal: Ordinal, end: Position, durable: Position) {
        self.unsynced.trim(durable);
        self.unsynced.push(ordinal, end);
        self.last_change = end;
        self.owes_floor = false;
    }

    /// Notes that the add with `ordinal` is the first in the segment of the base.
    #[cold]
    pub(crate) fn begins_segment(&mut self, ordinal: Ordinal) {
        let begin = (self.base.segment(), ordinal);
        let (start, live) = (self.cache.window_start(), self.cache.len());
        self.reach.note(begin, start, live);
    }

    pub(crate) fn set_defined(&mut self, appended: &Appended) {
        let (segment, bytes) = (appended.end.segment(), appended.bytes);
        self.defined = Some(Defined { segment, bytes });
        self.last_change = appended.end;
        self.owes_floor = false;
    }

    pub(crate) fn forgot(&mut self, floor: Ordinal, end: Position) {
        self.unsynced.forget_below(floor);
        self.last_change = end;
        self.owes_floor = false;
    }
}

/// For a record that comes before the one that `purpose` is for.
fn within(purpose: Purpose) -> Purpose {
    match purpose {
        Purpose::Claimed(_) => Purpose::Within,
        other => other,
    }
}

/// Bytes as a change of what lives.
pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

//! What becomes of a prepared transaction: its commit or its roll back.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::facade::MutexGuard;
use crate::ids::{Ordinal, Position, Ticks};
use crate::journal::{Appended, Purpose, Refused, Standing};
use crate::record::{OrdinalsBody, Record};
use crate::recovery::{Bookmark, Change, element_bytes};
use crate::store::adding::{Attempt, Placed, signed};
use crate::store::address::{AddressState, lock_all};
use crate::store::extras::{Content, Extras, InDoubt};
use crate::store::late::Late;
use crate::store::prepared::Resolved;
use crate::store::settle::stored_bytes;
use crate::store::shared::Shared;
use crate::transaction::Settling;

type States<'a> = [MutexGuard<'a, AddressState>];

/// How a prepared transaction ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    RollBack,
}

/// The place that an add is given.
struct Given {
    /// That of its address.
    at: usize,
    /// 0 for an ID that is known already.
    ordinal: Ordinal,
    /// What the commit says of it; none if it is not in the prepare.
    recorded: Option<Ordinal>,
}

impl Given {
    /// Whether it is in the journal.
    fn is_kept(&self) -> bool {
        self.recorded.is_some_and(|ordinal| ordinal != Ordinal(0))
    }
}

impl Shared {
    /// Commits or rolls back a prepared transaction; that of `token`, if one is given.
    pub(crate) fn resolve_prepared(
        self: &Arc<Self>,
        transaction: &[u8],
        token: Option<u64>,
        end: End,
    ) -> Result<Placed<Resolved>> {
        self.check()?;
        let content = {
            let extras = self.extras.lock();
            let doubt = extras.in_doubt.get(transaction);
            let content = doubt.map(|doubt| Arc::clone(&doubt.content));
            content.filter(|content| token.is_none_or(|token| token == content.token))
        };
        let Some(content) = content else {
            return Ok((Resolved::Unknown, self.last_resolved()));
        };
        let mut forgotten = Vec::new();
        let mut late = Late::default();
        let placed = self.with_room(Purpose::Within, || {
            let mut states = lock_all(&content.addresses);
            forgotten = self.expire_all(&mut states);
            self.resolve_locked(transaction, (&content, &mut late), &mut states, end)
        });
        drop(forgotten);
        let addresses = content.addresses.clone();
        drop(content);
        for address in &addresses {
            self.registry.let_go(address);
        }
        placed
    }

    /// What the answer waits for that a transaction is unknown.
    fn last_resolved(&self) -> Option<Position> {
        let journal = self.journal.as_ref()?;
        let last = self.extras.lock().last_resolved;
        (last > journal.commit.durable()).then_some(last)
    }

    fn resolve_locked(
        self: &Arc<Self>,
        transaction: &[u8],
        (content, late): (&Arc<Content>, &mut Late),
        states: &mut States<'_>,
        end: End,
    ) -> Attempt<Resolved> {
        let is_it = |extras: &Extras| {
            let doubt = extras.in_doubt.get(transaction);
            doubt.is_some_and(|doubt| Arc::ptr_eq(&doubt.content, content))
        };
        let unknown = || Ok(((Resolved::Unknown, self.last_resolved()), false));
        if !is_it(&self.extras.lock()) {
            return unknown();
        }
        let given = match end {
            End::Commit => {
                self.do_late(content, states, late)?;
                self.given((content, late), states)
            }
            End::RollBack => Vec::new(),
        };
        for given in given.iter().filter(|given| given.ordinal != Ordinal(0)) {
            let (Some(address), Some(state)) =
                (content.addresses.get(given.at), states.get_mut(given.at))
            else {
                continue;
            };
            if state.defined.is_none() && !state.is_memory_only {
                self.define(address, state, Purpose::Within)?;
            }
        }
        let mut extras = self.extras.lock();
        // One that changes no address is held by no lock of one: it may have been resolved since.
        if !is_it(&extras) {
            drop(extras);
            return unknown();
        }
        let time = self.now();
        let appended = self.append_end(&mut extras, transaction, &given, (end, time))?;
        let Some(doubt) = extras.in_doubt.remove(transaction) else {
            drop(extras);
            return unknown();
        };
        let live_before = stored_bytes(states);
        let mut freed = signed(doubt.record_bytes);
        if end == End::Commit {
            freed += self.apply_commit(&mut extras, (&doubt, late), states, (&given, time));
            self.note_commit(&mut extras, &doubt, states, (&given, appended));
            self.look_at_evictions(&content.addresses, states);
        }
        self.settle_claims(content, states);
        freed += signed(self.unname(&mut extras, content, states, appended));
        let mut placed = ((Resolved::Done, None), false);
        if let (Some(journal), Some(appended)) = (&self.journal, appended) {
            extras.last_resolved = appended.end;
            let live = stored_bytes(states);
            journal.change_live(signed(live) - signed(live_before) - freed);
            placed = ((Resolved::Done, Some(appended.end)), appended.is_owing);
        }
        Ok(placed)
    }

    /// The places that the adds are given at commit, in order.
    fn given(&self, (content, late): (&Content, &Late), states: &States<'_>) -> Vec<Given> {
        let begin = |state: &MutexGuard<'_, AddressState>| Settling::begin(&state.cache);
        let mut settling: Vec<Settling> = states.iter().map(begin).collect();
        let mut own: HashMap<(usize, &[u8]), Ordinal> = HashMap::new();
        let mut given = Vec::new();
        for (index, change) in content.changes.iter().enumerate() {
            if late.is_done(index) {
                continue;
            }
            let at = place_of(change);
            let (Some(settling), Some(state)) = (settling.get_mut(at), states.get(at)) else {
                continue;
            };
            let cache = &state.cache;
            match change {
                Change::Add { id, is_hole, .. } => {
                    let before = own.get(&(at, &**id)).copied();
                    let known = cache.find(self.hash(id), id);
                    let ordinal = settling.add(cache, known, before);
                    if let Some(ordinal) = ordinal {
                        own.insert((at, id), ordinal);
                        if *is_hole {
                            settling.remove(cache, ordinal);
                        }
                    }
                    let ordinal = ordinal.unwrap_or_default();
                    let is_kept = self.journal_of(state).is_some();
                    let kept = if is_kept { ordinal } else { Ordinal(0) };
                    given.push(Given {
                        at,
                        ordinal,
                        recorded: content.is_recorded(change).then_some(kept),
                    });
                }
                Change::Remove { ordinal, .. } => {
                    settling.remove(cache, *ordinal);
                }
                Change::Bookmark { .. } => {}
            }
        }
        given
    }

    fn append_end(
        &self,
        extras: &mut Extras,
        transaction: &[u8],
        given: &[Given],
        (end, time): (End, Ticks),
    ) -> std::result::Result<Option<Appended>, Refused> {
        let (Some(journal), Some(doubt)) = (&self.journal, extras.in_doubt.get(transaction)) else {
            return Ok(None);
        };
        let mut ordinals = OrdinalsBody::default();
        for ordinal in given.iter().filter_map(|given| given.recorded) {
            ordinals.push(ordinal);
        }
        let record = match end {
            End::Commit => Record::Commit {
                time,
                transaction,
                ordinals: ordinals.ordinals(),
            },
            End::RollBack => Record::RollBack { time, transaction },
        };
        let purpose = Purpose::Lasting(doubt.lasting_bytes);
        let appended = journal.append(&record, Standing::Alone, purpose, |_| 0)?;
        Ok(Some(appended))
    }

    /// Does what the transaction says; how many bytes of bookmarks that frees, less those of its
    /// own.
    fn apply_commit(
        &self,
        extras: &mut Extras,
        (doubt, late): (&InDoubt, &Late),
        states: &mut States<'_>,
        (given, time): (&[Given], Ticks),
    ) -> i64 {
        let mut given = given.iter();
        let mut freed = 0;
        let content = &doubt.content;
        let recorded = content
            .changes
            .iter()
            .filter(|one| content.is_recorded(one));
        let count = recorded.count() as u64;
        for (index, change) in doubt.content.changes.iter().enumerate() {
            if late.is_done(index) {
                continue;
            }
            let bytes = element_bytes(count, &change.element(|at| at));
            let state = states.get_mut(place_of(change));
            match (change, state) {
                (
                    Change::Add {
                        value, id, is_hole, ..
                    },
                    Some(state),
                ) => {
                    let ordinal = given.next().map_or(Ordinal(0), |given| given.ordinal);
                    if ordinal == Ordinal(0) {
                        continue;
                    }
                    state.remember((self.hash(id), id), value, time, bytes);
                    if *is_hole {
                        state.cache.remove(ordinal);
                        state.figures.count().removed += 1;
                    }
                    self.begun(state);
                }
                (Change::Remove { ordinal, .. }, Some(state)) => {
                    let is_there = state.cache.remove(*ordinal) > 0;
                    state.figures.count().removed += u64::from(is_there);
                }
                (Change::Bookmark { name, value }, _) => {
                    let bookmark = Bookmark {
                        value: value.clone(),
                        time,
                        segment: doubt.position.segment(),
                        record_bytes: bytes,
                    };
                    let before = extras.set_bookmark(name, bookmark);
                    freed += signed(before) - signed(bytes);
                }
                _ => {}
            }
        }
        freed
    }

    /// Notes where the adds became durable, and that they live where the prepare is.
    fn note_commit(
        &self,
        extras: &mut Extras,
        doubt: &InDoubt,
        states: &mut States<'_>,
        (given, appended): (&[Given], Option<Appended>),
    ) {
        let (Some(journal), Some(appended)) = (&self.journal, appended) else {
            return;
        };
        for given in given.iter().filter(|given| given.is_kept()) {
            if let Some(state) = states.get_mut(given.at) {
                state.note(given.ordinal, appended.end, journal.commit.durable());
            }
        }
        for state in states.iter_mut() {
            state.last_change = appended.end;
        }
        let ordinals = given.iter().filter_map(|given| given.recorded).collect();
        extras.committed.insert(doubt.position, ordinals);
    }

    fn settle_claims(&self, content: &Content, states: &mut States<'_>) {
        for change in &content.changes {
            if let (Change::Add { id, .. }, Some(state)) =
                (change, states.get_mut(place_of(change)))
            {
                self.settle_claim(state, self.hash(id), id, content.token);
            }
        }
    }

    /// Lets go of the addresses that the transaction names; how many bytes of definitions that
    /// frees.
    fn unname(
        &self,
        extras: &mut Extras,
        content: &Content,
        states: &mut States<'_>,
        appended: Option<Appended>,
    ) -> u64 {
        let Some(appended) = appended else { return 0 };
        let named_in = appended.end.segment();
        let mut freed = 0;
        let named = content.numbers.iter().zip(&content.addresses);
        for ((number, address), state) in named.zip(states.iter_mut()) {
            let Some((number, last)) =
                number.and_then(|number| Some((number, extras.unname(number)?)))
            else {
                continue;
            };
            if state.defined.is_none() {
                freed += last.ended_bytes();
            }
            // A definition of a cache that does not exist was for this transaction alone.
            if !state.is_begun
                && let Some(defined) = state.defined.take()
            {
                freed += defined.bytes;
                state.incarnation = state.incarnation.saturating_add(1);
            }
            if state.defined.is_none() {
                self.registry.dropped(number, address, named_in);
            }
        }
        freed
    }
}

/// The place of a change's address among those of its transaction.
pub(crate) fn place_of(change: &Change) -> usize {
    let place = change.address().unwrap_or(u32::MAX);
    usize::try_from(place).unwrap_or(usize::MAX)
}

//! What a prepared transaction changes in an address that was in memory only when it was prepared,
//! and is stored when it commits. Its prepare does not tell of these changes, so that they are
//! recorded one by one, before the commit.

use std::collections::HashSet;
use std::sync::Arc;

use crate::facade::MutexGuard;
use crate::journal::{Purpose, Refused, Standing};
use crate::mutant::{self, Mutant};
use crate::record::{Element, Record, TransactionBody};
use crate::recovery::Change;
use crate::store::adding::signed;
use crate::store::address::{Address, AddressState};
use crate::store::extras::Content;
use crate::store::in_doubt::place_of;
use crate::store::shared::Shared;

/// Which changes were done so, by their place: a commit that is tried again, when there is room,
/// leaves them out.
#[derive(Default)]
pub(crate) struct Late {
    done: HashSet<usize>,
}

impl Late {
    pub(crate) fn is_done(&self, index: usize) -> bool {
        self.done.contains(&index)
    }
}

impl Shared {
    /// Does and records what is left of these changes, in their order.
    pub(crate) fn do_late(
        self: &Arc<Self>,
        content: &Content,
        states: &mut [MutexGuard<'_, AddressState>],
        late: &mut Late,
    ) -> Result<(), Refused> {
        if mutant::is(Mutant::LateNotRecorded) {
            return Ok(());
        }
        for (index, change) in content.changes.iter().enumerate() {
            let at = place_of(change);
            if content.is_recorded(change) || late.is_done(index) {
                continue;
            }
            let (Some(address), Some(state)) = (content.addresses.get(at), states.get_mut(at))
            else {
                continue;
            };
            if self.journal_of(state).is_some() {
                self.do_one(address, state, change)?;
                late.done.insert(index);
            }
        }
        Ok(())
    }

    fn do_one(
        &self,
        address: &Arc<Address>,
        state: &mut AddressState,
        change: &Change,
    ) -> Result<(), Refused> {
        match change {
            Change::Add {
                id, value, is_hole, ..
            } => {
                let hash = self.hash(id);
                if state.cache.capacity() == 0 || state.cache.find(hash, id).is_some() {
                    return Ok(());
                }
                if !*is_hole {
                    self.record(address, state, (hash, id, value), Purpose::Within)?;
                    return Ok(());
                }
                if mutant::is(Mutant::LateHoleTakesNoPlace) {
                    return Ok(());
                }
                self.record_hole(address, state, (hash, id))
            }
            // What it saw then is in no record.
            Change::Remove { ordinal, .. } => {
                let freed = state.cache.get(*ordinal).map(|known| known.record_bytes);
                if let (Some(freed), Some(journal)) = (freed, &self.journal) {
                    state.cache.remove(*ordinal);
                    state.figures.count().removed += 1;
                    journal.change_live(-signed(freed));
                }
                Ok(())
            }
            Change::Bookmark { .. } => Ok(()),
        }
    }

    /// Records an add with its removal: it takes a place in the window, and nothing else.
    fn record_hole(
        &self,
        address: &Arc<Address>,
        state: &mut AddressState,
        (hash, id): (u64, &[u8]),
    ) -> Result<(), Refused> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let number = self.defined_number(address, state, Purpose::Within)?;
        let (time, ordinal) = (self.now(), state.cache.next());
        let mut body = TransactionBody::default();
        body.push(Element::Add {
            address: number,
            ordinal,
            value: None,
            id,
        });
        body.push(Element::Remove {
            address: number,
            ordinal,
        });
        let record = Record::Transaction {
            time,
            elements: body.elements(),
        };
        let evicted = signed(state.cache.eviction_bytes());
        let live = |_| -evicted;
        let appended = journal.append(&record, Standing::Alone, Purpose::Within, live)?;
        state.remember((hash, id), &[], time, 0);
        state.cache.remove(ordinal);
        state.figures.count().removed += 1;
        self.begun(state);
        state.note(ordinal, appended.end, journal.commit.durable());
        Ok(())
    }
}

//! The end of a transaction: its commit, as one record and then in the caches, or nothing.

use crate::facade::MutexGuard;
use crate::ids::{Ordinal, SegmentNumber, Ticks};
use crate::journal::{Purpose, Standing};
use crate::record::{Element, Record, TransactionBody};
use crate::recovery::{Bookmark, element_bytes};
use crate::store::adding::{Attempt, signed};
use crate::store::address::{AddressState, lock_all};
use crate::store::extras::Extras;
use crate::store::transact::Transaction;
use crate::transaction::{Settling, What};
use std::fmt;

/// One change with its ordinal.
enum Settled {
    Add {
        address: usize,
        hash: u64,
        start: usize,
        end: usize,
        ordinal: Ordinal,
    },
    Remove {
        address: usize,
        ordinal: Ordinal,
    },
    Bookmark {
        start: usize,
        middle: usize,
        end: usize,
    },
}

impl Transaction {
    /// Records what was gathered and applies it, under the locks of all its addresses.
    pub(super) fn settle(&mut self) -> Attempt<()> {
        let addresses = std::mem::take(&mut self.addresses);
        let forgotten;
        let settled = {
            let mut states = lock_all(&addresses);
            forgotten = self.handle.shared.expire_all(&mut states);
            self.settle_locked(&addresses, &mut states)
        };
        drop(forgotten);
        self.addresses = addresses;
        settled
    }

    fn settle_locked(
        &mut self,
        addresses: &[std::sync::Arc<crate::store::address::Address>],
        states: &mut [MutexGuard<'_, AddressState>],
    ) -> Attempt<()> {
        let shared = std::sync::Arc::clone(&self.handle.shared);
        let settled = self.plan(states);
        let time = shared.now();
        let live_before = stored_bytes(states);
        let mut placed = (((), self.covers), false);
        let is_stored = |settled: &Settled| match settled {
            Settled::Add { address, .. } | Settled::Remove { address, .. } => {
                let state = states.get(*address);
                state.is_some_and(|state| !state.is_memory_only)
            }
            Settled::Bookmark { .. } => true,
        };
        let is_recorded = settled.iter().any(is_stored);
        let mut extras = None;
        let mut segment = SegmentNumber(0);
        if let (Some(journal), true) = (&shared.journal, is_recorded) {
            let mut body = TransactionBody::default();
            for settled in &settled {
                let (Settled::Add { address, .. } | Settled::Remove { address, .. }) = settled
                else {
                    body.push(self.element(settled, 0));
                    continue;
                };
                let (Some(address), Some(state)) =
                    (addresses.get(*address), states.get_mut(*address))
                else {
                    continue;
                };
                if state.is_memory_only {
                    continue;
                }
                let number = shared.defined_number(address, state, Purpose::Within)?;
                body.push(self.element(settled, number));
            }
            let record = Record::Transaction {
                time,
                elements: body.elements(),
            };
            let purpose = Purpose::Claimed(self.claimed_bytes);
            // Held until they are set: their order is that of the journal.
            let is_bookmark = |settled: &Settled| matches!(settled, Settled::Bookmark { .. });
            extras = settled
                .iter()
                .any(is_bookmark)
                .then(|| shared.extras.lock());
            let appended = journal.append(&record, Standing::Alone, purpose, |_| 0)?;
            self.claimed_bytes = 0;
            segment = appended.end.segment();
            for settled in &settled {
                if let Settled::Add {
                    address, ordinal, ..
                } = settled
                    && let Some(state) = states.get_mut(*address)
                    && !state.is_memory_only
                {
                    state.note(*ordinal, appended.end, journal.commit.durable());
                }
            }
            for state in states.iter_mut() {
                state.last_change = appended.end;
            }
            placed = (((), Some(appended.end)), appended.is_owing);
        }
        self.apply(&settled, states, time);
        shared.look_at_evictions(addresses, states);
        let bookmarks = self.apply_bookmarks(&settled, extras, (time, segment));
        if let Some(journal) = &shared.journal {
            let live = stored_bytes(states);
            journal.change_live(signed(live) - signed(live_before) + bookmarks);
        }
        Ok(placed)
    }

    fn element<'a>(&'a self, settled: &Settled, address: u32) -> Element<'a> {
        match *settled {
            Settled::Add {
                start,
                end,
                ordinal,
                ..
            } => Element::Add {
                address,
                ordinal,
                value: None,
                id: self.gathered.bytes(start, end),
            },
            Settled::Remove { ordinal, .. } => Element::Remove { address, ordinal },
            Settled::Bookmark { start, middle, end } => Element::Bookmark {
                name: self.gathered.bytes(start, middle),
                value: self.gathered.bytes(middle, end),
            },
        }
    }

    /// Gives each change its ordinal, in order; leaves out what has come to nothing.
    fn plan(&self, states: &[MutexGuard<'_, AddressState>]) -> Vec<Settled> {
        let mut settling: Vec<Settling> = states
            .iter()
            .map(|state| Settling::begin(&state.cache))
            .collect();
        let mut own = std::collections::HashMap::new();
        let mut planned = Vec::with_capacity(self.gathered.changes().len());
        for change in self.gathered.changes() {
            let address = change.address;
            if let What::Bookmark { start, middle, end } = change.what {
                planned.push(Settled::Bookmark { start, middle, end });
            }
            let (Some(settling), Some(state)) = (settling.get_mut(address), states.get(address))
            else {
                continue;
            };
            let cache = &state.cache;
            match change.what {
                What::Add {
                    hash, start, end, ..
                } => {
                    let id = self.gathered.bytes(start, end);
                    let before = own.get(&(address, id)).copied();
                    let known = cache.find(hash, id);
                    if let Some(ordinal) = settling.add(cache, known, before) {
                        own.insert((address, id), ordinal);
                        planned.push(Settled::Add {
                            address,
                            hash,
                            start,
                            end,
                            ordinal,
                        });
                    }
                }
                What::RemoveOwn { index } => {
                    if let Some(ordinal) = settling.given(index)
                        && settling.remove(cache, ordinal)
                    {
                        planned.push(Settled::Remove { address, ordinal });
                    }
                }
                What::Remove { ordinal } => {
                    if settling.remove(cache, ordinal) {
                        planned.push(Settled::Remove { address, ordinal });
                    }
                }
                What::Bookmark { .. } => {}
            }
        }
        planned
    }

    fn apply(&self, settled: &[Settled], states: &mut [MutexGuard<'_, AddressState>], time: Ticks) {
        let count = settled.len() as u64;
        for change in settled {
            match *change {
                Settled::Add {
                    address,
                    hash,
                    start,
                    end,
                    ..
                } => {
                    let Some(state) = states.get_mut(address) else {
                        continue;
                    };
                    let bytes = element_bytes(count, &self.element(change, 0));
                    let id = self.gathered.bytes(start, end);
                    state.remember((hash, id), &[], time, bytes);
                    self.handle.shared.begun(state);
                }
                Settled::Remove { address, ordinal } => {
                    if let Some(state) = states.get_mut(address) {
                        state.cache.remove(ordinal);
                        state.figures.count().removed += 1;
                    }
                }
                Settled::Bookmark { .. } => {}
            }
        }
    }
}

/// Bytes of the records of what the addresses remember.
pub(super) fn stored_bytes(states: &[MutexGuard<'_, AddressState>]) -> u64 {
    let stored = states.iter().filter(|state| !state.is_memory_only);
    stored.map(|state| state.cache.live_bytes()).sum()
}

impl Transaction {
    /// Sets the bookmarks, whose bytes are in `segment`; by how much that changes what lives.
    fn apply_bookmarks(
        &self,
        settled: &[Settled],
        extras: Option<MutexGuard<'_, Extras>>,
        (time, segment): (Ticks, SegmentNumber),
    ) -> i64 {
        let is_bookmark = |change: &&Settled| matches!(change, Settled::Bookmark { .. });
        let mut bookmarks = settled.iter().filter(is_bookmark).peekable();
        if bookmarks.peek().is_none() {
            return 0;
        }
        let mut extras = extras.unwrap_or_else(|| self.handle.shared.extras.lock());
        let mut live = 0;
        for change in bookmarks {
            let element = self.element(change, 0);
            let Element::Bookmark { name, value } = element else {
                continue;
            };
            let record_bytes = element_bytes(settled.len() as u64, &element);
            let bookmark = Bookmark {
                value: Box::from(value),
                time,
                segment,
                record_bytes,
            };
            live += signed(record_bytes) - signed(extras.set_bookmark(name, bookmark));
        }
        live
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = self.gathered.changes().len();
        let mut shown = formatter.debug_struct("Transaction");
        shown
            .field("changes", &changes)
            .field("rejected", &self.rejected());
        shown.finish_non_exhaustive()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        if shared.check_process().is_err() {
            return;
        }
        for change in self.gathered.changes() {
            let address = self.addresses.get(change.address);
            if let (
                What::Add {
                    hash, start, end, ..
                },
                Some(address),
            ) = (change.what, address)
            {
                let id = self.gathered.bytes(start, end);
                shared.settle_claim(&mut address.state.lock(), hash, id, self.token);
            }
        }
        if let (Some(journal), true) = (&shared.journal, self.claimed_bytes > 0) {
            journal.unclaim(self.claimed_bytes);
        }
        shared.waits.wake_due();
    }
}

//! Runs scripts on a store and keeps what a caller would hold: handles, reservations, transactions,
//! receipts that are not waited for yet.

use std::sync::Arc;
use std::time::Duration;

use idjournal::{
    Cache, Confirmed, Error, MemoryStorage, OnDuplicate, Outcome, Owner, Receipt, Reservation,
    Reserve, Resolved, Result, Seen, State, Store, Transaction,
};

use super::CountingClock;
use super::model::Model;
use super::operation::Operation;
use super::recorded::{
    Answer, CACHES, Copied, PATTERNS, Recorded, bookmark_name, bookmark_value, pending, pool,
    value_of, xid,
};
use super::said::AtOpen;

type Waiter = Box<dyn FnOnce(bool) -> Result<()> + Send>;
/// Opens the store again, or a copy of it, with these options.
pub type Opener = Box<dyn FnMut(&AtOpen, Option<MemoryStorage>) -> Result<Store>>;

/// A caller of a store.
pub struct Runner {
    opener: Opener,
    at_open: AtOpen,
    /// That of the store.
    pub(super) clock: Arc<CountingClock>,
    store: Option<Store>,
    pub(super) caches: Vec<Cache>,
    pub(super) reservations: Vec<Reservation>,
    transactions: Vec<Transaction>,
    waiting: Vec<Waiter>,
    newly_held: usize,
}

impl Runner {
    /// Opens a store, whose clock this is, with these options.
    pub fn open(
        mut opener: Opener,
        clock: Arc<CountingClock>,
        at_open: impl Into<AtOpen>,
    ) -> Result<Runner> {
        let at_open = at_open.into();
        let store = opener(&at_open, None)?;
        let caches = handles(&store)?;
        Ok(Runner {
            opener,
            at_open,
            clock,
            store: Some(store),
            caches,
            reservations: Vec::new(),
            transactions: Vec::new(),
            waiting: Vec::new(),
            newly_held: 0,
        })
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("a store is open between calls")
    }

    pub fn length(&self, cache: usize) -> u64 {
        self.caches[cache].len()
    }

    pub fn capacity(&self, cache: usize) -> u64 {
        self.caches[cache].capacity()
    }

    /// While the model has no claim, nothing is set aside for one.
    pub fn check_space(&self, model: &Model) -> std::result::Result<(), String> {
        match self.store().stats().claimed_bytes {
            1.. if !model.has_claims() => Err("space is set aside for no claim".to_owned()),
            _ => Ok(()),
        }
    }

    /// How many receipts the last call left to wait for: 0 or 1.
    pub fn newly_held(&self) -> usize {
        self.newly_held
    }

    /// Waits for all receipts since the last time, and for the disk if told so; the first error.
    pub fn settle(&mut self, is_synced: bool) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let results: Vec<_> = waiting
            .into_iter()
            .map(|waiter| waiter(is_synced))
            .collect();
        results.into_iter().collect()
    }

    /// Ends everything without an order to close: the last handle closes the store.
    pub fn abandon(&mut self) {
        self.waiting.clear();
        self.reservations.clear();
        self.transactions.clear();
        self.caches.clear();
        self.store = None;
    }

    pub fn close(&mut self) -> Result<()> {
        self.waiting.clear();
        self.reservations.clear();
        self.transactions.clear();
        let result = self.store().close();
        self.abandon();
        result
    }

    pub fn run(&mut self, operation: &Operation) -> Answer {
        self.newly_held = 0;
        let (claims, open) = (self.reservations.len(), self.transactions.len());
        match *operation {
            Operation::Add { cache, id } => match self.caches[cache].add(bytes(id)) {
                Ok(outcome) => of_outcome(&outcome),
                Err(error) => failed(&error),
            },
            Operation::Submit { cache, id } => {
                let receipt = self.caches[cache].submit(bytes(id));
                self.hold(receipt, of_outcome)
            }
            Operation::Reserve { cache, id, owner } => self.reserve(cache, id, owner, None),
            Operation::Confirm { which } if claims > 0 => {
                let receipt = self.reservations.swap_remove(which % claims).confirm();
                self.hold(receipt, of_confirmed)
            }
            Operation::ConfirmWith { which, value } if claims > 0 => {
                let claim = self.reservations.swap_remove(which % claims);
                self.hold(claim.confirm_with(value_of(value)), of_confirmed)
            }
            Operation::Renew { cache, id } => {
                let receipt = self.caches[cache].renew(bytes(id));
                self.hold(receipt, |was_there| Answer::Truth(*was_there))
            }
            Operation::SetMaxAge { cache, age } => {
                let receipt = self.caches[cache].set_max_age(age.map(CountingClock::age));
                self.hold(receipt, |()| Answer::Done)
            }
            Operation::Wait { steps } => {
                self.clock.wait(steps);
                Answer::Done
            }
            Operation::Jump { steps } => {
                self.clock.jump(steps);
                Answer::Done
            }
            Operation::Release { which } if claims > 0 => {
                self.reservations.swap_remove(which % claims).release();
                Answer::Done
            }
            Operation::Keep { which } if claims > 0 => {
                self.reservations.swap_remove(which % claims).keep();
                Answer::Done
            }
            Operation::Begin { is_skipping, owner } => {
                let on = if is_skipping {
                    OnDuplicate::Skip
                } else {
                    OnDuplicate::Reject
                };
                let transaction = self.store().begin(on, Owner(owner));
                self.transactions.push(transaction);
                Answer::Done
            }
            Operation::TransactionAdd { which, cache, id } if open > 0 => {
                let transaction = &mut self.transactions[which % open];
                match transaction.add(&self.caches[cache], bytes(id)) {
                    Ok(Outcome::Duplicate(_)) => Answer::DuplicateInside,
                    Ok(outcome) => of_outcome(&outcome),
                    Err(error) => failed(&error),
                }
            }
            Operation::TransactionRemove { which, cache, id } if open > 0 => {
                let transaction = &mut self.transactions[which % open];
                of_result(
                    transaction
                        .remove(&self.caches[cache], bytes(id))
                        .map(Answer::Truth),
                )
            }
            Operation::Commit { which } if open > 0 => {
                let receipt = self.transactions.swap_remove(which % open).commit();
                self.hold(receipt, |()| Answer::Done)
            }
            Operation::RollBack { which } if open > 0 => {
                self.transactions.swap_remove(which % open).rollback();
                Answer::Done
            }
            Operation::TransactionBookmark { which, name, value } if open > 0 => {
                let transaction = &mut self.transactions[which % open];
                let set = transaction.bookmark(bookmark_name(name), bookmark_value(value));
                of_result(set.map(|()| Answer::Done))
            }
            Operation::Prepare { which, id } if open > 0 => {
                let transaction = self.transactions.swap_remove(which % open);
                self.hold(transaction.prepare(xid(id)), |_| Answer::Done)
            }
            Operation::Resolve { id, is_commit } => {
                let receipt = match is_commit {
                    true => self.store().commit_prepared(xid(id)),
                    false => self.store().roll_back_prepared(xid(id)),
                };
                self.hold(receipt, |one| Answer::Resolved(*one == Resolved::Done))
            }
            Operation::SetBookmark { name, value } => {
                let (name, value) = (bookmark_name(name), bookmark_value(value));
                let receipt = self.store().set_bookmark(name, value);
                self.hold(receipt, |()| Answer::Done)
            }
            Operation::Remove { cache, id } => {
                let receipt = self.caches[cache].remove(bytes(id));
                self.hold(receipt, |was_there| Answer::Truth(*was_there))
            }
            Operation::Clear { cache } => {
                let receipt = self.caches[cache].clear();
                self.hold(receipt, |ended| Answer::Count(*ended))
            }
            Operation::Drop { address } => {
                let receipt = self.store().drop_cache(CACHES[2 * address].1);
                self.hold(receipt, |was_there| Answer::Truth(*was_there))
            }
            Operation::SetCapacity { cache, capacity } => {
                let receipt = self.caches[cache].set_capacity(capacity);
                self.hold(receipt, |()| Answer::Done)
            }
            Operation::Configure { pattern, said } => {
                let (pattern, _) = PATTERNS[pattern];
                let receipt = self.store().configure(pattern, said.settings());
                self.hold(receipt, |()| Answer::Done)
            }
            Operation::Contains { cache, id } => {
                of_result(self.caches[cache].contains(bytes(id)).map(Answer::Truth))
            }
            Operation::State { cache, id } => match self.caches[cache].state(bytes(id)) {
                State::Absent => Answer::Absent,
                State::Pending(owner) => Answer::Pending(owner.0),
                State::Unsynced(seen) | State::Known(seen) => Answer::Duplicate(seen.adds_left),
            },
            Operation::Claim(call) => call.run(self),
            Operation::Compact => of_result(self.store().compact().map(|()| Answer::Done)),
            Operation::Backup => of_result(self.back_up()),
            Operation::Sync => of_result(self.store().sync().wait().map(|()| Answer::Done)),
            Operation::Reopen {
                is_closed,
                settings,
            } => self.reopen(is_closed, settings),
            _ => Answer::Done,
        }
    }

    pub(super) fn reserve(
        &mut self,
        cache: usize,
        id: u8,
        owner: u64,
        lease: Option<Duration>,
    ) -> Answer {
        match self.caches[cache].reserve_as(bytes(id), Owner(owner), lease) {
            Ok(Reserve::Reserved(reservation)) => {
                self.reservations.push(reservation);
                Answer::Reserved
            }
            Ok(Reserve::Duplicate(receipt)) => {
                self.hold(receipt, |seen: &Seen| Answer::Duplicate(seen.adds_left))
            }
            Ok(Reserve::Pending(owner)) => Answer::Pending(owner.0),
            Err(error) => failed(&error),
        }
    }

    fn back_up(&mut self) -> Result<Answer> {
        let copy = MemoryStorage::new();
        self.store().backup_on(copy.clone())?;
        let copy = (self.opener)(&self.at_open, Some(copy))?;
        let copied = Copied {
            now: self.clock.step_of(&copy),
            recorded: Recorded::of_opened(&copy),
            pending: pending(&copy),
        };
        Ok(Answer::Copied(Box::new(copied)))
    }

    fn reopen(&mut self, is_closed: bool, settings: AtOpen) -> Answer {
        self.at_open = settings;
        if is_closed {
            if let Err(error) = self.close() {
                return failed(&error);
            }
        } else {
            self.abandon();
        }
        match (self.opener)(&settings, None).and_then(|store| Ok((handles(&store)?, store))) {
            Ok((caches, store)) => {
                self.caches = caches;
                let now = self.clock.step_of(&store);
                self.store = Some(store);
                Answer::Reopened(now)
            }
            Err(error) => failed(&error),
        }
    }

    fn hold<T: Send + 'static>(
        &mut self,
        receipt: Receipt<T>,
        answer: impl Fn(&T) -> Answer,
    ) -> Answer {
        let answer = match receipt.outcome() {
            Ok(outcome) => answer(outcome),
            Err(error) => return failed(error),
        };
        self.newly_held = 1;
        self.waiting.push(Box::new(move |is_synced| {
            if is_synced {
                receipt.wait_synced()
            } else {
                receipt.wait()
            }
            .map(drop)
        }));
        answer
    }
}

fn handles(store: &Store) -> Result<Vec<Cache>> {
    CACHES
        .iter()
        .map(|(namespace, address)| store.cache_in(*namespace, address))
        .collect()
}

fn bytes(id: u8) -> &'static [u8] {
    &pool()[usize::from(id)]
}

fn of_confirmed(confirmed: &Confirmed) -> Answer {
    match confirmed {
        Confirmed::Recorded => Answer::Recorded,
        Confirmed::LeaseLost => Answer::LeaseLost,
    }
}

fn of_outcome(outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::Added => Answer::Added,
        Outcome::Duplicate(seen) => Answer::Duplicate(seen.adds_left),
        Outcome::Pending(owner) => Answer::Pending(owner.0),
    }
}

fn of_result(result: Result<Answer>) -> Answer {
    result.unwrap_or_else(|error| failed(&error))
}

fn failed(error: &Error) -> Answer {
    match error {
        Error::Rejected { .. } => Answer::Rejected,
        Error::Limit { .. } => Answer::TooLarge,
        Error::TransactionExists { .. } => Answer::Exists,
        Error::NoSpace { .. } => Answer::NoSpace,
        Error::Options {
            option: "pattern", ..
        } => Answer::Refused,
        other => Answer::Failed(chain(other)),
    }
}

/// An error with all its sources.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

//! The reference model: what each call must answer, from plain lists.
//!
//! A cache is a list of places in order, in which a remove leaves a hole; claims are held apart. An
//! open transaction is the list of its changes, and its view is what a commit right now would
//! leave. Slow, and meant to be obviously right.
//!
//! Caches are numbers into [`CACHES`], IDs numbers into [`pool`].

#[path = "model_apply.rs"]
mod applying;
#[path = "model_prepared.rs"]
mod prepared;
#[path = "model_settings.rs"]
mod settings;

use super::claims::Claims;
use super::places::Places;
use super::recorded::{Answer, CACHES, PATTERNS, bookmark_name, bookmark_value, pool};
use super::said::{AtOpen, Said};
use super::time::BEGIN;
use applying::apply;

#[derive(Clone, Debug)]
enum Change {
    Add {
        cache: usize,
        id: u8,
    },
    /// Ends a recorded place.
    Remove {
        cache: usize,
        ordinal: u64,
    },
    /// Ends the place that an add of the same transaction takes.
    RemoveOwn {
        cache: usize,
        change: usize,
        /// Nothing ends if that add took none, since its ID was known.
        only_taken: bool,
    },
    Bookmark {
        name: u8,
        value: u8,
    },
    /// One that was not stored, after a restart.
    Gone,
}

#[derive(Clone, Debug)]
struct OpenTransaction {
    is_skipping: bool,
    owner: u64,
    changes: Vec<Change>,
    claims: Vec<((usize, u8), u64)>,
    is_rejected: bool,
    /// The caches of which no change is in its record.
    unstored: Vec<usize>,
}

/// The model of a store.
#[derive(Clone, Debug)]
pub struct Model {
    at_open: AtOpen,
    /// What calls have set for each of [`PATTERNS`].
    pub(super) patterns: [Said; PATTERNS.len()],
    /// The caches that the last call has given other settings, in the order in which it came to
    /// them, as they were before.
    before: Vec<(usize, Places)>,
    pub now: u64,
    pub(super) caches: Vec<Places>,
    pub(super) claims: Claims,
    transactions: Vec<OpenTransaction>,
    kept: prepared::Kept,
}

impl Model {
    /// A new store that was opened with these options.
    pub fn new(at_open: impl Into<AtOpen>) -> Model {
        let at_open = at_open.into();
        let mut model = Model {
            at_open,
            patterns: [Said::default(); PATTERNS.len()],
            before: Vec::new(),
            now: BEGIN,
            caches: CACHES.iter().map(|_| Places::new(0)).collect(),
            claims: Claims::default(),
            transactions: Vec::new(),
            kept: prepared::Kept::default(),
        };
        model.reopen(at_open);
        model.at(BEGIN)
    }

    pub fn add(&mut self, cache: usize, id: u8) -> Answer {
        self.look(cache, id).unwrap_or_else(|| {
            if self.caches[cache].capacity > 0 {
                self.claims.lose((cache, id));
            }
            self.caches[cache].append(id, 0);
            Answer::Added
        })
    }

    /// Why an ID cannot be added; capacity 0 accepts everything.
    fn look(&self, cache: usize, id: u8) -> Option<Answer> {
        let places = &self.caches[cache];
        if places.capacity == 0 {
            return None;
        }
        if let Some(ordinal) = places.ordinal(id) {
            return Some(Answer::Duplicate(places.adds_left(ordinal)));
        }
        self.claims.holder((cache, id)).map(Answer::Pending)
    }

    pub fn reserve(&mut self, cache: usize, id: u8, owner: u64, lease: Option<u64>) -> Answer {
        self.look(cache, id).unwrap_or_else(|| {
            let (key, is_claimed) = ((cache, id), self.caches[cache].capacity > 0);
            let guard = is_claimed.then(|| (key, self.claims.take(key, owner, lease)));
            self.claims.hold(guard);
            Answer::Reserved
        })
    }

    pub fn reservations(&self) -> usize {
        self.claims.guards()
    }

    pub fn confirm(&mut self, which: usize, value: u8) -> Answer {
        if let Some(((cache, id), token)) = self.claims.let_go(which) {
            if !self.claims.settle((cache, id), token) {
                return Answer::LeaseLost;
            }
            if self.caches[cache].ordinal(id).is_none() {
                self.caches[cache].append(id, value);
            }
        }
        Answer::Recorded
    }

    pub fn release(&mut self, which: usize) -> Answer {
        if let Some((key, token)) = self.claims.let_go(which) {
            self.claims.settle(key, token);
        }
        Answer::Done
    }

    /// The claim stays, without a guard.
    pub fn keep(&mut self, which: usize) -> Answer {
        self.claims.keep(which);
        Answer::Done
    }

    pub fn begin(&mut self, is_skipping: bool, owner: u64) -> Answer {
        let (changes, claims) = (Vec::new(), Vec::new());
        let transaction = OpenTransaction {
            is_skipping,
            owner,
            changes,
            claims,
            is_rejected: false,
            unstored: Vec::new(),
        };
        self.transactions.push(transaction);
        Answer::Done
    }

    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    pub fn transaction_add(&mut self, which: usize, cache: usize, id: u8) -> Answer {
        if self.caches[cache].capacity == 0 {
            return Answer::Added;
        }
        let is_known = self.view(which).0[cache].ordinal(id).is_some();
        let transaction = &mut self.transactions[which];
        let is_own = transaction
            .claims
            .iter()
            .any(|(key, _)| *key == (cache, id));
        if is_known {
            transaction.is_rejected |= !transaction.is_skipping;
            return Answer::DuplicateInside;
        }
        if let Some(owner) = self.claims.holder((cache, id)).filter(|_| !is_own) {
            transaction.is_rejected |= !transaction.is_skipping;
            return Answer::Pending(owner);
        }
        if !is_own {
            let token = self.claims.take((cache, id), transaction.owner, None);
            transaction.claims.push(((cache, id), token));
        }
        transaction.changes.push(Change::Add { cache, id });
        Answer::Added
    }

    /// About how many bytes the record of a transaction has for its changes.
    pub fn transaction_bytes(&self, which: usize) -> usize {
        let changes = self
            .transactions
            .get(which)
            .map_or(&[][..], |open| &open.changes);
        let bytes = changes.iter().map(|change| match change {
            Change::Add { id, .. } => 17 + pool()[usize::from(*id)].len(),
            Change::Remove { .. } | Change::RemoveOwn { .. } => 13,
            Change::Bookmark { name, value } => {
                9 + bookmark_name(*name).len() + bookmark_value(*value).len()
            }
            Change::Gone => 0,
        });
        bytes.sum()
    }

    pub fn transaction_remove(&mut self, which: usize, cache: usize, id: u8) -> Answer {
        let (view, ordinals) = self.view(which);
        let Some(ordinal) = view[cache].ordinal(id) else {
            return Answer::Truth(false);
        };
        let mut own = self.transactions[which].changes.iter().zip(&ordinals);
        let own = own.position(|(change, place)| {
            matches!(change, Change::Add { cache: other, .. } if *other == cache)
                && *place == Some(ordinal)
        });
        let change = match own {
            Some(change) => Change::RemoveOwn {
                cache,
                change,
                only_taken: false,
            },
            None => Change::Remove { cache, ordinal },
        };
        self.transactions[which].changes.push(change);
        Answer::Truth(true)
    }

    pub fn is_rejected(&self, which: usize) -> bool {
        self.transactions[which].is_rejected
    }

    /// How it looks from inside: every add that was answered "added" has its place.
    fn view(&self, which: usize) -> (Vec<Places>, Vec<Option<u64>>) {
        let mut view = self.caches.clone();
        let ordinals = apply(&mut view, &self.transactions[which].changes, |_, _| true);
        (view, ordinals)
    }

    pub fn commit(&mut self, which: usize) -> Answer {
        let is_rejected = self.is_rejected(which);
        if !is_rejected {
            let changes = std::mem::take(&mut self.transactions[which].changes);
            self.commit_changes(&changes);
        }
        self.roll_back(which);
        if is_rejected {
            Answer::Rejected
        } else {
            Answer::Done
        }
    }

    pub fn roll_back(&mut self, which: usize) -> Answer {
        for (key, token) in self.transactions.swap_remove(which).claims {
            self.claims.settle(key, token);
        }
        Answer::Done
    }

    /// A call was refused since there was no space: what it was about to settle is gone.
    pub fn refuse(&mut self, operation: &super::operation::Operation) {
        use super::operation::Operation;
        match *operation {
            Operation::Confirm { which } | Operation::ConfirmWith { which, .. } => {
                let claims = self.reservations();
                self.release(which % claims);
            }
            Operation::Commit { which } | Operation::Prepare { which, .. } => {
                let open = self.transactions();
                self.roll_back(which % open);
            }
            _ => {}
        }
    }

    pub fn remove(&mut self, cache: usize, id: u8) -> Answer {
        let ordinal = self.caches[cache].ordinal(id);
        if let Some(ordinal) = ordinal {
            self.caches[cache].blank(ordinal);
        }
        Answer::Truth(ordinal.is_some())
    }

    pub fn clear(&mut self, cache: usize) -> Answer {
        let ended = self.length(cache);
        self.caches[cache].forget_all();
        Answer::Count(ended)
    }

    pub fn renew(&mut self, cache: usize, id: u8) -> Answer {
        let places = &mut self.caches[cache];
        let ordinal = places.ordinal(id);
        if let Some(ordinal) = ordinal {
            let value = places.value(id);
            places.blank(ordinal);
            places.append(id, value);
        }
        Answer::Truth(ordinal.is_some())
    }

    pub fn contains(&self, cache: usize, id: u8) -> Answer {
        Answer::Truth(self.caches[cache].ordinal(id).is_some())
    }

    pub fn state(&self, cache: usize, id: u8) -> Answer {
        let places = &self.caches[cache];
        if let Some(ordinal) = places.ordinal(id) {
            return Answer::Duplicate(places.adds_left(ordinal));
        }
        // Also with capacity 0, which accepts what is pending.
        let owner = self.claims.holder((cache, id));
        owner.map_or(Answer::Absent, Answer::Pending)
    }

    pub fn length(&self, cache: usize) -> u64 {
        self.caches[cache].live().count() as u64
    }

    pub fn capacity(&self, cache: usize) -> u64 {
        self.caches[cache].capacity
    }

    /// The fingerprint of [`Model::recorded`].
    pub fn fingerprint(&self) -> u64 {
        self.recorded().fingerprint()
    }
}

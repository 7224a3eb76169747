//! Prepared transactions and bookmarks in the reference model.

use std::collections::BTreeMap;

use super::super::claims::Claims;
use super::super::recorded::{Answer, Beside, bookmark_name, bookmark_value, xid};
use super::{Change, Model, OpenTransaction, apply};

/// What a store keeps beside IDs.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    bookmarks: BTreeMap<u8, u8>,
    /// In the order prepared.
    in_doubt: Vec<(u8, OpenTransaction)>,
}

impl Model {
    pub fn transaction_bookmark(&mut self, which: usize, name: u8, value: u8) -> Answer {
        let changes = &mut self.transactions[which].changes;
        changes.push(Change::Bookmark { name, value });
        Answer::Done
    }

    pub fn set_bookmark(&mut self, name: u8, value: u8) -> Answer {
        self.kept.bookmarks.insert(name, value);
        Answer::Done
    }

    pub fn prepare(&mut self, which: usize, id: u8) -> Answer {
        if self.is_rejected(which) {
            self.roll_back(which);
            return Answer::Rejected;
        }
        if self.kept.in_doubt.iter().any(|(other, _)| *other == id) {
            self.roll_back(which);
            return Answer::Exists;
        }
        let mut transaction = self.transactions.swap_remove(which);
        for change in &mut transaction.changes {
            // A prepared remove ends what the transaction itself has added, and nothing else that
            // is known by then.
            if let Change::RemoveOwn { only_taken, .. } = change {
                *only_taken = true;
            }
        }
        let unstored = self.caches.iter().enumerate();
        let unstored = unstored.filter(|(_, places)| places.is_memory_only);
        transaction.unstored = unstored.map(|(cache, _)| cache).collect();
        self.kept.in_doubt.push((id, transaction));
        Answer::Done
    }

    pub fn resolve(&mut self, id: u8, is_commit: bool) -> Answer {
        let mut in_doubt = self.kept.in_doubt.iter();
        let Some(at) = in_doubt.position(|(other, _)| *other == id) else {
            return Answer::Resolved(false);
        };
        let (_, transaction) = self.kept.in_doubt.remove(at);
        if is_commit {
            self.commit_changes(&transaction.changes);
        }
        for (key, token) in transaction.claims {
            self.claims.settle(key, token);
        }
        Answer::Resolved(true)
    }

    /// Others had their say meanwhile: what is known by now is left as it is.
    pub(super) fn commit_changes(&mut self, changes: &[Change]) {
        apply(&mut self.caches, changes, |places, id| {
            places.ordinal(id).is_none()
        });
        for change in changes {
            if let Change::Bookmark { name, value } = change {
                self.kept.bookmarks.insert(*name, *value);
            }
        }
    }

    /// What a restart leaves of the claims.
    pub(super) fn claim_again(&mut self) {
        self.claims = Claims::default();
        for (_, transaction) in &mut self.kept.in_doubt {
            transaction.lose_unstored();
            for (key, token) in &mut transaction.claims {
                *token = self.claims.take(*key, transaction.owner, None);
            }
        }
    }

    /// Whether anything is taken, or may be about to be.
    pub fn has_claims(&self) -> bool {
        !(self.claims.is_empty() && self.transactions.is_empty() && self.kept.in_doubt.is_empty())
    }

    /// Whether a prepared transaction names this cache.
    pub(super) fn is_in_doubt(&self, cache: usize) -> bool {
        let mut in_doubt = self.kept.in_doubt.iter();
        in_doubt.any(|(_, transaction)| {
            let mut changes = transaction.changes.iter();
            changes.any(|change| change.cache() == Some(cache))
        })
    }

    /// What is pending after a restart, and not known as well: cache, ID and owner.
    pub fn pending(&self) -> Vec<(usize, u8, u64)> {
        let in_doubt = self.kept.in_doubt.iter();
        let pending = in_doubt.flat_map(|(_, transaction)| {
            let owner = transaction.owner;
            let claims = transaction.claims.iter();
            claims.map(move |((cache, id), _)| (*cache, *id, owner))
        });
        let is_known = |cache: usize, id| self.caches[cache].ordinal(id).is_some();
        let mut pending: Vec<_> = pending
            .filter(|(cache, id, _)| !is_known(*cache, *id))
            .collect();
        pending.sort_unstable();
        pending
    }

    pub fn beside(&self) -> Beside {
        let bookmarks = self.kept.bookmarks.iter();
        let in_doubt = self.kept.in_doubt.iter();
        Beside {
            bookmarks: bookmarks
                .map(|(name, value)| (bookmark_name(*name).to_vec(), bookmark_value(*value)))
                .collect(),
            in_doubt: in_doubt
                .map(|(id, transaction)| (xid(*id), transaction.owner))
                .collect(),
        }
    }
}

impl OpenTransaction {
    /// What is not in its record is gone with a restart.
    fn lose_unstored(&mut self) {
        let unstored = std::mem::take(&mut self.unstored);
        self.claims
            .retain(|((cache, _), _)| !unstored.contains(cache));
        for change in &mut self.changes {
            if change
                .cache()
                .is_some_and(|cache| unstored.contains(&cache))
            {
                *change = Change::Gone;
            }
        }
    }
}

impl Change {
    fn cache(&self) -> Option<usize> {
        match self {
            Change::Add { cache, .. }
            | Change::Remove { cache, .. }
            | Change::RemoveOwn { cache, .. } => Some(*cache),
            Change::Bookmark { .. } | Change::Gone => None,
        }
    }
}

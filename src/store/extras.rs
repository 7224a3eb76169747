//! What a store keeps beside IDs: bookmarks, and transactions that are prepared.
//!
//! Locks are taken in this order: addresses, these, the journal. What an open transaction holds in
//! its addresses (claims, places) is changed under the locks of those too.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::ids::{Ordinal, Owner, Position, SegmentNumber, Ticks};
use crate::record::{TransactionBody, commit_bytes, definition_bytes};
use crate::recovery::{Bookmark, Change, Configured};
use crate::store::address::{Address, Defined};

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) bookmarks: HashMap<Box<[u8]>, Bookmark>,
    /// The patterns that calls have set.
    pub(crate) configured: HashMap<Box<[u8]>, Configured>,
    pub(crate) in_doubt: HashMap<Box<[u8]>, InDoubt>,
    /// IDs of transactions that are being prepared.
    pub(crate) preparing: HashSet<Box<[u8]>>,
    /// The ordinals that commits have given, by where the prepare stands: its adds live there until
    /// they are carried.
    pub(crate) committed: BTreeMap<Position, Box<[Ordinal]>>,
    /// Addresses that transactions in doubt name, by number.
    pub(crate) named: HashMap<u32, Named>,
    /// Where the last resolution ends.
    pub(crate) last_resolved: Position,
    /// How many were in doubt when the store was opened; their tokens are the first ones.
    pub(crate) restored: u64,
}

/// A prepared transaction, and where it lives.
pub(crate) struct InDoubt {
    pub(crate) content: Arc<Content>,
    pub(crate) position: Position,
    pub(crate) record_bytes: u64,
    /// Bytes set aside for its commit.
    pub(crate) lasting_bytes: u64,
}

/// What a prepared transaction is.
pub(crate) struct Content {
    pub(crate) owner: Owner,
    pub(crate) time: Ticks,
    /// That of its claims.
    pub(crate) token: u64,
    pub(crate) addresses: Vec<Arc<Address>>,
    /// The number of each address, if its changes are in the record: those of an address that is in
    /// memory only are not.
    pub(crate) numbers: Vec<Option<u32>>,
    /// The changes in order; their addresses are places in `addresses`.
    pub(crate) changes: Vec<Change>,
}

/// What is kept of an address as long as a transaction in doubt names it.
#[derive(Default)]
pub(crate) struct Named {
    transactions: usize,
    /// Its last definition, if it was dropped since.
    ended: Option<Ended>,
}

/// The definition of an address that was dropped: what still tells its name.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) segment: SegmentNumber,
    pub(crate) bytes: u64,
}

impl Content {
    /// Its changes as a record has them.
    pub(crate) fn body(&self) -> TransactionBody {
        let mut body = TransactionBody::default();
        for change in self.changes.iter().filter(|one| self.is_recorded(one)) {
            body.push(change.element(|at| self.number_at(at).unwrap_or(0)));
        }
        body
    }

    /// Whether the change is in the record.
    pub(crate) fn is_recorded(&self, change: &Change) -> bool {
        change
            .address()
            .is_none_or(|at| self.number_at(at).is_some())
    }

    fn number_at(&self, at: u32) -> Option<u32> {
        let at = usize::try_from(at).ok()?;
        self.numbers.get(at).copied().flatten()
    }

    /// The most bytes that its commit may take, with definitions of addresses that are dropped
    /// meanwhile; and the longest of those records.
    pub(crate) fn commit_bytes(&self, id_bytes: usize) -> (u64, u64) {
        let is_add = |change: &&Change| matches!(change, Change::Add { .. });
        let adds = self.changes.iter().filter(is_add).count();
        let commit = commit_bytes(id_bytes, adds, true);
        let names = self.addresses.iter().map(|address| address.name.len());
        let definitions = names.map(|bytes| definition_bytes(bytes, true));
        definitions.fold((commit, commit), |(all, longest), bytes| {
            (all + bytes, longest.max(bytes))
        })
    }
}

impl Extras {
    /// The oldest segment in which one of them lives; the highest number if there is none.
    pub(crate) fn oldest(&self) -> SegmentNumber {
        let bookmarks = self.bookmarks.values().map(|bookmark| bookmark.segment);
        let in_doubt = self.in_doubt.values().map(|doubt| doubt.position.segment());
        let committed = self.committed.keys().next().map(|at| at.segment());
        let ended = self.named.values().filter_map(|named| named.ended);
        let configured = self.configured.values().map(|pattern| pattern.segment);
        bookmarks
            .chain(configured)
            .chain(in_doubt)
            .chain(committed)
            .chain(ended.map(|ended| ended.segment))
            .min()
            .unwrap_or(SegmentNumber::MAX)
    }

    /// A transaction in doubt names the address of this number.
    pub(crate) fn name(&mut self, number: u32) {
        self.named.entry(number).or_default().transactions += 1;
    }

    pub(crate) fn is_named(&self, number: u32) -> bool {
        self.named.contains_key(&number)
    }

    /// A transaction that names it was resolved: what was kept of it, if this was the last one.
    pub(crate) fn unname(&mut self, number: u32) -> Option<Named> {
        let named = self.named.get_mut(&number)?;
        named.transactions = named.transactions.saturating_sub(1);
        match named.transactions {
            0 => self.named.remove(&number),
            _ => None,
        }
    }

    /// The address was dropped; its definition stays as long as it is named.
    pub(crate) fn end_name(&mut self, number: u32, defined: &Defined) {
        let ended = Ended {
            segment: defined.segment,
            bytes: defined.bytes,
        };
        self.keep_name(number, ended);
    }

    /// The same, of a definition that recovery found.
    pub(crate) fn keep_name(&mut self, number: u32, ended: Ended) {
        if let Some(named) = self.named.get_mut(&number) {
            named.ended = Some(ended);
        }
    }

    pub(crate) fn ended(&self, number: u32) -> Option<Ended> {
        self.named.get(&number)?.ended
    }

    /// The address has a definition again.
    pub(crate) fn forget_ended(&mut self, number: u32) {
        if let Some(named) = self.named.get_mut(&number) {
            named.ended = None;
        }
    }

    /// Sets a bookmark whose bytes are in `segment`; by how much that changes what lives, beside
    /// its own bytes.
    pub(crate) fn set_bookmark(&mut self, name: &[u8], bookmark: Bookmark) -> u64 {
        let before = self.bookmarks.insert(Box::from(name), bookmark);
        before.map_or(0, |before| before.record_bytes)
    }
}

impl Extras {
    /// Bytes of all that lives of them in the journal; the adds of commits are not theirs.
    pub(crate) fn live_bytes(&self) -> u64 {
        let bookmarks = self
            .bookmarks
            .values()
            .map(|bookmark| bookmark.record_bytes);
        let in_doubt = self.in_doubt.values().map(|doubt| doubt.record_bytes);
        let ended = self.named.values().map(Named::ended_bytes);
        bookmarks.chain(in_doubt).chain(ended).sum()
    }

    /// What each transaction in doubt needs for its commit, with the longest record of that.
    pub(crate) fn lasting_bytes(&self) -> Vec<(u64, u64)> {
        let in_doubt = self.in_doubt.iter();
        let bytes = in_doubt.map(|(id, doubt)| doubt.content.commit_bytes(id.len()));
        bytes.collect()
    }
}

impl Named {
    pub(crate) fn ended_bytes(&self) -> u64 {
        self.ended.map_or(0, |ended| ended.bytes)
    }
}

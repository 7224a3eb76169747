//! The first half of a transaction in two halves: everything recorded, nothing done yet. And the
//! bookmarks of a transaction.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cache::Forgotten;
use crate::error::{Bytes, Error, Result};
use crate::format::{TRANSACTION_ID_BYTES_MAX, UNIT_BYTES};
use crate::ids::{Ordinal, Position};
use crate::journal::{Journal, Purpose, Refused, Standing};
use crate::receipt::Receipt;
use crate::record::{Record, TransactionBody, encoded_bytes, transaction_bytes};
use crate::recovery::Change;
use crate::store::adding::{Attempt, Placed, signed};
use crate::store::address::{Address, lock_all};
use crate::store::bookmarks::check_name;
use crate::store::extras::{Content, InDoubt};
use crate::store::prepared::Prepared;
use crate::store::transact::Transaction;
use crate::transaction::{Gathered, What};

/// What a prepare has more than a transaction of the same changes: its owner, and the length of its
/// ID.
const HEAD_BYTES: u64 = 8 + 4;

impl Transaction {
    /// Sets a bookmark, when the transaction commits.
    ///
    /// # Errors
    ///
    /// As [`add`](Transaction::add).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner};
    /// let orders = store.cache("orders")?;
    /// let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
    /// let _ = batch.add(&orders, "a")?;
    /// batch.bookmark("messages", "offset 4096")?;
    /// batch.commit().wait()?;
    /// assert_eq!(store.bookmark("messages").as_deref(), Some(&b"offset 4096"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn bookmark(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (name, value) = (name.as_ref(), value.as_ref());
        let shared = Arc::clone(&self.handle.shared);
        shared.check()?;
        check_name(name)?;
        let bytes = TransactionBody::bookmark_bytes(name, value) as u64;
        shared.with_room(Purpose::Ordinary, || {
            self.set_aside(bytes, 0)?;
            Ok((((), None), false))
        })?;
        self.gathered.bookmark(name, value);
        Ok(())
    }

    /// Records everything under an ID of the caller's, to be committed or rolled back later: by
    /// the handle, or after any number of restarts by [`Store::find_prepared`].
    ///
    /// Meanwhile its IDs are pending, with the owner of this transaction; they neither age nor are
    /// pushed out. The space for the commit is set aside now. The receipt also covers the sync of
    /// every duplicate that was answered.
    ///
    /// Whatever the answer, this transaction is over: if it is an error it was rolled back.
    ///
    /// # Errors
    ///
    /// Of the receipt: [`Error::TransactionExists`] if one with this ID is prepared;
    /// [`Error::Rejected`] if the transaction was begun to reject and met a duplicate;
    /// [`Error::NoSpace`] for this record or the commit; [`Error::Limit`] if the ID is too long, or
    /// the record would be; [`Error::OutcomeUnknown`], [`Error::Poisoned`], [`Error::Closed`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner, Resolved};
    /// let orders = store.cache("orders")?;
    /// let mut branch = store.begin(OnDuplicate::Reject, Owner(7));
    /// let _ = branch.add(&orders, "order-1842")?;
    /// let prepared = branch.prepare("xid-1").wait()?;
    /// assert_eq!(orders.add("order-1842")?, Outcome::Pending(Owner(7)));
    /// assert_eq!(prepared.commit().wait()?, Resolved::Done);
    /// assert!(orders.contains("order-1842")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Store::find_prepared`]: crate::Store::find_prepared
    pub fn prepare(mut self, id: impl AsRef<[u8]>) -> Receipt<Prepared> {
        let id = id.as_ref();
        let shared = Arc::clone(&self.handle.shared);
        match self.prepared(id) {
            Ok((prepared, position)) => shared.receipt(Ok(prepared), position),
            Err(error) => Receipt::failed(error),
        }
    }

    fn prepared(&mut self, id: &[u8]) -> Result<Placed<Prepared>> {
        if let Some(error) = self.rejected.take() {
            return Err(error);
        }
        let shared = Arc::clone(&self.handle.shared);
        shared.check()?;
        let (max, actual) = (TRANSACTION_ID_BYTES_MAX as u64, id.len() as u64);
        if actual > max {
            let limit = "bytes of a transaction's ID";
            return Err(Error::Limit { limit, max, actual });
        }
        {
            let mut extras = shared.extras.lock();
            if extras.in_doubt.contains_key(id) || !extras.preparing.insert(Box::from(id)) {
                let id = Bytes::from(id);
                return Err(Error::TransactionExists { id });
            }
        }
        let placed = self.record_prepare(id);
        shared.extras.lock().preparing.remove(id);
        placed
    }

    /// Sets aside what the commit needs, then records.
    fn record_prepare(&mut self, id: &[u8]) -> Result<Placed<Prepared>> {
        let shared = Arc::clone(&self.handle.shared);
        let mut lasting_bytes = 0;
        if let Some(journal) = &shared.journal {
            // Nothing is left out yet: this is the most that it can be.
            let content = self.content(|_, _| true);
            let (lasting, longest) = content.commit_bytes(id.len());
            let own = HEAD_BYTES + id.len() as u64 + UNIT_BYTES as u64;
            let whole = prepare_bytes(&content, id).max(longest);
            shared.with_room(Purpose::Ordinary, || {
                self.claim_frame(journal)?;
                journal.claim_with_lasting(own, lasting, whole)?;
                Ok((((), None), false))
            })?;
            self.claimed_bytes += own;
            lasting_bytes = lasting;
        }
        let mut forgotten = Vec::new();
        let placed = shared.with_room(Purpose::Within, || {
            self.prepare_locked(id, lasting_bytes, &mut forgotten)
        });
        drop(forgotten);
        if let (Err(_), Some(journal)) = (&placed, &shared.journal) {
            journal.unclaim_lasting(lasting_bytes);
        }
        let (content, position) = placed?;
        let prepared = Prepared::new(Arc::clone(&self.handle), id, &content);
        Ok((prepared, position.max(self.covers)))
    }

    /// Without a change nothing was set aside yet, not even for the frame.
    fn claim_frame(&mut self, journal: &Journal) -> std::result::Result<(), Refused> {
        if self.claimed_bytes == 0 {
            let bytes = transaction_bytes(0, true) + 16;
            journal.claim(bytes, bytes)?;
            self.claimed_bytes = bytes;
        }
        Ok(())
    }

    fn prepare_locked(
        &mut self,
        id: &[u8],
        lasting_bytes: u64,
        forgotten: &mut Vec<Forgotten>,
    ) -> Attempt<Arc<Content>> {
        let shared = Arc::clone(&self.handle.shared);
        let addresses = self.addresses.clone();
        let mut states = lock_all(&addresses);
        *forgotten = shared.expire_all(&mut states);
        // What was forgotten meanwhile can never come back, and its removal says nothing.
        let mut content = self.content(|at, ordinal| {
            let state = states.get(at);
            state.is_some_and(|state| state.cache.is_live(ordinal))
        });
        if shared.journal.is_some() {
            for address in &content.addresses {
                let is_it = |other: &Arc<Address>| Arc::ptr_eq(other, address);
                let at = addresses.iter().position(is_it);
                let Some(state) = at.and_then(|at| states.get_mut(at)) else {
                    continue;
                };
                content.numbers.push(match state.is_memory_only {
                    true => None,
                    false => Some(shared.defined_number(address, state, Purpose::Within)?),
                });
            }
        }
        let mut extras = shared.extras.lock();
        let mut placed = (None, false);
        let (mut position, mut record_bytes) = (Position::default(), 0);
        if let Some(journal) = &shared.journal {
            let body = content.body();
            let record = prepare_record(&content, id, &body);
            let purpose = Purpose::Claimed(self.claimed_bytes);
            let appended = journal.append(&record, Standing::Alone, purpose, signed)?;
            self.claimed_bytes = 0;
            (position, record_bytes) = (appended.begin(), appended.bytes);
            placed = (Some(appended.end), appended.is_owing);
        }
        for number in content.numbers.iter().flatten() {
            extras.name(*number);
        }
        let content = Arc::new(content);
        let doubt = InDoubt {
            content: Arc::clone(&content),
            position,
            record_bytes,
            lasting_bytes,
        };
        extras.in_doubt.insert(Box::from(id), doubt);
        // The claims are the prepared transaction's from now on.
        self.gathered = Gathered::default();
        Ok(((content, placed.0), placed.1))
    }

    /// What was gathered, but for removals of places that are not to be kept.
    fn content(&self, is_kept: impl Fn(usize, Ordinal) -> bool) -> Content {
        let mut content = Content {
            owner: self.owner,
            time: self.handle.shared.now(),
            token: self.token,
            addresses: Vec::new(),
            numbers: Vec::new(),
            changes: Vec::new(),
        };
        let mut places = HashMap::new();
        for change in self.gathered.changes() {
            let mut place = || {
                *places.entry(change.address).or_insert_with(|| {
                    let address = self.addresses.get(change.address).cloned();
                    content.addresses.extend(address);
                    u32::try_from(content.addresses.len() - 1).unwrap_or(u32::MAX)
                })
            };
            match change.what {
                What::Add {
                    start,
                    end,
                    is_removed,
                    ..
                } => {
                    let address = place();
                    content.changes.push(Change::Add {
                        address,
                        value: Box::default(),
                        id: Box::from(self.gathered.bytes(start, end)),
                        is_hole: is_removed,
                    });
                }
                What::Remove { ordinal } if is_kept(change.address, ordinal) => {
                    let address = place();
                    content.changes.push(Change::Remove { address, ordinal });
                }
                What::Bookmark { start, middle, end } => {
                    content.changes.push(Change::Bookmark {
                        name: Box::from(self.gathered.bytes(start, middle)),
                        value: Box::from(self.gathered.bytes(middle, end)),
                    });
                }
                What::Remove { .. } | What::RemoveOwn { .. } => {}
            }
        }
        content
    }
}

fn prepare_record<'a>(content: &Content, id: &'a [u8], body: &'a TransactionBody) -> Record<'a> {
    Record::Prepare {
        time: content.time,
        owner: content.owner,
        transaction: id,
        elements: body.elements(),
    }
}

/// The most that the record may have: with the changes of every address.
fn prepare_bytes(content: &Content, id: &[u8]) -> u64 {
    let mut body = TransactionBody::default();
    for change in &content.changes {
        body.push(change.element(|at| at));
    }
    encoded_bytes(&prepare_record(content, id, &body), true)
}

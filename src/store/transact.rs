//! The public transaction: gathers, and records all of it as one record at commit.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::claim::Claim;
use crate::error::{Bytes, Error, RejectedBecause, Result};
use crate::ids::{Owner, Position};
use crate::journal::{Purpose, Refused};
use crate::receipt::Receipt;
use crate::record::{TransactionBody, definition_bytes, transaction_bytes};
use crate::store::Handle;
use crate::store::adding::Outcome;
use crate::store::address::{Address, AddressState, Seen};
use crate::store::handle::Cache;
use crate::transaction::{Gathered, OnDuplicate, Sight};

/// Changes over any addresses of a store that are all known afterwards, or none.
///
/// Inside it each call answers as if the calls before it had been made one by one, own evictions
/// included; others see what it adds as pending until it commits. Dropping it rolls back, which
/// changes nothing.
///
/// # Examples
///
/// ```
/// # fn main() -> idjournal::Result<()> {
/// use idjournal::{OnDuplicate, Options, Owner, Store};
/// let store = Store::in_memory(Options::default())?;
/// let (orders, bills) = (store.cache("orders")?, store.cache("bills")?);
/// let mut both = store.begin(OnDuplicate::Reject, Owner(7));
/// let _ = both.add(&orders, "order-1842")?;
/// let _ = both.add(&bills, "bill-77")?;
/// assert!(!orders.contains("order-1842")?);
/// both.commit().wait()?;
/// assert!(orders.contains("order-1842")? && bills.contains("bill-77")?);
/// # Ok(())
/// # }
/// ```
pub struct Transaction {
    pub(super) handle: Arc<Handle>,
    on_duplicate: OnDuplicate,
    pub(super) owner: Owner,
    pub(super) token: u64,
    pub(super) gathered: Gathered,
    pub(super) addresses: Vec<Arc<Address>>,
    /// Where each address stands among them.
    places: HashMap<usize, usize>,
    /// Bytes of the elements gathered so far.
    pub(super) element_bytes: u64,
    /// Bytes set aside in the journal.
    pub(super) claimed_bytes: u64,
    pub(super) rejected: Option<Error>,
    /// Up to where every duplicate that it answered must be durable.
    pub(super) covers: Option<Position>,
}

impl Transaction {
    pub(crate) fn begin(
        handle: Arc<Handle>,
        on_duplicate: OnDuplicate,
        owner: Owner,
    ) -> Transaction {
        let token = handle.shared.token();
        Transaction {
            handle,
            on_duplicate,
            owner,
            token,
            gathered: Gathered::default(),
            addresses: Vec::new(),
            places: HashMap::new(),
            element_bytes: 0,
            claimed_bytes: 0,
            rejected: None,
            covers: None,
        }
    }

    /// Adds `id` to `cache`, when the transaction commits.
    ///
    /// # Errors
    ///
    /// - [`Error::Limit`]: the ID is too long, or the transaction would be larger than a quarter
    ///   of a segment. It is unchanged and may be committed as it is.
    /// - [`Error::NoSpace`]: the same; its space is set aside here, never at commit.
    /// - [`Error::ForeignCache`]: the cache is another store's.
    /// - [`Error::Poisoned`], [`Error::Closed`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner};
    /// let orders = store.cache("orders")?;
    /// let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
    /// assert_eq!(batch.add(&orders, "a")?, Outcome::Added);
    /// assert!(matches!(batch.add(&orders, "a")?, Outcome::Duplicate(_)), "as if one by one");
    /// assert_eq!(orders.add("a")?, Outcome::Pending(Owner(7)), "others see it pending");
    /// # Ok(())
    /// # }
    /// ```
    pub fn add(&mut self, cache: &Cache, id: impl AsRef<[u8]>) -> Result<Outcome> {
        let id = id.as_ref();
        let shared = Arc::clone(&self.check(cache, id)?.shared);
        let hash = shared.hash(id);
        let at = self.place_of(&cache.address);
        let placed = shared.with_room(Purpose::Ordinary, || {
            let mut state = shared.lock(&cache.address);
            let outcome = self.sight(&state, at, hash, id);
            let position = match outcome {
                Outcome::Duplicate(seen) => {
                    shared.duplicate(&cache.address, &mut state, id, seen);
                    shared.unsynced(&state, seen.ordinal)
                }
                Outcome::Pending(_) => {
                    state.figures.count().pending += 1;
                    None
                }
                Outcome::Added if state.cache.capacity() == 0 => None,
                Outcome::Added => {
                    self.gather(&mut state, at, hash, id)?;
                    None
                }
            };
            Ok(((outcome, position), false))
        })?;
        let (outcome, position) = placed;
        self.covers = self.covers.max(position);
        let because = match outcome {
            Outcome::Added => return Ok(outcome),
            Outcome::Duplicate(_) => RejectedBecause::Known,
            Outcome::Pending(owner) => RejectedBecause::Pending(owner),
        };
        if self.on_duplicate == OnDuplicate::Reject && self.rejected.is_none() {
            let (address, id) = (Bytes::from(&*cache.address.name), Bytes::from(id));
            self.rejected = Some(Error::Rejected {
                address,
                id,
                state: because,
            });
        }
        Ok(outcome)
    }

    /// Removes `id` from `cache` when the transaction commits; whether it is known, as seen from
    /// inside.
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
    /// let _ = orders.add("a")?;
    /// assert!(batch.remove(&orders, "a")?);
    /// assert!(orders.contains("a")?, "until the commit");
    /// batch.commit().wait()?;
    /// assert!(!orders.contains("a")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&mut self, cache: &Cache, id: impl AsRef<[u8]>) -> Result<bool> {
        let id = id.as_ref();
        let shared = Arc::clone(&self.check(cache, id)?.shared);
        let hash = shared.hash(id);
        let at = self.place_of(&cache.address);
        let (is_known, position) = shared.with_room(Purpose::Ordinary, || {
            let state = shared.lock(&cache.address);
            let sight = self.gathered.sight(at, &state.cache, hash, id);
            if sight == Sight::Absent {
                return Ok(((false, shared.last_change(&state)), false));
            }
            self.set_aside(TransactionBody::REMOVE_BYTES as u64, 0)?;
            self.gathered.remove(at, sight);
            Ok(((true, None), false))
        })?;
        self.covers = self.covers.max(position);
        Ok(is_known)
    }

    /// Why this transaction will be rejected, if it will.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner};
    /// let orders = store.cache("orders")?;
    /// let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
    /// let _ = orders.add("a")?;
    /// let _ = batch.add(&orders, "a")?;
    /// assert!(batch.rejected().is_some());
    /// assert!(batch.commit().wait().is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn rejected(&self) -> Option<&Error> {
        self.rejected.as_ref()
    }

    /// Records everything as one record. IDs take their place and time now, in the order added.
    ///
    /// The receipt, also of an empty transaction, covers the sync of every duplicate that was
    /// answered. It never fails for want of space.
    ///
    /// # Errors
    ///
    /// Of the receipt: [`Error::Rejected`] if the transaction was begun to reject and met a
    /// duplicate; [`Error::OutcomeUnknown`] if the write or the sync failed; [`Error::Poisoned`],
    /// [`Error::Closed`], [`Error::Forked`]. But for "outcome unknown" nothing was recorded.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner};
    /// let orders = store.cache("orders")?;
    /// let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
    /// let _ = (batch.add(&orders, "a")?, batch.add(&orders, "b")?);
    /// batch.commit().wait()?;
    /// assert_eq!(orders.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn commit(mut self) -> Receipt<()> {
        if let Some(error) = self.rejected.take() {
            return Receipt::failed(error);
        }
        let shared = Arc::clone(&self.handle.shared);
        if let Err(error) = shared.check() {
            return Receipt::failed(error);
        }
        if self.gathered.is_empty() {
            return shared.receipt(Ok(()), self.covers);
        }
        match shared.with_room(Purpose::Within, || self.settle()) {
            Ok(((), position)) => shared.receipt(Ok(()), position.max(self.covers)),
            Err(error) => Receipt::failed(error),
        }
    }

    /// Gives everything up; nothing was changed, and nothing is.
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
    /// batch.rollback();
    /// assert_eq!(orders.add("a")?, Outcome::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rollback(self) {}

    fn check<'a>(&self, cache: &'a Cache, id: &[u8]) -> Result<&'a Handle> {
        if !Arc::ptr_eq(&self.handle, &cache.handle) {
            return Err(Error::ForeignCache {
                address: Bytes::from(&*cache.address.name),
            });
        }
        cache.handle.shared.check()?;
        cache.handle.shared.check_id(id)?;
        Ok(&cache.handle)
    }

    /// The place of `address` among those of this transaction.
    fn place_of(&mut self, address: &Arc<Address>) -> usize {
        let key = Arc::as_ptr(address).addr();
        match self.places.entry(key) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                self.addresses.push(Arc::clone(address));
                *place.insert(self.gathered.add_view())
            }
        }
    }

    /// What an add of `id` would answer now.
    fn sight(&self, state: &AddressState, at: usize, hash: u64, id: &[u8]) -> Outcome {
        let capacity = state.cache.capacity();
        if capacity == 0 {
            return Outcome::Added;
        }
        let adds = self.gathered.adds(at);
        match self.gathered.sight(at, &state.cache, hash, id) {
            Sight::Known(ordinal) => {
                let seen = state.seen(ordinal);
                let adds_left = seen.adds_left.saturating_sub(adds);
                Outcome::Duplicate(Seen { adds_left, ..seen })
            }
            Sight::Own { index, .. } => {
                let ordinal = crate::ids::Ordinal(state.cache.next().0 - 1 + index);
                let (time, adds_left) = (self.handle.shared.now(), capacity - (adds - index));
                let expires = state.cache.expiry(time);
                Outcome::Duplicate(Seen {
                    ordinal,
                    time,
                    adds_left,
                    expires,
                })
            }
            Sight::Absent if self.gathered.has_claimed(at, hash, id) => Outcome::Added,
            Sight::Absent => {
                let owner = self.handle.shared.holder(state, hash, id);
                owner.map_or(Outcome::Added, Outcome::Pending)
            }
        }
    }

    /// Claims `id` and gathers its add.
    fn gather(
        &mut self,
        state: &mut AddressState,
        at: usize,
        hash: u64,
        id: &[u8],
    ) -> std::result::Result<(), Refused> {
        let bytes = TransactionBody::add_bytes(id.len(), None) as u64;
        let is_first = self.gathered.adds(at) == 0;
        let name_bytes = self
            .addresses
            .get(at)
            .map_or(0, |address| address.name.len());
        let definition = if is_first {
            definition_bytes(name_bytes, true)
        } else {
            0
        };
        if let (Some(_), Some(address)) = (&self.handle.shared.journal, self.addresses.get(at)) {
            self.handle.shared.number(address, state)?;
        }
        self.set_aside(bytes, definition)?;
        if !self.gathered.has_claimed(at, hash, id) {
            let (owner, token) = (self.owner, self.token);
            let claim = Claim {
                owner,
                token,
                journal_bytes: 0,
                lease_end: None,
            };
            // Nobody has it, or the lease is over: that was asked under the same lock.
            self.handle.shared.take_over(state, hash, id);
            let _ = state.claims.claim(hash, id, claim);
        }
        self.gathered.add(at, hash, id);
        Ok(())
    }

    /// Sets space aside for an element of `bytes`, and for what else it needs.
    pub(super) fn set_aside(
        &mut self,
        bytes: u64,
        beside: u64,
    ) -> std::result::Result<(), Refused> {
        let Some(journal) = &self.handle.shared.journal else {
            return Ok(());
        };
        let elements = usize::try_from(self.element_bytes + bytes).unwrap_or(usize::MAX);
        let whole = transaction_bytes(elements, true);
        let max = journal.record_bytes_max();
        if whole > max {
            return Err(Error::Limit {
                limit: "bytes of a transaction",
                max,
                actual: whole,
            }
            .into());
        }
        let frame = if self.element_bytes == 0 {
            transaction_bytes(0, true) + 16
        } else {
            0
        };
        let claimed = bytes + beside + frame;
        journal.claim(claimed, whole.max(beside))?;
        self.claimed_bytes += claimed;
        self.element_bytes += bytes;
        Ok(())
    }
}

//! Reservations: an ID claimed first, and recorded when its message is handled.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::claim::Claim;
use crate::error::{Bytes, Result};
use crate::ids::{Ordinal, Owner};
use crate::journal::Purpose;
use crate::mutant::{self, Mutant};
use crate::receipt::Receipt;
use crate::store::Handle;
use crate::store::address::{Address, AddressState, Seen};
use crate::store::handle::Cache;

/// What became of a reservation.
#[derive(Debug)]
#[must_use = "dropping a reservation releases its claim"]
pub enum Reserve {
    /// The ID is claimed; handle the message, then confirm.
    Reserved(Reservation),
    /// It is known. The receipt waits for what makes that durable.
    Duplicate(Receipt<Seen>),
    /// It is claimed by this owner.
    Pending(Owner),
}

/// What became of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a lost lease means that somebody else may have handled the message too"]
pub enum Confirmed {
    /// The ID is recorded.
    Recorded,
    /// The lease was over and somebody else has taken the claim; nothing was recorded.
    LeaseLost,
}

/// A claim on an ID, released when dropped.
pub struct Reservation {
    handle: Arc<Handle>,
    address: Arc<Address>,
    hash: u64,
    id: Box<[u8]>,
    /// None if there is nothing to settle: the cache stores nothing, or it is done.
    token: Option<u64>,
}

impl Reservation {
    pub(crate) fn take(
        cache: &Cache,
        id: &[u8],
        owner: Owner,
        lease: Option<Duration>,
    ) -> Result<Reserve> {
        let shared = &cache.handle.shared;
        shared.check()?;
        shared.check_id(id)?;
        let hash = shared.hash(id);
        let lease_end = lease.map(|lease| shared.timeline.monotonic().saturating_add(lease));
        let (bytes, longest) = match &shared.journal {
            Some(_) => shared.claim_bytes(&cache.address, id.len()),
            None => (0, 0),
        };
        let (taken, position) = shared.with_room(Purpose::Ordinary, || {
            let mut state = shared.lock(&cache.address);
            if state.cache.capacity() == 0 {
                return Ok(((Taken::Claimed(None), None), false));
            }
            if let Some(ordinal) = state.cache.find(hash, id) {
                let seen = state.seen(ordinal);
                shared.duplicate(&cache.address, &mut state, id, seen);
                let position = shared.unsynced(&state, ordinal);
                return Ok(((Taken::Known(seen), position), false));
            }
            if let Some(owner) = shared.holder(&state, hash, id) {
                state.figures.count().pending += 1;
                return Ok(((Taken::Pending(owner), None), false));
            }
            if mutant::is(Mutant::TakenInTwoSteps) {
                drop(state);
                std::thread::yield_now();
                state = shared.lock(&cache.address);
            }
            if let Some(journal) = &shared.journal {
                shared.number(&cache.address, &mut state)?;
                journal.claim(bytes, longest)?;
            }
            shared.take_over(&mut state, hash, id);
            let token = shared.token();
            let claim = Claim {
                owner,
                token,
                journal_bytes: bytes,
                lease_end,
            };
            let taken = match state.claims.claim(hash, id, claim) {
                Ok(()) => {
                    if mutant::is(Mutant::EvictAtReserve) {
                        state.evict_early();
                    }
                    Taken::Claimed(Some(token))
                }
                Err(owner) => Taken::Pending(owner),
            };
            Ok(((taken, None), false))
        })?;
        Ok(match taken {
            Taken::Claimed(token) => Reserve::Reserved(Reservation {
                handle: Arc::clone(&cache.handle),
                address: Arc::clone(&cache.address),
                hash,
                id: Box::from(id),
                token,
            }),
            Taken::Known(seen) => Reserve::Duplicate(shared.receipt(Ok(seen), position)),
            Taken::Pending(owner) => Reserve::Pending(owner),
        })
    }

    pub(crate) fn take_up(cache: &Cache, id: &[u8], owner: Owner) -> Option<Reservation> {
        let shared = &cache.handle.shared;
        let hash = shared.hash(id);
        let token = cache.address.state.lock().claims.take_up(hash, id, owner)?;
        Some(Reservation {
            handle: Arc::clone(&cache.handle),
            address: Arc::clone(&cache.address),
            hash,
            id: Box::from(id),
            token: Some(token),
        })
    }

    /// The ID that is claimed.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, Reserve};
    /// let orders = store.cache("orders")?;
    /// let Reserve::Reserved(claim) = orders.reserve("order-1842")? else { return Ok(()) };
    /// assert_eq!(claim.id(), b"order-1842");
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Records the ID: from now on it is known. Its space was set aside when it was claimed, so
    /// that this never fails for want of space.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`Cache::add`], but never for want of space or for a limit. A lost
    /// lease is no error.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Confirmed, Reserve};
    /// let orders = store.cache("orders")?;
    /// if let Reserve::Reserved(claim) = orders.reserve("order-1842")? {
    ///     assert_eq!(claim.confirm().wait()?, Confirmed::Recorded);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn confirm(self) -> Receipt<Confirmed> {
        self.record(&[])
    }

    /// Records the ID as [`confirm`](Reservation::confirm) does, and keeps up to 255 bytes with it:
    /// a stored reply, or a fingerprint of the message, so that the same ID with another content
    /// can be told apart. [`Cache::value`] gives them back, as long as the ID is known.
    ///
    /// Its space was set aside too. A value of no bytes is none.
    ///
    /// # Errors
    ///
    /// Of the receipt: [`Error::Limit`](crate::Error::Limit) if the value is longer, or with its ID
    /// does not fit a record, a quarter of a segment; the claim is then given up. Else as
    /// [`confirm`](Reservation::confirm).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Confirmed, Reserve};
    /// let orders = store.cache("orders")?;
    /// if let Reserve::Reserved(claim) = orders.reserve("order-1842")? {
    ///     assert_eq!(claim.confirm_with("accepted").wait()?, Confirmed::Recorded);
    /// }
    /// let mut reply = Vec::new();
    /// assert!(orders.value("order-1842", &mut reply)?);
    /// assert_eq!(reply, b"accepted");
    /// # Ok(())
    /// # }
    /// ```
    pub fn confirm_with(self, value: impl AsRef<[u8]>) -> Receipt<Confirmed> {
        let value = value.as_ref();
        let shared = &self.handle.shared;
        if let Err(error) = shared.check_value(self.id.len(), value.len()) {
            return Receipt::failed(error);
        }
        self.record(value)
    }

    fn record(mut self, value: &[u8]) -> Receipt<Confirmed> {
        let shared = &self.handle.shared;
        if let Err(error) = shared.check() {
            return Receipt::failed(error);
        }
        let Some(token) = self.token else {
            let mut state = self.address.state.lock();
            let counts = state.figures.count();
            (counts.confirmed, counts.unplaced) = (counts.confirmed + 1, counts.unplaced + 1);
            return shared.receipt(Ok(Confirmed::Recorded), None);
        };
        let placed = shared.with_room(Purpose::Within, || {
            let mut state = shared.lock(&self.address);
            let is_own =
                |claim: &Claim| claim.token == token || mutant::is(Mutant::LostLeaseConfirmed);
            let claim = state.claims.get(self.hash, &self.id).filter(is_own);
            let Some(claim) = claim else {
                state.figures.count().leases_lost += 1;
                return Ok(((Confirmed::LeaseLost, None), false));
            };
            if state.cache.capacity() == 0 {
                shared.unclaim(&mut state, self.hash, &self.id, token);
                let counts = state.figures.count();
                (counts.confirmed, counts.unplaced) = (counts.confirmed + 1, counts.unplaced + 1);
                return Ok(((Confirmed::Recorded, None), false));
            }
            let purpose = Purpose::Claimed(claim.journal_bytes);
            let what = (self.hash, &*self.id, value);
            let (appended, _) = shared.record(&self.address, &mut state, what, purpose)?;
            state.figures.count().confirmed += 1;
            // What was set aside went into the record.
            shared.settle_claim(&mut state, self.hash, &self.id, token);
            let is_owing = appended.is_some_and(|appended| appended.is_owing);
            Ok((
                (Confirmed::Recorded, appended.map(|appended| appended.end)),
                is_owing,
            ))
        });
        match placed {
            Ok((confirmed, position)) => {
                self.token = None;
                shared.receipt(Ok(confirmed), position)
            }
            Err(error) => Receipt::failed(error),
        }
    }

    /// Gives the claim a new lease from now on; whether it is still held.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, Reserve};
    /// let orders = store.cache("orders")?;
    /// let Reserve::Reserved(claim) = orders.reserve("order-1842")? else { return Ok(()) };
    /// assert!(claim.renew(std::time::Duration::from_secs(30)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn renew(&self, lease: Duration) -> bool {
        let Some(token) = self.token else { return true };
        let shared = &self.handle.shared;
        let end = shared.timeline.monotonic().saturating_add(lease);
        let renewed = {
            let mut state = self.address.state.lock();
            state.claims.renew(self.hash, &self.id, token, end)
        };
        let is_held = renewed.is_some();
        let is_told = !mutant::is(Mutant::RenewalWakesNobody);
        if let Some(waiters) = renewed.filter(|waiters| !waiters.is_empty() && is_told) {
            // They look at the new end.
            shared.waits.ended(&waiters);
            shared.waits.wake_due();
        }
        is_held
    }

    /// Keeps the claim without this guard; its owner may take it up again with [`Cache::held`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, Reserve};
    /// let orders = store.cache("orders")?;
    /// let Reserve::Reserved(claim) = orders.reserve("order-1842")? else { return Ok(()) };
    /// claim.keep();
    /// assert!(matches!(orders.reserve("order-1842")?, Reserve::Pending(Owner::NOBODY)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn keep(mut self) {
        if let Some(token) = self.token.take() {
            let mut state = self.address.state.lock();
            state.claims.keep(self.hash, &self.id, token);
        }
    }

    /// Gives the claim up: others may have the ID. Dropping does the same.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, Reserve};
    /// let orders = store.cache("orders")?;
    /// let Reserve::Reserved(claim) = orders.reserve("order-1842")? else { return Ok(()) };
    /// claim.release();
    /// assert!(matches!(orders.reserve("order-1842")?, Reserve::Reserved(_)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn release(self) {}
}

enum Taken {
    Claimed(Option<u64>),
    Known(Seen),
    Pending(Owner),
}

impl AddressState {
    /// Lets go of what the next add will push out: a seeded bug.
    fn evict_early(&mut self) {
        let (next, capacity) = (self.cache.next().0, self.cache.capacity());
        self.cache.remove(Ordinal(next.saturating_sub(capacity)));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        if let (Some(token), Ok(())) = (self.token, shared.check_process()) {
            let mut state = self.address.state.lock();
            if shared.unclaim(&mut state, self.hash, &self.id, token) {
                state.figures.count().released += 1;
            }
            drop(state);
            if !mutant::is(Mutant::ReleaseWakesNobody) {
                shared.waits.wake_due();
            }
            shared.registry.let_go(&self.address);
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = Bytes::from(self.id());
        formatter
            .debug_struct("Reservation")
            .field("id", &id)
            .finish_non_exhaustive()
    }
}

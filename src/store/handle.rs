//! The public handle of one cache.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::ids::Owner;
use crate::receipt::Receipt;
use crate::store::Handle;
use crate::store::adding::Outcome;
use crate::store::address::Address;
use crate::store::awaiting::Settled;
use crate::store::reservation::{Reservation, Reserve};
use crate::store::setting::Setting;

/// The last n IDs of one address, as a handle that may be cloned and shared.
///
/// Getting one does no I/O; the cache exists from its first record on. After a drop of its address
/// an old handle starts a new cache with the next record. IDs and addresses are bytes.
///
/// An ID is remembered until n *later* adds to its address. Removing one leaves a hole: the others
/// do not live longer for it, so that with add-then-remove the capacity counts adds, not live IDs.
///
/// # Examples
///
/// ```
/// use idjournal::{Options, Outcome, Store};
///
/// # fn main() -> idjournal::Result<()> {
/// let store = Store::in_memory(Options::default().id_cache_size(2))?;
/// let orders = store.cache("orders")?;
/// assert!(matches!(orders.add("a")?, Outcome::Added));
/// assert!(matches!(orders.add("a")?, Outcome::Duplicate(_)));
/// assert!(matches!(orders.add("b")?, Outcome::Added));
/// assert!(matches!(orders.add("c")?, Outcome::Added));
/// assert!(matches!(orders.add("a")?, Outcome::Added), "two later adds have pushed it out");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cache {
    pub(crate) handle: Arc<Handle>,
    pub(crate) address: Arc<Address>,
}

impl Cache {
    /// Adds `id`, and returns once the record is as durable as the policy asks.
    ///
    /// [`Outcome::Duplicate`] means that the ID is in the window already and nothing was written;
    /// it is as durable as an "added": if the first copy still waits for its sync, so does this
    /// call. [`Outcome::Pending`] means that somebody has claimed it. Any number of threads with
    /// one ID: exactly one is told "added". A hit does not renew an ID. Capacity 0 accepts
    /// everything and stores nothing.
    ///
    /// This alone is for messages that are stored already, or where losing one beats doing it
    /// twice; else see [`reserve`](Cache::reserve).
    ///
    /// # Errors
    ///
    /// - [`Error::NoSpace`](crate::Error::NoSpace): nothing was added; the store stays usable.
    /// - [`Error::Limit`](crate::Error::Limit): the ID is too long, or there are too many
    ///   addresses.
    /// - [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown): the write or the sync failed.
    /// - [`Error::Poisoned`](crate::Error::Poisoned): an earlier one did; reopen the store.
    /// - [`Error::Closed`](crate::Error::Closed): the store is closed.
    /// - [`Error::Forked`](crate::Error::Forked): this is a forked child of the store's process.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::Outcome;
    /// let orders = store.cache("orders")?;
    /// match orders.add("order-1842")? {
    ///     Outcome::Added => println!("new"),
    ///     Outcome::Duplicate(seen) => println!("seen as add {}", seen.ordinal),
    ///     Outcome::Pending(owner) => println!("in the hands of {owner}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn add(&self, id: impl AsRef<[u8]>) -> Result<Outcome> {
        let (outcome, position) = self.handle.shared.add(&self.address, id.as_ref())?;
        self.handle.shared.wait(position)?;
        Ok(outcome)
    }

    /// Adds `id` as [`add`](Cache::add) does, and leaves the waiting to the receipt.
    ///
    /// From the append on, which is in this call, others get "duplicate", and wait for the same
    /// sync.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`add`](Cache::add).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let receipts: Vec<_> = (0..100).map(|n| orders.submit(format!("order-{n}"))).collect();
    /// for receipt in receipts {
    ///     receipt.wait()?; // one sync serves many
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit(&self, id: impl AsRef<[u8]>) -> Receipt<Outcome> {
        self.receipt(self.handle.shared.add(&self.address, id.as_ref()))
    }

    /// Claims `id` without recording it; see [`Reserve`].
    ///
    /// This is the path to recommend: a message marked before it is handled is lost by a crash, one
    /// handled before it is marked comes twice. Others see the ID pending. Its space in the journal
    /// is set aside, so that [`confirm`](Reservation::confirm) never fails for want of it. Dropping
    /// the reservation releases the claim.
    ///
    /// # Errors
    ///
    /// As [`add`](Cache::add).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::Reserve;
    /// let orders = store.cache("orders")?;
    /// match orders.reserve("order-1842")? {
    ///     Reserve::Reserved(claim) => {
    ///         // handle the message here; an error that returns releases the claim
    ///         claim.confirm().wait()?;
    ///     }
    ///     Reserve::Duplicate(seen) => println!("add {}", seen.wait()?.ordinal),
    ///     Reserve::Pending(owner) => println!("in the hands of {owner}"),
    /// }
    /// assert!(orders.contains("order-1842")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reserve(&self, id: impl AsRef<[u8]>) -> Result<Reserve> {
        self.reserve_as(id, Owner::NOBODY, None)
    }

    /// Claims `id` for `owner`, and if `lease` is given for no longer than that.
    ///
    /// When a lease is over others may take the claim; [`confirm`](Reservation::confirm) works
    /// until one has.
    ///
    /// # Errors
    ///
    /// As [`add`](Cache::add).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, Reserve};
    /// use std::time::Duration;
    /// let orders = store.cache("orders")?;
    /// let lease = Some(Duration::from_secs(30));
    /// let Reserve::Reserved(claim) = orders.reserve_as("order-1842", Owner(7), lease)? else {
    ///     return Ok(());
    /// };
    /// assert!(matches!(orders.reserve("order-1842")?, Reserve::Pending(Owner(7))));
    /// assert!(claim.renew(Duration::from_secs(30)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn reserve_as(
        &self,
        id: impl AsRef<[u8]>,
        owner: Owner,
        lease: Option<Duration>,
    ) -> Result<Reserve> {
        Reservation::take(self, id.as_ref(), owner, lease)
    }

    /// Takes a claim up again that `owner` has [kept](Reservation::keep); none for one that has a
    /// guard, was taken up already, or is a transaction's.
    ///
    /// What is returned is a guard like any other: dropping it releases the claim, so that this is
    /// no way to ask whether there is one; [`state`](Cache::state) is.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Confirmed, Owner, Reserve};
    /// let orders = store.cache("orders")?;
    /// if let Reserve::Reserved(claim) = orders.reserve_as("order-1842", Owner(7), None)? {
    ///     claim.keep();
    /// }
    /// let claim = orders.held("order-1842", Owner(7)).expect("it was kept");
    /// assert_eq!(claim.confirm().wait()?, Confirmed::Recorded);
    /// # Ok(())
    /// # }
    /// ```
    pub fn held(&self, id: impl AsRef<[u8]>, owner: Owner) -> Option<Reservation> {
        Reservation::take_up(self, id.as_ref(), owner)
    }

    /// Waits for the end of the claim that somebody has on `id` now: that it is confirmed,
    /// released, taken over by others, or its lease is over. If there is none, that is at once.
    ///
    /// It may be a reservation's, an open transaction's or a prepared one's. What the ID has become
    /// is for the next call to say, which may find it claimed by yet another: so wait, then reserve
    /// again. It is a future; [`Settled::wait`] is the blocking form. In a store without its
    /// background thread ([`Options::keeper`](crate::Options::keeper)) no clock wakes the future
    /// for the end of a lease: the next call that records or claims does, or whoever awaits
    /// something of the store; or poll it again then.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::Reserve;
    /// use std::time::Duration;
    /// let orders = store.cache("orders")?;
    /// let claim = loop {
    ///     match orders.reserve("order-1842")? {
    ///         Reserve::Reserved(claim) => break Some(claim),
    ///         Reserve::Duplicate(seen) => break seen.wait().map(|_| None)?,
    ///         Reserve::Pending(_) => {
    ///             orders.settled("order-1842").wait(Duration::from_secs(1))?;
    ///         }
    ///     }
    /// };
    /// assert!(claim.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn settled(&self, id: impl AsRef<[u8]>) -> Settled {
        Settled::of(self, id.as_ref())
    }

    /// Removes `id`; the outcome tells whether it was known. It leaves a hole in the window.
    ///
    /// A pending ID is not touched. Removing what is not there writes nothing.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`add`](Cache::add); but for want of space only if the slot that is
    /// kept for this is full too.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let packets = store.cache("session-7")?;
    /// let _ = packets.add([0, 17])?;
    /// assert!(packets.remove([0, 17]).wait()?);
    /// assert!(!packets.remove([0, 17]).wait()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self, id: impl AsRef<[u8]>) -> Receipt<bool> {
        self.receipt(self.handle.shared.remove(&self.address, id.as_ref()))
    }

    /// Forgets every recorded ID of this cache; the outcome is how many that were.
    ///
    /// It is one record, however many IDs there are. What is pending is not touched: what commits
    /// later is known, since its message was accepted later.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`remove`](Cache::remove), but for the limit on IDs.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = orders.add("a")?;
    /// assert_eq!(orders.clear().wait()?, 1);
    /// assert!(orders.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn clear(&self) -> Receipt<u64> {
        self.receipt(self.handle.shared.clear(&self.address))
    }

    /// Sets how many adds the window holds, from now on and over restarts: 0 to 2^31.
    ///
    /// Shrinking keeps the newest, growing revives nothing. A capacity set by a call is not changed
    /// by the options of a later open.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`add`](Cache::add); the limit is that on `ids`, or on addresses.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// orders.set_capacity(1_000_000).wait()?;
    /// assert_eq!(orders.capacity(), 1_000_000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_capacity(&self, ids: u64) -> Receipt<()> {
        let setting = Setting::Capacity(ids);
        self.receipt(self.handle.shared.set(&self.address, setting))
            .map(|_| ())
    }

    pub(crate) fn receipt<T>(
        &self,
        placed: Result<(T, Option<crate::ids::Position>)>,
    ) -> Receipt<T> {
        match placed {
            Ok((value, position)) => self.handle.shared.receipt(Ok(value), position),
            Err(error) => Receipt::failed(error),
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.handle.shared.registry.let_go(&self.address);
    }
}

//! The verbs of Apache Camel's idempotent repositories over a cache: `add`, `contains`, `remove`,
//! `confirm`, `clear`.
//!
//! For who comes from there, and for bridges that have to speak these verbs; all else is better
//! said with a [`Cache`], whose answers tell more than true and false. docs/camel.md of the
//! repository says what each setting of a consumer guarantees with this, and what differs.

use std::fmt;
use std::time::Duration;

use crate::{Cache, Confirmed, Outcome, Owner, Reservation, Reserve, Result};

/// A cache that answers as an idempotent repository does.
///
/// `add` claims an ID for the owner of this repository, and `confirm` records it: what dies in
/// between forgets the claim, so that the message may come again. In
/// [Camel's own way](Repository::recording_on_add) `add` records, and what dies after it loses the
/// message.
///
/// A claim stays until `confirm` or `remove` end it, the store is closed, or its
/// [lease](Repository::with_lease) is over and others take it; the repository is only a name for
/// it. So repositories over one address that are to be told apart, in one process, need owners of
/// their own.
///
/// # Examples
///
/// ```
/// use idjournal::camel::Repository;
/// use idjournal::{Options, Owner, Store};
///
/// # fn main() -> idjournal::Result<()> {
/// let store = Store::in_memory(Options::default())?;
/// let repository = Repository::new(store.cache("orders")?, Owner(1));
/// if repository.add("order-1842")? {
///     // handle the message; if that fails: repository.remove("order-1842")?;
///     assert!(repository.confirm("order-1842")?);
/// }
/// assert!(!repository.add("order-1842")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Repository {
    cache: Cache,
    owner: Owner,
    lease: Option<Duration>,
    records_on_add: bool,
}

impl Repository {
    /// A repository over `cache` whose claims are `owner`'s.
    pub fn new(cache: Cache, owner: Owner) -> Repository {
        Repository {
            cache,
            owner,
            lease: None,
            records_on_add: false,
        }
    }

    /// The same, whose claims others may take when this time has gone by since their `add`; it
    /// should be longer than any message takes. Without it a claim that is neither confirmed nor
    /// removed is there until the store is closed.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Repository {
        self.lease = Some(lease);
        self
    }

    /// The same in Camel's own way: [`add`](Repository::add) records the ID, and
    /// [`confirm`](Repository::confirm) does nothing.
    ///
    /// A process that dies after the add and before its message is handled has lost the message:
    /// when it comes again it is a duplicate.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, camel::Repository};
    /// let repository = Repository::new(store.cache("orders")?, Owner(1)).recording_on_add();
    /// assert!(repository.add("order-1842")? && repository.contains("order-1842")?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn recording_on_add(mut self) -> Repository {
        self.records_on_add = true;
        self
    }

    /// Whether `id` is new: it is now claimed, or in Camel's own way recorded. False for a
    /// duplicate, which is as durable then as the policy asks, and for an ID that is pending.
    ///
    /// # Errors
    ///
    /// As [`Cache::add`]. An error is never a "false".
    pub fn add(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        let id = id.as_ref();
        if self.records_on_add {
            return Ok(matches!(self.cache.add(id)?, Outcome::Added));
        }
        match self.cache.reserve_as(id, self.owner, self.lease)? {
            Reserve::Reserved(claim) => claim.keep(),
            Reserve::Duplicate(seen) => return seen.wait().map(|_| false),
            Reserve::Pending(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Whether `id` is recorded. One that is only claimed is not, by whomever it is.
    ///
    /// # Errors
    ///
    /// As [`Cache::contains`].
    pub fn contains(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        self.cache.contains(id)
    }

    /// Gives up the claim of this repository on `id`; without one, removes the ID if it is
    /// recorded. Whether there was either. What others have claimed is not touched.
    ///
    /// # Errors
    ///
    /// As [`Cache::remove`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Owner, camel::Repository};
    /// let repository = Repository::new(store.cache("orders")?, Owner(1));
    /// assert!(repository.add("order-1842")?);
    /// assert!(repository.remove("order-1842")?, "the message failed");
    /// assert!(repository.add("order-1842")?, "and comes again");
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        let id = id.as_ref();
        match self.held(id) {
            Some(claim) => {
                claim.release();
                Ok(true)
            }
            None => self.cache.remove(id).wait(),
        }
    }

    /// Records an ID that this repository has claimed; of any other says whether it is known, so
    /// that false is for a claim that was lost: its lease was over and others have taken it, or the
    /// store was opened anew. Returns once that is as durable as the policy asks.
    ///
    /// In Camel's own way it does nothing and says true, as Camel's file repository does. Where the
    /// capacity is 0 nothing is claimed and nothing known: `add` says true, and this false.
    ///
    /// # Errors
    ///
    /// As [`Reservation::confirm`]: never for want of space.
    pub fn confirm(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        let id = id.as_ref();
        if self.records_on_add {
            return Ok(true);
        }
        match self.held(id).map(|claim| claim.confirm().wait()) {
            Some(Ok(Confirmed::Recorded)) => Ok(true),
            Some(Err(error)) => Err(error),
            // A lease that is lost in this moment is as one that was lost before.
            Some(Ok(Confirmed::LeaseLost)) | None => self.cache.contains(id),
        }
    }

    /// Forgets every recorded ID of the address; how many those were. Claims are not touched: what
    /// is confirmed later is known.
    ///
    /// # Errors
    ///
    /// As [`Cache::clear`].
    pub fn clear(&self) -> Result<u64> {
        self.cache.clear().wait()
    }

    /// The cache that this is over, for all that five verbs cannot say.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    fn held(&self, id: &[u8]) -> Option<Reservation> {
        self.cache.held(id, self.owner)
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Repository")
            .field("cache", &self.cache)
            .field("owner", &self.owner)
            .field("lease", &self.lease)
            .field("records_on_add", &self.records_on_add)
            .finish()
    }
}

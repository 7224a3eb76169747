//! What a call that records returns: the outcome at once, and a way to wait until it is safe.
//!
//! The append happened in the call. A receipt holds a position, and waiting is for that position,
//! so that dropping it undoes nothing.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::error::{Error, Result};
use crate::ids::Position;
use crate::journal::Journal;
use crate::sync_policy::SyncPolicy;
use crate::waits::WaitKey;

/// The outcome of a call that records, and the wait for its durability.
///
/// It is a future too: awaited, by any runtime, it gives what [`wait`](Receipt::wait) gives,
/// without a thread that waits. The background thread of the store syncs for all that are awaited;
/// only in a store without one ([`Options::keeper`](crate::Options::keeper)) the poll does that
/// itself, and blocks for one sync. Dropped half way it leaves nothing behind, and undoes nothing.
/// It may be awaited or waited for once; after that there is no outcome left in it but
/// [`Error::OutcomeTaken`].
///
/// # Examples
///
/// ```
/// use idjournal::{Options, Outcome, Store};
///
/// # fn main() -> idjournal::Result<()> {
/// let store = Store::in_memory(Options::default())?;
/// let orders = store.cache("orders")?;
/// let first = orders.submit("order-1842");
/// let second = orders.submit("order-1843");
/// assert!(matches!(first.outcome(), Ok(Outcome::Added)));
/// // One wait for both: durability is a position, and the second lies behind the first.
/// second.wait()?;
/// assert!(first.is_synced());
/// # Ok(())
/// # }
/// ```
#[must_use = "a receipt is the only word on whether the call succeeded; `detach` if nobody cares"]
pub struct Receipt<T> {
    result: Result<T>,
    pending: Option<Pending>,
}

/// What is still to be waited for.
struct Pending {
    journal: Arc<Journal>,
    position: Position,
    policy: SyncPolicy,
    /// Under which it waits without a thread, once it was polled.
    key: Option<WaitKey>,
}

impl<T> Receipt<T> {
    /// A receipt for something that is durable once everything before `position` is.
    pub(crate) fn new(
        result: Result<T>,
        journal: Option<&Arc<Journal>>,
        position: Option<Position>,
        policy: SyncPolicy,
    ) -> Receipt<T> {
        let pending = match (journal, position) {
            (Some(journal), Some(position)) => Some(Pending {
                journal: Arc::clone(journal),
                position,
                policy,
                key: None,
            }),
            _ => None,
        };
        Receipt { result, pending }
    }

    pub(crate) fn failed(error: Error) -> Receipt<T> {
        Receipt {
            result: Err(error),
            pending: None,
        }
    }

    /// The outcome, at once. It is provisional: a power cut before the sync may take it back.
    ///
    /// # Errors
    ///
    /// Why nothing was recorded.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let receipt = orders.submit("a");
    /// assert_eq!(receipt.outcome().ok(), Some(&idjournal::Outcome::Added));
    /// # Ok(())
    /// # }
    /// ```
    pub fn outcome(&self) -> std::result::Result<&T, &Error> {
        self.result.as_ref()
    }

    /// Waits for what the sync policy of the store promises, and gives the outcome.
    ///
    /// Under [`SyncPolicy::Always`] that is the disk; under the others it does not wait.
    ///
    /// # Errors
    ///
    /// Why nothing was recorded; or [`Error::OutcomeUnknown`] if the sync failed.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let receipt = orders.submit("a");
    /// assert_eq!(receipt.wait()?, idjournal::Outcome::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait(self) -> Result<T> {
        if let (Ok(_), Some(pending)) = (&self.result, &self.pending)
            && pending.policy == SyncPolicy::Always
        {
            pending.wait()?;
        }
        self.result
    }

    /// Waits for the disk, under every policy, and gives the outcome.
    ///
    /// # Errors
    ///
    /// As [`wait`](Receipt::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let receipt = orders.submit("a");
    /// assert_eq!(receipt.wait_synced()?, idjournal::Outcome::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_synced(self) -> Result<T> {
        if let (Ok(_), Some(pending)) = (&self.result, &self.pending) {
            pending.wait()?;
        }
        self.result
    }

    /// Whether the outcome is on disk (or needs no disk); never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let receipt = orders.submit("a");
    /// assert!(receipt.is_synced(), "in memory there is nothing to wait for");
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_synced(&self) -> bool {
        match &self.pending {
            Some(pending) => pending.journal.commit.durable() >= pending.position,
            None => self.result.is_ok(),
        }
    }

    /// Lets go of the receipt. What was recorded stays recorded.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let receipt = orders.submit("a");
    /// receipt.detach();
    /// assert!(orders.contains("a")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn detach(self) {}

    /// The same receipt for another outcome.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Receipt<U> {
        Receipt {
            result: self.result.map(change),
            pending: self.pending,
        }
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for Receipt<T> {}

impl<T> Future for Receipt<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let receipt = &mut *self;
        let mut failed = None;
        if let (Ok(_), Some(pending)) = (&receipt.result, &mut receipt.pending)
            && pending.policy == SyncPolicy::Always
        {
            match pending.poll(context.waker()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(waited) => failed = waited.err(),
            }
        }
        receipt.pending = None;
        let result = std::mem::replace(&mut receipt.result, Err(Error::OutcomeTaken));
        Poll::Ready(failed.map_or(result, Err))
    }
}

impl Pending {
    fn wait(&self) -> Result<()> {
        let waited = self.journal.wait(self.position);
        self.journal.commit.waits.wake_due();
        waited
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Result<()>> {
        let waits = &self.journal.commit.waits;
        let key = *self.key.get_or_insert_with(|| waits.key());
        self.journal.poll(self.position, key, waker)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(key), Ok(())) = (self.key, self.journal.check_process()) {
            self.journal.commit.waits.forget_sync(self.position, key);
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Receipt<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let position = self.pending.as_ref().map(|pending| pending.position);
        let mut shown = formatter.debug_struct("Receipt");
        shown
            .field("result", &self.result)
            .field("position", &position)
            .finish()
    }
}

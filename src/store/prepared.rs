//! Prepared transactions, as callers see them.

use std::fmt;
use std::sync::Arc;

use crate::error::Bytes;
use crate::ids::{Owner, Ticks};
use crate::receipt::Receipt;
use crate::store::extras::Content;
use crate::store::in_doubt::End;
use crate::store::{Handle, Store};

/// A transaction that is recorded and waits for its outcome, over any number of restarts.
///
/// Its IDs are pending for all others, with its owner. A commit adds them then, in the order added,
/// as the newest of their addresses; it leaves an ID as it is that is known by then, and begins an
/// address anew that was dropped. A remove ends the add that it saw, and no later one of the same
/// ID. Space for the commit is set aside: it never fails for want of it.
///
/// Dropping it leaves the transaction in doubt; [`Store::find_prepared`] finds it again.
pub struct Prepared {
    handle: Arc<Handle>,
    id: Box<[u8]>,
    owner: Owner,
    time: Ticks,
    token: u64,
}

/// What became of resolving a prepared transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// It was prepared, and is now committed or rolled back.
    Done,
    /// No such transaction is prepared: it was resolved already, or never prepared.
    Unknown,
}

/// What is to be done with a prepared transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Commit it.
    Commit,
    /// Roll it back.
    RollBack,
    /// Leave it in doubt.
    Leave,
}

impl Prepared {
    pub(crate) fn new(handle: Arc<Handle>, id: &[u8], content: &Content) -> Prepared {
        Prepared {
            handle,
            id: Box::from(id),
            owner: content.owner,
            time: content.time,
            token: content.token,
        }
    }

    /// The ID that it was prepared under.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Owner};
    /// let prepared = store.begin(OnDuplicate::Reject, Owner(7)).prepare("xid-1").wait()?;
    /// assert_eq!((prepared.id(), prepared.owner()), (&b"xid-1"[..], Owner(7)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// The owner of its claims.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// When it was prepared.
    pub fn time(&self) -> Ticks {
        self.time
    }

    /// Does what it says. Of a transaction that is resolved already the answer is
    /// [`Resolved::Unknown`], and as durable as that is.
    ///
    /// # Errors
    ///
    /// Of the receipt: [`OutcomeUnknown`](crate::Error::OutcomeUnknown) if the write or the sync
    /// failed, which reopening settles: it is in doubt then, or committed;
    /// [`Poisoned`](crate::Error::Poisoned), [`Closed`](crate::Error::Closed),
    /// [`Forked`](crate::Error::Forked). Never [`NoSpace`](crate::Error::NoSpace), but where
    /// restarts on a full disk have taken every slot.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Owner, Resolved};
    /// let prepared = store.begin(OnDuplicate::Reject, Owner(7)).prepare("xid-1").wait()?;
    /// assert_eq!(prepared.commit().wait()?, Resolved::Done);
    /// assert_eq!(prepared.commit().wait()?, Resolved::Unknown);
    /// # Ok(())
    /// # }
    /// ```
    pub fn commit(&self) -> Receipt<Resolved> {
        self.resolve(End::Commit)
    }

    /// Gives it up: its IDs are free, and nothing was changed.
    ///
    /// # Errors
    ///
    /// As [`commit`](Prepared::commit).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner, Resolved};
    /// let orders = store.cache("orders")?;
    /// let mut branch = store.begin(OnDuplicate::Reject, Owner(7));
    /// let _ = branch.add(&orders, "a")?;
    /// let prepared = branch.prepare("xid-1").wait()?;
    /// assert_eq!(prepared.roll_back().wait()?, Resolved::Done);
    /// assert_eq!(orders.add("a")?, Outcome::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn roll_back(&self) -> Receipt<Resolved> {
        self.resolve(End::RollBack)
    }

    fn resolve(&self, end: End) -> Receipt<Resolved> {
        let shared = &self.handle.shared;
        match shared.resolve_prepared(&self.id, Some(self.token), end) {
            Ok((resolved, position)) => shared.receipt(Ok(resolved), position),
            Err(error) => Receipt::failed(error),
        }
    }
}

impl Store {
    /// The transactions that are in doubt, by the time at which they were prepared, and by ID where
    /// that is the same tick.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Owner};
    /// store.begin(OnDuplicate::Reject, Owner(7)).prepare("xid-1").wait()?;
    /// let ids: Vec<Vec<u8>> = store.prepared().iter().map(|one| one.id().to_vec()).collect();
    /// assert_eq!(ids, [b"xid-1"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn prepared(&self) -> Vec<Prepared> {
        let extras = self.shared().extras.lock();
        let mut found: Vec<_> = extras.in_doubt.iter().collect();
        // An order that is the same over restarts, whatever was carried in between.
        found.sort_unstable_by_key(|(id, doubt)| (doubt.content.time, *id));
        let prepared = found.into_iter().map(|(id, doubt)| {
            let handle = Arc::clone(&self.handle);
            Prepared::new(handle, id, &doubt.content)
        });
        prepared.collect()
    }

    /// The transaction that is in doubt under this ID; none if it was resolved, or never prepared.
    ///
    /// It answers from memory and never waits. To rely on a "none", wait for what
    /// [`commit_prepared`](Store::commit_prepared) answers.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Owner};
    /// store.begin(OnDuplicate::Reject, Owner(7)).prepare("xid-1").wait()?;
    /// let prepared = store.find_prepared("xid-1").expect("it is in doubt");
    /// prepared.commit().wait()?;
    /// assert!(store.find_prepared("xid-1").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_prepared(&self, id: impl AsRef<[u8]>) -> Option<Prepared> {
        let extras = self.shared().extras.lock();
        let (id, doubt) = extras.in_doubt.get_key_value(id.as_ref())?;
        Some(Prepared::new(Arc::clone(&self.handle), id, &doubt.content))
    }

    /// Commits the transaction that is in doubt under this ID, as [`Prepared::commit`] does; if
    /// there is none, that is an answer.
    ///
    /// # Errors
    ///
    /// As [`Prepared::commit`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Owner, Resolved};
    /// store.begin(OnDuplicate::Reject, Owner(7)).prepare("xid-1").wait()?;
    /// assert_eq!(store.commit_prepared("xid-1").wait()?, Resolved::Done);
    /// assert_eq!(store.commit_prepared("xid-1").wait()?, Resolved::Unknown);
    /// # Ok(())
    /// # }
    /// ```
    pub fn commit_prepared(&self, id: impl AsRef<[u8]>) -> Receipt<Resolved> {
        self.resolve_by_id(id.as_ref(), End::Commit)
    }

    /// Rolls back the transaction that is in doubt under this ID, as [`Prepared::roll_back`] does.
    ///
    /// # Errors
    ///
    /// As [`Prepared::commit`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Owner, Resolved};
    /// store.begin(OnDuplicate::Reject, Owner(7)).prepare("xid-1").wait()?;
    /// assert_eq!(store.roll_back_prepared("xid-1").wait()?, Resolved::Done);
    /// assert_eq!(store.roll_back_prepared("xid-1").wait()?, Resolved::Unknown);
    /// # Ok(())
    /// # }
    /// ```
    pub fn roll_back_prepared(&self, id: impl AsRef<[u8]>) -> Receipt<Resolved> {
        self.resolve_by_id(id.as_ref(), End::RollBack)
    }

    /// Has `decide` decide on each transaction that is in doubt, in the order of
    /// [`prepared`](Store::prepared); how many were committed or rolled back.
    ///
    /// # Errors
    ///
    /// Of the receipt: as [`Prepared::commit`]; those before the one that failed are resolved.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Decision, OnDuplicate, Owner};
    /// for xid in ["xid-1", "xid-2", "other-3"] {
    ///     store.begin(OnDuplicate::Reject, Owner(7)).prepare(xid).wait()?;
    /// }
    /// let resolved = store.resolve(|prepared| match prepared.id() {
    ///     b"xid-1" => Decision::Commit,
    ///     id if id.starts_with(b"xid") => Decision::RollBack,
    ///     _ => Decision::Leave,
    /// });
    /// assert_eq!((resolved.wait()?, store.prepared().len()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolve(&self, mut decide: impl FnMut(&Prepared) -> Decision) -> Receipt<u64> {
        let shared = self.shared();
        let (mut count, mut last) = (0, None);
        for prepared in self.prepared() {
            let end = match decide(&prepared) {
                Decision::Commit => End::Commit,
                Decision::RollBack => End::RollBack,
                Decision::Leave => continue,
            };
            match shared.resolve_prepared(&prepared.id, Some(prepared.token), end) {
                Ok((resolved, position)) => {
                    count += u64::from(resolved == Resolved::Done);
                    last = last.max(position);
                }
                Err(error) => return Receipt::failed(error),
            }
        }
        shared.receipt(Ok(count), last)
    }

    fn resolve_by_id(&self, id: &[u8], end: End) -> Receipt<Resolved> {
        let shared = self.shared();
        match shared.resolve_prepared(id, None, end) {
            Ok((resolved, position)) => shared.receipt(Ok(resolved), position),
            Err(error) => Receipt::failed(error),
        }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Prepared")
            .field("id", &Bytes::from(self.id()))
            .field("owner", &self.owner)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

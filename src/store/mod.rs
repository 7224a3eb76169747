//! The public face: a store, its caches, reservations and transactions.

mod adding;
mod address;
mod aging;
mod applying;
mod assembling;
mod awaiting;
mod backup;
mod bookmarks;
mod by_name;
mod configuring;
mod extras;
mod figures;
mod forgetting;
mod handle;
mod in_doubt;
mod late;
mod living;
mod maintenance;
mod opening;
mod overview;
mod prepare;
mod prepared;
mod reading;
mod registry;
mod renewing;
mod reservation;
mod restoring;
mod set_aside;
mod setting;
mod settle;
mod shared;
mod telling;
mod transact;
mod turning;

use std::path::Path;
use std::sync::Arc;

use crate::error::{Bytes, Error, Result};
use crate::ids::{Namespace, Owner};
use crate::options::Options;
use crate::receipt::Receipt;
use crate::recovery::Progress;
use crate::storage::{FileStorage, Storage};
use crate::store::shared::Shared;
use crate::sync_policy::SyncPolicy;

pub use crate::transaction::OnDuplicate;
pub use adding::Outcome;
pub use address::{Seen, State};
pub use awaiting::Settled;
pub use handle::Cache;
pub use overview::CacheInfo;
pub use prepared::{Decision, Prepared, Resolved};
pub use reading::Ids;
pub use reservation::{Confirmed, Reservation, Reserve};
pub use transact::Transaction;

/// An open directory: the journal and all its caches.
///
/// A handle may be cloned and shared. The store closes at [`close`](Store::close), or with its last
/// handle (those of its caches count). While it is open nobody else can open the directory.
///
/// It belongs to the process that opened it: in a child that is forked off, every call that records
/// or waits for the disk is [`Error::Forked`], and closing does nothing.
///
/// # Examples
///
/// ```
/// use idjournal::{Options, Outcome, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("ids");
/// let store = Store::open(&path, Options::default())?;
/// let orders = store.cache("orders")?;
/// assert!(matches!(orders.add("order-1842")?, Outcome::Added));
/// store.close()?;
///
/// let store = Store::open(&path, Options::default())?;
/// assert!(matches!(store.cache("orders")?.add("order-1842")?, Outcome::Duplicate(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Store {
    handle: Arc<Handle>,
}

/// What keeps a store open: it closes with the last of these.
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to be told; what was acknowledged is safe without a clean close.
        let _ = self.shared.close();
    }
}

impl Store {
    /// Opens the store in `directory`, which is made if it is not there: locks it, and recovers.
    ///
    /// Files that are not the store's are left alone. A refused open changes nothing, but that the
    /// file `lock` may be there afterwards.
    ///
    /// # Errors
    ///
    /// - [`Error::Locked`]: it is open elsewhere, or here.
    /// - [`Error::Damaged`]: bytes that were known to be there are not; nothing was changed.
    /// - [`Error::NewerFormat`], [`Error::NotAStore`]: it is not for this version, or no store.
    /// - [`Error::Options`], [`Error::Limit`]: the options contradict each other or the store.
    /// - [`Error::Io`]: the system refuses; nothing is lost by it.
    /// - [`Error::Poisoned`], [`Error::OutcomeUnknown`]: the disk failed while what settings change
    ///   was recorded; the next open finishes it.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Store> {
        options.validate()?;
        let path = directory.as_ref();
        let storage = if options.persistence || path.exists() {
            FileStorage::create(path)
        } else {
            return Store::in_memory(options);
        };
        let shown = Bytes::from(path.as_os_str().as_encoded_bytes()).to_string();
        let storage = storage.map_err(|error| Error::io("open", shown, error))?;
        Store::open_on(storage, options, &mut |_| {})
    }

    /// Opens the store in a storage of your own, and tells how far recovery has come.
    ///
    /// # Errors
    ///
    /// As [`open`](Store::open).
    ///
    /// # Examples
    ///
    /// ```
    /// use idjournal::{MemoryStorage, Options, Store};
    ///
    /// # fn main() -> idjournal::Result<()> {
    /// let storage = MemoryStorage::default();
    /// let store = Store::open_on(storage.clone(), Options::default(), &mut |_| {})?;
    /// let _ = store.cache("orders")?.add("order-1842")?;
    /// drop(store);
    /// let store = Store::open_on(storage, Options::default(), &mut |progress| {
    ///     assert!(progress.done_bytes <= progress.total_bytes);
    /// })?;
    /// assert!(store.cache("orders")?.contains("order-1842")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open_on(
        storage: impl Storage,
        options: Options,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Store> {
        let opened = opening::open(Arc::new(storage), options, progress);
        let handle = telling::opened(opened)?;
        Ok(Store {
            handle: Arc::new(handle),
        })
    }

    /// A store that remembers in memory only, with the same calls.
    ///
    /// # Errors
    ///
    /// [`Error::Options`], [`Error::Limit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use idjournal::{Options, Outcome, Store};
    ///
    /// # fn main() -> idjournal::Result<()> {
    /// let store = Store::in_memory(Options::default())?;
    /// assert_eq!(store.cache("orders")?.add("order-1842")?, Outcome::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_memory(options: Options) -> Result<Store> {
        let handle = opening::in_memory(options)?;
        Ok(Store {
            handle: Arc::new(handle),
        })
    }

    /// The cache of `address` for the IDs of its clients. No I/O; it exists from its first record
    /// on.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] if the address is too long; [`Error::Closed`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// assert!(orders.is_empty() && store.caches(None, 10).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn cache(&self, address: impl AsRef<[u8]>) -> Result<Cache> {
        self.cache_in(Namespace::Client, address)
    }

    /// The cache of `address` in one of the two namespaces, which never collide.
    ///
    /// # Errors
    ///
    /// As [`cache`](Store::cache).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{Namespace, Outcome};
    /// let clients = store.cache("orders")?;
    /// let bridge = store.cache_in(Namespace::Bridge, "orders")?;
    /// assert_eq!(clients.add("a")?, Outcome::Added);
    /// assert_eq!(bridge.add("a")?, Outcome::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cache_in(&self, namespace: Namespace, address: impl AsRef<[u8]>) -> Result<Cache> {
        let (shared, name) = (self.shared(), address.as_ref());
        let (max, actual) = (
            shared.options.limits.address_bytes as u64,
            name.len() as u64,
        );
        if actual > max {
            return Err(Error::Limit {
                limit: "bytes of an address",
                max,
                actual,
            });
        }
        if let Err(Error::Closed) = shared.check() {
            return Err(Error::Closed);
        }
        let address = shared.address(namespace, name);
        Ok(Cache {
            handle: Arc::clone(&self.handle),
            address,
        })
    }

    /// Ends the caches of `address` in both namespaces; whether there was one.
    ///
    /// What is pending is not touched: what commits later begins the address anew.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`Cache::clear`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let _ = store.cache("temporary")?.add("a")?;
    /// assert!(store.drop_cache("temporary").wait()?);
    /// assert!(store.caches(None, 10).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn drop_cache(&self, address: impl AsRef<[u8]>) -> Receipt<bool> {
        let (shared, name) = (self.shared(), address.as_ref());
        if let Err(error) = shared.check_process() {
            return Receipt::failed(error);
        }
        let both = [Namespace::Client, Namespace::Bridge];
        let found = both.map(|namespace| shared.registry.get(namespace, name));
        let addresses: Vec<_> = found.into_iter().flatten().collect();
        let placed = shared.drop_addresses(&addresses);
        for address in &addresses {
            shared.registry.let_go(address);
        }
        match placed {
            Ok((existed, position)) => shared.receipt(Ok(existed), position),
            Err(error) => Receipt::failed(error),
        }
    }

    /// Begins a transaction, whose claims are `owner`'s.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{OnDuplicate, Outcome, Owner};
    /// let orders = store.cache("orders")?;
    /// let _ = orders.add("a")?;
    /// let mut batch = store.begin(OnDuplicate::Skip, Owner::NOBODY);
    /// assert!(matches!(batch.add(&orders, "a")?, Outcome::Duplicate(_)));
    /// assert_eq!(batch.add(&orders, "b")?, Outcome::Added);
    /// batch.commit().wait()?;
    /// assert_eq!(orders.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn begin(&self, on_duplicate: OnDuplicate, owner: Owner) -> Transaction {
        Transaction::begin(Arc::clone(&self.handle), on_duplicate, owner)
    }

    /// A receipt for everything recorded so far: wait for it to have all of it on disk, under any
    /// policy.
    ///
    /// # Errors
    ///
    /// Of the receipt, also of its `outcome`: [`Error::Poisoned`], [`Error::Closed`] and
    /// [`Error::Forked`]. Of waiting: [`Error::OutcomeUnknown`] too.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// use idjournal::{MemoryStorage, Options, Store, SyncPolicy};
    /// let options = Options::default().sync_policy(SyncPolicy::Manual);
    /// let store = Store::open_on(MemoryStorage::default(), options, &mut |_| {})?;
    /// let _ = store.cache("orders")?.add("a")?;
    /// store.sync().wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sync(&self) -> Receipt<()> {
        let shared = self.shared();
        if let Err(error) = shared.check() {
            return Receipt::failed(error);
        }
        let end = shared.journal.as_ref().map(|journal| journal.end());
        Receipt::new(Ok(()), shared.journal.as_ref(), end, SyncPolicy::Always)
    }

    /// Carries what lives together and gives all other space back, at once.
    ///
    /// The journal does so by itself, at the pace of appends; this is for the moment after a large
    /// clear or drop. Its work is in proportion to what lives.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if there is not room enough to begin; what poisons the store.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = orders.add("a")?;
    /// orders.clear().wait()?;
    /// store.compact()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact(&self) -> Result<()> {
        self.shared().compact()
    }

    /// Closes the store: everything recorded is on disk, and the next open has nothing to recover.
    ///
    /// Every later call that records answers [`Error::Closed`]; `state`, `len`, `ids` and `stats`
    /// go on answering from memory. Only this call reports what fails: when the last handle is
    /// dropped instead, nobody is told.
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] or [`Error::Poisoned`]; the directory is free again all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::Error;
    /// let orders = store.cache("orders")?;
    /// store.close()?;
    /// assert!(matches!(orders.add("a"), Err(Error::Closed)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn close(&self) -> Result<()> {
        self.shared().close()
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }
}

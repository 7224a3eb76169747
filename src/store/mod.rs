//! The public face: a store, its caches, reservations and transactions.

mod adding;
mod address;
mod extras;
mod forgetting;
mod handle;
mod living;
mod maintenance;
mod opening;
mod registry;
mod reservation;
mod settle;
mod shared;
mod transact;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use crate::error::{Bytes, Error, Result};
use crate::ids::{Namespace, Owner};
use crate::options::Options;
use crate::receipt::Receipt;
use crate::recovery::{Progress, RecoveryReport};
use crate::stats::Stats;
use crate::storage::{FileStorage, Storage};
use crate::store::shared::Shared;
use crate::sync_policy::SyncPolicy;

pub use adding::Outcome;
pub use address::{Seen, State};
pub use handle::{Cache, Ids};
pub use reservation::{Confirmed, Reservation, Reserve};
pub use transact::{OnDuplicate, Transaction};

/// An open directory: the journal and all its caches.
///
/// A handle may be cloned and shared. The store closes at [`close`](Store::close), or with its last
/// handle (those of its caches count). While it is open nobody else can open the directory.
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

/// A cache that exists, as [`Store::caches`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheInfo {
    /// Which of the two caches of its address.
    pub namespace: Namespace,
    /// The address.
    pub address: Bytes,
    /// How many IDs are known.
    pub len: u64,
    /// How many adds the window holds.
    pub capacity: u64,
    /// The newest known ID, if there is one.
    pub newest: Option<Seen>,
}

impl Store {
    /// Opens the store in `directory`, which is made if it is not there: locks it, and recovers.
    ///
    /// # Errors
    ///
    /// - [`Error::Locked`]: it is open elsewhere, or here.
    /// - [`Error::Damaged`]: bytes that were known to be there are not; nothing was changed.
    /// - [`Error::NewerFormat`], [`Error::NotAStore`]: it is not for this version, or no store.
    /// - [`Error::Options`], [`Error::Limit`]: the options contradict each other or the store.
    /// - [`Error::Io`]: the system refuses; nothing is lost by it.
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
        let handle = opening::open(Arc::new(storage), options, progress)?;
        Ok(Store {
            handle: Arc::new(handle),
        })
    }

    /// A store that remembers in memory only, with the same calls.
    ///
    /// # Errors
    ///
    /// [`Error::Options`], [`Error::Limit`].
    pub fn in_memory(options: Options) -> Result<Store> {
        let handle = opening::in_memory(options)?;
        Ok(Store {
            handle: Arc::new(handle),
        })
    }

    /// What recovery found and did.
    pub fn recovery(&self) -> &RecoveryReport {
        static NOTHING: OnceLock<RecoveryReport> = OnceLock::new();
        let report = self.shared().report.get();
        report.unwrap_or_else(|| NOTHING.get_or_init(RecoveryReport::default))
    }

    /// The cache of `address` for the IDs of its clients. No I/O; it exists from its first record
    /// on.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] if the address is too long; [`Error::Closed`].
    pub fn cache(&self, address: impl AsRef<[u8]>) -> Result<Cache> {
        self.cache_in(Namespace::Client, address)
    }

    /// The cache of `address` in one of the two namespaces, which never collide.
    ///
    /// # Errors
    ///
    /// As [`cache`](Store::cache).
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
        let capacity = shared.options.new_capacity();
        let address = shared.registry.get_or_make(namespace, name, capacity);
        Ok(Cache {
            handle: Arc::clone(&self.handle),
            address,
        })
    }

    /// Up to `limit` caches that exist, in order of namespace and address, behind the one given.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let _ = store.cache("bills")?.add("b-1")?;
    /// let _ = store.cache("orders")?.add("o-1")?;
    /// let first = store.caches(None, 1);
    /// assert_eq!(first[0].address.to_string(), "bills");
    /// let rest = store.caches(Some((first[0].namespace, &first[0].address.0)), 10);
    /// assert_eq!(rest[0].address.to_string(), "orders");
    /// # Ok(())
    /// # }
    /// ```
    pub fn caches(&self, after: Option<(Namespace, &[u8])>, limit: usize) -> Vec<CacheInfo> {
        let shared = self.shared();
        let mut found = Vec::new();
        let mut after = after.map(|(namespace, name)| (namespace, Box::<[u8]>::from(name)));
        while found.len() < limit {
            let from = after
                .as_ref()
                .map(|(namespace, name)| (*namespace, &**name));
            let addresses = shared.registry.after(from, limit - found.len());
            let Some(last) = addresses.last() else { break };
            after = Some((last.namespace, last.name.clone()));
            for address in &addresses {
                let state = address.state.lock();
                if state.is_begun {
                    found.push(CacheInfo {
                        namespace: address.namespace,
                        address: Bytes::from(&*address.name),
                        len: state.cache.len(),
                        capacity: state.cache.capacity(),
                        newest: state.cache.newest().map(|known| state.seen(known.ordinal)),
                    });
                }
            }
        }
        found
    }

    /// Ends the caches of `address` in both namespaces; whether there was one.
    ///
    /// What is pending is not touched: what commits later begins the address anew.
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
    pub fn begin(&self, on_duplicate: OnDuplicate, owner: Owner) -> Transaction {
        Transaction::begin(Arc::clone(&self.handle), on_duplicate, owner)
    }

    /// A receipt for everything recorded so far: wait for it to have all of it on disk, under any
    /// policy.
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
        let end = shared.journal.as_ref().map(|journal| journal.end());
        Receipt::new(
            shared.check(),
            shared.journal.as_ref(),
            end,
            SyncPolicy::Always,
        )
    }

    /// Carries what lives together and gives all other space back, at once.
    ///
    /// The journal does so by itself, at the pace of appends; this is for the moment after a large
    /// clear or drop. Its work is in proportion to what lives.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if there is not room enough to begin; what poisons the store.
    pub fn compact(&self) -> Result<()> {
        self.shared().compact()
    }

    /// Closes the store: everything recorded is on disk, and the next open has nothing to recover.
    ///
    /// Every later call that records answers [`Error::Closed`].
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] or [`Error::Poisoned`]; the directory is free again all the same.
    pub fn close(&self) -> Result<()> {
        self.shared().close()
    }

    /// What the store has done since it was opened, and how much there is of what.
    pub fn stats(&self) -> Stats {
        let shared = self.shared();
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let mut stats = Stats {
            added: read(&shared.counters.added),
            duplicates: read(&shared.counters.duplicates),
            pending: read(&shared.counters.pending),
            caches: self.caches(None, usize::MAX).len() as u64,
            ..Stats::default()
        };
        if let Some(journal) = &shared.journal {
            let (counts, sizes) = (journal.counts(), journal.sizes());
            stats.records = counts.records;
            stats.record_bytes = counts.record_bytes;
            stats.header_bytes = counts.header_bytes;
            stats.carried_records = counts.carried_records;
            stats.carried_bytes = counts.carried_bytes;
            stats.segments_begun = counts.segments_begun;
            stats.segments_released = counts.segments_released;
            stats.syncs = journal.commit.syncs();
            stats.slots = sizes.slots;
            stats.segments = sizes.segments;
            stats.disk_bytes = sizes.disk_bytes;
            stats.used_bytes = sizes.used_bytes;
            stats.live_bytes = sizes.live_bytes;
            stats.claimed_bytes = sizes.claimed_bytes;
            stats.is_mapped = sizes.is_mapped;
            stats.is_poisoned = journal.commit.is_poisoned();
        }
        stats
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }
}

//! What a store tells about itself: its caches, its counters, what recovery found.

use std::fmt;
#[cfg(feature = "metrics")]
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::error::Bytes;
use crate::ids::Namespace;
use crate::recovery::RecoveryReport;
use crate::stats::Stats;
use crate::store::Store;
use crate::store::address::Seen;
#[cfg(feature = "metrics")]
use crate::store::{Handle, address::Address};

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
    /// What recovery found and did.
    ///
    /// # Examples
    ///
    /// ```
    /// use idjournal::{MemoryStorage, Options, Store};
    ///
    /// # fn main() -> idjournal::Result<()> {
    /// let storage = MemoryStorage::default();
    /// let store = Store::open_on(storage.clone(), Options::default(), &mut |_| {})?;
    /// let _ = store.cache("orders")?.add("a")?;
    /// drop(store);
    /// let store = Store::open_on(storage, Options::default(), &mut |_| {})?;
    /// assert_eq!((store.recovery().caches, store.recovery().ids), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn recovery(&self) -> &RecoveryReport {
        static NOTHING: OnceLock<RecoveryReport> = OnceLock::new();
        let report = self.shared().report.get();
        report.unwrap_or_else(|| NOTHING.get_or_init(RecoveryReport::default))
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
                let state = shared.lock(address);
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

    /// What the store has done since it was opened, and how much there is of what. It asks every
    /// address for its part.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = (orders.add("a")?, orders.add("a")?);
    /// let stats = store.stats();
    /// assert_eq!((stats.added, stats.duplicates, stats.caches), (1, 1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> Stats {
        let shared = self.shared();
        let report = self.recovery();
        let mut stats = Stats {
            caches: shared.caches.load(Ordering::Relaxed),
            recovery_milliseconds: report.took_milliseconds,
            recovery_rewritten_bytes: report.rewritten_bytes,
            recovery_found_tail: report.tail.is_some(),
            clock_ahead_milliseconds: report.clock_ahead_milliseconds,
            ..Stats::default()
        };
        shared.sum_figures(&mut stats);
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
}

/// What is the same for all handles of one life, and for no other life of the store or address: it
/// keeps neither.
#[cfg(feature = "metrics")]
type Life = std::sync::Weak<dyn std::any::Any + Send + Sync>;

#[cfg(feature = "metrics")]
impl Store {
    pub(crate) fn life(&self) -> Life {
        Arc::<Handle>::downgrade(&self.handle)
    }
}

#[cfg(feature = "metrics")]
impl crate::store::Cache {
    /// That of the address, which counts on in it.
    pub(crate) fn life(&self) -> Life {
        Arc::<Address>::downgrade(&self.address)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let journal = self.shared().journal.as_ref();
        let place = journal.map_or_else(|| "memory".to_owned(), |journal| journal.place());
        formatter
            .debug_struct("Store")
            .field("place", &place)
            .finish_non_exhaustive()
    }
}

//! What a cache answers without recording anything.

use std::collections::VecDeque;
use std::fmt;

use crate::error::{Bytes, Result};
use crate::ids::{Namespace, Ordinal};
use crate::stats::CacheStats;
use crate::store::address::State;
use crate::store::handle::Cache;

/// How many IDs a cursor takes under one lock.
const CURSOR_IDS: usize = 64;

impl Cache {
    /// Whether `id` is known. A "true" is as durable as the policy asks: it may wait for a sync.
    ///
    /// A pending ID is not known. [`state`](Cache::state) never waits.
    ///
    /// # Errors
    ///
    /// As [`add`](Cache::add), but for space.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = orders.add("order-1842")?;
    /// assert!(orders.contains("order-1842")? && !orders.contains("order-1843")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn contains(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        let (shared, id) = (&self.handle.shared, id.as_ref());
        shared.check()?;
        let hash = shared.hash(id);
        let position = {
            let state = shared.lock(&self.address);
            let Some(ordinal) = state.cache.find(hash, id) else {
                return Ok(false);
            };
            shared.unsynced(&state, ordinal)
        };
        shared.wait(position)?;
        Ok(true)
    }

    /// What memory says of `id`, at once: no basis for dropping a message.
    ///
    /// It answers also when the store is poisoned or closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::State;
    /// let orders = store.cache("orders")?;
    /// assert_eq!(orders.state("order-1842"), State::Absent);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn state(&self, id: impl AsRef<[u8]>) -> State {
        let (shared, id) = (&self.handle.shared, id.as_ref());
        let hash = shared.hash(id);
        let state = shared.lock(&self.address);
        if let Some(ordinal) = state.cache.find(hash, id) {
            let seen = state.seen(ordinal);
            return match shared.unsynced(&state, ordinal) {
                Some(_) => State::Unsynced(seen),
                None => State::Known(seen),
            };
        }
        shared
            .holder(&state, hash, id)
            .map_or(State::Absent, State::Pending)
    }

    /// Every known ID, oldest first, as a cursor that takes short locks: what is added or forgotten
    /// while it runs may be seen or not.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = (orders.add("a")?, orders.add("b")?);
    /// assert_eq!(orders.ids().collect::<Vec<_>>(), [b"a", b"b"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ids(&self) -> Ids {
        Ids {
            cache: self.clone(),
            next: Ordinal(1),
            batch: VecDeque::new(),
        }
    }

    /// How many IDs are known.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = (orders.add("a")?, orders.add("b")?);
    /// assert_eq!(orders.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn len(&self) -> u64 {
        self.handle.shared.lock(&self.address).cache.len()
    }

    /// Whether no ID is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many adds the window holds.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// assert_eq!(store.cache("orders")?.capacity(), idjournal::ID_CACHE_SIZE);
    /// # Ok(())
    /// # }
    /// ```
    pub fn capacity(&self) -> u64 {
        self.address.state.lock().cache.capacity()
    }

    /// The address.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// assert_eq!(store.cache("orders")?.address(), b"orders");
    /// # Ok(())
    /// # }
    /// ```
    pub fn address(&self) -> &[u8] {
        &self.address.name
    }

    /// Which of the two caches of its address this is.
    pub fn namespace(&self) -> Namespace {
        self.address.namespace
    }

    /// What this cache holds, and what it has done.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = (orders.add("a")?, orders.remove("a").wait()?, orders.add("b")?);
    /// let stats = orders.stats();
    /// assert_eq!((stats.len, stats.last_ordinal), (1, 2), "a hole and an ID");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> CacheStats {
        let (shared, address) = (&self.handle.shared, &self.address);
        let now = shared.now();
        let state = shared.lock(address);
        let mut stats = state.cache_stats(now);
        shared.tell_settings(address, &state, &mut stats);
        stats
    }
}

/// The IDs of a cache, oldest first; see [`Cache::ids`].
pub struct Ids {
    cache: Cache,
    next: Ordinal,
    batch: VecDeque<Vec<u8>>,
}

impl Iterator for Ids {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.batch.is_empty() {
            let state = self.cache.handle.shared.lock(&self.cache.address);
            while self.batch.len() < CURSOR_IDS
                && let Some(known) = state.cache.next_from(self.next)
            {
                self.batch.push_back(known.id.to_vec());
                self.next = Ordinal(known.ordinal.0 + 1);
            }
        }
        self.batch.pop_front()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Bytes::from(self.address());
        let mut shown = formatter.debug_struct("Cache");
        shown
            .field("namespace", &self.namespace())
            .field("address", &address);
        shown.finish_non_exhaustive()
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Ids");
        shown
            .field("cache", &self.cache)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

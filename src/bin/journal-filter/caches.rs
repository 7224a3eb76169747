//! The handle of each address, so that the store is not asked for it at every line.
//!
//! Bounded: when the addresses held are too many or too long, all are let go and asked for again.

use std::collections::HashMap;

use idjournal::{Cache, Result, Store};

const ADDRESSES_MAX: usize = 65_536;
const ADDRESS_BYTES_MAX: usize = 16 << 20;

/// Handles by address, and the one used last.
pub(crate) struct Caches {
    store: Store,
    handles: HashMap<Box<[u8]>, Cache>,
    address_bytes: usize,
    last: Option<(Vec<u8>, Cache)>,
}

impl Caches {
    /// No handle of `store` yet.
    pub(crate) fn new(store: Store) -> Caches {
        Caches {
            store,
            handles: HashMap::new(),
            address_bytes: 0,
            last: None,
        }
    }

    /// The handle of `address`.
    ///
    /// # Errors
    ///
    /// Those of [`Store::cache`].
    pub(crate) fn get(&mut self, address: &[u8]) -> Result<&Cache> {
        // Neighbouring lines mostly have one address.
        let (name, cache) = match self.last.take() {
            Some((name, cache)) if name == address => (name, cache),
            last => {
                let mut name = last.map(|(name, _)| name).unwrap_or_default();
                name.clear();
                name.extend_from_slice(address);
                (name, self.find(address)?)
            }
        };
        Ok(&self.last.insert((name, cache)).1)
    }

    fn find(&mut self, address: &[u8]) -> Result<Cache> {
        if let Some(cache) = self.handles.get(address) {
            return Ok(cache.clone());
        }
        let cache = self.store.cache(address)?;
        if self.handles.len() >= ADDRESSES_MAX || self.address_bytes >= ADDRESS_BYTES_MAX {
            self.handles.clear();
            self.address_bytes = 0;
        }
        self.address_bytes += address.len();
        self.handles.insert(Box::from(address), cache.clone());
        Ok(cache)
    }
}

//! The handle of each address, so that the store is not asked for it at every line.
//!
//! Bounded: when the addresses held are too many or too long, all are let go and asked for again.

use std::collections::HashMap;

use idjournal::{Cache, Result, Store};

const ADDRESSES_MAX: usize = 65_536;
const ADDRESS_BYTES_MAX: usize = 16 << 20;

/// Handles by address.
pub(crate) struct Caches {
    store: Store,
    handles: Vec<(Box<[u8]>, Cache)>,
    places: HashMap<Box<[u8]>, usize>,
    address_bytes: usize,
    /// The places of the two addresses used last, the newest first.
    recent: [usize; 2],
}

impl Caches {
    /// No handle of `store` yet.
    pub(crate) fn new(store: Store) -> Caches {
        let (handles, places) = (Vec::new(), HashMap::new());
        Caches {
            store,
            handles,
            places,
            address_bytes: 0,
            recent: [0; 2],
        }
    }

    /// The handle of `address`.
    ///
    /// # Errors
    ///
    /// Those of [`Store::cache`].
    pub(crate) fn get(&mut self, address: &[u8]) -> Result<&Cache> {
        // Neighbouring lines mostly have one address, or two in turn.
        let has = |place: &usize| {
            let handle = self.handles.get(*place);
            handle.is_some_and(|(name, _)| **name == *address)
        };
        let place = self.recent.iter().copied().find(has);
        let place = place.or_else(|| self.places.get(address).copied());
        let place = match place {
            Some(place) => place,
            None => self.make(address)?,
        };
        let [newest, _] = self.recent;
        if place != newest {
            self.recent = [place, newest];
        }
        match self.handles.get(place) {
            Some((_, cache)) => Ok(cache),
            None => unreachable!("a place is made with its handle and goes with it"),
        }
    }

    /// The place of a new handle.
    fn make(&mut self, address: &[u8]) -> Result<usize> {
        let cache = self.store.cache(address)?;
        if self.handles.len() >= ADDRESSES_MAX || self.address_bytes >= ADDRESS_BYTES_MAX {
            self.handles.clear();
            self.places.clear();
            self.address_bytes = 0;
        }
        let place = self.handles.len();
        self.address_bytes += address.len();
        self.places.insert(Box::from(address), place);
        self.handles.push((Box::from(address), cache));
        Ok(place)
    }
}

//! Windows in memory, and a ring of n places for each address in a key-value store.
//!
//! Key: address, place. Value: ordinal, ID. The locks are held for the memory only, so that stores
//! which share a sync among threads can do it; two adds never have the same place at one time,
//! since n is far above the number of threads.

use std::sync::{Mutex, PoisonError};

use crate::ids::Id;
use crate::kv::{Change, Kv, Short, number32, number64};
use crate::peer::{Peer, Result, Session, Setup};
use crate::window::{Slots, Window};

pub struct Ring<K> {
    store: K,
    windows: Vec<Mutex<Window>>,
    sizes: Vec<usize>,
}

/// Opens it and reads the windows.
pub fn open<K: Kv + 'static>(setup: &Setup) -> Result<Box<dyn Peer>> {
    let store = K::open(&setup.directory, setup.survives)?;
    let mut slots: Vec<Slots> = setup.windows.iter().map(|size| Slots::new(*size)).collect();
    store.scan(&mut |key, value| {
        let address = number32(key, 0)? as usize;
        let id = value.get(8..44).ok_or("a value is short")?;
        let slots = slots.get_mut(address).ok_or("an address is unknown")?;
        slots.put(number64(value, 0)?, id.try_into()?);
        Ok(())
    })?;
    let windows = slots
        .into_iter()
        .map(|slots| Ok(Mutex::new(slots.into_window()?)));
    Ok(Box::new(Ring {
        store,
        windows: windows.collect::<Result<_>>()?,
        sizes: setup.windows.clone(),
    }))
}

impl<K: Kv> Ring<K> {
    fn change(&self, address: usize, id: &Id) -> Option<Change> {
        let window = self.windows[address].lock();
        let ordinal = window.unwrap_or_else(PoisonError::into_inner).add(id)?;
        let place = ordinal % self.sizes[address] as u64;
        let key = Short::new(&[
            &(address as u32).to_be_bytes(),
            &(place as u32).to_be_bytes(),
        ]);
        Some(Change::Put(key, Short::new(&[&ordinal.to_be_bytes(), id])))
    }
}

impl<K: Kv> Peer for Ring<K> {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RingSession {
            ring: self,
            changes: Vec::new(),
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.store.close()
    }
}

struct RingSession<'a, K> {
    ring: &'a Ring<K>,
    changes: Vec<Change>,
}

impl<K: Kv> Session for RingSession<'_, K> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let Some(change) = self.ring.change(address, id) else {
            return Ok(false);
        };
        self.ring.store.write(&[change])?;
        Ok(true)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        self.changes.clear();
        for (address, id) in adds {
            let change = self.ring.change(*address, id);
            new.push(change.is_some());
            self.changes.extend(change);
        }
        if self.changes.is_empty() {
            return Ok(());
        }
        self.ring.store.write(&self.changes)
    }
}

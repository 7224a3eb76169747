//! Windows kept in a key-value store alone: two keys for each ID.
//!
//! `i`, address, ID finds an ID; `o`, address, ordinal finds the oldest. In memory is one counter
//! for each address. One add at a time: it reads before it writes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ids::Id;
use crate::kv::{Change, Kv, Short, number64};
use crate::peer::{Peer, Result, Session, Setup};

pub struct Index<K> {
    store: K,
    sizes: Vec<u64>,
    added: Mutex<Vec<u64>>,
}

pub fn open<K: Kv + 'static>(setup: &Setup) -> Result<Box<dyn Peer>> {
    let store = K::open(&setup.directory, setup.survives)?;
    let mut added = Vec::new();
    for address in 0..setup.windows.len() {
        let last = store.last_below(order_key(address, u64::MAX).as_ref())?;
        added.push(match last {
            Some(key) if key.starts_with(Short::new(&[b"o", &number(address)]).as_ref()) => {
                number64(&key, 5)? + 1
            }
            _ => 0,
        });
    }
    Ok(Box::new(Index {
        store,
        sizes: setup.windows.iter().map(|size| *size as u64).collect(),
        added: Mutex::new(added),
    }))
}

fn number(address: usize) -> [u8; 4] {
    (address as u32).to_be_bytes()
}

fn id_key(address: usize, id: &[u8]) -> Short {
    Short::new(&[b"i", &number(address), id])
}

fn order_key(address: usize, ordinal: u64) -> Short {
    Short::new(&[b"o", &number(address), &ordinal.to_be_bytes()])
}

impl<K: Kv> Peer for Index<K> {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(IndexSession {
            index: self,
            changes: Vec::new(),
            pending: HashMap::new(),
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.store.close()
    }
}

struct IndexSession<'a, K> {
    index: &'a Index<K>,
    changes: Vec<Change>,
    /// What the changes of this batch make of an ID: whether it is there.
    pending: HashMap<(usize, Id), bool>,
}

impl<K: Kv> IndexSession<'_, K> {
    fn change(&mut self, added: &mut [u64], address: usize, id: &Id) -> Result<bool> {
        let store = &self.index.store;
        let is_there = match self.pending.get(&(address, *id)) {
            Some(is_there) => *is_there,
            None => store.get(id_key(address, id).as_ref())?.is_some(),
        };
        if is_there {
            return Ok(false);
        }
        let ordinal = added[address];
        added[address] += 1;
        if let Some(oldest) = ordinal.checked_sub(self.index.sizes[address]) {
            let key = order_key(address, oldest);
            let old = store.get(key.as_ref())?.ok_or("the oldest ID is missing")?;
            self.changes.push(Change::Delete(id_key(address, &old)));
            self.changes.push(Change::Delete(key));
            self.pending
                .insert((address, old.as_slice().try_into()?), false);
        }
        let ordinal_bytes = ordinal.to_be_bytes();
        self.changes.push(Change::Put(
            id_key(address, id),
            Short::new(&[&ordinal_bytes]),
        ));
        self.changes
            .push(Change::Put(order_key(address, ordinal), Short::new(&[id])));
        self.pending.insert((address, *id), true);
        Ok(true)
    }
}

fn locked(added: &Mutex<Vec<u64>>) -> MutexGuard<'_, Vec<u64>> {
    added.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Kv> Session for IndexSession<'_, K> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let mut new = Vec::new();
        self.add_batch(&[(address, *id)], &mut new)?;
        Ok(new == [true])
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        self.changes.clear();
        self.pending.clear();
        let mut added = locked(&self.index.added);
        for (address, id) in adds {
            let is_new = self.change(&mut added, *address, id)?;
            new.push(is_new);
        }
        if self.changes.is_empty() {
            return Ok(());
        }
        self.index.store.write(&self.changes)
    }
}

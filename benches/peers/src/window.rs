//! A window in memory: the ring of the last n IDs of one address, and where each of them stands.
//!
//! Logs and rings in a table need it beside them. It is as small and quick as it could be made:
//! each ID is stored once, the table holds four bytes for each.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::ids::Id;
use crate::peer::Result;

pub struct Window {
    capacity: usize,
    /// The number of adds made so far.
    added: u64,
    ring: Vec<Id>,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Window {
    pub fn new(capacity: usize) -> Window {
        Window::starting_at(capacity, 0)
    }

    /// An empty window before whose first add `added` others were made, all forgotten.
    pub fn starting_at(capacity: usize, added: u64) -> Window {
        let mut window = Window {
            capacity,
            added,
            ring: Vec::with_capacity(capacity),
            places: HashTable::with_capacity(capacity),
            hasher: DefaultHashBuilder::default(),
        };
        // A ring that does not begin at its first place has all its places from the beginning.
        if !added.is_multiple_of(capacity as u64) {
            window.ring.resize(capacity, [0; 36]);
        }
        window
    }

    /// The ordinal of the add, from 0, if the ID was new; its place is the ordinal modulo n.
    pub fn add(&mut self, id: &Id) -> Option<u64> {
        let hash = self.hasher.hash_one(id);
        if self.find(hash, id) {
            return None;
        }
        let ordinal = self.added;
        let place = (ordinal % self.capacity as u64) as usize;
        if place < self.ring.len() {
            let old = self.ring[place];
            let old_hash = self.hasher.hash_one(old);
            let entry = self.places.find_entry(old_hash, |at| *at as usize == place);
            if let Ok(entry) = entry {
                entry.remove();
            }
            self.ring[place] = *id;
        } else {
            self.ring.push(*id);
        }
        let (ring, hasher) = (&self.ring, &self.hasher);
        self.places
            .insert_unique(hash, place as u32, |at| hasher.hash_one(ring[*at as usize]));
        self.added += 1;
        Some(ordinal)
    }

    pub fn contains(&self, id: &Id) -> bool {
        self.find(self.hasher.hash_one(id), id)
    }

    /// The number of adds made so far.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// The window in two parts, together oldest first.
    pub fn parts(&self) -> (&[Id], &[Id]) {
        let begin = (self.added % self.capacity as u64) as usize;
        if self.ring.len() < self.capacity {
            return (&self.ring, &[]);
        }
        (&self.ring[begin..], &self.ring[..begin])
    }

    fn find(&self, hash: u64, id: &Id) -> bool {
        let ring = &self.ring;
        self.places
            .find(hash, |at| ring[*at as usize] == *id)
            .is_some()
    }
}

/// Windows from slots as they stood on disk, in any order: each the ordinal of its add and the ID.
pub struct Slots {
    slots: Vec<Option<(u64, Id)>>,
}

impl Slots {
    pub fn new(capacity: usize) -> Slots {
        Slots {
            slots: vec![None; capacity],
        }
    }

    /// Takes one in; of two for one place the newer stays.
    pub fn put(&mut self, ordinal: u64, id: Id) {
        let place = (ordinal % self.slots.len() as u64) as usize;
        if self.slots[place].is_none_or(|(other, _)| other <= ordinal) {
            self.slots[place] = Some((ordinal, id));
        }
    }

    /// The window of the last n of them, each of which must be there.
    pub fn into_window(self) -> Result<Window> {
        let capacity = self.slots.len();
        let newest = self
            .slots
            .iter()
            .flatten()
            .map(|(ordinal, _)| ordinal)
            .max();
        let Some(added) = newest.map(|ordinal| ordinal + 1) else {
            return Ok(Window::new(capacity));
        };
        let begin = added.saturating_sub(capacity as u64);
        let mut window = Window::starting_at(capacity, begin);
        for ordinal in begin..added {
            match self.slots[(ordinal % capacity as u64) as usize] {
                Some((stored, id)) if stored == ordinal => {
                    window.add(&id).ok_or("an ID stands twice in one window")?;
                }
                _ => return Err("an ID of the window is missing on disk".into()),
            }
        }
        Ok(window)
    }
}

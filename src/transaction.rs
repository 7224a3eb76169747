//! What a transaction has gathered, and how it sees the caches meanwhile. No I/O, no lock.
//!
//! Inside a transaction each call answers as if the calls before it had been made one by one, own
//! evictions included. So the result never depends on how work is cut into batches. Places and
//! times are given at commit, in the order added.

use std::collections::HashSet;

use hashbrown::HashTable;

use crate::cache::Cache;
use crate::ids::Ordinal;

/// What a transaction does about an ID that is known or pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// It dooms the whole, which [`rejected`](crate::Transaction::rejected) says before commit: for
    /// brokers.
    Reject,
    /// It is left out: for pipelines and migration.
    Skip,
}

/// The changes of a transaction, in order, over any addresses.
#[derive(Default)]
pub(crate) struct Gathered {
    changes: Vec<Change>,
    /// The bytes of all IDs and bookmarks, one behind the other.
    ids: Vec<u8>,
    /// Own adds by address and ID: places in `changes`.
    own: HashTable<u32>,
    views: Vec<View>,
}

/// What was done to one address so far.
#[derive(Default)]
struct View {
    adds: u64,
    removed: HashSet<Ordinal>,
}

/// One change; `address` is the place of its address among those of the transaction, or
/// [`NOWHERE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) address: usize,
    pub(crate) what: What,
}

/// The address of what has none.
pub(crate) const NOWHERE: usize = usize::MAX;

/// See [`Change`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The `index`th add of this transaction to the address.
    Add {
        hash: u64,
        start: usize,
        end: usize,
        index: u64,
        is_removed: bool,
    },
    /// The add above is removed again.
    RemoveOwn { index: u64 },
    /// A known ID is removed, if it still is at this place.
    Remove { ordinal: Ordinal },
    /// A bookmark is set: its name ends, and its value begins, in the middle of these bytes.
    Bookmark {
        start: usize,
        middle: usize,
        end: usize,
    },
}

/// How a transaction sees an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Known, and neither removed nor pushed out by this transaction.
    Known(Ordinal),
    /// Added by this transaction, in this place of its changes.
    Own { place: usize, index: u64 },
    /// Not there.
    Absent,
}

impl Gathered {
    /// The address that comes next gets this place.
    pub(crate) fn add_view(&mut self) -> usize {
        self.views.push(View::default());
        self.views.len() - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The bytes of an add's ID, or of a bookmark.
    pub(crate) fn bytes(&self, start: usize, end: usize) -> &[u8] {
        self.ids.get(start..end).unwrap_or_default()
    }

    /// How many adds to an address come before the next one.
    pub(crate) fn adds(&self, address: usize) -> u64 {
        self.views.get(address).map_or(0, |view| view.adds)
    }

    /// How `id` looks from inside, `cache` being that of the address.
    pub(crate) fn sight(&self, address: usize, cache: &Cache, hash: u64, id: &[u8]) -> Sight {
        let Some(view) = self.views.get(address) else {
            return Sight::Absent;
        };
        let capacity = cache.capacity();
        if let Some((place, index, is_removed)) = self.find_own(address, hash, id)
            && !is_removed
            && index + capacity > view.adds
        {
            return Sight::Own { place, index };
        }
        let virtual_last = cache.next().0 - 1 + view.adds;
        match cache.find(hash, id) {
            Some(ordinal)
                if ordinal.0 + capacity > virtual_last && !view.removed.contains(&ordinal) =>
            {
                Sight::Known(ordinal)
            }
            _ => Sight::Absent,
        }
    }

    /// The latest own add of this ID, whatever became of it.
    fn find_own(&self, address: usize, hash: u64, id: &[u8]) -> Option<(usize, u64, bool)> {
        let found = self
            .own
            .find(hash, |place| self.is_add_of(*place, address, id))?;
        let place = usize::try_from(*found).ok()?;
        match self.changes.get(place)?.what {
            What::Add {
                index, is_removed, ..
            } => Some((place, index, is_removed)),
            _ => None,
        }
    }

    fn is_add_of(&self, place: u32, address: usize, id: &[u8]) -> bool {
        let change = usize::try_from(place)
            .ok()
            .and_then(|place| self.changes.get(place));
        match change {
            Some(Change {
                address: at,
                what: What::Add { start, end, .. },
            }) => *at == address && self.bytes(*start, *end) == id,
            _ => false,
        }
    }

    /// Whether this transaction has added the ID before, so that the claim on it is its own.
    pub(crate) fn has_claimed(&self, address: usize, hash: u64, id: &[u8]) -> bool {
        self.find_own(address, hash, id).is_some()
    }

    /// Gathers an add.
    pub(crate) fn add(&mut self, address: usize, hash: u64, id: &[u8]) {
        let Some(view) = self.views.get_mut(address) else {
            return;
        };
        view.adds += 1;
        let index = view.adds;
        let start = self.ids.len();
        self.ids.extend_from_slice(id);
        let end = self.ids.len();
        let place = u32::try_from(self.changes.len()).unwrap_or(u32::MAX);
        let what = What::Add {
            hash,
            start,
            end,
            index,
            is_removed: false,
        };
        self.changes.push(Change { address, what });
        let known = self
            .own
            .find(hash, |place| self.is_add_of(*place, address, id))
            .copied();
        match known {
            Some(known) => {
                if let Some(entry) = self.own.find_mut(hash, |place| *place == known) {
                    *entry = place;
                }
            }
            None => {
                let changes = &self.changes;
                self.own
                    .insert_unique(hash, place, |place| hash_at(changes, *place));
            }
        }
    }

    /// Gathers a bookmark.
    pub(crate) fn bookmark(&mut self, name: &[u8], value: &[u8]) {
        let start = self.ids.len();
        self.ids.extend_from_slice(name);
        let middle = self.ids.len();
        self.ids.extend_from_slice(value);
        let end = self.ids.len();
        let what = What::Bookmark { start, middle, end };
        let address = NOWHERE;
        self.changes.push(Change { address, what });
    }

    /// Gathers the removal of what [`sight`](Gathered::sight) has shown.
    pub(crate) fn remove(&mut self, address: usize, sight: Sight) {
        let what = match sight {
            Sight::Absent => return,
            Sight::Own { place, index } => {
                if let Some(Change {
                    what: What::Add { is_removed, .. },
                    ..
                }) = self.changes.get_mut(place)
                {
                    *is_removed = true;
                }
                What::RemoveOwn { index }
            }
            Sight::Known(ordinal) => {
                if let Some(view) = self.views.get_mut(address) {
                    view.removed.insert(ordinal);
                }
                What::Remove { ordinal }
            }
        };
        self.changes.push(Change { address, what });
    }
}

fn hash_at(changes: &[Change], place: u32) -> u64 {
    let change = usize::try_from(place)
        .ok()
        .and_then(|place| changes.get(place));
    match change {
        Some(Change {
            what: What::Add { hash, .. },
            ..
        }) => *hash,
        _ => 0,
    }
}

/// What one address's part of a transaction comes to when it is committed: each change with its
/// ordinal.
///
/// Fed with the changes in order. An ID that is known already, since others had their say
/// meanwhile, is left as it is.
#[derive(Default)]
pub(crate) struct Settling {
    last: u64,
    /// Where the ID of each own add stands, by index; 0 where nothing is stored.
    given: Vec<Ordinal>,
    removed: HashSet<Ordinal>,
}

impl Settling {
    pub(crate) fn begin(cache: &Cache) -> Settling {
        Settling {
            last: cache.next().0 - 1,
            ..Settling::default()
        }
    }

    /// The ordinal of the next add of an ID that stands at `known` in the cache; none if it is left
    /// as it is.
    pub(crate) fn add(
        &mut self,
        cache: &Cache,
        known: Option<Ordinal>,
        own: Option<Ordinal>,
    ) -> Option<Ordinal> {
        let still_lives = |ordinal: Ordinal| {
            ordinal.0 + cache.capacity() > self.last && !self.removed.contains(&ordinal)
        };
        if cache.capacity() == 0 || known.is_some_and(still_lives) || own.is_some_and(still_lives) {
            // A removal inside the transaction then means the place where the ID stands.
            let stands = own.filter(|own| still_lives(*own)).or(known);
            self.given.push(stands.unwrap_or_default());
            return None;
        }
        self.last += 1;
        self.given.push(Ordinal(self.last));
        Some(Ordinal(self.last))
    }

    /// Where the ID of the `index`th own add stands.
    pub(crate) fn given(&self, index: u64) -> Option<Ordinal> {
        let at = usize::try_from(index.checked_sub(1)?).ok()?;
        self.given
            .get(at)
            .copied()
            .filter(|ordinal| *ordinal != Ordinal(0))
    }

    /// The place is removed; whether there still is something.
    pub(crate) fn remove(&mut self, cache: &Cache, ordinal: Ordinal) -> bool {
        let is_own = ordinal.0 >= cache.next().0;
        let lives = ordinal.0 + cache.capacity() > self.last && (is_own || cache.is_live(ordinal));
        lives && self.removed.insert(ordinal)
    }
}

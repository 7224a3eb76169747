//! One address: its cache, its claims, and where it stands in the journal.

use std::sync::Arc;

use crate::cache::{Cache, Reach, Unsynced};
use crate::claim::Claims;
use crate::facade::{Mutex, MutexGuard};
use crate::ids::{Namespace, Ordinal, Owner, Position, SegmentNumber, Ticks};
use crate::journal::Base;
use crate::options::Fresh;
use crate::store::figures::Figures;

/// An address in one of its two namespaces.
pub(crate) struct Address {
    pub(crate) namespace: Namespace,
    pub(crate) name: Box<[u8]>,
    pub(crate) state: Mutex<AddressState>,
}

/// What the lock of an address guards.
pub(crate) struct AddressState {
    pub(crate) cache: Cache,
    pub(crate) claims: Claims,
    pub(crate) unsynced: Unsynced,
    pub(crate) base: Base,
    pub(crate) reach: Reach,
    pub(crate) number: Option<u32>,
    /// Where its definition lives, while it has one.
    pub(crate) defined: Option<Defined>,
    /// Whether the cache exists: from its first add or capacity on, to its drop.
    pub(crate) is_begun: bool,
    /// Whether its capacity was set by a call.
    pub(crate) by_call: bool,
    /// Whether its age was set by a call.
    pub(crate) age_by_call: bool,
    /// Whether its IDs are not written to the journal.
    pub(crate) is_memory_only: bool,
    /// What lives below this ordinal is in no record, from when it was in memory only.
    pub(crate) stored_from: Ordinal,
    /// Whether IDs have expired since the last record that tells so.
    pub(crate) owes_floor: bool,
    /// Which incarnation the next definition is of.
    pub(crate) incarnation: u32,
    /// Where the last record about it ends.
    pub(crate) last_change: Position,
    /// What it has counted.
    pub(crate) figures: Figures,
}

/// The definition of an address on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defined {
    pub(crate) segment: SegmentNumber,
    pub(crate) bytes: u64,
}

/// What is known of an ID that is in the window.
///
/// It explains a duplicate: which add it was, when, and how many adds from now it is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// The place of its add within the address.
    pub ordinal: Ordinal,
    /// When it was added.
    pub time: Ticks,
    /// How many later adds to the address it is still remembered for.
    pub adds_left: u64,
    /// From when on its age makes it as if it were gone; none if no age does.
    pub expires: Option<Ticks>,
}

/// What memory says of an ID, at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Neither known nor claimed.
    Absent,
    /// Claimed by this owner.
    Pending(Owner),
    /// Recorded, but not on disk yet.
    Unsynced(Seen),
    /// Known, and on disk.
    Known(Seen),
}

impl Address {
    pub(crate) fn new(namespace: Namespace, name: &[u8], fresh: Fresh) -> Address {
        let state = Mutex::new(AddressState::new(fresh));
        Address {
            namespace,
            name: Box::from(name),
            state,
        }
    }
}

impl AddressState {
    /// An address of which nothing was recorded.
    pub(crate) fn new(fresh: Fresh) -> AddressState {
        let mut cache = Cache::new(fresh.capacity);
        cache.set_max_age(fresh.max_age);
        AddressState {
            cache,
            claims: Claims::default(),
            unsynced: Unsynced::default(),
            base: Base::default(),
            reach: Reach::default(),
            number: None,
            defined: None,
            is_begun: false,
            by_call: false,
            age_by_call: false,
            is_memory_only: !fresh.is_stored,
            stored_from: Ordinal(0),
            owes_floor: false,
            incarnation: 0,
            last_change: Position::default(),
            figures: Figures::default(),
        }
    }

    pub(crate) fn seen(&self, ordinal: Ordinal) -> Seen {
        let time = self
            .cache
            .get(ordinal)
            .map_or(Ticks(0), |remembered| remembered.time);
        Seen {
            ordinal,
            time,
            adds_left: self.cache.adds_left(ordinal),
            expires: self.cache.expiry(time),
        }
    }
}

/// Locks all of them, in an order that is the same for everybody.
pub(crate) fn lock_all(addresses: &[Arc<Address>]) -> Vec<MutexGuard<'_, AddressState>> {
    let mut order: Vec<(usize, &Arc<Address>)> = addresses.iter().enumerate().collect();
    order.sort_unstable_by_key(|(_, address)| Arc::as_ptr(address).addr());
    let locked = order
        .into_iter()
        .map(|(at, address)| (at, address.state.lock()));
    let mut locked: Vec<(usize, MutexGuard<'_, AddressState>)> = locked.collect();
    locked.sort_unstable_by_key(|(at, _)| *at);
    locked.into_iter().map(|(_, state)| state).collect()
}

//! One address as a list of places: what it must answer, whatever was set and turned on or off.

use std::collections::BTreeMap;

use idjournal::{ID_CACHE_SIZE, Resolved};

/// One place of the window.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) ordinal: u64,
    pub(super) id: u64,
    pub(super) time: u64,
    pub(super) is_stored: bool,
}

/// What settings say, each if they do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    pub(super) capacity: Option<u64>,
    /// In ticks; 0 is none.
    pub(super) age: Option<u64>,
}

/// One change of a prepared transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Add(u64),
    /// An add that it has removed again.
    Hole(u64),
    /// The removal of the place with this ordinal.
    Remove(u64),
}

/// What a prepared transaction changes, and whether that is in its record.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    pub(super) changes: Vec<Change>,
    pub(super) is_stored: bool,
}

impl Doubt {
    pub(super) fn has(&self, id: u64) -> bool {
        let (add, hole) = (Change::Add(id), Change::Hole(id));
        self.changes.contains(&add) || self.changes.contains(&hole)
    }
}

/// The address as it must be.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) places: Vec<Place>,
    pub(super) last: u64,
    pub(super) capacity: u64,
    pub(super) age: u64,
    pub(super) capacity_by_call: bool,
    pub(super) age_by_call: bool,
    pub(super) pattern: Said,
    pub(super) options: Said,
    pub(super) now: u64,
    pub(super) is_stored: bool,
    /// Whether the cache exists, and does so after a restart.
    pub(super) is_begun: bool,
    pub(super) in_doubt: BTreeMap<u64, Doubt>,
    /// The ID that a reservation has.
    pub(super) claimed: Option<u64>,
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            places: Vec::new(),
            last: 0,
            capacity: ID_CACHE_SIZE,
            age: 0,
            capacity_by_call: false,
            age_by_call: false,
            pattern: Said::default(),
            options: Said::default(),
            now: 0,
            is_stored: true,
            is_begun: false,
            in_doubt: BTreeMap::new(),
            claimed: None,
        }
    }

    pub(super) fn known(&self) -> Vec<u64> {
        self.places.iter().map(|place| place.id).collect()
    }

    /// Whether the address may be named in the journal.
    pub(super) fn has_definition(&self) -> bool {
        self.is_begun || self.in_doubt.values().any(|doubt| doubt.is_stored)
    }

    pub(super) fn is_pending(&self, id: u64) -> bool {
        self.claimed == Some(id) || self.in_doubt.values().any(|doubt| doubt.has(id))
    }

    pub(super) fn put(&mut self, id: u64) {
        if self.capacity == 0 {
            return;
        }
        self.last += 1;
        let (ordinal, time, is_stored) = (self.last, self.now, self.is_stored);
        self.places.push(Place {
            ordinal,
            id,
            time,
            is_stored,
        });
        self.is_begun = true;
        self.cut();
    }

    pub(super) fn cut(&mut self) {
        let (last, capacity) = (self.last, self.capacity);
        self.places.retain(|place| place.ordinal + capacity > last);
        let (age, now) = (self.age, self.now);
        self.places
            .retain(|place| age == 0 || place.time + age > now);
    }

    /// Gives the address what settings say; one that does not exist has nothing else.
    pub(super) fn apply(&mut self) {
        if !self.is_begun {
            (self.capacity, self.age) = (ID_CACHE_SIZE, 0);
        }
        if let (Some(capacity), false) = (
            self.pattern.capacity.or(self.options.capacity),
            self.capacity_by_call,
        ) {
            self.capacity = capacity;
        }
        if let (Some(age), false) = (self.pattern.age.or(self.options.age), self.age_by_call) {
            self.age = age;
        }
        self.cut();
    }

    pub(super) fn remove(&mut self, id: u64) -> bool {
        let before = self.places.len();
        self.places.retain(|place| place.id != id);
        self.places.len() < before
    }

    pub(super) fn end(&mut self) {
        self.places.clear();
        (self.capacity, self.age) = (ID_CACHE_SIZE, 0);
        (self.capacity_by_call, self.age_by_call) = (false, false);
        self.is_begun = false;
        self.apply();
    }

    pub(super) fn commit(&mut self, transaction: u64) -> Resolved {
        let Some(doubt) = self.in_doubt.remove(&transaction) else {
            return Resolved::Unknown;
        };
        for change in doubt.changes {
            match change {
                Change::Remove(ordinal) => self.places.retain(|place| place.ordinal != ordinal),
                Change::Add(id) | Change::Hole(id) if self.known().contains(&id) => {}
                Change::Add(id) => self.put(id),
                Change::Hole(id) => {
                    self.put(id);
                    self.remove(id);
                }
            }
        }
        Resolved::Done
    }

    pub(super) fn restart(&mut self, options: Said) {
        self.places.retain(|place| place.is_stored);
        self.options = options;
        self.claimed = None;
        if !self.is_stored || !self.is_begun {
            self.end();
        }
        self.apply();
        for doubt in self.in_doubt.values_mut() {
            if !doubt.is_stored {
                doubt.changes.clear();
            }
        }
    }
}

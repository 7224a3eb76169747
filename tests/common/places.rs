//! The places of one cache in the reference model.

/// One cache: places from the oldest to the newest, all within the window.
#[derive(Clone, Debug)]
pub struct Places {
    pub is_recorded: bool,
    pub capacity: u64,
    pub is_set_by_call: bool,
    pub last: u64,
    floor: u64,
    places: Vec<(u64, Option<u8>)>,
}

impl Places {
    pub fn new(capacity: u64) -> Places {
        Places {
            is_recorded: false,
            capacity,
            is_set_by_call: false,
            last: 0,
            floor: 1,
            places: Vec::new(),
        }
    }

    /// Where an ID is known: its newest place.
    pub fn ordinal(&self, id: u8) -> Option<u64> {
        let known = self
            .places
            .iter()
            .rev()
            .find(|(_, place)| *place == Some(id));
        known.map(|(ordinal, _)| *ordinal)
    }

    pub fn adds_left(&self, ordinal: u64) -> u64 {
        ordinal + self.capacity - self.last
    }

    /// Adds an ID that is not known; nothing is stored with capacity 0.
    pub fn append(&mut self, id: u8) -> Option<u64> {
        if self.capacity == 0 {
            return None;
        }
        self.is_recorded = true;
        self.last += 1;
        self.places.push((self.last, Some(id)));
        self.forget();
        Some(self.last)
    }

    pub fn blank(&mut self, ordinal: u64) {
        let place = self.places.iter_mut().find(|(other, _)| *other == ordinal);
        if let Some((_, id)) = place {
            *id = None;
        }
    }

    /// Makes holes of all places of an ID from `first` on.
    pub fn forget_place(&mut self, id: u8, first: u64) {
        for (ordinal, place) in &mut self.places {
            if *ordinal >= first && *place == Some(id) {
                *place = None;
            }
        }
    }

    pub fn forget(&mut self) {
        let (floor, capacity, last) = (self.floor, self.capacity, self.last);
        self.places
            .retain(|(ordinal, _)| *ordinal >= floor && ordinal + capacity > last);
    }

    pub fn resize(&mut self, capacity: u64) {
        let kept = self.capacity.min(capacity).min(self.last);
        self.floor = self.floor.max(self.last + 1 - kept);
        self.capacity = capacity;
        self.forget();
    }

    pub fn forget_all(&mut self) {
        self.floor = self.last + 1;
        self.forget();
    }

    pub fn live(&self) -> impl Iterator<Item = (u64, u8)> {
        self.places
            .iter()
            .filter_map(|(ordinal, id)| id.map(|id| (*ordinal, id)))
    }
}

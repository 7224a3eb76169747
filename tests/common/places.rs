//! The places of one cache in the reference model.

/// One cache: places from the oldest to the newest, all within the window. What has expired is
/// passed over by the next add or change of the age; until then it only does not show.
#[derive(Clone, Debug)]
pub struct Places {
    pub is_recorded: bool,
    pub capacity: u64,
    pub is_set_by_call: bool,
    pub last: u64,
    /// From how many steps of time on an ID is as if it were gone.
    pub max_age: Option<u64>,
    pub is_age_set_by_call: bool,
    /// Whether what happens here is not written to the journal.
    pub is_memory_only: bool,
    pub now: u64,
    floor: u64,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    ordinal: u64,
    time: u64,
    is_stored: bool,
    /// An ID with its value; none is a hole.
    kept: Option<(u8, u8)>,
}

impl Places {
    pub fn new(capacity: u64) -> Places {
        Places {
            is_recorded: false,
            capacity,
            is_set_by_call: false,
            last: 0,
            max_age: None,
            is_age_set_by_call: false,
            is_memory_only: false,
            now: 0,
            floor: 1,
            places: Vec::new(),
        }
    }

    fn is_expired(&self, place: &Place) -> bool {
        self.max_age.is_some_and(|age| place.time + age <= self.now)
    }

    fn known(&self) -> impl DoubleEndedIterator<Item = (u64, u8, u8)> {
        let places = self.places.iter().filter(|place| !self.is_expired(place));
        places.filter_map(|place| place.kept.map(|(id, value)| (place.ordinal, id, value)))
    }

    /// The time of the newest stored add that has not been removed or pushed out since.
    pub fn newest(&self) -> u64 {
        let places = self.places.iter();
        let places = places.filter(|place| place.is_stored && place.kept.is_some());
        places.map(|place| place.time).max().unwrap_or(0)
    }

    /// Where an ID is known: its newest place.
    pub fn ordinal(&self, id: u8) -> Option<u64> {
        let found = self.known().rev().find(|(_, other, _)| *other == id);
        found.map(|(ordinal, ..)| ordinal)
    }

    /// The value of a known ID; 0 is none.
    pub fn value(&self, id: u8) -> u8 {
        let found = self.known().rev().find(|(_, other, _)| *other == id);
        found.map_or(0, |(.., value)| value)
    }

    pub fn adds_left(&self, ordinal: u64) -> u64 {
        ordinal + self.capacity - self.last
    }

    /// Adds an ID that is not known; nothing is stored with capacity 0.
    pub fn append(&mut self, id: u8, value: u8) -> Option<u64> {
        if self.capacity == 0 {
            return None;
        }
        self.pass_over();
        self.is_recorded = true;
        self.last += 1;
        self.places.push(Place {
            ordinal: self.last,
            time: self.now,
            is_stored: !self.is_memory_only,
            kept: Some((id, value)),
        });
        self.forget();
        Some(self.last)
    }

    pub fn blank(&mut self, ordinal: u64) {
        let mut places = self.places.iter_mut();
        if let Some(place) = places.find(|place| place.ordinal == ordinal) {
            place.kept = None;
        }
    }

    /// Makes holes of all places of an ID from `first` on.
    pub fn forget_place(&mut self, id: u8, first: u64) {
        for place in &mut self.places {
            if place.ordinal >= first && place.kept.is_some_and(|(other, _)| other == id) {
                place.kept = None;
            }
        }
    }

    pub fn forget(&mut self) {
        let (floor, capacity, last) = (self.floor, self.capacity, self.last);
        self.places
            .retain(|place| place.ordinal >= floor && place.ordinal + capacity > last);
    }

    /// What has expired does not come back, whatever becomes of time and age.
    fn pass_over(&mut self) {
        let expired = self.places.iter().filter(|place| self.is_expired(place));
        if let Some(last) = expired.map(|place| place.ordinal).max() {
            self.floor = self.floor.max(last + 1);
            self.forget();
        }
    }

    pub fn resize(&mut self, capacity: u64) {
        let kept = self.capacity.min(capacity).min(self.last);
        self.floor = self.floor.max(self.last + 1 - kept);
        self.capacity = capacity;
        self.forget();
    }

    pub fn set_max_age(&mut self, age: Option<u64>) {
        self.pass_over();
        self.max_age = age;
    }

    /// What is added from now on is stored or not; what was not stored is not stored later, and
    /// what was is no longer.
    pub fn turn(&mut self, is_stored: bool) {
        self.is_memory_only = !is_stored;
        for place in self.places.iter_mut().filter(|_| !is_stored) {
            place.is_stored = false;
        }
    }

    /// Whether an ID is known by a place that is stored.
    pub fn is_stored(&self, id: u8) -> bool {
        let ordinal = self.ordinal(id);
        let mut places = self.places.iter();
        places.any(|place| Some(place.ordinal) == ordinal && place.is_stored)
    }

    /// A restart leaves what is stored.
    pub fn forget_unstored(&mut self) {
        self.places.retain(|place| place.is_stored);
    }

    pub fn forget_all(&mut self) {
        self.floor = self.last + 1;
        self.forget();
    }

    pub fn live(&self) -> impl Iterator<Item = (u64, u8, u8)> {
        self.known()
    }

    /// When the add was made that has this ordinal.
    pub fn time(&self, ordinal: u64) -> u64 {
        let mut places = self.places.iter();
        let place = places.find(|place| place.ordinal == ordinal);
        place.map_or(0, |place| place.time)
    }
}

//! The reference model in time, and what it shows.

use super::model::Model;
use super::places::Places;
use super::recorded::{Answer, CACHES, Copied, InForce, PATTERNS, Recorded, pool, value_of};
use super::time::{CountingClock, UNITS_PER_STEP};

impl Model {
    /// Time goes on by so many steps.
    pub fn wait(&mut self, steps: u64) -> Answer {
        self.set_now(self.now + steps);
        self.claims.pass(steps * UNITS_PER_STEP);
        Answer::Done
    }

    /// The same at another time: that of a store that was opened then. Time may go back, but not
    /// before the newest add that lives.
    pub fn at(mut self, now: u64) -> Model {
        self.set_now(now.max(self.newest()));
        self
    }

    /// The time of the newest add that lives: what lives has a record, and a store never stands
    /// before it. A later time may be gone with records that died.
    pub fn newest(&self) -> u64 {
        let newest = self.caches.iter().map(Places::newest).max();
        newest.unwrap_or(0)
    }

    pub(super) fn set_now(&mut self, now: u64) {
        self.now = now;
        self.caches.iter_mut().for_each(|places| places.now = now);
    }

    /// Whether time makes a difference.
    pub fn has_ages(&self) -> bool {
        self.caches.iter().any(|places| places.max_age.is_some())
    }

    /// What differs from an opened copy of the store, if anything.
    pub fn agree_with_copy(&self, copy: &Copied) -> Result<(), String> {
        let model = self.opened(copy.now);
        let (recorded, pending) = (model.recorded_with_values(), model.pending());
        if (&recorded, &pending) == (&copy.recorded, &copy.pending) {
            return Ok(());
        }
        Err(format!(
            "the copy holds, pending {:?},\n{}  the model, pending {pending:?},\n{recorded}",
            copy.pending, copy.recorded
        ))
    }

    /// The whole recorded state: capacity, and each ID with the adds it has left, oldest first.
    pub fn recorded(&self) -> Recorded {
        self.shown(false)
    }

    /// The same with values and times: a renewal may change nothing else.
    pub fn recorded_with_values(&self) -> Recorded {
        self.shown(true)
    }

    fn shown(&self, has_values: bool) -> Recorded {
        let caches = self.caches.iter().enumerate();
        let caches = caches.filter(|(_, places)| places.is_recorded);
        let caches = caches.map(|(at, places)| {
            let live = places.live().map(|(ordinal, id, value)| {
                let value = if has_values {
                    value_of(value)
                } else {
                    Vec::new()
                };
                (
                    pool()[usize::from(id)].clone(),
                    places.adds_left(ordinal),
                    has_values.then(|| places.time(ordinal)),
                    value,
                )
            });
            let (namespace, address) = CACHES[at];
            (
                (address.to_vec(), namespace),
                InForce {
                    capacity: places.capacity,
                    is_by_call: places.is_set_by_call,
                    age: places.max_age.map(CountingClock::age),
                    is_age_by_call: places.is_age_set_by_call,
                    is_stored: !places.is_memory_only,
                },
                live.collect(),
            )
        });
        let patterns = PATTERNS.iter().zip(self.patterns);
        let set = patterns.map(|((text, _), said)| (text.to_vec(), said.settings()));
        let set = set.filter(|(_, settings)| !settings.is_empty());
        Recorded::new(caches, set, self.beside())
    }
}

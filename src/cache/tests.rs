//! Promise: a cache answers as a plain list of places does, whatever is called and restored.
//!
//! Method: seeded random calls on a cache and on the model below, every answer compared; then
//! single cases for hashes, lengths, times, memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use super::*;

type Held = (Vec<u8>, Vec<u8>, u64, u64);

/// The plain list: which ID was put at which ordinal.
struct Model {
    places: BTreeMap<u64, Held>,
    capacity: u64,
    last: u64,
    floor: u64,
}

impl Model {
    fn settle(&mut self) -> u64 {
        let (capacity, last, floor) = (self.capacity, self.last, self.floor);
        let bytes = self.live_bytes();
        self.places
            .retain(|ordinal, _| *ordinal >= floor && ordinal + capacity > last);
        bytes - self.live_bytes()
    }

    fn live_bytes(&self) -> u64 {
        self.places.values().map(|held| held.3).sum()
    }

    fn find(&self, id: &[u8]) -> Option<u64> {
        self.places
            .iter()
            .find(|(_, held)| held.0 == id)
            .map(|(ordinal, _)| *ordinal)
    }
}

/// A small seeded generator (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn hash(id: &[u8], bits: u32) -> u64 {
    let mixed = id
        .iter()
        .fold(7, |hash: u64, byte| Random(hash ^ u64::from(*byte)).next());
    mixed & (1_u64.checked_shl(bits).unwrap_or(0)).wrapping_sub(1)
}

/// One run: `bits` of hash, IDs out of `ids`, capacities below `capacity_max`.
struct Run {
    random: Random,
    cache: Cache,
    model: Model,
    bits: u32,
    ids: u64,
    capacity_max: u64,
    is_restoring: bool,
}

impl Run {
    fn new(seed: u64, capacity: Option<u64>) -> Run {
        let mut random = Random(seed);
        let bits = [64, 64, 64, 12, 0][usize::try_from(random.below(5)).unwrap()];
        let capacity_max = [4, 20, 300, 2000, 9000][usize::try_from(random.below(5)).unwrap()];
        let capacity_max = if bits == 0 {
            300.min(capacity_max)
        } else {
            capacity_max
        };
        let (bits, capacity_max) = capacity.map_or((bits, capacity_max), |capacity| (64, capacity));
        let ids = capacity_max * (1 + random.below(3));
        let capacity = capacity.unwrap_or_else(|| random.below(capacity_max));
        let model = Model {
            places: BTreeMap::new(),
            capacity,
            last: 0,
            floor: 1,
        };
        Run {
            random,
            cache: Cache::new(capacity),
            model,
            bits,
            ids,
            capacity_max,
            is_restoring: false,
        }
    }

    /// Ends a replay, if there is one: of each ID the highest ordinal stays.
    fn restored(&mut self) {
        if std::mem::take(&mut self.is_restoring) {
            self.cache.restored();
            let mut seen = std::collections::BTreeSet::new();
            let places = std::mem::take(&mut self.model.places);
            let newest = places.into_iter().rev();
            self.model.places = newest
                .filter(|(_, held)| seen.insert(held.0.clone()))
                .collect();
        }
    }

    fn content(&mut self) -> Held {
        let number = self.random.below(self.ids);
        let mut id = number.to_string().into_bytes();
        id.resize(id.len() + usize::try_from(number % 50).unwrap(), b'-');
        let value_bytes = if number.is_multiple_of(7) {
            number % 256
        } else {
            0
        };
        let value = vec![number.to_le_bytes()[0]; usize::try_from(value_bytes).unwrap()];
        let record_bytes = id.len() as u64 + self.random.below(5000);
        (
            id,
            value,
            1_000_000 + self.random.below(1 << 31),
            record_bytes,
        )
    }

    fn some_ordinal(&mut self) -> u64 {
        let span = self.model.capacity + 300;
        (self.model.last + 150).saturating_sub(self.random.below(span))
    }

    fn add(&mut self) {
        self.restored();
        let (id, value, time, record_bytes) = self.content();
        let hash = hash(&id, self.bits);
        let found = self.cache.find(hash, &id).map(|ordinal| ordinal.0);
        assert_eq!(found, self.model.find(&id));
        if found.is_some() {
            return;
        }
        let (leaving, before) = (self.cache.eviction_bytes(), self.model.live_bytes());
        let ordinal = self
            .cache
            .add(hash, &id, &value, Ticks(time), record_bytes)
            .0
            .0;
        assert_eq!(ordinal, (self.model.last + 1).max(self.model.floor));
        self.model.last = ordinal;
        self.model.settle();
        assert_eq!(leaving, before - self.model.live_bytes());
        if self.model.capacity > 0 {
            self.model
                .places
                .insert(ordinal, (id, value, time, record_bytes));
        }
    }

    fn restore(&mut self) {
        self.is_restoring = true;
        let ordinal = match self.random.below(400) {
            0 => self.model.last + self.random.below(1 << 34),
            1..10 => self.model.last + self.random.below(5000),
            10..200 => self.model.last + 1,
            _ => self.some_ordinal(),
        };
        let (id, value, time, record_bytes) = self.content();
        let hash = hash(&id, self.bits);
        let time_given = Ticks(time);
        let restored = self.cache.restore(
            Ordinal(ordinal),
            hash,
            &id,
            &value,
            time_given,
            record_bytes,
        );
        self.model.last = self.model.last.max(ordinal);
        self.model.settle();
        let is_in = ordinal >= self.model.floor && ordinal + self.model.capacity > self.model.last;
        let expected = if !is_in {
            Restored::Forgotten
        } else if let Some(held) = self.model.places.get_mut(&ordinal) {
            held.3 = record_bytes.max(held.0.len() as u64);
            Restored::Copy
        } else {
            self.model
                .places
                .insert(ordinal, (id, value, time, record_bytes));
            Restored::Fresh
        };
        assert_eq!(restored, expected);
    }

    fn change(&mut self) {
        let ordinal = self.some_ordinal();
        match self.random.below(60) {
            0 => {
                let capacity = self.random.below(self.capacity_max);
                let forgotten = self.cache.set_capacity(capacity);
                let kept = capacity.min(self.model.capacity);
                self.model.floor = self
                    .model
                    .floor
                    .max((self.model.last + 1).saturating_sub(kept));
                self.model.capacity = capacity;
                assert_eq!(forgotten.bytes, self.model.settle());
            }
            1..3 => {
                let forgotten = self.cache.forget_below(Ordinal(ordinal));
                self.model.floor = self.model.floor.max(ordinal);
                assert_eq!(forgotten.bytes, self.model.settle());
                assert_eq!(forgotten.storage.is_some() && self.cache.len() == 0, {
                    self.model.places.is_empty() && forgotten.bytes > 0
                });
            }
            3..30 => {
                let bytes = self.model.places.remove(&ordinal).map_or(0, |held| held.3);
                assert_eq!(self.cache.remove(Ordinal(ordinal)), bytes);
            }
            30..55 => {
                let held = self.model.places.get_mut(&ordinal);
                let expected = held.map_or(0, |held| std::mem::replace(&mut held.3, 4000));
                assert_eq!(
                    self.cache.set_record_bytes(Ordinal(ordinal), 4000),
                    expected
                );
            }
            _ => {
                self.cache.restore_last(Ordinal(self.model.last + 3));
                self.model.last += 3;
                self.model.settle();
            }
        }
    }

    fn compare(&mut self) {
        let (cache, model) = (&self.cache, &self.model);
        assert_eq!(
            (cache.len(), cache.live_bytes()),
            (model.places.len() as u64, model.live_bytes())
        );
        assert_eq!((cache.last().0, cache.floor().0), (model.last, model.floor));
        let first = model.places.first_key_value().map(|(ordinal, _)| *ordinal);
        let last = model.places.last_key_value().map(|(ordinal, _)| *ordinal);
        assert_eq!(cache.oldest().map(|found| found.ordinal.0), first);
        assert_eq!(cache.newest().map(|found| found.ordinal.0), last);
        let ordinal = self.some_ordinal();
        let (cache, model) = (&self.cache, &self.model);
        let next = model
            .places
            .range(ordinal..)
            .next()
            .map(|(ordinal, _)| *ordinal);
        assert_eq!(
            cache
                .next_from(Ordinal(ordinal))
                .map(|found| found.ordinal.0),
            next
        );
        assert_eq!(
            cache.is_live(Ordinal(ordinal)),
            model.places.contains_key(&ordinal)
        );
        assert_eq!(
            cache.get(Ordinal(ordinal)).is_some(),
            model.places.contains_key(&ordinal)
        );
    }

    fn compare_all(&mut self) {
        self.restored();
        let mut next = Ordinal(0);
        for (ordinal, (id, value, time, record_bytes)) in &self.model.places {
            let found = self.cache.next_from(next).unwrap();
            let expected = Remembered {
                ordinal: Ordinal(*ordinal),
                id,
                value,
                time: Ticks(*time),
                record_bytes: *record_bytes,
            };
            assert_eq!(found, expected);
            assert_eq!(
                self.cache.find(hash(id, self.bits), id),
                Some(Ordinal(*ordinal))
            );
            assert_eq!(
                self.cache.adds_left(Ordinal(*ordinal)),
                ordinal + self.model.capacity - self.model.last
            );
            next = Ordinal(ordinal + 1);
        }
        assert_eq!(self.cache.next_from(next), None);
    }
}

/// Runs `calls` calls per seed; of a hundred, `shares` are replay and changes, the rest adds.
fn run(seeds: std::ops::Range<u64>, calls: u64, shares: [u64; 2], capacity: Option<u64>) {
    let [restores, changes] = shares;
    for seed in seeds {
        let mut run = Run::new(seed, capacity);
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..calls {
                match run.random.below(100) {
                    it if it < restores => run.restore(),
                    it if it < restores + changes => run.change(),
                    _ => run.add(),
                }
                if run.random.below(20) == 0 {
                    run.compare();
                }
            }
            run.compare_all();
        }));
        assert!(
            told.is_ok(),
            "seed {seed}, {calls} calls, {shares:?}, {capacity:?}: see above"
        );
    }
}

#[test]
fn adds_and_changes_answer_as_the_plain_list_does() {
    run(0..150, 1500, [0, 15], None);
}

#[test]
fn replay_in_any_order_answers_as_the_plain_list_does() {
    run(1000..1150, 1500, [60, 10], None);
}

#[test]
fn windows_of_several_tables_answer_as_the_plain_list_does() {
    run(2000..2003, 25_000, [0, 0], Some(9000));
}

//! Settings in the reference model: what options, patterns and calls say of a cache, and what a
//! restart makes of it.

use super::super::places::Places;
use super::super::recorded::{Answer, CACHES, PATTERNS};
use super::super::said::{AtOpen, Persistence, Said};
use super::Model;

/// The caches in the order in which a change by pattern comes to them.
const IN_ORDER: [usize; CACHES.len()] = [0, 2, 4, 1, 3, 5];

impl Model {
    /// Open it again at the same time.
    pub fn reopen(&mut self, at_open: impl Into<AtOpen>) {
        self.reopen_at(&at_open.into(), self.now);
    }

    /// The same as it was, opened again with the same options: its time is this one.
    pub fn opened(&self, now: u64) -> Model {
        let mut model = self.clone();
        model.reopen_at(&self.at_open, now);
        model
    }

    /// Open it again: what was only claimed is gone, unless it is prepared, and so is what is not
    /// stored; settings may say something else.
    pub fn reopen_at(&mut self, at_open: &AtOpen, now: u64) {
        self.claim_again();
        self.transactions.clear();
        self.at_open = *at_open;
        for places in &mut self.caches {
            places.forget_unstored();
        }
        self.set_now(now.max(self.newest()));
        for cache in 0..self.caches.len() {
            let places = &self.caches[cache];
            let is_kept = places.is_recorded && !places.is_memory_only;
            if !is_kept || !self.effective(cache).is_stored() {
                self.make_new(cache);
            }
        }
        self.apply_settings();
    }

    /// The call before is over, and what it did is whole.
    pub fn begin_call(&mut self) {
        self.before.clear();
    }

    /// What a crash within the last call may leave beside all of it and nothing, opened at this
    /// time, if one of it is this: a pattern is recorded before the caches that it changes. The
    /// open comes to the others, which may have expired meanwhile; and what was not stored is gone.
    pub fn partly_as(&self, now: u64, fingerprint: u64) -> Option<Model> {
        let mut fewer = (0..self.before.len()).map(|first| {
            let mut model = self.clone();
            for (cache, before) in &self.before[first..] {
                model.caches[*cache] = before.clone();
            }
            model.before.truncate(first);
            model.opened(now)
        });
        fewer.find(|model| model.recorded_with_values().fingerprint() == fingerprint)
    }

    /// As a cache is before its first record.
    fn make_new(&mut self, cache: usize) {
        let said = self.effective(cache);
        let capacity = said.capacity.unwrap_or(self.at_open.capacity);
        let places = &mut self.caches[cache];
        places.forget_all();
        places.is_recorded = false;
        places.is_set_by_call = false;
        places.is_age_set_by_call = false;
        places.is_memory_only = !said.is_stored();
        places.capacity = capacity;
        places.max_age = said.age.flatten();
    }

    /// Gives each cache what settings say of it and no call has set.
    fn apply_settings(&mut self) {
        for cache in IN_ORDER {
            let said = self.effective(cache);
            let capacity = said.capacity.unwrap_or(self.at_open.capacity);
            if !self.caches[cache].is_recorded {
                self.make_new(cache);
                continue;
            }
            let places = &mut self.caches[cache];
            let before = places.clone();
            places.turn(said.is_stored());
            if !places.is_set_by_call && places.capacity != capacity {
                places.resize(capacity);
            }
            if let Some(age) = said.age
                && !places.is_age_set_by_call
                && places.max_age != age
            {
                places.set_max_age(age);
            }
            let in_force =
                |places: &Places| (places.is_memory_only, places.capacity, places.max_age);
            if in_force(&before) != in_force(places) {
                self.before.push((cache, before));
            }
        }
    }

    /// The most specific pattern decides, and of one pattern what a call has set.
    fn effective(&self, cache: usize) -> Said {
        let by_call = PATTERNS.iter().zip(self.patterns);
        let set = by_call.zip(self.at_open.patterns);
        let set = set.filter(|(((_, caches), _), _)| caches.contains(&cache));
        set.fold(Said::default(), |said, ((_, by_call), by_options)| {
            said.or(by_call).or(by_options)
        })
    }

    pub fn configure(&mut self, pattern: usize, said: Said) -> Answer {
        if self.ends_unasked(pattern, said, |model, cache| {
            model.caches[cache].is_recorded
        }) {
            return Answer::Refused;
        }
        self.patterns[pattern] = said;
        self.apply_settings();
        Answer::Done
    }

    /// Whether this may be refused: also the name that a transaction in doubt needs is stored.
    pub fn may_refuse(&self, pattern: usize, said: Said) -> bool {
        self.ends_unasked(pattern, said, |model, cache| {
            model.caches[cache].is_recorded || model.is_in_doubt(cache)
        })
    }

    /// Whether these settings would end what is stored, and do not say so.
    fn ends_unasked(
        &self,
        pattern: usize,
        said: Said,
        is_there: impl Fn(&Model, usize) -> bool,
    ) -> bool {
        let mut then = self.clone();
        then.patterns[pattern] = said;
        let mut matched = PATTERNS[pattern].1.iter();
        matched.any(|cache| {
            let is_off = then.effective(*cache).persistence == Some(Persistence::Off);
            is_off && !self.caches[*cache].is_memory_only && is_there(self, *cache)
        })
    }

    /// Whether an ID is known, and a restart leaves it.
    pub fn is_stored(&self, cache: usize, id: u8) -> bool {
        self.caches[cache].is_stored(id)
    }

    /// Ends both caches of the address; the next record there begins anew.
    pub fn drop_address(&mut self, address: usize) -> Answer {
        let both = 2 * address..2 * address + 2;
        let was_there = self.caches[both.clone()]
            .iter()
            .any(|places| places.is_recorded);
        both.for_each(|cache| self.make_new(cache));
        Answer::Truth(was_there)
    }

    pub fn set_capacity(&mut self, cache: usize, capacity: u64) -> Answer {
        let places = &mut self.caches[cache];
        places.resize(capacity);
        places.is_recorded = true;
        places.is_set_by_call = true;
        Answer::Done
    }

    /// From so many steps of time on the IDs of the cache are as if they were gone.
    pub fn set_max_age(&mut self, cache: usize, age: Option<u64>) -> Answer {
        let places = &mut self.caches[cache];
        if (places.max_age, places.is_age_set_by_call) != (age, true) {
            places.set_max_age(age);
            places.is_recorded = true;
            places.is_age_set_by_call = true;
        }
        Answer::Done
    }
}

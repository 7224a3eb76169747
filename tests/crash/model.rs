//! What may be found after a life: exactly one of two states for what a thread has alone, and for
//! the shared cache what the order of the acknowledgements allows.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::child::own_name;
use crate::found::{Found, FoundCache};
use crate::script::{SETTINGS, SHARED, SHARED_CAPACITY, STEPS, Script, Step, THREADS};

/// A cache that one thread has alone.
#[derive(Clone, Debug)]
struct Own {
    capacity: u64,
    last: u64,
    floor: u64,
    places: Vec<(u64, u64)>,
}

impl Own {
    fn new() -> Own {
        Own {
            capacity: SETTINGS,
            last: 0,
            floor: 1,
            places: Vec::new(),
        }
    }

    fn of(found: &FoundCache) -> Own {
        // Only differences of ordinals count: the last one is chosen high enough.
        let last = 1 << 40;
        let place = |(id, left): &(u64, u64)| (last + left - found.capacity, *id);
        Own {
            capacity: found.capacity,
            last,
            floor: 1,
            places: found.ids.iter().map(place).collect(),
        }
    }

    fn found(&self) -> FoundCache {
        let left = |(ordinal, id): &(u64, u64)| (*id, ordinal + self.capacity - self.last);
        FoundCache {
            capacity: self.capacity,
            ids: self.places.iter().map(left).collect(),
        }
    }

    fn knows(&self, id: u64) -> bool {
        self.places.iter().any(|(_, known)| *known == id)
    }

    fn add(&mut self, id: u64) {
        self.last += 1;
        self.places.push((self.last, id));
        self.forget();
    }

    fn forget(&mut self) {
        let (floor, capacity, last) = (self.floor, self.capacity, self.last);
        self.places
            .retain(|(ordinal, _)| *ordinal >= floor && ordinal + capacity > last);
    }

    fn resize(&mut self, capacity: u64) {
        let kept = self.capacity.min(capacity).min(self.last);
        self.floor = self.floor.max(self.last + 1 - kept);
        self.capacity = capacity;
        self.forget();
    }
}

/// The two caches of a thread.
type Pair = [Own; 2];

/// Does a step on the caches of a thread; what the store must answer.
fn take(pair: &mut Pair, step: &Step) -> char {
    match step {
        Step::Add(which, id) if pair[*which].knows(*id) => return 'd',
        Step::Add(which, id) => {
            pair[*which].add(*id);
            return 'a';
        }
        Step::Commit(ids) => ids.iter().for_each(|(which, id)| pair[*which].add(*id)),
        Step::Remove(which, id) => {
            let is_known = pair[*which].knows(*id);
            pair[*which].places.retain(|(_, known)| known != id);
            return if is_known { 'r' } else { 'n' };
        }
        Step::Clear(which) => pair[*which].places.clear(),
        Step::Drop(which) => pair[*which] = Own::new(),
        Step::Resize(which, capacity) => pair[*which].resize(*capacity),
        Step::Share(_) | Step::ClearShared | Step::Sync | Step::Compact => {}
    }
    'c'
}

/// A step on the shared cache: after which word it began, and with which it was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Shared {
    id: u64,
    begin: u64,
    acknowledged: Option<u64>,
}

impl Shared {
    /// Whether this was over before the other began.
    fn is_before(&self, other: &Shared) -> bool {
        self.acknowledged.is_some_and(|word| word < other.begin)
    }
}

/// What was known at the beginning of a life and was said in it.
pub(crate) struct Life {
    seed: (u64, u64),
    /// Each thread's caches after all that was acknowledged.
    pairs: Vec<Pair>,
    /// For each thread, the caches after the step in flight, too.
    flights: Vec<Option<Pair>>,
    adds: Vec<Shared>,
    clears: Vec<Shared>,
}

/// What a kill left.
pub(crate) struct Settled {
    pairs: Vec<Pair>,
    pub(crate) happened: u64,
    pub(crate) did_not: u64,
}

impl Life {
    /// Before the first one: nothing.
    pub(crate) fn first() -> Life {
        Life {
            seed: (0, 0),
            pairs: vec![[Own::new(), Own::new()]; THREADS],
            flights: vec![None; THREADS],
            adds: Vec::new(),
            clears: Vec::new(),
        }
    }

    /// A life that begins with what was found.
    pub(crate) fn next(settled: Settled, found: &Found, seed: (u64, u64)) -> Life {
        let shared = found.caches.get(SHARED).into_iter();
        let known = shared.flat_map(|cache| &cache.ids).enumerate();
        // What was there is older than every word, and in order: two words apart.
        let count = found.caches.get(SHARED).map_or(0, |cache| cache.ids.len()) as u64;
        let add = |(at, (id, _)): (usize, &(u64, u64))| Shared {
            id: *id,
            begin: 2 * at as u64,
            acknowledged: Some(2 * at as u64 + 1),
        };
        let adds: Vec<Shared> = known.map(add).collect();
        assert_eq!(adds.len() as u64, count);
        Life {
            seed,
            pairs: settled.pairs,
            flights: vec![None; THREADS],
            adds,
            clears: Vec::new(),
        }
    }

    /// Takes in what was acknowledged; how much it was.
    pub(crate) fn hear(&mut self, said: &[u8]) -> Result<u64, String> {
        let mut scripts: Vec<_> = (0..THREADS).map(|at| Script::new(self.seed, at)).collect();
        let first = 2 * self.adds.len() as u64;
        // The word before which each thread was silent, and how many steps it has taken.
        let mut begins = [first; THREADS];
        let mut steps = [0; THREADS];
        let mut word = first;
        let whole = said.split_inclusive(|byte| *byte == b'\n');
        for line in whole {
            let [b'@', digit @ b'0'..=b'9', answer, b'\n'] = line else {
                // Not ours: the test program says how many tests were run.
                continue;
            };
            let thread = usize::from(digit - b'0');
            word += 1;
            steps[thread] += 1;
            let step = scripts[thread].step();
            let expected = take(&mut self.pairs[thread], &step);
            if expected != char::from(*answer) {
                let answer = char::from(*answer);
                return Err(format!(
                    "thread {thread}, {step:?}: {answer}, not {expected}"
                ));
            }
            self.share(&step, begins[thread], Some(word));
            begins[thread] = word;
        }
        for (thread, script) in scripts.iter_mut().enumerate() {
            if steps[thread] < STEPS {
                let step = script.step();
                let mut pair = self.pairs[thread].clone();
                take(&mut pair, &step);
                self.flights[thread] = Some(pair);
                self.share(&step, begins[thread], None);
            }
        }
        Ok(word - first)
    }

    fn share(&mut self, step: &Step, begin: u64, acknowledged: Option<u64>) {
        let shared = |id| Shared {
            id,
            begin,
            acknowledged,
        };
        match step {
            Step::Share(id) => self.adds.push(shared(*id)),
            Step::ClearShared => self.clears.push(shared(0)),
            _ => {}
        }
    }

    /// Compares with what the next child found.
    pub(crate) fn check(&self, found: &Found) -> Result<Settled, String> {
        let mut left = found.caches.clone();
        let shared = left.remove(SHARED).unwrap_or_default();
        let mut settled = Settled {
            pairs: Vec::new(),
            happened: 0,
            did_not: 0,
        };
        for (thread, (pair, flight)) in self.pairs.iter().zip(&self.flights).enumerate() {
            let names = [0, 1].map(|which| own_name(thread, which));
            let new = Own::new().found();
            let there = names.map(|name| left.remove(&name).unwrap_or_else(|| new.clone()));
            let is = |pair: &Pair| {
                pair.iter()
                    .zip(&there)
                    .all(|(own, one)| own.found() == *one)
            };
            let (is_before, is_after) = (is(pair), flight.as_ref().is_some_and(is));
            if !is_before && !is_after {
                return Err(format!(
                    "thread {thread}: found {there:?}\n{pair:?}\n{flight:?}"
                ));
            }
            settled.happened += u64::from(is_after && !is_before);
            settled.did_not += u64::from(is_before && !is_after && flight.is_some());
            settled.pairs.push(there.each_ref().map(Own::of));
        }
        if !left.is_empty() {
            return Err(format!("caches of nobody: {left:?}"));
        }
        self.check_shared(&shared)?;
        Ok(settled)
    }

    fn check_shared(&self, shared: &FoundCache) -> Result<(), String> {
        let adds: HashMap<u64, &Shared> = self.adds.iter().map(|add| (add.id, add)).collect();
        let mut found = HashSet::new();
        // The latest beginning of what stands earlier.
        let mut latest = 0;
        // The first acknowledgement among what is found.
        let mut first = u64::MAX;
        let mut order = BTreeMap::new();
        for (at, (id, left)) in shared.ids.iter().enumerate() {
            let add = adds
                .get(id)
                .ok_or_else(|| format!("{id} was never added"))?;
            let acknowledged = add.acknowledged.unwrap_or(u64::MAX);
            if !found.insert(*id) {
                return Err(format!("{id} is there twice"));
            }
            let expected = SHARED_CAPACITY - (shared.ids.len() - 1 - at) as u64;
            if *left != expected {
                return Err(format!("{id} has {left} adds left, not {expected}"));
            }
            if acknowledged < latest {
                return Err(format!("{id} stands behind what began after it was known"));
            }
            latest = latest.max(add.begin);
            first = first.min(acknowledged);
            order.insert(at, add);
        }
        for clear in self
            .clears
            .iter()
            .filter(|clear| clear.acknowledged.is_some())
        {
            if let Some(add) = order.values().find(|add| add.is_before(clear)) {
                return Err(format!("{add:?} is back after {clear:?}"));
            }
        }
        let is_full = shared.ids.len() as u64 == SHARED_CAPACITY;
        let missing = self
            .adds
            .iter()
            .filter(|add| add.acknowledged.is_some() && !found.contains(&add.id));
        for add in missing {
            if first < add.begin {
                return Err(format!(
                    "{add:?} is lost, and what was known before it is not"
                ));
            }
            let may_be_cleared = self.clears.iter().any(|clear| !clear.is_before(add));
            if !is_full && !may_be_cleared {
                return Err(format!("{add:?} is lost: {} are there", shared.ids.len()));
            }
        }
        Ok(())
    }
}

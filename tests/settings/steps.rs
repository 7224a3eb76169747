//! Calls to one address as a seed has them, restarts and kills among them, each held against a
//! list.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::{
    Clock, Confirmed, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Reservation, Reserve,
    Resolved, Store, Ticks,
};

use super::listed::{Change, Doubt, Model, Said};
use super::opened::{add, cache, known, none, open, plain};
use super::support::{HandClock, Random, killed};

pub(crate) const STEPS: u64 = 120;
/// So few that most calls meet an ID that is known.
const IDS: u64 = 12;

fn options(said: Said, clock: &Arc<HandClock>) -> Options {
    let mut options = plain().clock(Arc::clone(clock) as Arc<dyn Clock>);
    if let Some(capacity) = said.capacity {
        options = options.id_cache_size(capacity);
    }
    if let Some(age) = said.age {
        options = options.max_age(duration(age));
    }
    options
}

fn ticks(age: Option<Duration>) -> u64 {
    let milliseconds = age.unwrap_or_default().as_millis();
    u64::try_from(milliseconds).unwrap() / Ticks::MILLISECONDS
}

fn duration(ticks: u64) -> Option<Duration> {
    (ticks > 0).then(|| Duration::from_millis(ticks * Ticks::MILLISECONDS))
}

/// A run in the making.
struct Run {
    storage: MemoryStorage,
    clock: Arc<HandClock>,
    store: Option<Store>,
    model: Model,
    /// A reservation that is open.
    held: Option<Reservation>,
    random: Random,
    fresh: u64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let storage = MemoryStorage::new();
        let clock = Arc::new(HandClock::default());
        let store = Some(open(&storage, options(Said::default(), &clock)));
        Run {
            storage,
            clock,
            store,
            model: Model::new(),
            held: None,
            random: Random(seed),
            fresh: 1000,
        }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn step(&mut self) -> String {
        let number = self.random.below(IDS);
        match self.random.below(27) {
            kind @ 0..10 => self.change(kind, number),
            10 => {
                let existed = self.store().drop_cache("a").wait().unwrap();
                assert_eq!(existed, self.model.is_begun);
                self.model.end();
                "drop".to_owned()
            }
            11 | 12 => self.configure(),
            13 | 18 => self.set(),
            14 | 15 => self.prepare(),
            16 => self.resolve(),
            17 => {
                let count = self.random.below(60);
                add(self.store(), "busy", self.fresh..self.fresh + count);
                self.fresh += count;
                format!("busy {count}")
            }
            19 | 20 => {
                let ticks = self.random.below(10);
                self.model.now += ticks;
                let milliseconds = ticks * Ticks::MILLISECONDS;
                self.clock.0.fetch_add(milliseconds, Ordering::Relaxed);
                self.model.cut();
                format!("pass {ticks}")
            }
            21 => {
                self.store().compact().unwrap();
                "compact".to_owned()
            }
            22 | 23 => self.restart(),
            _ => self.reserve(number),
        }
    }

    /// Reserves an ID, or ends the reservation that is open.
    fn reserve(&mut self, number: u64) -> String {
        let claimed = self.model.claimed.take();
        if let Some(claim) = self.held.take() {
            if self.random.below(3) == 0 {
                claim.release();
                return "release".to_owned();
            }
            assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
            if let Some(number) = claimed {
                self.model.put(number);
            }
            return "confirm".to_owned();
        }
        let model = &mut self.model;
        let (is_known, is_pending) = (model.known().contains(&number), model.is_pending(number));
        match cache(self.store.as_ref().unwrap(), "a").reserve(number.to_string()) {
            Ok(Reserve::Reserved(claim)) => {
                assert!(model.capacity == 0 || !is_known && !is_pending);
                model.claimed = Some(number).filter(|_| model.capacity > 0);
                self.held = Some(claim);
            }
            Ok(Reserve::Duplicate(_)) => assert!(is_known),
            Ok(Reserve::Pending(_)) => assert!(!is_known && is_pending),
            Err(error) => panic!("{error}"),
        }
        format!("reserve {number}")
    }

    /// A call for one ID, or for all.
    fn change(&mut self, kind: u64, number: u64) -> String {
        let (cached, id) = (cache(self.store(), "a"), number.to_string());
        let model = &mut self.model;
        match kind {
            0..5 => {
                let outcome = cached.add(&id).unwrap();
                let is_known = model.known().contains(&number);
                match outcome {
                    Outcome::Added => {
                        assert!(!is_known && (model.capacity == 0 || !model.is_pending(number)));
                        model.put(number);
                    }
                    Outcome::Duplicate(_) => assert!(is_known),
                    Outcome::Pending(_) => assert!(!is_known && model.is_pending(number)),
                }
                format!("add {number}")
            }
            5..7 => {
                let is_there = model.remove(number);
                assert_eq!(cached.renew(&id).wait().unwrap(), is_there);
                if is_there {
                    model.put(number);
                }
                format!("renew {number}")
            }
            7..9 => {
                let is_there = cached.remove(&id).wait().unwrap();
                assert_eq!(is_there, model.remove(number));
                format!("remove {number}")
            }
            _ => {
                let count = cached.clear().wait().unwrap();
                assert_eq!(count, model.places.len() as u64);
                model.places.clear();
                "clear".to_owned()
            }
        }
    }

    /// A setting by call.
    fn set(&mut self) -> String {
        let cached = cache(self.store(), "a");
        self.model.is_begun = true;
        if self.random.below(2) == 0 {
            let capacity = self.random.below(9);
            cached.set_capacity(capacity).wait().unwrap();
            (self.model.capacity, self.model.capacity_by_call) = (capacity, true);
            self.model.cut();
            return format!("capacity {capacity}");
        }
        let age = self.random.below(2) * self.random.below(40);
        cached.set_max_age(duration(age)).wait().unwrap();
        (self.model.age, self.model.age_by_call) = (age, true);
        self.model.cut();
        format!("age {age}")
    }

    fn configure(&mut self) -> String {
        let is_on = self.random.below(2) == 0;
        // Said where it is needed, and now and then where it is not.
        let has_stored = self.model.is_stored && self.model.has_definition();
        let may_end = has_stored || self.random.below(2) == 0;
        let mut settings = none().persistence(is_on).end_stored_ids(!is_on && may_end);
        let said = self.said();
        if let Some(capacity) = said.capacity {
            settings = settings.id_cache_size(capacity);
        }
        if let Some(age) = said.age {
            settings = settings.max_age(duration(age).unwrap_or_default());
        }
        self.store().configure("a", settings).wait().unwrap();
        self.model.is_stored = is_on;
        self.model.pattern = said;
        self.model.apply();
        for place in self.model.places.iter_mut().filter(|_| !is_on) {
            place.is_stored = false;
        }
        format!("persistence {is_on} {said:?}")
    }

    fn resolve(&mut self) -> String {
        let (transaction, is_commit) = (self.random.below(3), self.random.below(3) > 0);
        let (store, id) = (self.store(), transaction.to_string());
        let (resolved, modelled) = if is_commit {
            let resolved = store.commit_prepared(id);
            (resolved, self.model.commit(transaction))
        } else {
            let resolved = store.roll_back_prepared(id);
            let was_there = self.model.in_doubt.remove(&transaction).is_some();
            let modelled = match was_there {
                true => Resolved::Done,
                false => Resolved::Unknown,
            };
            (resolved, modelled)
        };
        assert_eq!(resolved.wait().unwrap(), modelled);
        format!("resolve {transaction}, commit {is_commit}")
    }

    fn said(&mut self) -> Said {
        let capacity = Some(self.random.below(9)).filter(|_| self.random.below(2) == 0);
        let age = self.random.below(2) * self.random.below(40);
        let age = Some(age).filter(|_| self.random.below(3) == 0);
        Said { capacity, age }
    }

    fn prepare(&mut self) -> String {
        let transaction = self.random.below(3);
        let store = self.store.as_ref().unwrap();
        let cached = cache(store, "a");
        let mut branch = store.begin(OnDuplicate::Skip, Owner(7));
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let number = self.random.below(IDS);
            let id = number.to_string();
            if self.random.below(3) > 0 {
                let outcome = branch.add(&cached, &id).unwrap();
                if outcome == Outcome::Added && self.model.capacity > 0 {
                    changes.push(Change::Add(number));
                }
            } else if branch.remove(&cached, &id).unwrap() {
                let is_own = |change: &Change| *change == Change::Add(number);
                let own = changes.iter().rposition(is_own);
                let place = self.model.places.iter().find(|place| place.id == number);
                match (own, place) {
                    (Some(at), _) => changes[at] = Change::Hole(number),
                    (None, Some(place)) => changes.push(Change::Remove(place.ordinal)),
                    (None, None) => panic!("it is not there"),
                }
            }
        }
        let prepared = branch.prepare(transaction.to_string()).wait();
        let is_new = !self.model.in_doubt.contains_key(&transaction);
        assert_eq!(prepared.is_ok(), is_new);
        if is_new {
            let is_stored = self.model.is_stored;
            let doubt = Doubt { changes, is_stored };
            self.model.in_doubt.insert(transaction, doubt);
        }
        format!("prepare {transaction}")
    }

    fn restart(&mut self) -> String {
        self.held = None;
        let store = self.store.take().unwrap();
        let is_kill = self.random.below(2) == 0;
        if is_kill {
            self.storage = killed(&self.storage);
        } else {
            store.close().unwrap();
        }
        drop(store);
        let said = self.said();
        self.store = Some(open(&self.storage, options(said, &self.clock)));
        self.model.restart(said);
        format!("restart by kill {is_kill} {said:?}")
    }

    fn check(&mut self, steps: &[String], seed: u64) {
        let told = || format!("seed {seed}, {:#?}\n{steps:?}", self.model);
        assert_eq!(known(self.store(), "a"), self.model.known(), "{}", told());
        let has_claims = self.held.is_some() || !self.model.in_doubt.is_empty();
        let claimed_bytes = self.store().stats().claimed_bytes;
        assert!(has_claims || claimed_bytes == 0, "{}", told());
        let stats = cache(self.store(), "a").stats();
        assert_eq!(stats.capacity, self.model.capacity, "{}", told());
        assert_eq!(ticks(stats.max_age), self.model.age, "{}", told());
        let said = self.model.options;
        let seen = open(&killed(&self.storage), options(said, &self.clock));
        let mut after = self.model.clone();
        after.restart(said);
        assert_eq!(known(&seen, "a"), after.known(), "after a kill, {}", told());
        let capacity = cache(&seen, "a").capacity();
        assert_eq!(capacity, after.capacity, "after a kill, {}", told());
        let mut begun = seen.caches(None, 9);
        begun.retain(|info| *info.address.0 == *b"a");
        assert_eq!(
            begun.len(),
            usize::from(after.is_begun),
            "after a kill, {}",
            told()
        );
    }
}

/// All steps of a seed.
///
/// # Panics
///
/// If the store is not as the list says, after one of them.
pub(crate) fn run(seed: u64) {
    let mut run = Run::new(seed);
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        steps.push(run.step());
        run.check(&steps, seed);
    }
}

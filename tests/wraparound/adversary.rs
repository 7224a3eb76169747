//! A search for an interleaving that breaks promise 7: hot and slow addresses, clears, drops,
//! capacities, removes, transactions, reopening and kills, in tiny segments.

use idjournal::{Cache, MemoryStorage, OnDuplicate, Owner, Store};

use crate::bound::Bound;
use crate::support::{Random, answers, killed, open, small, uuid};

const ADDRESSES: u64 = 12;

struct Search {
    random: Random,
    storage: MemoryStorage,
    store: Store,
    caches: Vec<Cache>,
    bound: Bound,
    segment_bytes: u64,
    next: u64,
}

fn caches(store: &Store) -> Vec<Cache> {
    let cache = |number| store.cache(format!("address-{number}")).unwrap();
    (0..ADDRESSES).map(cache).collect()
}

impl Search {
    fn new(seed: u64, segment_bytes: u64) -> Search {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), small(segment_bytes).id_cache_size(30)).unwrap();
        Search {
            random: Random(seed),
            caches: caches(&store),
            storage,
            store,
            bound: Bound::new(segment_bytes),
            segment_bytes,
            next: 0,
        }
    }

    fn some_cache(&mut self) -> Cache {
        // Half of all goes to one address.
        let at = self.random.below(2 * ADDRESSES) % (ADDRESSES + 1);
        let at = usize::try_from(at.saturating_sub(1)).unwrap();
        self.caches[at].clone()
    }

    fn add(&mut self, cache: &Cache) {
        self.next += 1;
        let _ = cache.add(uuid(self.next)).unwrap();
    }

    fn reopen(&mut self, is_kill: bool) {
        let known = answers(&self.store);
        if is_kill {
            self.storage = killed(&self.storage);
        } else {
            self.caches.clear();
            self.store.close().unwrap();
        }
        let segment_bytes = self.segment_bytes;
        self.store = open(self.storage.clone(), small(segment_bytes)).unwrap();
        assert!(answers(&self.store) == known, "other IDs after reopening");
        self.caches = caches(&self.store);
        self.bound.reopened(&self.store, is_kill);
    }

    /// One step of a mood: what is done often in one phase is rare in another.
    fn step(&mut self, mood: u64) -> &'static str {
        let cache = self.some_cache();
        let roll = self.random.below(1000);
        let rare = [20, 4, 100, 2][usize::try_from(mood % 4).unwrap()];
        match roll {
            _ if roll < rare => drop(cache.clear().wait().unwrap()),
            _ if roll < 2 * rare => drop(self.store.drop_cache(cache.address()).wait().unwrap()),
            _ if roll < 3 * rare => {
                let capacity = [0, 1, 5, 30, 100][usize::try_from(self.random.below(5)).unwrap()];
                cache.set_capacity(capacity).wait().unwrap();
            }
            _ if roll < 4 * rare => {
                self.reopen(mood.is_multiple_of(3));
                return "reopen";
            }
            _ if roll < 4 * rare + 50 => {
                if let Some(id) = cache.ids().next() {
                    assert!(cache.remove(id).wait().unwrap());
                }
            }
            _ if roll < 4 * rare + 90 => {
                let mut transaction = self.store.begin(OnDuplicate::Skip, Owner(1));
                for _ in 0..self.random.below(3) {
                    self.next += 1;
                    let to = self.some_cache();
                    let _ = transaction.add(&to, uuid(self.next)).unwrap();
                }
                transaction.commit().wait().unwrap();
                return "transaction";
            }
            _ => self.add(&cache),
        }
        "change"
    }
}

#[test]
fn no_interleaving_breaks_the_bound() {
    let mut worst = 0;
    for seed in 0..120 {
        let segment_bytes = [1024, 2048, 4096][usize::try_from(seed % 3).unwrap()];
        let mut search = Search::new(seed, segment_bytes);
        for step in 0..1500 {
            let what = search.step(step / 200 + seed);
            let stats = search.store.stats();
            search
                .bound
                .check(&stats, format!("seed {seed}, step {step}, {what}"));
        }
        worst = worst.max(search.bound.worst);
    }
    assert!(worst > 60, "the search never came near the bound: {worst}%");
}

//! What the tests of bad input, space, damage and restarts share: files as bytes, answers, chance,
//! time.
//!
//! A kill is a copy of the files of an open store: what was written is there, and nothing was
//! closed.

#![allow(dead_code, reason = "each test takes what it needs")]

pub(crate) mod encoder;
pub(crate) mod gated;
pub(crate) mod home;
pub(crate) mod kept;
pub(crate) mod limited;
pub(crate) mod rows;
pub(crate) mod watched;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idjournal::{
    Cache, Clock, Entropy, Error, FileStorage, MemoryStorage, Namespace, OnDuplicate, Options,
    Owner, Result, Seen, State, Storage, Store, SyncPolicy,
};

/// The files of a directory by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// What a store answers: per cache its capacity, and its IDs in order with their places.
pub(crate) type Answers = BTreeMap<(Namespace, Vec<u8>), (u64, Vec<(u64, Vec<u8>)>)>;

/// Every file of `storage` but the lock, whole.
pub(crate) fn files(storage: &impl Storage) -> Files {
    let read = |name: String| {
        let file = storage.open(&name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.bytes().unwrap()).unwrap()];
        let mut done = 0;
        while done < bytes.len() {
            done += file.read_at(done as u64, &mut bytes[done..]).unwrap();
        }
        (name, bytes)
    };
    let names = storage.list().unwrap().into_iter();
    names.filter(|name| name != "lock").map(read).collect()
}

/// A directory in memory with these files.
pub(crate) fn storage_of(files: &Files) -> MemoryStorage {
    let storage = MemoryStorage::new();
    for (name, bytes) in files {
        let file = storage.create(name).unwrap();
        assert_eq!(file.write_at(0, bytes).unwrap(), bytes.len());
    }
    storage
}

/// What a kill at this moment leaves of `storage`.
pub(crate) fn killed(storage: &MemoryStorage) -> MemoryStorage {
    storage_of(&files(storage))
}

/// The files of a real directory.
pub(crate) fn files_in(directory: &Path) -> Files {
    files(&FileStorage::read_only(directory).unwrap())
}

pub(crate) fn open(storage: impl Storage, options: Options) -> Result<Store> {
    Store::open_on(storage, options, &mut |_| {})
}

/// Small segments, no keeper, no waiting for a disk: every run does the same.
pub(crate) fn small(segment_bytes: u64) -> Options {
    Options::default()
        .segment_bytes(segment_bytes)
        .keeper(false)
        .sync_policy(SyncPolicy::Manual)
}

/// The error of an open that must not succeed.
pub(crate) fn refusal(files: &Files, options: Options) -> Error {
    let storage = storage_of(files);
    let error = match open(storage.clone(), options) {
        Ok(store) => panic!("opened with {} caches", answers(&store).len()),
        Err(error) => error,
    };
    assert_same(&self::files(&storage), files);
    error
}

/// Asserts that two directories are the same, and names the files that are not.
pub(crate) fn assert_same(one: &Files, other: &Files) {
    let names = one.keys().chain(other.keys());
    let changed = names.filter(|name| one.get(*name) != other.get(*name));
    let changed: Vec<&String> = changed.collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
}

/// Adds all of `ids` in one transaction, or none.
pub(crate) fn commit(store: &Store, ids: &[(&Cache, [u8; 36])]) {
    let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
    for (cache, id) in ids {
        let _ = transaction.add(cache, id).unwrap();
    }
    transaction.commit().wait().unwrap();
}

/// Everything that `store` knows.
pub(crate) fn answers(store: &Store) -> Answers {
    let mut all = Answers::new();
    for info in store.caches(None, usize::MAX) {
        let cache = store.cache_in(info.namespace, &info.address.0).unwrap();
        let ids = cache.ids().map(|id| match cache.state(&id) {
            State::Known(Seen { ordinal, .. }) | State::Unsynced(Seen { ordinal, .. }) => {
                (ordinal.0, id)
            }
            other => panic!("an ID of the cursor is {other:?}"),
        });
        let ids: Vec<_> = ids.collect();
        assert_eq!(info.len, ids.len() as u64);
        all.insert(
            (info.namespace, info.address.0.to_vec()),
            (info.capacity, ids),
        );
    }
    all
}

/// Chance with a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// An ID of 36 bytes, as a UUID has.
pub(crate) fn uuid(number: u64) -> [u8; 36] {
    let mut id = *b"00000000-0000-4000-8000-000000000000";
    let digits = format!("{number:012x}");
    id[24..].copy_from_slice(digits.as_bytes());
    id
}

/// Time that moves only by hand, in milliseconds.
#[derive(Default)]
pub(crate) struct HandClock(pub(crate) AtomicU64);

impl Clock for HandClock {
    fn wall(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Both clocks in milliseconds, set by hand.
#[derive(Default)]
pub(crate) struct Jumping {
    wall: AtomicU64,
    monotonic: AtomicU64,
}

impl Jumping {
    pub(crate) fn set(&self, wall: u64, monotonic: u64) {
        self.wall.store(wall, Ordering::Relaxed);
        self.monotonic.store(monotonic, Ordering::Relaxed);
    }
}

impl Clock for Jumping {
    fn wall(&self) -> Duration {
        Duration::from_millis(self.wall.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.monotonic.load(Ordering::Relaxed))
    }
}

/// Random bytes that are the same in every run.
pub(crate) struct SeededEntropy(pub(crate) AtomicU64);

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        for chunk in bytes.chunks_mut(8) {
            let mut random = Random(self.0.fetch_add(1, Ordering::Relaxed));
            chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// Options under which a run writes the same bytes each time.
pub(crate) fn repeatable(segment_bytes: u64, seed: u64) -> (Options, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let options = small(segment_bytes)
        .clock(Arc::clone(&clock) as Arc<dyn Clock>)
        .entropy(Arc::new(SeededEntropy(AtomicU64::new(seed))));
    (options, clock)
}

/// Options whose clock is set by hand, and that clock.
pub(crate) fn hand_clocked() -> (Options, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let options = Options::default().clock(Arc::clone(&clock) as Arc<dyn Clock>);
    (options, clock)
}

//! Copies beside a writer that has slots used again while they are copied.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use idjournal::{Cache, MemoryStorage, Storage, StorageFile, StorageLock, Store};

use crate::support::{commit, open, small, uuid};

/// A storage that calls this before each file that it makes.
#[derive(Clone)]
struct Watched(MemoryStorage, Arc<dyn Fn() + Send + Sync>);

impl Storage for Watched {
    fn place(&self) -> String {
        self.0.place()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        (self.1)();
        self.0.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.0.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        self.0.try_lock(name, holder)
    }
}

/// How far a writer is, and may go.
#[derive(Default)]
struct Course {
    written: AtomicU64,
    allowed: AtomicU64,
    is_over: AtomicBool,
}

impl Course {
    /// Lets the writer make `count` steps, and waits for that unless it is held up.
    fn go_on(&self, count: u64) {
        let end = self.written.load(Ordering::Acquire) + count;
        self.allowed.store(end, Ordering::Release);
        for _ in 0..20_000 {
            if self.written.load(Ordering::Acquire) >= end {
                return;
            }
            thread::yield_now();
        }
    }

    /// Records each number under both addresses, as one.
    fn write(&self, store: &Store, pair: &[Cache; 2]) {
        while !self.is_over.load(Ordering::Acquire) {
            let number = self.written.load(Ordering::Acquire);
            if number < self.allowed.load(Ordering::Acquire) {
                commit(store, &[(&pair[0], uuid(number)), (&pair[1], uuid(number))]);
                self.written.store(number + 1, Ordering::Release);
            } else {
                thread::yield_now();
            }
        }
    }
}

#[test]
fn a_copy_beside_a_writer_is_of_one_moment_although_slots_are_used_again_meanwhile() {
    const CAPACITY: u64 = 40;
    for keeper in [true, false] {
        let store = open(MemoryStorage::new(), small(2048).keeper(keeper)).unwrap();
        let pair = ["left", "right"].map(|name| store.cache(name).unwrap());
        for one in &pair {
            one.set_capacity(CAPACITY).wait().unwrap();
        }
        let course = Arc::new(Course::default());
        let mut released = 0;
        thread::scope(|scope| {
            scope.spawn(|| course.write(&store, &pair));
            course.go_on(300);
            for _ in 0..12 {
                let (before, begun) = (
                    course.written.load(Ordering::Acquire),
                    store.stats().segments_released,
                );
                let (copy, watched) = (MemoryStorage::new(), Arc::clone(&course));
                let target = Watched(copy.clone(), Arc::new(move || watched.go_on(60)));
                store.backup_on(target).unwrap();
                let after = course.written.load(Ordering::Acquire) + 1;
                released += store.stats().segments_released - begun;
                let copied = open(copy, small(2048)).unwrap();
                let known = ["left", "right"].map(|name| {
                    let cache = copied.cache(name).unwrap();
                    cache.ids().collect::<Vec<_>>()
                });
                assert_eq!(known[0], known[1]);
                let end = (before..=after).find(|end| {
                    let window = end.saturating_sub(CAPACITY)..*end;
                    window
                        .map(|number| uuid(number).to_vec())
                        .eq(known[0].iter().cloned())
                });
                assert!(end.is_some(), "no moment of {before} to {after}");
            }
            course.is_over.store(true, Ordering::Release);
        });
        assert!(released > 20, "{released} segments were released meanwhile");
    }
}

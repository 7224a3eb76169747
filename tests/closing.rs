//! Promise: once `close` has returned, the directory is free: nothing of this store changes it any
//! more, whatever other threads are in the middle of.
//!
//! Method: a storage that notes every change after that moment; threads that add and compact while
//! the store is closed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use idjournal::{
    Error, MemoryStorage, Options, Storage, StorageFile, StorageLock, Store, SyncPolicy, Writes,
};

/// A storage that takes its time, and counts the changes after it was watched.
#[derive(Clone, Default)]
struct Watched {
    inner: MemoryStorage,
    is_watched: Arc<AtomicBool>,
    changes: Arc<AtomicU64>,
    is_failing: Arc<AtomicBool>,
}

struct WatchedFile(Arc<dyn StorageFile>, Watched);

impl Watched {
    fn note(&self) {
        let is_watched = self.is_watched.load(Ordering::SeqCst);
        self.changes
            .fetch_add(u64::from(is_watched), Ordering::SeqCst);
    }
}

impl Storage for Watched {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.note();
        Ok(Arc::new(WatchedFile(
            self.inner.create(name)?,
            self.clone(),
        )))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(WatchedFile(self.inner.open(name)?, self.clone())))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.note();
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.note();
        self.inner.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        self.inner.try_lock(name, holder)
    }
}

impl StorageFile for WatchedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.0.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.1.note();
        self.0.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        thread::sleep(Duration::from_micros(100));
        if self.1.is_failing.load(Ordering::SeqCst) {
            return Err(io::Error::other("planned"));
        }
        self.0.sync()
    }

    fn prepare(&self, writes: Writes) -> io::Result<()> {
        self.0.prepare(writes)
    }
}

#[test]
fn after_close_has_returned_no_thread_changes_the_directory() {
    let options = || Options::default().segment_bytes(1024).id_cache_size(40);
    for round in 0..600_u64 {
        let storage = Watched::default();
        let options = options().sync_policy(SyncPolicy::Manual);
        let options = options.keeper(round % 2 == 0);
        let store = Store::open_on(storage.clone(), options, &mut |_| {}).unwrap();
        let work = |number: u64| {
            let store = store.clone();
            thread::spawn(move || {
                let Ok(orders) = store.cache(number.to_le_bytes()) else {
                    return;
                };
                for id in 0_u64.. {
                    let done = match number {
                        0 => store.compact(),
                        _ => orders.add(id.to_le_bytes()).map(|_| ()),
                    };
                    match done {
                        Ok(()) => {}
                        Err(Error::Closed) => return,
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        };
        let threads: Vec<_> = (0..4).map(work).collect();
        thread::sleep(Duration::from_micros(round * 37 % 3000));
        store.close().unwrap();
        storage.is_watched.store(true, Ordering::SeqCst);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        let changes = storage.changes.load(Ordering::SeqCst);
        assert_eq!(changes, 0, "round {round}: changes after close");
    }
}

#[test]
fn no_close_says_that_all_is_on_disk_when_it_is_not() {
    let storage = Watched::default();
    let options = Options::default().sync_policy(SyncPolicy::Manual);
    let store = Store::open_on(storage.clone(), options, &mut |_| {}).unwrap();
    store.cache("orders").unwrap().submit("a").detach();
    storage.is_failing.store(true, Ordering::SeqCst);
    let answers: Vec<_> = thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(|| store.close()));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    for answer in answers.into_iter().chain([store.close()]) {
        assert!(
            matches!(answer, Err(Error::OutcomeUnknown { .. })),
            "{answer:?}"
        );
    }
}

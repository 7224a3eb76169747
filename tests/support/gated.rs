//! A storage in memory whose syncs wait at a gate, and whose syncs or writes fail when told; and
//! wakers that count.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use idjournal::{Cache, MemoryStorage, Settled, Storage, StorageFile, StorageLock, Writes};

/// Longer than any wait that ends.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Gate {
    is_shut: bool,
    at_the_gate: usize,
    fails_syncs: bool,
    fails_writes: bool,
}

/// See the head of this file.
#[derive(Clone, Default)]
pub(crate) struct Gated {
    inner: MemoryStorage,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

impl Gated {
    fn change(&self, change: impl FnOnce(&mut Gate)) {
        change(&mut self.gate.0.lock().unwrap());
        self.gate.1.notify_all();
    }

    /// What is behind the gate.
    pub(crate) fn inner(&self) -> &MemoryStorage {
        &self.inner
    }

    /// From now on syncs wait.
    pub(crate) fn shut(&self) {
        self.change(|gate| gate.is_shut = true);
    }

    pub(crate) fn unlatch(&self) {
        self.change(|gate| gate.is_shut = false);
    }

    pub(crate) fn fail_syncs(&self) {
        self.change(|gate| gate.fails_syncs = true);
    }

    pub(crate) fn fail_writes(&self) {
        self.change(|gate| gate.fails_writes = true);
    }

    /// Returns once a sync waits at the gate.
    pub(crate) fn await_a_sync(&self) {
        let mut gate = self.gate.0.lock().unwrap();
        while gate.at_the_gate == 0 {
            let (held, waited) = self.gate.1.wait_timeout(gate, PATIENCE).unwrap();
            assert!(!waited.timed_out(), "nobody syncs");
            gate = held;
        }
    }

    fn wrap(&self, file: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        let gate = Arc::clone(&self.gate);
        Arc::new(GatedFile { file, gate })
    }
}

impl Storage for Gated {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Ok(self.wrap(self.inner.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Ok(self.wrap(self.inner.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        self.inner.try_lock(name, holder)
    }
}

struct GatedFile {
    file: Arc<dyn StorageFile>,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

impl StorageFile for GatedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        if self.gate.0.lock().unwrap().fails_writes {
            return Err(io::Error::other("planned"));
        }
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        let (gate, changed) = &*self.gate;
        let mut gate = gate.lock().unwrap();
        gate.at_the_gate += 1;
        changed.notify_all();
        while gate.is_shut {
            let (held, waited) = changed.wait_timeout(gate, PATIENCE).unwrap();
            assert!(!waited.timed_out(), "the gate stays shut");
            gate = held;
        }
        gate.at_the_gate -= 1;
        if gate.fails_syncs {
            return Err(io::Error::other("planned"));
        }
        drop(gate);
        self.file.sync()
    }

    fn prepare(&self, writes: Writes) -> io::Result<()> {
        self.file.prepare(writes)
    }
}

/// A waker that counts how often it was woken.
#[derive(Default)]
pub(crate) struct Counted {
    woken: Mutex<usize>,
    changed: Condvar,
}

impl Counted {
    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    pub(crate) fn woken(&self) -> usize {
        *self.woken.lock().unwrap()
    }

    /// Returns once it was woken so often.
    pub(crate) fn await_woken(&self, times: usize) {
        let mut woken = self.woken.lock().unwrap();
        while *woken < times {
            let (held, waited) = self.changed.wait_timeout(woken, PATIENCE).unwrap();
            assert!(!waited.timed_out(), "woken {} of {times} times", *held);
            woken = held;
        }
    }
}

/// Asserts that nobody else holds it, once those have ended who are waking it.
#[track_caller]
pub(crate) fn assert_alone(counted: &Arc<Counted>) {
    let alone = (0..1_000_000).any(|_| {
        thread::yield_now();
        Arc::strong_count(counted) == 1
    });
    assert!(alone, "a waker is left");
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

/// Polls once with this waker.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F, counted: &Arc<Counted>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(&counted.waker()))
}

/// Polls, and again whenever it is woken, until it is ready.
pub(crate) fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let counted = Arc::new(Counted::default());
    let mut times = 0;
    loop {
        if let Poll::Ready(output) = poll(&mut future, &counted) {
            return output;
        }
        times += 1;
        counted.await_woken(times);
        times = counted.woken();
    }
}

/// A wait that has been polled, and is pending.
pub(crate) fn waiting(cache: &Cache, id: &str) -> (Settled, Arc<Counted>) {
    let (mut settled, counted) = (cache.settled(id), Arc::new(Counted::default()));
    assert!(poll(&mut settled, &counted).is_pending());
    (settled, counted)
}

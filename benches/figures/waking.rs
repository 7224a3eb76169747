//! Many threads that each wait for the disk: the engine, and the least that such threads can do.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use idjournal::Store;
use parking_lot::{Condvar, Mutex};

use crate::Result;
use crate::bare::Writing;
use crate::ids::Source;
use crate::work::add_all;

pub(crate) const THREADS: u64 = 64;

/// Lets all threads do `step` until the turn is over; how many steps a second that were.
fn together(turn: Duration, step: impl Fn(u64) -> Result<u64> + Sync) -> Result<f64> {
    let ready = Barrier::new(usize::try_from(THREADS)?);
    let (ready, step) = (&ready, &step);
    thread::scope(|scope| {
        let run = |thread| {
            move || -> Result<(u64, Duration)> {
                ready.wait();
                let (began, mut count) = (Instant::now(), 0);
                while began.elapsed() < turn {
                    count += step(thread)?;
                }
                Ok((count, began.elapsed()))
            }
        };
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(run(thread)))
            .collect();
        let (mut count, mut longest) = (0, Duration::ZERO);
        for thread in threads {
            let (own, took) = thread.join().map_err(|_| "a thread panicked")??;
            count += own;
            longest = longest.max(took);
        }
        Ok(count as f64 / longest.as_secs_f64())
    })
}

/// Synced adds per second of all threads together, to one address.
pub(crate) struct Adding {
    store: Store,
    sources: Vec<Mutex<Source>>,
}

impl Adding {
    /// The store's policy must be to wait for the disk.
    pub(crate) fn new(store: Store) -> Adding {
        let sources = (0..THREADS).map(|thread| Mutex::new(Source::new(100 + thread)));
        Adding {
            store,
            sources: sources.collect(),
        }
    }

    pub(crate) fn rate(&self, turn: Duration) -> Result<f64> {
        let cache = self.store.cache("orders")?;
        together(turn, |thread| {
            let mut source = self.sources[usize::try_from(thread)?].lock();
            add_all(&cache, source.batch(1))?;
            Ok(1)
        })
    }
}

/// A shared sync and nothing else: who comes first writes and syncs for all who wait, and wakes
/// them.
pub(crate) struct Sharing {
    state: Mutex<State>,
    changed: Condvar,
    writing: Mutex<Writing>,
}

#[derive(Default)]
struct State {
    appended: u64,
    durable: u64,
    has_leader: bool,
}

impl Sharing {
    pub(crate) fn new(directory: &Path) -> Result<Sharing> {
        Ok(Sharing {
            state: Mutex::default(),
            changed: Condvar::new(),
            writing: Mutex::new(Writing::marked(directory)?),
        })
    }

    pub(crate) fn rate(&self, turn: Duration) -> Result<f64> {
        together(turn, |_| self.step())
    }

    fn step(&self) -> Result<u64> {
        let mut state = self.state.lock();
        state.appended += 1;
        let own = state.appended;
        while state.durable < own {
            if state.has_leader {
                self.changed.wait(&mut state);
                continue;
            }
            state.has_leader = true;
            let upto = state.appended;
            drop(state);
            self.writing.lock().sync_once()?;
            state = self.state.lock();
            state.durable = upto;
            state.has_leader = false;
            self.changed.notify_all();
        }
        Ok(1)
    }
}

/// How many threads a second one condition wakes when nothing else is done: the last to come wakes
/// the others.
pub(crate) fn wakes(turn: Duration) -> Result<f64> {
    let state = Mutex::new((0, 0_u64));
    let changed = Condvar::new();
    let began = Instant::now();
    together(turn, |_| {
        let mut guard = state.lock();
        let round = guard.1;
        guard.0 += 1;
        if guard.0 == THREADS {
            *guard = (0, round + 1);
            changed.notify_all();
        }
        while guard.1 == round {
            // Those whose turn is over do not come again, so that the others must not wait long.
            if began.elapsed() >= turn {
                return Ok(0);
            }
            let _ = changed.wait_for(&mut guard, Duration::from_millis(20));
        }
        Ok(1)
    })
}

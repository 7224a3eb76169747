//! The shared sync: whoever comes first syncs for all who are waiting.
//!
//! Invariants: (1) the durable position only rises; (2) it rises only to a position that was
//! appended before the sync that covers it began; (3) after the first failure nothing more becomes
//! durable and no sync is tried again; (4) a waiter returns only when its own position is covered
//! or the store is poisoned.
//!
//! The leader is one of the callers, and syncs without holding the lock here. Who comes while it
//! does waits for the next sync, apart from those whom this one covers: they are not woken for it,
//! but for one, who leads. A sync may cover less than all that was appended before it, as that of
//! the segment before the active one: whom it leaves out waits for the one that runs then.

use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::error::{Cause, Error, Result};
use crate::events::{Event, Weight};
use crate::facade::wide::{Condvar, Mutex};
use crate::facade::{AtomicBool, AtomicU64, Ordering};
use crate::ids::Position;
use crate::waits::{WaitKey, Waits};

/// The durable position of a store, who syncs next, and whether it is poisoned.
pub(crate) struct Commit {
    place: String,
    durable: AtomicU64,
    is_poisoned: AtomicBool,
    state: Mutex<State>,
    /// Those who wait without a thread.
    pub(crate) waits: Arc<Waits>,
    /// Those who wait for a sync that runs, and those who wait for the one after it: by turns.
    changed: [Condvar; 2],
}

#[derive(Default)]
struct State {
    has_leader: bool,
    /// How many syncs were begun.
    begun: u64,
    first_cause: Option<Cause>,
    syncs: u64,
}

/// What a leader does: makes all that is appended durable and says up to where that was.
pub(crate) trait SyncAll {
    /// Syncs everything appended before this call; returns the position up to which that is.
    ///
    /// # Errors
    ///
    /// The first failure; it poisons the store.
    fn sync_all(&self) -> Result<Position>;
}

impl Commit {
    pub(crate) fn new(place: String, durable: Position) -> Commit {
        Commit {
            place,
            durable: AtomicU64::new(durable.to_bits()),
            is_poisoned: AtomicBool::new(false),
            state: Mutex::new(State::default()),
            waits: Arc::default(),
            changed: [Condvar::new(), Condvar::new()],
        }
    }

    /// Everything before this position is on disk.
    pub(crate) fn durable(&self) -> Position {
        Position::from_bits(self.durable.load(Ordering::Acquire))
    }

    /// How many shared syncs were done.
    pub(crate) fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    /// Waits until everything before `position` is durable, syncing for all if nobody else does.
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] with the first cause if the store is poisoned before that.
    pub(crate) fn wait(&self, position: Position, disk: &impl SyncAll) -> Result<()> {
        if self.durable() >= position {
            return Ok(());
        }
        let mut state = self.state.lock();
        // Which sync may be the first to cover this position: one that begins from now on.
        let mut covering = state.begun + 1;
        loop {
            if self.durable() >= position {
                // It may be the one who was woken to lead the next sync: then another must.
                if !state.has_leader && covering > state.begun {
                    self.changed(covering).notify_one();
                }
                return Ok(());
            }
            if let Some(cause) = &state.first_cause {
                return Err(self.unknown(cause));
            }
            if state.has_leader {
                // One that covered less is over: then the one that runs began late enough too.
                covering = covering.max(state.begun);
                state = self.changed(covering).wait(state);
                continue;
            }
            state.has_leader = true;
            state.begun += 1;
            drop(state);
            // The leader must hand over on every way out, also on a panic in the storage: else all
            // who wait would wait for ever.
            let lead = Lead {
                commit: self,
                result: None,
            };
            lead.finish(disk.sync_all());
            state = self.state.lock();
        }
    }

    /// Whether everything before `position` is durable; if not yet, `waker` is woken when it is, or
    /// when it never will be. Somebody else must sync.
    ///
    /// # Errors
    ///
    /// As [`wait`](Commit::wait).
    pub(crate) fn poll(&self, position: Position, key: WaitKey, waker: &Waker) -> Poll<Result<()>> {
        if self.durable() >= position {
            return Poll::Ready(Ok(()));
        }
        // Entered before the last look: what comes behind that look wakes it.
        self.waits.for_sync(position, key, waker);
        let cause = {
            let state = self.state.lock();
            if self.durable() >= position {
                return Poll::Ready(Ok(()));
            }
            state.first_cause.clone()
        };
        match cause {
            Some(cause) => Poll::Ready(Err(self.unknown(&cause))),
            None => Poll::Pending,
        }
    }

    fn unknown(&self, cause: &Cause) -> Error {
        let (place, source) = (self.place.clone(), cause.clone());
        Error::OutcomeUnknown { place, source }
    }

    /// Stops the store for good; the first cause is kept.
    pub(crate) fn poison(&self, cause: Cause) {
        let mut state = self.state.lock();
        self.stop(&mut state, cause);
        self.changed.iter().for_each(Condvar::notify_all);
        drop(state);
        self.waits.poisoned();
    }

    /// Keeps the first cause, and has it told.
    fn stop(&self, state: &mut State, cause: Cause) {
        if state.first_cause.is_none() {
            self.waits.events.add(Weight::Error, || Event::Poisoned {
                place: self.place.clone(),
                cause: chain(&cause),
            });
            state.first_cause = Some(cause);
        }
        self.is_poisoned.store(true, Ordering::Release);
    }

    /// What those wait for whom the sync of this number covers.
    fn changed(&self, number: u64) -> &Condvar {
        let [even, odd] = &self.changed;
        if number.is_multiple_of(2) { even } else { odd }
    }

    /// An error if the store is poisoned.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_poisoned.load(Ordering::Acquire) {
            Err(self.poisoned())
        } else {
            Ok(())
        }
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    fn poisoned(&self) -> Error {
        let cause = self.state.lock().first_cause.clone();
        let source = cause.unwrap_or_else(|| Cause::from(Error::Closed));
        Error::Poisoned {
            place: self.place.clone(),
            source,
        }
    }
}

/// An error with all its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// The leadership of one sync.
struct Lead<'a> {
    commit: &'a Commit,
    result: Option<Result<Position>>,
}

impl Lead<'_> {
    fn finish(mut self, result: Result<Position>) {
        self.result = Some(result);
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.commit.state.lock();
        state.has_leader = false;
        match self.result.take() {
            Some(Ok(position)) if state.first_cause.is_none() => {
                state.syncs += 1;
                self.commit
                    .durable
                    .fetch_max(position.to_bits(), Ordering::AcqRel);
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                self.commit.stop(&mut state, Cause::from(error));
            }
            None => {
                let panicked = std::io::Error::other("a sync ended in a panic");
                self.commit.stop(&mut state, Cause::from(panicked));
            }
        }
        // All who were waiting when this sync began, and of those who came later one, to lead the
        // next.
        let (begun, is_over) = (state.begun, state.first_cause.is_some());
        drop(state);
        let next = self.commit.changed(begun + 1);
        if is_over {
            next.notify_all();
        } else {
            next.notify_one();
        }
        self.commit.changed(begun).notify_all();
        // After the durable position and the cause: who enters later sees those.
        if is_over {
            self.commit.waits.poisoned();
        } else {
            self.commit.waits.durable(self.commit.durable());
        }
    }
}

#[cfg(all(test, loom))]
#[path = "commit_loom_tests.rs"]
mod loom_tests;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::ids::SegmentNumber;

    struct Fixed(Result<Position>);

    impl SyncAll for Fixed {
        fn sync_all(&self) -> Result<Position> {
            self.0.clone()
        }
    }

    struct Panics;

    impl SyncAll for Panics {
        fn sync_all(&self) -> Result<Position> {
            std::panic::resume_unwind(Box::new("planned"))
        }
    }

    fn at(offset: u64) -> Position {
        Position::new(SegmentNumber(1), offset)
    }

    #[test]
    fn a_waiter_returns_when_its_position_is_covered() {
        let commit = Commit::new("here".into(), at(0));
        commit.wait(at(64), &Fixed(Ok(at(128)))).unwrap();
        assert_eq!(commit.durable(), at(128));
        commit.wait(at(128), &Panics).unwrap();
    }

    #[test]
    fn a_failed_sync_poisons_and_is_never_tried_again() {
        let commit = Commit::new("here".into(), at(0));
        let failure = Error::io("sync", "slot-000001", std::io::Error::other("planned"));
        let error = commit.wait(at(64), &Fixed(Err(failure))).unwrap_err();
        assert!(matches!(error, Error::OutcomeUnknown { .. }));
        let error = commit.wait(at(64), &Panics).unwrap_err();
        assert!(matches!(error, Error::OutcomeUnknown { .. }));
        assert!(matches!(commit.check(), Err(Error::Poisoned { .. })));
    }

    /// Syncs whose ends are given, the first when it is let go; each covers no more than its end.
    struct InTurn(std::sync::Mutex<(Receiver<()>, Vec<u64>)>);

    impl SyncAll for InTurn {
        fn sync_all(&self) -> Result<Position> {
            let mut turn = self.0.lock().unwrap();
            let (gate, ends) = &mut *turn;
            let _ = gate.recv();
            // Long enough for those whom the one before has woken to fall asleep again.
            thread::sleep(Duration::from_millis(20));
            Ok(at(ends.pop().unwrap()))
        }
    }

    #[test]
    fn a_sync_that_covers_less_than_was_waited_for_leaves_nobody_asleep() {
        let (open, gate) = channel();
        let (finished, ends) = channel();
        let commit = Arc::new(Commit::new("here".into(), at(0)));
        // As that of the segment before the active one: the second covers nothing new.
        let in_turn = (gate, vec![512, 512, 64, 64]);
        let disk = Arc::new(InTurn(std::sync::Mutex::new(in_turn)));
        for position in [64, 128, 192, 256, 320] {
            let waiting = (Arc::clone(&commit), Arc::clone(&disk), finished.clone());
            thread::spawn(move || {
                let (commit, disk, finished) = waiting;
                commit.wait(at(position), &*disk).unwrap();
                finished.send(position).unwrap();
            });
            // Only the first leads; the others sleep meanwhile, or the test sees less.
            while commit.state.lock().begun == 0 {
                thread::yield_now();
            }
        }
        thread::sleep(Duration::from_millis(50));
        drop(open);
        let woken = || ends.recv_timeout(Duration::from_secs(20));
        let mut woken: Vec<u64> = std::iter::from_fn(|| woken().ok()).take(5).collect();
        woken.sort_unstable();
        assert_eq!(woken, [64, 128, 192, 256, 320]);
    }

    #[test]
    fn a_panic_in_a_sync_poisons_and_wakes_the_others() {
        let commit = Commit::new("here".into(), at(0));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            commit.wait(at(64), &Panics)
        }));
        assert!(caught.is_err());
        assert!(commit.is_poisoned());
        assert!(commit.wait(at(64), &Fixed(Ok(at(64)))).is_err());
    }
}

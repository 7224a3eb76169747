//! The shared sync under a model checker: every order of a few threads, each step that another
//! thread can see a point to switch at.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --lib --target-dir target/loom loom`

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Plain};

use loom::thread;

use super::*;
use crate::ids::SegmentNumber;

/// What a sync of the disk does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Works,
    Fails,
    Panics,
    /// Says that what was written while it ran is durable too.
    ReadsTheEndAfterwards,
    /// The second one covers no more than the first, as that of the segment before the active one.
    CoversLessOnce,
}

/// A journal in short: how many units are written, how many are on disk.
struct Disk {
    kind: Kind,
    written: AtomicU64,
    on_disk: AtomicU64,
    running: AtomicBool,
    failures: AtomicU64,
    syncs: AtomicU64,
}

impl Disk {
    fn new(kind: Kind) -> Disk {
        Disk {
            kind,
            written: AtomicU64::new(0),
            on_disk: AtomicU64::new(0),
            running: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        }
    }

    /// Appends one unit; the position behind it.
    fn append(&self) -> Position {
        at(self.written.fetch_add(1, Ordering::AcqRel) + 1)
    }
}

impl SyncAll for Disk {
    fn sync_all(&self) -> Result<Position> {
        assert!(
            !self.running.swap(true, Ordering::AcqRel),
            "two syncs at once"
        );
        assert_eq!(
            self.failures.load(Ordering::Acquire),
            0,
            "a sync after a failed one"
        );
        let end = self.written.load(Ordering::Acquire);
        let before = self.syncs.fetch_add(1, Ordering::AcqRel);
        if self.kind == Kind::CoversLessOnce && before == 1 {
            self.running.store(false, Ordering::Release);
            return Ok(at(self.on_disk.load(Ordering::Acquire)));
        }
        if self.kind == Kind::Fails || self.kind == Kind::Panics {
            self.failures.fetch_add(1, Ordering::AcqRel);
        }
        self.running.store(false, Ordering::Release);
        match self.kind {
            Kind::Fails => {
                let planned = io::Error::other("planned");
                return Err(Error::io("sync", "slot-000001", planned));
            }
            Kind::Panics => resume_unwind(Box::new("planned")),
            Kind::Works | Kind::ReadsTheEndAfterwards | Kind::CoversLessOnce => {}
        }
        self.on_disk.fetch_max(end, Ordering::AcqRel);
        if self.kind == Kind::ReadsTheEndAfterwards {
            return Ok(at(self.written.load(Ordering::Acquire)));
        }
        Ok(at(end))
    }
}

fn at(units: u64) -> Position {
    Position::new(SegmentNumber(1), 8 * units)
}

/// A store with nothing in it.
fn begin(kind: Kind) -> (Arc<Commit>, Arc<Disk>) {
    let commit = Arc::new(Commit::new("here".into(), at(0)));
    (commit, Arc::new(Disk::new(kind)))
}

/// Appends and waits, as a call that records does; whether it was acknowledged.
fn add(commit: &Commit, disk: &Disk) -> bool {
    let position = disk.append();
    let waited = catch_unwind(AssertUnwindSafe(|| commit.wait(position, disk)));
    match waited {
        Ok(Ok(())) => {
            let on_disk = disk.on_disk.load(Ordering::Acquire);
            assert!(position <= at(on_disk), "acknowledged before it is on disk");
            assert!(commit.durable() >= position);
            true
        }
        Ok(Err(error)) => {
            assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
            assert!(commit.is_poisoned());
            false
        }
        // It led the sync that panicked; any other panic is a finding.
        Err(payload) if payload.is::<&str>() && disk.kind == Kind::Panics => {
            assert_eq!(payload.downcast_ref(), Some(&"planned"));
            false
        }
        Err(payload) => resume_unwind(payload),
    }
}

/// Runs a model in every order; how many there are.
fn explore(model: impl Fn() + Sync + Send + 'static) -> usize {
    explore_with(3, model)
}

/// As [`explore`], with so many switches at most from a thread that could go on.
fn explore_with(preemptions: usize, model: impl Fn() + Sync + Send + 'static) -> usize {
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        counted.fetch_add(1, Plain::Relaxed);
        model();
    });
    orders.load(Plain::Relaxed)
}

/// Several threads add at once; how many are told that it worked.
fn add_in_threads(commit: &Arc<Commit>, disk: &Arc<Disk>, others: usize) -> usize {
    let threads: Vec<_> = (0..others)
        .map(|_| {
            let (commit, disk) = (Arc::clone(commit), Arc::clone(disk));
            thread::spawn(move || add(&commit, &disk))
        })
        .collect();
    let own = usize::from(add(commit, disk));
    let others = threads.into_iter().map(|thread| thread.join().unwrap());
    own + others.filter(|is_added| *is_added).count()
}

#[test]
fn loom_a_leader_syncs_for_its_followers() {
    let orders = explore(|| {
        let (commit, disk) = begin(Kind::Works);
        assert_eq!(add_in_threads(&commit, &disk, 2), 3);
        assert_eq!(commit.durable(), at(3));
        assert!((1..=3).contains(&commit.syncs()));
    });
    assert!(orders > 100, "{orders} orders");
}

#[test]
fn loom_a_sync_that_covers_less_leaves_nobody_asleep() {
    // Two switches find the waiter who was asleep for ever, in a tenth of the time.
    let orders = explore_with(2, || {
        let (commit, disk) = begin(Kind::CoversLessOnce);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let (commit, disk) = (Arc::clone(&commit), Arc::clone(&disk));
                thread::spawn(move || assert!(add(&commit, &disk)))
            })
            .collect();
        // It leads the first sync, and the second one and the third while the others sleep.
        assert!(add(&commit, &disk) && add(&commit, &disk));
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(commit.durable(), at(4));
    });
    assert!(orders > 100, "{orders} orders");
}

fn nobody_is_told_success(kind: Kind) {
    let orders = explore(move || {
        let (commit, disk) = begin(kind);
        assert_eq!(add_in_threads(&commit, &disk, 2), 0);
        assert_eq!(commit.durable(), at(0));
        assert!(commit.check().is_err());
    });
    assert!(orders > 100, "{orders} orders");
}

#[test]
fn loom_when_the_leader_fails_nobody_is_told_success_nor_waits_for_ever() {
    nobody_is_told_success(Kind::Fails);
}

#[test]
fn loom_when_the_leader_panics_nobody_is_told_success_nor_waits_for_ever() {
    nobody_is_told_success(Kind::Panics);
}

#[test]
fn loom_a_close_beside_waiters_covers_what_was_appended_before_it() {
    let orders = explore(|| {
        let (commit, disk) = begin(Kind::Works);
        let closing = {
            let (commit, disk) = (Arc::clone(&commit), Arc::clone(&disk));
            thread::spawn(move || {
                // As a close does: the end, and then a wait for it.
                let end = disk.written.load(Ordering::Acquire);
                commit.wait(at(end), &*disk).unwrap();
                assert!(disk.on_disk.load(Ordering::Acquire) >= end);
            })
        };
        assert_eq!(add_in_threads(&commit, &disk, 1), 2);
        closing.join().unwrap();
    });
    assert!(orders > 100, "{orders} orders");
}

#[test]
fn loom_a_poison_from_beside_wakes_the_waiters_and_stays() {
    let orders = explore(|| {
        let (commit, disk) = begin(Kind::Works);
        let failing = {
            let commit = Arc::clone(&commit);
            // As a failed write does.
            thread::spawn(move || commit.poison(Cause::from(io::Error::other("planned"))))
        };
        let added = add_in_threads(&commit, &disk, 1);
        failing.join().unwrap();
        assert!(added <= 2 && commit.is_poisoned());
        let position = disk.append();
        let durable = commit.durable();
        assert!(commit.wait(position, &*disk).is_err());
        assert_eq!(commit.durable(), durable, "it rose after the failure");
    });
    assert!(orders > 100, "{orders} orders");
}

/// The bug that the order of steps in a sync prevents, so that the models are known to see it.
#[test]
#[should_panic(expected = "acknowledged before it is on disk")]
fn loom_the_end_read_after_a_sync_is_caught() {
    explore(|| {
        let (commit, disk) = begin(Kind::ReadsTheEndAfterwards);
        add_in_threads(&commit, &disk, 1);
    });
}

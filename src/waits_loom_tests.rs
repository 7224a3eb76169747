//! Waiting without a thread under a model checker: in every order of the steps of a waiter and of
//! those who end its wait, a waiter that was told "pending" is woken.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --lib --target-dir target/loom loom`

use std::sync::Arc;
use std::task::{Poll, Wake};

use loom::thread;

use super::*;
use crate::claim::{Claim, Claims};
use crate::commit::{Commit, SyncAll};
use crate::error::{Cause, Error, Result};
use crate::ids::{Owner, SegmentNumber};

/// A waker that notes that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Flag {
    fn is_up(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

fn at(offset: u64) -> Position {
    Position::new(SegmentNumber(1), offset)
}

/// Runs a model in every order, with so many changes of threads in the middle of their work.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A disk whose syncs work, or do not.
struct Disk(bool);

impl SyncAll for Disk {
    fn sync_all(&self) -> Result<Position> {
        if self.0 {
            return Ok(at(64));
        }
        let planned = std::io::Error::other("planned");
        Err(Error::io("sync", "slot-000001", planned))
    }
}

#[test]
fn loom_who_awaits_a_record_is_woken_by_the_sync_that_covers_it_or_fails() {
    for works in [true, false] {
        explore(move || {
            let commit = Arc::new(Commit::new("here".into(), at(0)));
            let leader = Arc::clone(&commit);
            let leader = thread::spawn(move || {
                assert_eq!(leader.wait(at(64), &Disk(works)).is_ok(), works);
                leader.waits.wake_due();
            });
            let (key, flag) = (commit.waits.key(), Arc::new(Flag::default()));
            let waker = Waker::from(Arc::clone(&flag));
            let polled = commit.poll(at(64), key, &waker);
            assert!(leader.join().is_ok());
            match polled {
                Poll::Pending => assert!(flag.is_up(), "left waiting"),
                Poll::Ready(outcome) => assert_eq!(outcome.is_ok(), works),
            }
            let Poll::Ready(outcome) = commit.poll(at(64), key, &waker) else {
                panic!("nothing is left to wait for")
            };
            assert_eq!(outcome.is_ok(), works);
            commit.waits.forget_sync(at(64), key);
            assert!(!commit.waits.need_sync());
        });
    }
}

#[test]
fn loom_a_failed_write_wakes_who_awaits_beside_a_sync_that_works() {
    explore(|| {
        let commit = Arc::new(Commit::new("here".into(), at(0)));
        let others = [true, false].map(|is_sync| {
            let commit = Arc::clone(&commit);
            thread::spawn(move || {
                match is_sync {
                    true => drop(commit.wait(at(64), &Disk(true))),
                    false => commit.poison(Cause::from(std::io::Error::other("planned"))),
                }
                commit.waits.wake_due();
            })
        });
        let (key, flag) = (commit.waits.key(), Arc::new(Flag::default()));
        let polled = commit.poll(at(64), key, &Waker::from(Arc::clone(&flag)));
        assert!(others.into_iter().all(|other| other.join().is_ok()));
        assert!(polled.is_ready() || flag.is_up(), "left waiting");
    });
}

/// A claim, who waits for its end, and whether the store is closed.
struct Model {
    claims: Mutex<Claims>,
    waits: Waits,
    is_closed: AtomicBool,
}

impl Model {
    fn begin() -> Arc<Model> {
        let mut claims = Claims::default();
        let (owner, journal_bytes) = (Owner(7), 0);
        let claim = Claim {
            owner,
            token: 1,
            journal_bytes,
            lease_end: Some(Duration::from_secs(9)),
        };
        assert!(claims.claim(1, b"a", claim).is_ok());
        Arc::new(Model {
            claims: Mutex::new(claims),
            waits: Waits::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// The steps of [`Settled`](crate::Settled), in their order: what the lease's end is; none if
    /// there is nothing to wait for.
    fn look(&self, key: WaitKey, waker: &Waker) -> Option<Duration> {
        self.waits.for_claim(key, waker);
        if self.is_closed.load(Ordering::Acquire) {
            return None;
        }
        let claim = self.claims.lock().wait(1, b"a", 1, key);
        let end = claim.and_then(|claim| claim.lease_end)?;
        self.waits.for_lease(key, end);
        Some(end)
    }

    fn settle(&self) {
        let settled = self.claims.lock().settle(1, b"a", 1);
        if let Some((_, waiters)) = settled {
            self.waits.ended(&waiters);
        }
        self.waits.wake_due();
    }

    fn renew(&self) {
        let end = Duration::from_secs(3);
        let renewed = self.claims.lock().renew(1, b"a", 1, end);
        self.waits.ended(&renewed.unwrap_or_default());
        self.waits.wake_due();
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.waits.closed();
        self.waits.wake_due();
    }
}

#[test]
fn loom_who_waits_for_a_claim_is_woken_by_its_end_a_close_or_another_lease() {
    let ends: [fn(&Model); 3] = [Model::settle, Model::close, Model::renew];
    for end in ends {
        explore(move || {
            let model = Model::begin();
            let other = Arc::clone(&model);
            let other = thread::spawn(move || end(&other));
            let (key, flag) = (model.waits.key(), Arc::new(Flag::default()));
            let waker = Waker::from(Arc::clone(&flag));
            let pending = model.look(key, &waker);
            assert!(other.join().is_ok());
            let is_new = pending == Some(Duration::from_secs(3));
            assert!(pending.is_none() || is_new || flag.is_up(), "left waiting");
        });
    }
}

/// The bug that the order of steps in a look prevents, so that the models are known to see it.
#[test]
#[should_panic(expected = "left waiting")]
fn loom_a_look_before_the_entry_is_caught() {
    explore(|| {
        let model = Model::begin();
        let other = Arc::clone(&model);
        let other = thread::spawn(move || other.settle());
        let (key, flag) = (model.waits.key(), Arc::new(Flag::default()));
        let claim = model.claims.lock().wait(1, b"a", 1, key);
        model.waits.for_claim(key, &Waker::from(Arc::clone(&flag)));
        assert!(other.join().is_ok());
        assert!(claim.is_none() || flag.is_up(), "left waiting");
    });
}

#[test]
fn loom_two_who_wait_for_a_claim_are_both_woken_and_one_may_let_go() {
    explore(|| {
        let model = Model::begin();
        let threads = [true, false].map(|lets_go| {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                let (key, flag) = (model.waits.key(), Arc::new(Flag::default()));
                let pending = model.look(key, &Waker::from(Arc::clone(&flag)));
                if lets_go {
                    model.claims.lock().forget(1, b"a", 1, key);
                    model.waits.forget_claim(key);
                    return None;
                }
                pending.map(|_| flag)
            })
        });
        model.settle();
        for flag in threads
            .into_iter()
            .filter_map(|one| one.join().ok().flatten())
        {
            assert!(flag.is_up(), "left waiting");
        }
    });
}

//! The one background thread of a store: started when first needed, joined on close.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::facade::{AtomicBool, Condvar, Mutex, Ordering};

/// What the keeper does when it is called, or when its interval is over.
pub(crate) trait Chores: Send + Sync + 'static {
    /// Makes segments ahead and carries forward; syncs too if the interval is over.
    fn tend(&self, is_over: bool);

    /// Time since any fixed moment.
    fn monotonic(&self) -> Duration;

    /// How long there is nothing to do for, if that is known: then it tends without being called.
    fn pause(&self) -> Option<Duration>;
}

/// The thread, and how it is called and ended.
#[derive(Default)]
pub(crate) struct Keeper {
    bell: Arc<Bell>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Bell {
    is_ended: Mutex<bool>,
    rung: Condvar,
    /// Changed under the lock; seen to be set without it, so that of many calls one rings.
    is_called: AtomicBool,
    /// Whether there is a thread that can be called.
    is_running: AtomicBool,
}

/// Says that the thread is gone, also if it panicked.
struct Running<'a>(&'a Bell);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

impl Keeper {
    /// Calls the keeper; starts it if it does not run yet.
    ///
    /// A thread that cannot be started is no error: calls that find nobody at work do the work.
    pub(crate) fn call<C: Chores>(&self, chores: &Arc<C>, interval: Option<Duration>) {
        {
            let is_ended = self.bell.is_ended.lock();
            if *is_ended || self.bell.is_called.swap(true, Ordering::AcqRel) {
                return;
            }
            self.bell.rung.notify_one();
        }
        let mut thread = self.thread.lock();
        if thread.is_some() {
            return;
        }
        let (bell, chores) = (Arc::clone(&self.bell), Arc::clone(chores));
        let named = thread::Builder::new().name("idjournal-keeper".to_owned());
        self.bell.is_running.store(true, Ordering::Release);
        let run = move || {
            let _running = Running(&bell);
            run(&bell, &*chores, interval);
        };
        *thread = named.spawn(run).ok();
        if thread.is_none() {
            self.bell.is_running.store(false, Ordering::Release);
        }
    }

    /// Whether it was called and has not begun with that yet: it will see everything that was done
    /// under a lock which it takes itself in a round.
    #[inline]
    pub(crate) fn is_called(&self) -> bool {
        self.bell.is_called.load(Ordering::Acquire)
    }

    /// Whether there is a thread that could be called.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.bell.is_running.load(Ordering::Acquire)
    }

    /// Ends the thread and waits for it.
    pub(crate) fn end(&self) {
        *self.bell.is_ended.lock() = true;
        self.bell.rung.notify_one();
        let thread = self.thread.lock().take();
        // It may have been the keeper itself that woke who let go of the store: then it ends on its
        // own.
        let is_itself = |thread: &JoinHandle<()>| thread.thread().id() == thread::current().id();
        if let Some(thread) = thread.filter(|thread| !is_itself(thread)) {
            // A panic there has poisoned the store already; there is nobody else to tell.
            let _ = thread.join();
        }
    }
}

fn run(bell: &Bell, chores: &impl Chores, interval: Option<Duration>) {
    // A call in between does not put the end of the interval off.
    let mut begun = chores.monotonic();
    // A clock that went back ends it: else no interval would end until it has made up for that.
    let gone = |begun| {
        let gone = chores.monotonic().checked_sub(begun);
        gone.unwrap_or(Duration::MAX)
    };
    loop {
        let mut is_over = false;
        // Asked before the lock: who makes it shorter calls afterwards.
        let pause = chores.pause();
        {
            let mut is_ended = bell.is_ended.lock();
            let mut is_due = false;
            while !bell.is_called.load(Ordering::Acquire) && !*is_ended && !is_due {
                let left = interval.map(|interval| interval.saturating_sub(gone(begun)));
                let is_pause_first =
                    pause.is_some_and(|pause| left.is_none_or(|left| pause < left));
                match if is_pause_first { pause } else { left } {
                    Some(wait) => {
                        is_due = bell.rung.wait_for(&mut is_ended, wait).timed_out();
                        is_over = is_due && !is_pause_first;
                    }
                    None => bell.rung.wait(&mut is_ended),
                }
            }
            if *is_ended {
                return;
            }
            bell.is_called.store(false, Ordering::Release);
        }
        // Also where one call follows the other.
        is_over |= interval.is_some_and(|interval| gone(begun) >= interval);
        if is_over {
            begun = chores.monotonic();
        }
        chores.tend(is_over);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::facade::AtomicU64;

    /// Tells each round that the keeper makes; its clock is set by hand, in seconds.
    struct Told {
        clock: AtomicU64,
        rounds: Mutex<Sender<bool>>,
    }

    impl Chores for Told {
        fn tend(&self, is_over: bool) {
            self.rounds.lock().send(is_over).unwrap();
        }

        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.clock.load(Ordering::Acquire))
        }

        fn pause(&self) -> Option<Duration> {
            None
        }
    }

    /// A keeper with an interval of 1,000 seconds, and what it is told.
    struct Kept {
        keeper: Keeper,
        chores: Arc<Told>,
        rounds: Receiver<bool>,
    }

    impl Kept {
        fn new() -> Kept {
            let (sender, rounds) = channel();
            let (clock, sender) = (AtomicU64::new(0), Mutex::new(sender));
            Kept {
                keeper: Keeper::default(),
                chores: Arc::new(Told {
                    clock,
                    rounds: sender,
                }),
                rounds,
            }
        }

        /// Calls for upkeep at this time; whether the interval is over in the round it makes.
        fn call_at(&self, seconds: u64) -> bool {
            self.chores.clock.store(seconds, Ordering::Release);
            let interval = Some(Duration::from_secs(1_000));
            self.keeper.call(&self.chores, interval);
            self.rounds.recv().unwrap()
        }
    }

    #[test]
    fn f34_a_clock_that_goes_back_ends_the_interval_and_begins_the_next() {
        let kept = Kept::new();
        assert!(!kept.call_at(50_000));
        assert!(kept.call_at(10));
        assert!(!kept.call_at(600));
        assert!(kept.call_at(1_100));
        kept.keeper.end();
    }

    #[test]
    fn a_call_for_upkeep_does_not_put_off_the_end_of_an_interval() {
        let kept = Kept::new();
        assert!(!kept.call_at(0));
        assert!(!kept.call_at(600));
        assert!(
            kept.call_at(1_100),
            "since the first, not since the last call"
        );
        assert!(!kept.call_at(1_600));
        assert!(kept.call_at(2_100));
        kept.keeper.end();
        assert!(!kept.keeper.is_running());
    }
}

//! Time of tests: a clock that goes on by a millisecond whenever it is asked, and by whole steps
//! when it is told to. A step is so long that the milliseconds and the units
//! of a run never make half of one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idjournal::{Clock, Options, Store, Ticks};

const STEP_MILLISECONDS: u64 = 10_000_000_000;
/// The step at which tests begin.
pub const BEGIN: u64 = 170;
/// What leases are counted in: longer than all that the clock goes on by itself.
const UNIT_MILLISECONDS: u64 = 1_000_000;
pub const UNITS_PER_STEP: u64 = STEP_MILLISECONDS / UNIT_MILLISECONDS;

/// The step of a time of a store.
pub fn step_at(time: Ticks) -> u64 {
    time.0 * Ticks::MILLISECONDS / STEP_MILLISECONDS
}

/// See the head of this file.
pub struct CountingClock {
    asked: AtomicU64,
    wall_step: AtomicU64,
    monotonic_step: AtomicU64,
}

impl Default for CountingClock {
    fn default() -> CountingClock {
        let begin = || AtomicU64::new(BEGIN);
        CountingClock {
            asked: AtomicU64::new(0),
            wall_step: begin(),
            monotonic_step: begin(),
        }
    }
}

impl CountingClock {
    /// One whose wall clock is long before all others.
    pub fn early() -> CountingClock {
        CountingClock {
            wall_step: AtomicU64::new(1),
            ..CountingClock::default()
        }
    }

    fn next(&self, step: &AtomicU64) -> Duration {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        Duration::from_millis(step.load(Ordering::Relaxed) * STEP_MILLISECONDS + asked)
    }

    /// So many units.
    pub fn lease(&self, units: u64) -> Duration {
        Duration::from_millis(units * UNIT_MILLISECONDS)
    }

    /// Both clocks go on by so many units.
    pub fn pass(&self, units: u64) {
        let milliseconds = units * UNIT_MILLISECONDS;
        self.asked.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// Both clocks go on by so many steps.
    pub fn wait(&self, steps: u64) {
        self.wall_step.fetch_add(steps, Ordering::Relaxed);
        self.monotonic_step.fetch_add(steps, Ordering::Relaxed);
    }

    /// The wall clock alone is set on, or back.
    pub fn jump(&self, steps: i64) {
        let step = self.wall_step.load(Ordering::Relaxed);
        let step = step.saturating_add_signed(steps);
        self.wall_step.store(step, Ordering::Relaxed);
    }

    /// The step at which a store stands that was opened just now: that of the wall clock, or of the
    /// newest time in the journal, as the store says it.
    pub fn step_of(&self, store: &Store) -> u64 {
        let asked = self.asked.load(Ordering::Relaxed);
        let wall = self.wall_step.load(Ordering::Relaxed) * STEP_MILLISECONDS + asked;
        let ahead = store.recovery().clock_ahead_milliseconds;
        let newest = wall.saturating_add_signed(-ahead);
        wall.max(newest) / STEP_MILLISECONDS
    }

    /// An age that is reached with so many steps, and not before.
    pub fn age(steps: u64) -> Duration {
        Duration::from_millis(steps * STEP_MILLISECONDS - STEP_MILLISECONDS / 2)
    }
}

/// A clock that stands until it is set, in milliseconds.
#[derive(Default)]
struct StandingClock(AtomicU64);

impl Clock for StandingClock {
    fn wall(&self) -> Duration {
        self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// How many ticks beyond its age an ID is known, of ten; it must be none.
pub fn ticks_too_long() -> idjournal::Result<u64> {
    const AGE: u64 = 100;
    let clock = Arc::new(StandingClock::default());
    let store = Store::in_memory(Options::default().clock(clock.clone()))?;
    let cache = store.cache("a")?;
    cache.set_max_age(Some(Duration::from_millis(AGE))).wait()?;
    let _ = cache.add("id")?;
    let mut ticks = 0;
    for at in (AGE..2 * AGE).step_by(10) {
        clock.0.store(at, Ordering::Relaxed);
        ticks += u64::from(cache.contains("id")?);
    }
    Ok(ticks)
}

impl Clock for CountingClock {
    fn wall(&self) -> Duration {
        self.next(&self.wall_step)
    }

    fn monotonic(&self) -> Duration {
        self.next(&self.monotonic_step)
    }
}

//! Time and chance, the only place that asks for either; tests bring their own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::ids::Ticks;

/// Where the engine's time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Wall-clock time since the Unix epoch. Asked once, when a store is opened.
    fn wall(&self) -> Duration;

    /// Time since any fixed moment; never goes back. A resolution of 10 milliseconds is enough.
    fn monotonic(&self) -> Duration;
}

/// Where a store's identity and the salts of its segments come from.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `bytes` with random bytes.
    ///
    /// # Errors
    ///
    /// Those of the source.
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The clocks of the system, the coarse ones where there are such.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(target_os = "linux")]
impl Clock for SystemClock {
    fn wall(&self) -> Duration {
        duration(rustix::time::clock_gettime(
            rustix::time::ClockId::RealtimeCoarse,
        ))
    }

    fn monotonic(&self) -> Duration {
        duration(rustix::time::clock_gettime(
            rustix::time::ClockId::MonotonicCoarse,
        ))
    }
}

#[cfg(target_os = "linux")]
fn duration(time: rustix::time::Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
impl Clock for SystemClock {
    fn wall(&self) -> Duration {
        let now = std::time::SystemTime::now();
        now.duration_since(std::time::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO)
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }
}

/// The random source of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[cfg(target_os = "linux")]
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            done += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        use std::hash::{BuildHasher, Hasher, RandomState};
        for chunk in bytes.chunks_mut(8) {
            let word = RandomState::new().build_hasher().finish().to_le_bytes();
            chunk
                .iter_mut()
                .zip(word)
                .for_each(|(byte, random)| *byte = random);
        }
        Ok(())
    }
}

/// The time of records: never less than the newest in the journal, and monotonic from there on,
/// whatever the clocks do.
#[derive(Clone)]
pub(crate) struct Timeline {
    clock: Arc<dyn Clock>,
    start: Duration,
    start_monotonic: Duration,
    /// The newest time that was told, in ticks.
    newest: Arc<AtomicU64>,
}

impl Timeline {
    /// Begins at the wall clock or at `newest`, whichever is later.
    pub(crate) fn begin(clock: Arc<dyn Clock>, newest: Ticks) -> Timeline {
        let wall = clock.wall();
        let start_monotonic = clock.monotonic();
        Timeline {
            clock,
            start: wall.max(since_epoch(newest)),
            start_monotonic,
            newest: Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Ticks {
        let elapsed = self.monotonic().saturating_sub(self.start_monotonic);
        let now = ticks(self.start.saturating_add(elapsed)).0;
        // A clock of the user's may go back all the same. Once a tick at most this is written.
        let newest = self.newest.load(Ordering::Relaxed);
        if now > newest {
            self.newest.fetch_max(now, Ordering::Relaxed);
        }
        Ticks(now.max(newest))
    }

    pub(crate) fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

fn since_epoch(time: Ticks) -> Duration {
    let (seconds, part) = (time.0 / TICKS_PER_SECOND, time.0 % TICKS_PER_SECOND);
    Duration::from_secs(seconds) + Duration::from_millis(part * Ticks::MILLISECONDS)
}

const TICKS_PER_SECOND: u64 = 1000 / Ticks::MILLISECONDS;

/// A duration as ticks, rounded down.
pub(crate) fn ticks(duration: Duration) -> Ticks {
    const NANOSECONDS_PER_TICK: u32 = 1_000_000_000 / 100;
    let part = u64::from(duration.subsec_nanos() / NANOSECONDS_PER_TICK);
    Ticks(
        duration
            .as_secs()
            .saturating_mul(TICKS_PER_SECOND)
            .saturating_add(part),
    )
}

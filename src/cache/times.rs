//! The times of a chunk's places: 32 bits each, from one base.
//!
//! They are exact while the times in a chunk lie within 497 days; beyond, all times of the chunk
//! get coarser by the power of two that is needed and are rounded up, so that an ID is never taken
//! for older than it is.

use crate::ids::Ticks;

use super::place::Place;

/// The coarsest that times get: with it any two 64-bit times fit.
const SHIFT_MAX: u8 = 33;

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    base: u64,
    shift: u8,
}

impl Times {
    /// Exact, from `time` on.
    #[inline]
    pub(super) fn since(time: Ticks) -> Times {
        Times {
            base: time.0,
            shift: 0,
        }
    }

    pub(super) fn time_of(self, place: Place) -> Ticks {
        let since_base = u64::from(place.time).saturating_mul(1 << self.shift);
        Ticks(self.base.saturating_add(since_base))
    }

    /// The stored time of `time`, for a place that is put next to `places`.
    #[inline]
    pub(super) fn stored(&mut self, time: Ticks, places: &mut [Place]) -> u32 {
        match time.0.checked_sub(self.base).map(u32::try_from) {
            Some(Ok(delta)) if self.shift == 0 => delta,
            _ => self.retime(time, places),
        }
    }

    /// Chooses base and coarseness anew so that `time` fits; gives its stored time.
    #[cold]
    fn retime(&mut self, time: Ticks, places: &mut [Place]) -> u32 {
        let times: Vec<u64> = places.iter().map(|place| self.time_of(*place).0).collect();
        let known = || {
            let known = places.iter().zip(&times);
            known.filter(|(place, _)| place.is_live())
        };
        let base = known().map(|(_, known)| *known).fold(time.0, u64::min);
        let newest = known().map(|(_, known)| *known).fold(time.0, u64::max);
        let shift =
            (0..SHIFT_MAX).find(|shift| scaled(newest - base, *shift) <= u64::from(u32::MAX));
        let shift = shift.unwrap_or(SHIFT_MAX);
        *self = Times { base, shift };
        for (place, time) in places.iter_mut().zip(times) {
            place.time = cut(scaled(time.saturating_sub(base), shift));
        }
        cut(scaled(time.0 - base, shift))
    }
}

/// `ticks` divided by two to the `shift`, rounded up.
fn scaled(ticks: u64, shift: u8) -> u64 {
    (ticks >> shift) + u64::from(ticks & ((1 << shift) - 1) != 0)
}

fn cut(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

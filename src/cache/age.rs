//! Age: IDs that are too old leave at the old end of the window, however many at once.
//!
//! Times of adds do not fall with ordinals, so what has expired is a prefix of the window, and a
//! floor behind it says it all. The floor never rises further than to the last ID that is known to
//! have expired: in a replay copies of younger IDs with lower ordinals than the last may still
//! come. Nothing expires before `next_expiry`; until then asking costs one comparison. Beyond, the
//! work is in proportion to the chunks that go, each once in its life.

use crate::ids::{Ordinal, Ticks};
use crate::mutant::{self, Mutant};

use super::chunk::{Chunk, PLACES};
use super::{Cache, Forgotten};

/// From which age on IDs are as if they were gone, 0 if there is none; and when the next one is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aging {
    max_age: u64,
    next_expiry: u64,
}

impl Cache {
    /// The age in ticks from which on IDs are as if they were gone; 0 if there is none.
    #[inline]
    pub(crate) fn max_age(&self) -> u64 {
        self.aging.max_age
    }

    /// Changes that age. What had expired by the old one must be [out](Cache::expire) before.
    pub(crate) fn set_max_age(&mut self, ticks: u64) {
        self.aging = Aging {
            max_age: ticks,
            next_expiry: 0,
        };
    }

    /// Takes out what is of that age or older at `now`; none if nothing is.
    #[inline]
    pub(crate) fn expire(&mut self, now: Ticks) -> Option<Forgotten> {
        if self.aging.max_age == 0 || now.0 < self.aging.next_expiry {
            return None;
        }
        self.expire_at(now.0)
    }

    /// When what was added at `time` expires; none if it does not.
    pub(crate) fn expiry(&self, time: Ticks) -> Option<Ticks> {
        let max_age = self.aging.max_age;
        (max_age > 0).then(|| Ticks(time.0.saturating_add(max_age)))
    }

    /// Notes that an ID was put that was added at `time`, which may be older than others.
    pub(super) fn note_age(&mut self, time: Ticks) {
        let Aging {
            max_age,
            next_expiry,
        } = &mut self.aging;
        if *max_age > 0 {
            *next_expiry = (*next_expiry).min(time.0.saturating_add(*max_age));
        }
    }

    #[inline(never)]
    fn expire_at(&mut self, now: u64) -> Option<Forgotten> {
        let mut max_age = self.aging.max_age;
        if mutant::is(Mutant::ExpiresATickLate) {
            max_age += 1;
        }
        let (last, next) = self.last_expired(now.checked_sub(max_age)?);
        // What is added from now on is not older than now.
        self.aging.next_expiry = next.unwrap_or(now).saturating_add(max_age);
        let floor = Ordinal(last?.saturating_add(1));
        Some(self.forget_below(floor))
    }

    /// The last live ordinal that was added at `newest` or before, and when the next one was.
    fn last_expired(&self, newest: u64) -> (Option<u64>, Option<u64>) {
        let time_of = |chunk: &Chunk, offset| chunk.get(offset).map(|content| content.time.0);
        let mut expired = None;
        let mut from = 0;
        while let Some(first) = self.chunks.next_live(from)
            && let Some((chunk, offset)) = self.chunks.get(first)
            && let Some(last) = chunk.last_live()
        {
            if time_of(chunk, last) <= Some(newest) {
                expired = Some(first + (last - offset) as u64);
                from = (first - offset as u64).saturating_add(PLACES as u64);
                continue;
            }
            for at in offset..=last {
                match time_of(chunk, at) {
                    Some(time) if time > newest => return (expired, Some(time)),
                    Some(_) => expired = Some(first + (at - offset) as u64),
                    None => {}
                }
            }
        }
        (expired, None)
    }
}

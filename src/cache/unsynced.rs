//! Where the newest adds of an address end in the journal, as long as they may not be durable.
//!
//! A few runs of adds, not each add: who asks for one waits for its whole run, which is never more
//! than half of what is not durable. So an address that nobody uses any more keeps no memory.
//!
//! Invariant: ordinals and positions of the runs both rise from front to back.

use crate::ids::{Ordinal, Position};

const RUNS: usize = 4;

/// The end positions of the newest adds; those known to be durable are no longer there.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    /// Ordinals below this one are durable.
    first: Ordinal,
    /// The last ordinal of each run, and where its record ends.
    runs: [(Ordinal, Position); RUNS],
    len: u8,
    /// How many adds make a run, and how many are in the last one.
    run_adds: u32,
    last_adds: u32,
}

impl Unsynced {
    /// Notes that the record of `ordinal`, higher than all before, ends at `end`.
    #[inline]
    pub(crate) fn push(&mut self, ordinal: Ordinal, end: Position) {
        if self.len == 0 {
            (self.first, self.run_adds, self.last_adds) = (ordinal, 1, 0);
            self.len = 1;
        } else if self.last_adds >= self.run_adds {
            self.begin_run();
        }
        self.last_adds += 1;
        if let Some(last) = self.runs.get_mut(usize::from(self.len) - 1) {
            debug_assert!(self.last_adds == 1 || *last < (ordinal, end));
            *last = (ordinal, end);
        }
    }

    /// Lets go of every add whose record ends at or before `durable`.
    #[inline]
    pub(crate) fn trim(&mut self, durable: Position) {
        while self.len > 0 && self.runs[0].1 <= durable {
            self.pop();
        }
    }

    /// Lets go of every ordinal below `floor`, which nobody can ask for any more.
    pub(crate) fn forget_below(&mut self, floor: Ordinal) {
        while self.len > 0 && self.runs[0].0 < floor {
            self.pop();
        }
        self.first = self.first.max(floor);
    }

    /// Where all is durable with the record of `ordinal`; none if that is durable.
    #[inline]
    pub(crate) fn position_of(&self, ordinal: Ordinal) -> Option<Position> {
        if ordinal < self.first {
            return None;
        }
        let mut runs = self.runs.iter().take(usize::from(self.len));
        runs.find(|(last, _)| *last >= ordinal).map(|(_, end)| *end)
    }

    /// Makes room for one run more; where there is none, two become one.
    fn begin_run(&mut self) {
        if usize::from(self.len) == RUNS {
            self.runs = [self.runs[1], self.runs[3], self.runs[3], self.runs[3]];
            self.len = 2;
            self.run_adds = self.run_adds.saturating_mul(2);
        }
        self.len += 1;
        self.last_adds = 0;
    }

    fn pop(&mut self) {
        self.first = Ordinal(self.runs[0].0.0.saturating_add(1));
        self.runs.rotate_left(1);
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SegmentNumber;

    fn at(segment: u64, offset: u64) -> Position {
        Position::new(SegmentNumber(segment), offset)
    }

    #[test]
    fn a_record_that_ends_at_the_durable_position_is_durable() {
        let mut unsynced = Unsynced::default();
        unsynced.push(Ordinal(3), at(1, 64));
        unsynced.push(Ordinal(7), at(1, 128));
        unsynced.push(Ordinal(8), at(2, 64));
        assert_eq!(unsynced.position_of(Ordinal(7)), Some(at(1, 128)));
        assert_eq!(unsynced.position_of(Ordinal(2)), None, "it was never noted");
        unsynced.trim(at(1, 120));
        assert_eq!(unsynced.position_of(Ordinal(3)), None);
        assert_eq!(unsynced.position_of(Ordinal(7)), Some(at(1, 128)));
        unsynced.trim(at(1, 128));
        assert_eq!(unsynced.position_of(Ordinal(7)), None);
        assert_eq!(unsynced.position_of(Ordinal(8)), Some(at(2, 64)));
    }

    #[test]
    fn who_asks_never_waits_for_too_little_nor_for_more_than_half_of_the_rest() {
        let end = |ordinal: u64| at(1 + ordinal / 100, 64 + ordinal % 100 * 64);
        for adds in 1..=300 {
            let mut unsynced = Unsynced::default();
            for ordinal in 1..=adds {
                unsynced.push(Ordinal(ordinal), end(ordinal));
            }
            for ordinal in 1..=adds {
                let position = unsynced.position_of(Ordinal(ordinal)).unwrap_or_default();
                assert!(position >= end(ordinal), "{ordinal} of {adds}");
                let most = (ordinal + adds / 2).min(adds);
                assert!(position <= end(most), "{ordinal} of {adds}");
            }
            for durable in (1..=adds).step_by(7) {
                unsynced.trim(end(durable));
                let waits = unsynced.position_of(Ordinal(durable));
                assert!(waits.is_none_or(|position| position > end(durable)));
                if durable < adds {
                    assert!(unsynced.position_of(Ordinal(durable + 1)).is_some());
                }
            }
            unsynced.trim(end(adds));
            assert_eq!(unsynced.position_of(Ordinal(adds)), None);
        }
    }

    #[test]
    fn what_is_forgotten_is_not_waited_for() {
        let mut unsynced = Unsynced::default();
        for ordinal in 1..=1000 {
            unsynced.push(Ordinal(ordinal), at(1, ordinal * 64));
        }
        unsynced.forget_below(Ordinal(901));
        assert_eq!(unsynced.position_of(Ordinal(900)), None);
        assert!(unsynced.position_of(Ordinal(901)) >= Some(at(1, 901 * 64)));
        unsynced.forget_below(Ordinal(1001));
        assert_eq!(unsynced.position_of(Ordinal(1000)), None);
    }
}

//! Where the newest adds of an address end in the journal, as long as they may not be durable.
//!
//! Invariant: ordinals and positions both rise from front to back.

use std::collections::VecDeque;

use crate::ids::{Ordinal, Position};

/// Room that is kept while nothing is unsynced.
const KEPT_MAX: usize = 16;

/// The end positions of the newest adds; those known to be durable are no longer there.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    ends: VecDeque<(Ordinal, Position)>,
}

impl Unsynced {
    /// Notes that the record of `ordinal`, higher than all before, ends at `end`.
    #[inline]
    pub(crate) fn push(&mut self, ordinal: Ordinal, end: Position) {
        debug_assert!(self.ends.back().is_none_or(|back| *back < (ordinal, end)));
        self.ends.push_back((ordinal, end));
    }

    /// Lets go of every add whose record ends at or before `durable`.
    #[inline]
    pub(crate) fn trim(&mut self, durable: Position) {
        while self.ends.front().is_some_and(|(_, end)| *end <= durable) {
            self.ends.pop_front();
        }
        self.give_back();
    }

    /// Lets go of every ordinal below `floor`, which nobody can ask for any more.
    pub(crate) fn forget_below(&mut self, floor: Ordinal) {
        while self
            .ends
            .front()
            .is_some_and(|(ordinal, _)| *ordinal < floor)
        {
            self.ends.pop_front();
        }
        self.give_back();
    }

    /// The end of the record of `ordinal`; none if that is durable.
    #[inline]
    pub(crate) fn position_of(&self, ordinal: Ordinal) -> Option<Position> {
        let at = self
            .ends
            .binary_search_by_key(&ordinal, |(known, _)| *known)
            .ok()?;
        self.ends.get(at).map(|(_, end)| *end)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn give_back(&mut self) {
        if self.ends.is_empty() && self.ends.capacity() > KEPT_MAX {
            self.ends = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
        assert_eq!(unsynced.position_of(Ordinal(7)).unwrap(), at(1, 128));
        assert_eq!(unsynced.position_of(Ordinal(5)), None);
        unsynced.trim(at(1, 120));
        assert_eq!(
            (unsynced.len(), unsynced.position_of(Ordinal(3))),
            (2, None)
        );
        unsynced.trim(at(1, 128));
        assert_eq!(unsynced.position_of(Ordinal(7)), None);
        assert_eq!(unsynced.position_of(Ordinal(8)), Some(at(2, 64)));
    }

    #[test]
    fn memory_is_given_back_when_all_is_durable_or_forgotten() {
        let mut unsynced = Unsynced::default();
        for ordinal in 1..=1000 {
            unsynced.push(Ordinal(ordinal), at(1, ordinal * 64));
        }
        unsynced.forget_below(Ordinal(901));
        assert_eq!(
            (unsynced.len(), unsynced.position_of(Ordinal(900))),
            (100, None)
        );
        assert_eq!(unsynced.position_of(Ordinal(901)), Some(at(1, 901 * 64)));
        unsynced.trim(at(1, 64_000));
        assert_eq!((unsynced.len(), unsynced.ends.capacity()), (0, 0));
    }
}

//! How far back in the journal the records of an address's newest adds can lie.
//!
//! Invariant: for each entry, every record of an add with its ordinal or a higher one is in its
//! segment or a later one; ordinals and segments rise from front to back. Copies only move records
//! forward, so that nothing but the first add in each segment needs to be noted. An entry less
//! makes the answer less exact, never wrong.

use crate::ids::{Ordinal, SegmentNumber};
use crate::mutant::{self, Mutant};

/// Live IDs for which one entry more may be kept.
const IDS_PER_ENTRY: u64 = 256;

/// In which segment the adds from which ordinal on begin.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    begins: Vec<(SegmentNumber, Ordinal)>,
}

impl Reach {
    /// Notes that `ordinal`, higher than all before, is the first add in `segment`; `start` is the
    /// lowest ordinal that may be live, and `live` how many are.
    pub(crate) fn note(
        &mut self,
        (segment, ordinal): (SegmentNumber, Ordinal),
        start: Ordinal,
        live: u64,
    ) {
        if self.begins.last().is_some_and(|(last, _)| *last >= segment) {
            return;
        }
        let is_over = |next: &(SegmentNumber, Ordinal)| next.1 <= start;
        while self.begins.get(1).is_some_and(is_over) {
            self.begins.remove(0);
        }
        self.begins.push((segment, ordinal));
        while self.begins.len() as u64 > 2 + live / IDS_PER_ENTRY {
            self.begins.remove(1);
        }
    }

    /// The oldest segment in which an add from `start` on can have a record.
    pub(crate) fn oldest(&self, start: Ordinal) -> SegmentNumber {
        let mut before = self.begins.partition_point(|(_, begin)| *begin <= start);
        if mutant::is(Mutant::ReachTooShort) {
            before = self.begins.len();
        }
        let entry = before.checked_sub(1).and_then(|at| self.begins.get(at));
        entry.map_or(SegmentNumber(0), |(segment, _)| *segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(reach: &mut Reach, segment: u64, ordinal: u64, start: u64, live: u64) {
        let begin = (SegmentNumber(segment), Ordinal(ordinal));
        reach.note(begin, Ordinal(start), live);
    }

    #[test]
    fn what_is_live_is_never_said_to_begin_later_than_it_does() {
        // Segments of 100 adds each, windows of several sizes.
        for window in [1_u64, 50, 99, 100, 101, 250, 1000] {
            let mut reach = Reach::default();
            for segment in 1..=40_u64 {
                let begin = (segment - 1) * 100 + 1;
                let start = begin.saturating_sub(window).max(1);
                note(&mut reach, segment, begin, start, window);
                for ordinal in [start, begin] {
                    let said = reach.oldest(Ordinal(ordinal));
                    assert!(said.0 <= ordinal.div_ceil(100), "{ordinal}: {said:?}");
                }
            }
            assert!(reach.begins.len() as u64 <= 2 + window / IDS_PER_ENTRY);
        }
    }

    #[test]
    fn a_window_that_fits_a_segment_is_known_to_be_in_the_last_two() {
        let mut reach = Reach::default();
        assert_eq!(
            reach.oldest(Ordinal(7)),
            SegmentNumber(0),
            "nothing is known"
        );
        for segment in 1..=9 {
            note(
                &mut reach,
                segment,
                segment * 100,
                (segment * 100).saturating_sub(60),
                60,
            );
        }
        assert_eq!(reach.oldest(Ordinal(899)), SegmentNumber(8));
        assert_eq!(reach.oldest(Ordinal(900)), SegmentNumber(9));
        note(&mut reach, 9, 950, 940, 60);
        assert_eq!(reach.oldest(Ordinal(960)), SegmentNumber(9), "noted once");
    }
}

//! The ring of segment slots: which are in the chain, in which order, and which are free.
//!
//! Invariants: (1) numbers rise along the chain; (2) only the last link is written to; (3) a slot
//! is in the chain or free, never both; (4) no number is given twice, and each is above all that
//! were seen.
//!
//! Pure: callers do the I/O. `F` is whatever the caller holds a slot's file by.

use std::collections::VecDeque;

use crate::ids::{SegmentNumber, Slot, Ticks};

/// A segment of the chain.
#[derive(Clone, Debug)]
pub(crate) struct Link<F> {
    pub(crate) slot: Slot,
    pub(crate) number: SegmentNumber,
    pub(crate) salt: u64,
    pub(crate) base_time: Ticks,
    /// Length of the file.
    pub(crate) bytes: u64,
    /// Where its records end; for the last link, where they ended when it became the last.
    pub(crate) end: u64,
    pub(crate) file: F,
}

/// A slot that the chain does not need.
#[derive(Clone, Debug)]
pub(crate) struct FreeSlot<F> {
    pub(crate) slot: Slot,
    pub(crate) bytes: u64,
    pub(crate) file: F,
}

/// The slots of a store.
#[derive(Debug)]
pub(crate) struct Ring<F> {
    chain: VecDeque<Link<F>>,
    free: Vec<FreeSlot<F>>,
    highest: SegmentNumber,
    sealed_bytes: u64,
    total_bytes: u64,
}

impl<F> Ring<F> {
    /// A ring of the links given, oldest first, and the free slots; `highest` is the highest number
    /// ever seen.
    pub(crate) fn new(
        chain: Vec<Link<F>>,
        free: Vec<FreeSlot<F>>,
        highest: SegmentNumber,
    ) -> Ring<F> {
        let total_bytes = chain.iter().map(|link| link.bytes).sum::<u64>()
            + free.iter().map(|free| free.bytes).sum::<u64>();
        let sealed_bytes = chain.iter().map(|link| link.bytes).sum();
        Ring {
            chain: chain.into(),
            free,
            highest,
            sealed_bytes,
            total_bytes,
        }
    }

    pub(crate) fn chain(&self) -> impl ExactSizeIterator<Item = &Link<F>> {
        self.chain.iter()
    }

    pub(crate) fn oldest(&self) -> Option<&Link<F>> {
        self.chain.front()
    }

    pub(crate) fn last(&self) -> Option<&Link<F>> {
        self.chain.back()
    }

    /// The number of the oldest segment but one: what is the oldest needed after a release.
    pub(crate) fn second_oldest(&self) -> Option<SegmentNumber> {
        self.chain.get(1).map(|link| link.number)
    }

    /// The next number to give, if there is one left.
    pub(crate) fn next_number(&mut self) -> Option<SegmentNumber> {
        let next = SegmentNumber(self.highest.0.checked_add(1)?);
        (next <= SegmentNumber::MAX).then(|| {
            self.highest = next;
            next
        })
    }

    /// Appends `link`; `end` is where the records of the link before it ended.
    pub(crate) fn begin(&mut self, link: Link<F>, end: u64) {
        debug_assert!(
            self.last().is_none_or(|last| last.number < link.number),
            "numbers rise"
        );
        if let Some(last) = self.chain.back_mut() {
            last.end = end;
        }
        self.sealed_bytes += link.bytes;
        self.chain.push_back(link);
    }

    /// Takes the oldest link out of the chain and leaves its slot free. Its records must be dead,
    /// and that be durable.
    pub(crate) fn release(&mut self) -> Option<SegmentNumber> {
        if self.chain.len() < 2 {
            return None;
        }
        let link = self.chain.pop_front()?;
        self.sealed_bytes -= link.bytes;
        self.free.push(FreeSlot {
            slot: link.slot,
            bytes: link.bytes,
            file: link.file,
        });
        Some(link.number)
    }

    pub(crate) fn free(&self) -> &[FreeSlot<F>] {
        &self.free
    }

    /// How many free slots have `bytes`.
    pub(crate) fn free_count(&self, bytes: u64) -> u64 {
        self.free.iter().filter(|free| free.bytes == bytes).count() as u64
    }

    /// Takes a free slot of exactly `bytes`; it is the caller's until it comes back in
    /// [`begin`](Ring::begin) or [`put_free`](Ring::put_free).
    pub(crate) fn take_free(&mut self, bytes: u64) -> Option<FreeSlot<F>> {
        let place = self.free.iter().position(|free| free.bytes == bytes)?;
        Some(self.free.swap_remove(place))
    }

    /// Takes a free slot that is of no use: of another length than `bytes`, or one more than
    /// `keep`.
    pub(crate) fn take_surplus(&mut self, bytes: u64, keep: u64) -> Option<FreeSlot<F>> {
        if let Some(place) = self.free.iter().position(|free| free.bytes != bytes) {
            return Some(self.free.swap_remove(place));
        }
        if self.free.len() as u64 > keep {
            self.free.pop()
        } else {
            None
        }
    }

    /// Puts a taken slot back.
    pub(crate) fn put_free(&mut self, free: FreeSlot<F>) {
        self.free.push(free);
    }

    /// A slot was made.
    pub(crate) fn made(&mut self, free: FreeSlot<F>) {
        self.total_bytes += free.bytes;
        self.free.push(free);
    }

    /// A slot taken before was removed for good.
    pub(crate) fn removed(&mut self, bytes: u64) {
        self.total_bytes -= bytes;
    }

    /// A name that no slot has; `taken` is one that is in nobody's list at the moment.
    pub(crate) fn unused_slot(&self, taken: Option<Slot>) -> Slot {
        let mut names: Vec<u32> = self.chain.iter().map(|link| link.slot.0).collect();
        names.extend(self.free.iter().map(|free| free.slot.0));
        names.extend(taken.map(|slot| slot.0));
        names.sort_unstable();
        let gap = names.iter().zip(0..).find(|(name, index)| **name != *index);
        Slot(gap.map_or_else(
            || u32::try_from(names.len()).unwrap_or(u32::MAX),
            |(_, index)| index,
        ))
    }

    /// Bytes of all slots, in the chain or not.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Bytes of the chain's files but for the last, which is still written to.
    pub(crate) fn closed_bytes(&self) -> u64 {
        self.sealed_bytes - self.last().map_or(0, |last| last.bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

    use super::*;

    fn link(slot: u32, number: u64) -> Link<()> {
        let number = SegmentNumber(number);
        let (slot, base_time) = (Slot(slot), Ticks(0));
        Link {
            slot,
            number,
            salt: 0,
            base_time,
            bytes: 1024,
            end: 256,
            file: (),
        }
    }

    #[test]
    fn released_slots_are_free_and_numbers_are_never_given_twice() {
        let mut ring = Ring::new(vec![link(0, 4), link(1, 7)], Vec::new(), SegmentNumber(9));
        assert_eq!(ring.next_number(), Some(SegmentNumber(10)));
        assert_eq!(ring.second_oldest(), Some(SegmentNumber(7)));
        assert_eq!(ring.release(), Some(SegmentNumber(4)));
        assert_eq!(ring.release(), None, "the last segment is never released");
        assert_eq!(ring.free_count(1024), 1);
        assert_eq!(ring.take_free(1024).unwrap().slot, Slot(0));
        assert_eq!(ring.unused_slot(Some(Slot(0))), Slot(2));
        assert_eq!(ring.next_number(), Some(SegmentNumber(11)));
    }

    #[test]
    fn slots_of_another_length_are_surplus() {
        let free = FreeSlot {
            slot: Slot(2),
            bytes: 2048,
            file: (),
        };
        let mut ring = Ring::new(vec![link(0, 1)], vec![free], SegmentNumber(1));
        assert!(ring.take_free(1024).is_none());
        assert_eq!(ring.take_surplus(1024, 2).unwrap().slot, Slot(2));
        ring.removed(2048);
        assert_eq!(ring.total_bytes(), 1024);
        assert!(ring.take_surplus(1024, 2).is_none());
    }
}

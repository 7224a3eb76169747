//! How much lives, how much is set aside for claims, and how much carrying is owed. No I/O.
//!
//! Rule 11 of docs/design.md sets the pace: while more than one segment's worth of bytes is dead,
//! each appended byte carries one live byte and looks at four.

use std::collections::VecDeque;

use crate::ids::SegmentNumber;
use crate::mutant::{self, Mutant};

/// The books of a journal's space.
#[derive(Debug)]
pub(crate) struct Space {
    live_bytes: u64,
    /// The most that lived since each segment of the chain was begun, oldest first; falling.
    most_live: VecDeque<(SegmentNumber, u64)>,
    claimed_bytes: u64,
    /// Those of them that must be found again after a restart.
    lasting_bytes: u64,
    largest_claim: u64,
    may_carry: i64,
    may_look: i64,
}

/// What a journal's slots could still hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes left in the active segment.
    pub(crate) rest: u64,
    /// Bytes that a fresh segment has for records.
    pub(crate) fresh: u64,
    /// Slots that are free or prepared.
    pub(crate) slots: u64,
}

impl Space {
    /// `abandoned_bytes` is the unused rest of all segments: each byte of it is owed for like one
    /// that was appended.
    pub(crate) fn new(live_bytes: u64, abandoned_bytes: u64) -> Space {
        let owed = i64::try_from(abandoned_bytes).unwrap_or(i64::MAX / 8);
        Space {
            live_bytes,
            most_live: VecDeque::from([(SegmentNumber(0), live_bytes)]),
            claimed_bytes: 0,
            lasting_bytes: 0,
            largest_claim: 0,
            may_carry: owed,
            may_look: owed.saturating_mul(4),
        }
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    pub(crate) fn claimed_bytes(&self) -> u64 {
        self.claimed_bytes
    }

    /// What lives has changed by so many bytes, while `active` is written.
    pub(crate) fn change_live(&mut self, by: i64, active: SegmentNumber) {
        self.live_bytes = self.live_bytes.saturating_add_signed(by);
        let live = self.live_bytes;
        if self
            .most_live
            .back()
            .is_some_and(|(at, most)| *at == active && *most >= live)
        {
            return;
        }
        while self
            .most_live
            .back()
            .is_some_and(|(_, most)| *most <= self.live_bytes)
        {
            self.most_live.pop_back();
        }
        self.most_live.push_back((active, self.live_bytes));
    }

    /// The most that lived since the now-oldest record was written: what the bound is counted from.
    pub(crate) fn most_live_bytes(&self) -> u64 {
        self.most_live
            .front()
            .map_or(self.live_bytes, |(_, most)| (*most).max(self.live_bytes))
    }

    /// Segments below `oldest` are gone.
    pub(crate) fn released(&mut self, oldest: SegmentNumber) {
        while self.most_live.len() > 1
            && self
                .most_live
                .front()
                .is_some_and(|(number, _)| *number < oldest)
        {
            self.most_live.pop_front();
        }
    }

    /// Sets `bytes` aside; `whole` is the length of the record that they will be part of.
    pub(crate) fn claim(&mut self, bytes: u64, whole: u64) {
        self.claimed_bytes += bytes;
        self.largest_claim = self.largest_claim.max(whole);
    }

    /// The same, over restarts: in slots of its own, since a restart ends the active segment.
    pub(crate) fn claim_lasting(&mut self, bytes: u64, whole: u64) {
        self.claim(bytes, whole);
        self.lasting_bytes += bytes;
    }

    /// Gives `bytes` back that were set aside over restarts.
    pub(crate) fn unclaim_lasting(&mut self, bytes: u64) {
        self.lasting_bytes = self.lasting_bytes.saturating_sub(bytes);
        self.unclaim(bytes);
    }

    /// Gives `bytes` back that were set aside.
    pub(crate) fn unclaim(&mut self, bytes: u64) {
        self.claimed_bytes = self.claimed_bytes.saturating_sub(bytes);
        if self.claimed_bytes == 0 {
            self.largest_claim = 0;
        }
    }

    /// Whether `bytes` can be appended, and `more` set aside in records of up to `whole` bytes, so
    /// that all claims still fit and `spare` slots stay untouched.
    pub(crate) fn fits(&self, room: Room, bytes: u64, more: u64, whole: u64, spare: u64) -> bool {
        self.fits_with_lasting(room, bytes, (more, 0), whole, spare)
    }

    /// The same, with `lasting` bytes more to be set aside over restarts.
    pub(crate) fn fits_with_lasting(
        &self,
        room: Room,
        bytes: u64,
        (more, lasting): (u64, u64),
        whole: u64,
        spare: u64,
    ) -> bool {
        let (rest, slots) = match room.rest.checked_sub(bytes) {
            Some(rest) => (rest, room.slots),
            None => match (room.fresh.checked_sub(bytes), room.slots.checked_sub(1)) {
                (Some(rest), Some(slots)) => (rest, slots),
                _ => return false,
            },
        };
        // At the end of each segment up to a whole record may find no room.
        let waste = self.largest_claim.max(whole);
        let per_slot = room.fresh.saturating_sub(waste);
        let kept = (self.lasting_bytes + lasting).div_ceil(per_slot.max(1));
        let Some(slots) = slots.checked_sub(spare.saturating_add(kept)) else {
            return false;
        };
        let room = rest.saturating_sub(waste) + slots.saturating_mul(per_slot);
        let others = (self.claimed_bytes + more).saturating_sub(self.lasting_bytes);
        others == 0 || others <= room
    }

    /// `bytes` were appended that are no copies, while `used` bytes are in use.
    #[inline]
    pub(crate) fn appended(&mut self, bytes: u64, used: u64, segment_bytes: u64) {
        let dead = used.saturating_sub(self.live_bytes);
        // One segment, not two: the oldest is released only when all of it was carried, the active
        // one is counted whole, and the next one is there; with these, two would come to five.
        if dead <= segment_bytes || mutant::is(Mutant::LazyCarrying) {
            self.may_carry = self.may_carry.min(0);
            self.may_look = self.may_look.min(0);
            return;
        }
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 8);
        self.may_carry = self.may_carry.saturating_add(bytes);
        self.may_look = self.may_look.saturating_add(bytes.saturating_mul(4));
    }

    /// How many bytes may be looked at while `used` bytes are in use: a release may have left
    /// little that is dead, however much was owed before it.
    pub(crate) fn still_owed(&mut self, used: u64, segment_bytes: u64) -> u64 {
        self.appended(0, used, segment_bytes);
        self.owed()
    }

    /// How many bytes may be looked at now; 0 when carrying is at pace.
    pub(crate) fn owed(&self) -> u64 {
        if self.may_carry <= 0 {
            0
        } else {
            u64::try_from(self.may_look).unwrap_or(0)
        }
    }

    /// `looked` bytes were looked at and `carried` of them copied.
    pub(crate) fn paid(&mut self, looked: u64, carried: u64) {
        let signed = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX / 8);
        self.may_look = self.may_look.saturating_sub(signed(looked));
        self.may_carry = self.may_carry.saturating_sub(signed(carried));
    }

    /// How many slots there may be: twice what lived at most, and four.
    pub(crate) fn slots_allowed(&self, segment_bytes: u64) -> u64 {
        4 + 2 * self.most_live_bytes() / segment_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_fit_only_where_every_segment_may_waste_a_record() {
        let mut space = Space::new(0, 0);
        let room = Room {
            rest: 100,
            fresh: 700,
            slots: 2,
        };
        assert!(space.fits(room, 100, 0, 0, 1));
        assert!(space.fits(room, 700, 0, 0, 1), "a rotation leaves one slot");
        assert!(!space.fits(room, 701, 0, 0, 0));
        assert!(space.fits(room, 0, 560, 140, 1));
        assert!(!space.fits(room, 0, 561, 140, 1));
        space.claim(560, 140);
        assert!(!space.fits(room, 8, 8, 8, 1));
        assert!(space.fits(room, 8, 8, 8, 0));
        space.unclaim(560);
        assert!(space.fits(room, 0, 700, 8, 1));
    }

    #[test]
    fn what_lasts_has_slots_of_its_own() {
        let mut space = Space::new(0, 0);
        let room = Room {
            rest: 100,
            fresh: 700,
            slots: 2,
        };
        assert!(space.fits_with_lasting(room, 0, (0, 600), 100, 1));
        assert!(
            !space.fits_with_lasting(room, 0, (0, 601), 100, 1),
            "two slots are needed"
        );
        assert!(!space.fits_with_lasting(room, 0, (0, 10), 100, 2));
        space.claim_lasting(600, 100);
        assert!(
            space.fits(room, 100, 0, 0, 1),
            "it does not lie in the rest"
        );
        assert!(
            !space.fits(room, 101, 0, 0, 1),
            "a rotation would leave one slot"
        );
        assert!(space.fits(room, 101, 0, 0, 0));
        assert!(
            !space.fits(room, 0, 1, 100, 1),
            "a rest of one record is none"
        );
        space.unclaim_lasting(600);
        assert!(space.fits(room, 101, 0, 0, 1));
    }

    #[test]
    fn nothing_is_owed_until_a_segment_is_dead() {
        let mut space = Space::new(500, 0);
        space.appended(64, 1524, 1024);
        assert_eq!(space.owed(), 0);
        space.appended(64, 1525, 1024);
        assert_eq!(space.owed(), 256);
        space.paid(100, 64);
        assert_eq!(space.owed(), 0, "no live byte may be carried");
        space.appended(64, 4000, 1024);
        assert_eq!(space.owed(), 412);
    }

    #[test]
    fn a_release_that_leaves_less_than_a_segment_dead_ends_what_is_owed() {
        let mut space = Space::new(500, 0);
        space.appended(2000, 3500, 1024);
        assert_eq!(space.still_owed(3500, 1024), 8000);
        assert_eq!(space.still_owed(1524, 1024), 0);
        assert_eq!(space.still_owed(3500, 1024), 0, "it does not come back");
    }

    #[test]
    fn the_bound_counts_the_most_that_lived_since_the_oldest_segment() {
        let mut space = Space::new(0, 0);
        space.change_live(10_000, SegmentNumber(1));
        space.change_live(-9_000, SegmentNumber(2));
        space.change_live(500, SegmentNumber(3));
        assert_eq!(space.most_live_bytes(), 10_000);
        assert_eq!(space.slots_allowed(1000), 24);
        space.released(SegmentNumber(2));
        assert_eq!(space.most_live_bytes(), 1_500);
    }
}

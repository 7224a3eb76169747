//! Slots: made, taken, given a header, released. Only the thread that maintains the journal calls
//! these.
//!
//! The append lock is never held over the making of a slot or the sync of a header.

use crate::commit::SyncAll;
use crate::directory::MakeSlotError;
use crate::error::{Cause, Error, Result};
use crate::events::{Event, Weight};
use crate::format::header_block_bytes;
use crate::ids::{Position, SegmentNumber, Slot};
use crate::journal::append::{Purpose, Refused};
use crate::journal::snapshot::records_header;
use crate::journal::{File, Journal, Next};
use crate::mutant::{self, Mutant};
use crate::record::Record;
use crate::ring::{FreeSlot, Link};
use crate::segment::{SegmentHeader, Standing};
use crate::storage::{Written, is_no_space, write_full};

/// Up to where all must be durable before the slot is let go: the end of the release.
#[inline]
fn release_covers(end: Position, durable: Position, own: u64) -> Position {
    let last = |is_copy| Position::from_bits(mutant::last(is_copy));
    if mutant::is(Mutant::ReleaseNotSynced)
        || mutant::is(Mutant::ReleaseNotSyncedWithoutCopies) && last(true) <= durable
    {
        Position::default()
    } else if mutant::is(Mutant::SyncOnlyTheCopies) {
        last(true).min(end)
    } else if mutant::is(Mutant::DurableBySequence) {
        Position::from_bits(own).min(end)
    } else {
        end
    }
}

/// The oldest segment of the chain, to be read by who carries forward.
pub(crate) struct Oldest {
    pub(crate) number: SegmentNumber,
    pub(crate) header: SegmentHeader,
    pub(crate) end: u64,
    pub(crate) file: File,
}

/// Syncs no more than the segment before the active one.
struct Before<'a>(&'a Journal);

impl SyncAll for Before<'_> {
    fn sync_all(&self) -> Result<Position> {
        let (unsynced, begin) = {
            let inner = self.0.inner.lock();
            let begin = crate::format::records_offset(self.0.segment_bytes);
            let begin = Position::new(inner.end().segment(), begin);
            (inner.unsynced.clone(), begin)
        };
        if let Some((number, file)) = unsynced {
            if !mutant::is(Mutant::NoSyncAtRotation) {
                let synced = file.sync();
                synced.map_err(|error| Error::io("sync", "a segment", error))?;
            }
            self.0.inner.lock().is_synced(number);
        }
        Ok(begin)
    }
}

impl Journal {
    /// Makes sure that the active segment has one to be sealed to.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if a slot must be made and the disk is full; what poisons the store.
    pub(crate) fn prepare_next(&self) -> Result<()> {
        {
            let inner = self.inner.lock();
            if inner.writer.is_none() || inner.next.is_some() || inner.is_closed {
                return Ok(());
            }
        }
        // The seal that begins the active segment must be durable before the next header is
        // written: with two seals ahead of the disk recovery could reuse the slot between them.
        if !mutant::is(Mutant::NextBeforeSealSynced) {
            self.sync_before()?;
        }
        let slot = self.take_or_make()?;
        let next = self.write_header(slot, true)?;
        if self.is_filling() {
            next.link.file.expect_writes();
        }
        self.inner.lock().next = Some(next);
        Ok(())
    }

    /// Makes the segment before the active one durable, with its seal.
    ///
    /// As one of the shared syncs: two at once on one file would be a retry where the first fails,
    /// and the kernel answers a retry with success (rule 15).
    fn sync_before(&self) -> Result<()> {
        let begin = {
            let inner = self.inner.lock();
            let begin = crate::format::records_offset(self.segment_bytes);
            match inner.unsynced {
                Some(_) => Position::new(inner.end().segment(), begin),
                None => return Ok(()),
            }
        };
        self.commit.check()?;
        self.commit.wait(begin, &Before(self))
    }

    /// Takes a free slot, or makes one.
    pub(super) fn take_or_make(&self) -> Result<FreeSlot<File>> {
        if let Some(free) = self.inner.lock().ring.take_free(self.segment_bytes) {
            return Ok(free);
        }
        self.make_slot()?;
        let taken = self.inner.lock().ring.take_free(self.segment_bytes);
        taken.ok_or_else(|| self.no_space("a new slot", None))
    }

    /// Makes one more slot, which is free.
    pub(crate) fn make_slot(&self) -> Result<()> {
        self.commit.check()?;
        let slot = self.unused_slot();
        match self.directory.make_slot(slot, self.segment_bytes) {
            Ok(file) => {
                let bytes = self.segment_bytes;
                self.inner.lock().ring.made(FreeSlot { slot, bytes, file });
                Ok(())
            }
            Err(MakeSlotError::Failed(error)) => Err(error),
            Err(MakeSlotError::Fatal(error)) => Err(self.fatal(error)),
        }
    }

    fn unused_slot(&self) -> Slot {
        let inner = self.inner.lock();
        inner
            .ring
            .unused_slot(inner.next.as_ref().map(|next| next.link.slot))
    }

    /// Writes the header of the next segment into a free slot and makes it durable.
    pub(super) fn write_header(&self, slot: FreeSlot<File>, is_sealed: bool) -> Result<Next> {
        let mut salt = [0; 8];
        let filled = self.entropy.fill(&mut salt);
        filled.map_err(|error| Error::io("ask for random bytes", "the system", error))?;
        let salt = u64::from_le_bytes(salt);
        let header = {
            let mut inner = self.inner.lock();
            let Some(number) = inner.ring.next_number() else {
                inner.ring.put_free(slot);
                let (limit, max) = ("segments ever begun", SegmentNumber::MAX.0);
                return Err(Error::Limit {
                    limit,
                    max,
                    actual: max,
                });
            };
            let last = inner.ring.last();
            SegmentHeader {
                identity: inner.store_file.copy().identity,
                number,
                salt,
                previous: last.map_or(SegmentNumber(0), |last| last.number),
                previous_salt: last.map_or(0, |last| last.salt),
                previous_end: last.filter(|_| !is_sealed).map_or(0, |last| last.end),
                oldest_needed: inner.ring.oldest().map_or(number, |oldest| oldest.number),
                base_time: self.now(),
                segment_bytes: slot.bytes,
            }
        };
        let name = crate::directory::slot_name(slot.slot);
        let encoded = header.encode();
        // Before the header, so that the pages which a new map dirties go to the disk with its
        // sync.
        if let Err(error) = slot.file.prepare(self.writes) {
            self.inner.lock().ring.put_free(slot);
            return Err(match is_no_space(&error) {
                true => self.no_space("a segment's map", Some(Cause::from(error))),
                false => Error::io("map", name, error),
            });
        }
        // Copy 0 first and alone: a power cut can tear one of them only. Where the second finds no
        // space there is what a crash between them leaves: a segment that was never begun, whose
        // number is not given again.
        for offset in [0, header_block_bytes(slot.bytes)] {
            match write_full(&*slot.file, offset, &encoded) {
                Written::All => {}
                Written::Nothing(error) if is_no_space(&error) => {
                    self.inner.lock().ring.put_free(slot);
                    return Err(self.no_space("a segment's header", Some(Cause::from(error))));
                }
                Written::Nothing(error) | Written::Part(error) => {
                    return Err(self.fatal(Error::io("write", name, error)));
                }
            }
            if !mutant::is(Mutant::HeaderNotSynced) {
                let synced = slot.file.sync();
                synced.map_err(|error| self.fatal(Error::io("sync", &*name, error)))?;
            }
        }
        let FreeSlot { slot, bytes, file } = slot;
        let end = crate::format::records_offset(bytes);
        let (number, base_time) = (header.number, header.base_time);
        Ok(Next {
            link: Link {
                slot,
                number,
                salt,
                base_time,
                bytes,
                end,
                file,
            },
        })
    }

    pub(super) fn no_space(&self, what: &'static str, source: Option<Cause>) -> Error {
        Error::NoSpace {
            what,
            place: self.place(),
            source,
        }
    }

    /// Makes a spare slot if the bound on space allows one more, and removes what is too much.
    pub(crate) fn adjust_spares(&self) -> Result<()> {
        loop {
            let surplus = {
                let mut inner = self.inner.lock();
                if inner.writer.is_none() || inner.is_closed {
                    return Ok(());
                }
                let keep = self.spares_kept(&inner);
                inner.ring.take_surplus(self.segment_bytes, keep)
            };
            let Some(free) = surplus else { break };
            if let Err(error) = self.directory.remove_slot(free.slot) {
                self.inner.lock().ring.put_free(free);
                return Err(error);
            }
            self.inner.lock().ring.removed(free.bytes);
        }
        let is_wanted = {
            let inner = self.inner.lock();
            (inner.ring.free().len() as u64) < self.spares_wanted(&inner)
        };
        if is_wanted { self.make_slot() } else { Ok(()) }
    }

    /// How many free slots there should be: one for the next segment, unless that has one; one more
    /// where the bound allows it; and what the claims need.
    fn spares_wanted(&self, inner: &super::Inner) -> u64 {
        let spare = self.spare_allowed(inner);
        let mut room = inner.room(self);
        room.slots = 1 + spare;
        while !inner.space.fits(room, 0, 0, 0, 1) && inner.space.claimed_bytes() > 0 {
            room.slots += 1;
        }
        room.slots - u64::from(inner.next.is_some())
    }

    /// Whether the bound allows a slot beside the chain and the next segment, ready or not.
    fn spare_allowed(&self, inner: &super::Inner) -> u64 {
        let used = inner.ring.chain().len() as u64 + 1;
        u64::from(used < inner.space.slots_allowed(self.segment_bytes))
    }

    /// How many free slots may stay: one more than wanted, where the bound allows it. The chain is
    /// longer by one from a rotation to the next release: a slot deleted between them would be made
    /// anew, written in full, in every turn of the ring.
    fn spares_kept(&self, inner: &super::Inner) -> u64 {
        let used = inner.ring.chain().len() as u64 + u64::from(inner.next.is_some());
        let wanted = self.spares_wanted(inner);
        let allowed = inner.space.slots_allowed(self.segment_bytes);
        wanted + u64::from(used + wanted < allowed)
    }

    /// Whether the bound on space allows one more slot.
    pub(crate) fn may_grow(&self) -> bool {
        let inner = self.inner.lock();
        let taken = u64::from(inner.next.is_some()) + inner.ring.free().len() as u64;
        let slots = inner.ring.chain().len() as u64 + taken;
        slots < inner.space.slots_allowed(self.segment_bytes)
    }

    /// The oldest segment, if it is not the active one.
    pub(crate) fn oldest(&self) -> Option<Oldest> {
        let inner = self.inner.lock();
        inner.ring.second_oldest()?;
        let oldest = inner.ring.oldest()?;
        let header = records_header(inner.store_file.copy(), oldest);
        let file = File::clone(&oldest.file);
        Some(Oldest {
            number: oldest.number,
            header,
            end: oldest.end,
            file,
        })
    }

    /// Whether this life has a segment of its own yet.
    pub(crate) fn has_begun(&self) -> bool {
        self.inner.lock().writer.is_some()
    }

    /// Whether an ordinary record may begin this life without taking the last slot for good.
    pub(crate) fn may_begin(&self) -> bool {
        let inner = self.inner.lock();
        let slots = inner.ring.free_count(self.segment_bytes);
        slots > 1 || inner.space.live_bytes() <= self.fresh_room() / 4
    }

    /// Whether there is a next segment, and a slot beside it.
    pub(crate) fn has_spare(&self) -> bool {
        let inner = self.inner.lock();
        inner.next.is_some() && inner.ring.free_count(self.segment_bytes) > 0
    }

    /// Whether the active segment has one to be sealed to.
    pub(crate) fn has_next(&self) -> bool {
        self.inner.lock().next.is_some()
    }

    /// Whether carrying is sure to win a slot.
    pub(crate) fn may_regain(&self) -> bool {
        self.inner.lock().may_regain(self)
    }

    /// Bytes of the chain that nothing lives in.
    pub(crate) fn dead_bytes(&self) -> u64 {
        let inner = self.inner.lock();
        inner.used_bytes().saturating_sub(inner.space.live_bytes())
    }

    /// What lives has changed by so many bytes, with what was appended last.
    pub(crate) fn change_live(&self, by: i64) {
        let mut inner = self.inner.lock();
        let active = inner.end().segment();
        inner.space.change_live(by, active);
    }

    /// The number of the oldest segment in the chain.
    pub(crate) fn oldest_number(&self) -> SegmentNumber {
        self.inner
            .lock()
            .ring
            .oldest()
            .map_or(SegmentNumber(0), |oldest| oldest.number)
    }

    /// How many bytes may be looked at to carry at pace.
    pub(crate) fn owed(&self) -> u64 {
        let mut inner = self.inner.lock();
        if inner.writer.is_none() {
            return 0;
        }
        let used = inner.used_bytes();
        inner.space.still_owed(used, self.segment_bytes)
    }

    /// So many bytes of the oldest segment were looked at, and so many of them carried.
    pub(crate) fn paid(&self, looked: u64, carried: u64) {
        self.inner.lock().space.paid(looked, carried);
    }

    /// Lets the oldest segment go: nothing in it is needed any more.
    pub(crate) fn release_oldest(&self) -> std::result::Result<SegmentNumber, Refused> {
        let next = self.inner.lock().ring.second_oldest();
        let Some(oldest) = next else {
            return Err(Refused::NoRoom);
        };
        let release = Record::Release { oldest };
        let own = mutant::last(false);
        let appended = self.append(&release, Standing::Alone, Purpose::Freeing, |_| 0)?;
        // Everything appended so far must be durable before the slot is reused, under every policy:
        // the copies, and also the adds, removes and clears that made the rest dead.
        self.wait(release_covers(appended.end, self.commit.durable(), own))?;
        let mut inner = self.inner.lock();
        let released = inner.ring.release().ok_or(Refused::NoRoom)?;
        inner.space.released(oldest);
        inner.counts.segments_released += 1;
        drop(inner);
        let event = || Event::Released {
            segment: released,
            oldest,
        };
        self.commit.waits.events.add(Weight::Debug, event);
        Ok(released)
    }

    /// Seals the active segment although it has room, so that all of it can be carried.
    pub(crate) fn rotate_now(&self) -> std::result::Result<(), Refused> {
        self.commit.check()?;
        self.inner.lock().rotate(self)
    }
}

//! Appending: the one way for records into the journal.
//!
//! A call here never makes or takes a slot by itself: where there is no room it says so, and the
//! caller, after it has let go of its address, makes room and comes again.

use std::sync::atomic::Ordering;

use crate::error::{Cause, Error};
use crate::events::{Event, Weight};
use crate::format::record_bytes_max;
use crate::ids::{Ordinal, Position, SegmentNumber};
use crate::journal::space::Room;
use crate::journal::{Inner, Journal};
use crate::mutant::{self, Mutant};
use crate::record::{Add, AddForm, Record, Seed, add_bytes, encoded_bytes};
use crate::segment::{SegmentWriter, Standing};
use crate::storage::{Written, is_no_space};

/// For what a record is, and so which space it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An add, a definition, a setting: leaves the last slot alone.
    Ordinary,
    /// Frees space, or carries forward: may take the last slot.
    Freeing,
    /// Has so many bytes set aside, which it gives back.
    Claimed(u64),
    /// Has so many bytes set aside over restarts, which it gives back.
    Lasting(u64),
    /// The same, of which so many stay set aside: for a record that comes before the claim's own.
    Within,
}

/// What copies leave of the last segment on a full disk.
const KEPT_BYTES: u64 = 192;

/// The ordinal that an address's short adds count from, and in which segment they do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    segment: SegmentNumber,
    ordinal: Ordinal,
}

impl Base {
    pub(crate) fn segment(self) -> SegmentNumber {
        self.segment
    }
}

/// Where a record went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    /// It is durable once everything before this position is.
    pub(crate) end: Position,
    /// Its length.
    pub(crate) bytes: u64,
    /// Whether carrying or making segments is owed, and somebody should see to it.
    pub(crate) is_owing: bool,
}

impl Appended {
    /// Where it stands.
    pub(crate) fn begin(&self) -> Position {
        Position::new(self.end.segment(), self.end.offset() - self.bytes)
    }
}

/// Why a record was not appended.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is no room in the slots as they are: make room, then try again.
    NoRoom,
    /// Nothing was appended, and trying again is of no use.
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

impl Journal {
    /// The most bytes that a record may have.
    pub(crate) fn record_bytes_max(&self) -> u64 {
        record_bytes_max(self.segment_bytes)
    }

    /// Appends an add, in the short form where `base` allows; `live` is by how much it changes what
    /// lives beside itself (an eviction: negative).
    pub(crate) fn append_add(
        &self,
        add: &Add<'_>,
        base: &mut Base,
        purpose: Purpose,
        live: i64,
    ) -> std::result::Result<Appended, Refused> {
        let mut inner = self.inner.lock();
        self.commit.check()?;
        let value_bytes = add.value.map_or(0, <[u8]>::len);
        let most = add_bytes(add.id.len(), value_bytes, AddForm::Whole, true);
        self.check_bytes(most)?;
        let inner = &mut *inner;
        let writer = inner.make_room(self, most, (purpose, false))?;
        let start = writer.offset();
        let known = (base.segment == writer.number()).then_some(base.ordinal);
        let durable = self.commit.durable();
        let (written, form) = writer.append_add(add, known, durable);
        // Short adds count from a whole one that is there, not from one that found the disk full.
        if let (Written::All, AddForm::Whole) = (&written, form) {
            *base = Base {
                segment: writer.number(),
                ordinal: add.ordinal,
            };
        }
        let bytes = writer.offset() - start;
        let by = live + i64::try_from(bytes).unwrap_or(0);
        inner.finish(self, written, (bytes, by), purpose)
    }

    /// Appends a renewal, from which short adds of its address count on; `live` is by how much it
    /// changes what lives beside itself.
    pub(crate) fn append_renew(
        &self,
        add: &Add<'_>,
        old: Ordinal,
        base: &mut Base,
        live: i64,
    ) -> std::result::Result<Appended, Refused> {
        let record = Record::Renew { add: *add, old };
        let live = |bytes| live + i64::try_from(bytes).unwrap_or(0);
        let appended = self.append(&record, Standing::Alone, Purpose::Ordinary, live)?;
        if !mutant::is(Mutant::RenewIsNoBase) {
            let (segment, ordinal) = (appended.end.segment(), add.ordinal);
            *base = Base { segment, ordinal };
        }
        Ok(appended)
    }

    /// Appends any other record; `live` is by how much it changes what lives, given its own length.
    pub(crate) fn append(
        &self,
        record: &Record<'_>,
        standing: Standing,
        purpose: Purpose,
        live: impl FnOnce(u64) -> i64,
    ) -> std::result::Result<Appended, Refused> {
        let mut inner = self.inner.lock();
        self.commit.check()?;
        let inner = &mut *inner;
        let most = encoded_bytes(record, true);
        self.check_bytes(most)?;
        let is_carried = standing.is_carried();
        let writer = inner.make_room(self, most, (purpose, is_carried))?;
        let start = writer.offset();
        let written = writer.append(record, standing, self.commit.durable());
        let bytes = writer.offset() - start;
        let by = if bytes == 0 { 0 } else { live(bytes) };
        if is_carried && bytes > 0 {
            inner.counts.carried_records += 1;
            inner.counts.carried_bytes += bytes;
        }
        inner.finish(
            self,
            written,
            (bytes, by),
            if is_carried { Purpose::Within } else { purpose },
        )
    }

    #[inline]
    pub(super) fn check_bytes(&self, bytes: u64) -> std::result::Result<(), Refused> {
        let max = self.record_bytes_max();
        if bytes > max {
            let limit = "bytes of a record (a quarter of a segment)";
            return Err(Error::Limit {
                limit,
                max,
                actual: bytes,
            }
            .into());
        }
        Ok(())
    }
}

impl Inner {
    /// What the slots could still hold.
    pub(super) fn room(&self, journal: &Journal) -> Room {
        let fresh = journal.fresh_room();
        let prepared = u64::from(self.next.is_some());
        Room {
            rest: self.writer.as_ref().map_or(0, SegmentWriter::room),
            fresh,
            slots: prepared + self.ring.free_count(journal.segment_bytes),
        }
    }

    /// Whether carrying is sure to win a slot: what lives, copied with all that this may cost,
    /// needs fewer segments than there are.
    ///
    /// Headers and rests alone never make it so: else a full disk, with nothing to win, would have
    /// the same records carried round and round.
    pub(super) fn may_regain(&self, journal: &Journal) -> bool {
        let live = self.space.live_bytes();
        let copies = live + live / 4;
        let segments = self.ring.chain().len() as u64;
        let rest = self.writer.as_ref().map_or(0, SegmentWriter::room);
        let is_in_rest = copies + KEPT_BYTES <= rest && segments > 1;
        is_in_rest || segments >= copies.div_ceil(journal.fresh_room()) + 2
    }

    /// The writer, with room for `bytes`, after a rotation if that is needed and prepared.
    #[inline]
    fn make_room(
        &mut self,
        journal: &Journal,
        bytes: u64,
        (purpose, is_carried): (Purpose, bool),
    ) -> std::result::Result<&mut SegmentWriter, Refused> {
        if self.is_closed {
            return Err(Error::Closed.into());
        }
        let rest = self.writer.as_ref().map_or(0, SegmentWriter::room);
        let spare = match purpose {
            Purpose::Freeing if is_carried => Some(u64::from(!self.may_regain(journal))),
            Purpose::Ordinary => Some(1),
            Purpose::Freeing => Some(0),
            Purpose::Claimed(_) | Purpose::Lasting(_) | Purpose::Within => None,
        };
        // The usual case: there is room in the active segment, nothing is set aside, and a slot is
        // left; all else is worked out.
        let is_plain = rest >= bytes && self.next.is_some() && self.space.claimed_bytes() == 0;
        if let (false, Some(spare)) = (is_plain, spare) {
            // Copies never take the bytes in which a clear, and then the release, still fit.
            let kept = if is_carried { KEPT_BYTES } else { 0 };
            let room = self.room(journal);
            if self.writer.is_none() || !self.space.fits(room, bytes + kept, 0, 0, spare) {
                return Err(Refused::NoRoom);
            }
        }
        if rest < bytes {
            self.rotate(journal)?;
        }
        self.writer.as_mut().ok_or(Refused::NoRoom)
    }

    /// Seals the active segment to the prepared one, which becomes the active one.
    pub(super) fn rotate(&mut self, journal: &Journal) -> std::result::Result<(), Refused> {
        let (Some(writer), Some(next)) = (&mut self.writer, self.next.take()) else {
            return Err(Refused::NoRoom);
        };
        let end = writer.offset();
        let seal = Record::Seal {
            number: next.link.number,
            salt: next.link.salt,
        };
        if mutant::is(Mutant::SealNotSynced) {
            let _ = writer.file().sync();
        }
        let written = writer.append(&seal, Standing::Alone, journal.commit.durable());
        self.counts.header_bytes += writer.offset() - end;
        let (before, sealed_end) = ((writer.number(), writer.file()), writer.offset());
        match written {
            Written::All => {}
            Written::Nothing(error) if is_no_space(&error) => {
                self.next = Some(next);
                return Err(journal.no_space("a seal", Some(Cause::from(error))).into());
            }
            Written::Nothing(error) | Written::Part(error) => {
                // The header of the next segment is durable: with a seal that may or may not be on
                // disk nobody can go on.
                return Err(journal.fatal(Error::io("seal", "a segment", error)).into());
            }
        }
        let segment = before.0;
        self.unsynced = Some(before).filter(|_| !mutant::is(Mutant::SealNotSynced));
        let rest = next.link.bytes.saturating_sub(end);
        let number = next.link.number;
        self.begin(journal, next, sealed_end);
        let events = &journal.commit.waits.events;
        events.add(Weight::Debug, || Event::Rotated {
            segment,
            end: sealed_end,
            next: number,
        });
        // Headers, seals and the rest of a segment take space as records do, and are owed for
        // alike.
        let spent = rest + crate::format::records_offset(journal.segment_bytes);
        self.space
            .appended(spent, self.used_bytes(), journal.segment_bytes);
        Ok(())
    }

    /// How much is owed, if who appends can no longer leave that to the keeper; else 0.
    ///
    /// It syncs for some milliseconds before a segment is released, and whoever waited for it would
    /// wait as long: not before the room ahead comes to its end and nothing is free, or a whole
    /// segment was appended meanwhile.
    fn behind(&self, journal: &Journal, owed: u64) -> u64 {
        let segment_bytes = journal.segment_bytes;
        let rest = self.writer.as_ref().map_or(0, SegmentWriter::room);
        let is_near_the_end = self.next.is_none() || rest < segment_bytes / 2;
        let is_short = is_near_the_end && self.ring.free_count(segment_bytes) == 0;
        let is_behind = owed > journal.owed_at_most() || is_short && owed > segment_bytes / 2;
        if is_behind { owed } else { 0 }
    }

    /// Makes `next` the active segment.
    pub(super) fn begin(&mut self, journal: &Journal, next: super::Next, end: u64) {
        let link = &next.link;
        let seed = Seed::new(&self.store_file.copy().identity, link.salt, link.number);
        let (file, bytes) = (link.file.clone(), link.bytes);
        let head = (seed, link.salt);
        self.writer = Some(SegmentWriter::create(file, head, link.base_time, bytes));
        self.ring.begin(next.link, end);
        self.counts.segments_begun += 1;
        self.counts.header_bytes += crate::format::records_offset(journal.segment_bytes);
    }

    /// Books what was written, or turns what failed into the right error.
    #[inline]
    fn finish(
        &mut self,
        journal: &Journal,
        written: Written,
        (bytes, live): (u64, i64),
        purpose: Purpose,
    ) -> std::result::Result<Appended, Refused> {
        match written {
            Written::All => {}
            Written::Nothing(error) if is_no_space(&error) => {
                return Err(journal
                    .no_space("a record", Some(Cause::from(error)))
                    .into());
            }
            Written::Nothing(error) | Written::Part(error) => {
                let (place, source) = (journal.place(), Cause::from(error));
                journal.commit.poison(source.clone());
                return Err(Error::OutcomeUnknown { place, source }.into());
            }
        }
        match purpose {
            Purpose::Claimed(claimed) => self.space.unclaim(claimed),
            Purpose::Lasting(claimed) => self.space.unclaim_lasting(claimed),
            _ => {}
        }
        self.counts.records += 1;
        self.counts.record_bytes += bytes;
        let end = self.end();
        mutant::note(end.to_bits(), purpose == Purpose::Within);
        self.space.change_live(live, end.segment());
        if purpose != Purpose::Within {
            self.space
                .appended(bytes, self.used_bytes(), journal.segment_bytes);
        }
        let owed = self.space.owed();
        let is_owing = self.next.is_none() || owed > journal.owed_at_ease();
        if is_owing {
            let behind = self.behind(journal, owed);
            journal.behind.store(behind, Ordering::Relaxed);
        }
        Ok(Appended {
            end,
            bytes,
            is_owing,
        })
    }
}

impl Journal {
    /// Bytes that a fresh segment has for records.
    pub(super) fn fresh_room(&self) -> u64 {
        self.segment_bytes
            - crate::format::SEAL_BYTES
            - crate::format::records_offset(self.segment_bytes)
    }

    /// How much looking may be owed before somebody is called for it.
    pub(super) fn owed_at_ease(&self) -> u64 {
        (self.segment_bytes / 64).min(64 << 10)
    }

    /// How much looking may be owed before who appends waits for it, whatever room there is.
    fn owed_at_most(&self) -> u64 {
        4 * self.segment_bytes
    }

    /// Whether so much was owed after an append that was owing that the calls must do it
    /// themselves.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) > 0
    }

    /// Whether that is so much that they must wait for it, if somebody is at it already.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) > self.owed_at_most()
    }
}

//! Appends records to one segment; knows the position and when the next mark is due.
//!
//! Invariant: bytes behind the offset belong to no record of this segment. After a write that may
//! have left a part on disk the caller stops the store; the offset never moves over such a place.

use crate::format::{MARK_EVERY_BYTES, SEAL_BYTES, records_offset};
use crate::ids::{Position, SegmentNumber, Ticks};
use crate::mutant::{self, Mutant};
use crate::record::{Add, AddForm, Base, Place, Record, Seed, encode, encode_add};
use crate::storage::{StorageFile, Written, write_first_full, write_full};
use std::sync::Arc;

/// How a record stands to those around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is all that its call records.
    Alone,
    /// The call records more behind it, without which it says nothing.
    Before,
    /// It repeats one that was there before.
    Carried,
    /// The same, of one that says nothing by itself.
    CarriedBefore,
}

impl Standing {
    pub(crate) fn is_carried(self) -> bool {
        matches!(self, Standing::Carried | Standing::CarriedBefore)
    }
}

/// The active segment.
pub(crate) struct SegmentWriter {
    file: Arc<dyn StorageFile>,
    seed: Seed,
    salt: u64,
    base_time: Ticks,
    bytes: u64,
    offset: u64,
    last_mark: Option<Position>,
    mark_due: u64,
    buffer: Vec<u8>,
}

impl SegmentWriter {
    /// Begins to write behind the header of a fresh segment of `bytes`.
    pub(crate) fn create(
        file: Arc<dyn StorageFile>,
        (seed, salt): (Seed, u64),
        base_time: Ticks,
        bytes: u64,
    ) -> SegmentWriter {
        let offset = records_offset(bytes);
        let buffer = Vec::with_capacity(256);
        let (last_mark, mark_due) = (None, 0);
        SegmentWriter {
            file,
            seed,
            salt,
            base_time,
            bytes,
            offset,
            last_mark,
            mark_due,
            buffer,
        }
    }

    pub(crate) fn file(&self) -> Arc<dyn StorageFile> {
        Arc::clone(&self.file)
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.file.is_mapped()
    }

    pub(crate) fn number(&self) -> SegmentNumber {
        self.seed.number()
    }

    pub(crate) fn salt(&self) -> u64 {
        self.salt
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn position(&self) -> Position {
        Position::new(self.seed.number(), self.offset)
    }

    /// Bytes left for records before the place that is kept for the seal.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        (self.bytes - SEAL_BYTES).saturating_sub(self.offset)
    }

    /// Appends an add; `base` is the ordinal that its address has as its base in this segment.
    #[inline]
    pub(crate) fn append_add(
        &mut self,
        add: &Add<'_>,
        base: Option<crate::ids::Ordinal>,
        durable: Position,
    ) -> (Written, AddForm) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let base = Base {
            ordinal: base,
            time: self.base_time,
        };
        let place = self.place(self.marked(durable), Standing::Alone);
        let mark = place.mark;
        let form = encode_add(&mut buffer, &place, add, base);
        let written = self.write(&buffer, mark, durable);
        self.buffer = buffer;
        (written, form)
    }

    /// Appends any record, an add in its long form.
    pub(crate) fn append(
        &mut self,
        record: &Record<'_>,
        standing: Standing,
        durable: Position,
    ) -> Written {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let marked = self.marked(durable);
        let mut place = self.place(marked, standing);
        if matches!(
            record,
            Record::Seal { .. } | Record::Release { .. } | Record::Mark
        ) {
            place.mark = Some(marked);
        }
        let mark = place.mark;
        encode(&mut buffer, &place, record);
        let written = self.write(&buffer, mark, durable);
        if buffer.capacity() > 1 << 16 {
            buffer = Vec::with_capacity(256);
        }
        self.buffer = buffer;
        written
    }

    /// Goes on at `offset`, as only seeded bugs do.
    #[cfg(idjournal_mutants)]
    pub(crate) fn at(self, offset: u64) -> SegmentWriter {
        SegmentWriter { offset, ..self }
    }

    /// What a mark says is durable.
    #[inline]
    fn marked(&self, durable: Position) -> Position {
        if mutant::is(Mutant::MarkZero) {
            Position::default()
        } else if mutant::is(Mutant::MarkAhead) {
            self.position()
        } else {
            durable
        }
    }

    fn place(&self, durable: Position, standing: Standing) -> Place<'_> {
        let is_due = self.last_mark != Some(durable) || self.offset >= self.mark_due;
        let mark = is_due.then_some(durable);
        Place {
            seed: &self.seed,
            offset: self.offset,
            mark,
            carried: standing.is_carried(),
            end_of_group: !matches!(standing, Standing::Before | Standing::CarriedBefore),
        }
    }

    fn write(&mut self, record: &[u8], mark: Option<Position>, durable: Position) -> Written {
        let is_first_since_a_sync = durable == self.position();
        let written = match is_first_since_a_sync {
            true => write_first_full(&*self.file, self.offset, record),
            false => write_full(&*self.file, self.offset, record),
        };
        if let Written::All = written {
            self.offset += record.len() as u64;
            if mark.is_some() {
                self.last_mark = mark;
                self.mark_due = self.offset + MARK_EVERY_BYTES;
            }
        }
        written
    }
}

//! A copy in the store file to bytes and back. No I/O.
//!
//! docs/format.md, section 2.

use crate::format::{GENERATION_MAX, HEADER_BYTES, STORE_MAGIC, store};
use crate::ids::SegmentNumber;
use crate::segment::Parsed;
use crate::segment::header::{Fields, Refused, begin, finish, put};

/// Who the store is, what was last known to be durable, and where its present life began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreCopy {
    /// Random, one per store.
    pub(crate) identity: [u8; 16],
    /// Counts the writes of this file.
    pub(crate) generation: u64,
    /// The segment of the mark; 0 if there is none yet.
    pub(crate) mark_number: SegmentNumber,
    /// The salt of that segment.
    pub(crate) mark_salt: u64,
    /// Everything before this offset of that segment is durable.
    pub(crate) mark_end: u64,
    /// The first segment of the present life; 0 if the store has none yet.
    pub(crate) first_number: SegmentNumber,
    /// The salt of that segment.
    pub(crate) first_salt: u64,
}

impl StoreCopy {
    /// The bytes of the copy.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = begin(&STORE_MAGIC, &self.identity);
        put(
            &mut bytes,
            store::GENERATION,
            &self.generation.to_le_bytes(),
        );
        put(
            &mut bytes,
            store::MARK_NUMBER,
            &self.mark_number.0.to_le_bytes(),
        );
        put(&mut bytes, store::MARK_SALT, &self.mark_salt.to_le_bytes());
        put(&mut bytes, store::MARK_END, &self.mark_end.to_le_bytes());
        put(
            &mut bytes,
            store::FIRST_NUMBER,
            &self.first_number.0.to_le_bytes(),
        );
        put(
            &mut bytes,
            store::FIRST_SALT,
            &self.first_salt.to_le_bytes(),
        );
        finish(&mut bytes);
        bytes
    }

    /// Reads a copy from the block that should hold it.
    pub(crate) fn parse(block: &[u8]) -> Parsed<StoreCopy> {
        Self::read(block).into()
    }

    fn read(block: &[u8]) -> Result<StoreCopy, Refused> {
        let (fields, identity) = Fields::open(block, &STORE_MAGIC)?;
        let copy = StoreCopy {
            identity,
            generation: fields.u64(store::GENERATION)?,
            mark_number: SegmentNumber(fields.u64(store::MARK_NUMBER)?),
            mark_salt: fields.u64(store::MARK_SALT)?,
            mark_end: fields.u64(store::MARK_END)?,
            first_number: SegmentNumber(fields.u64(store::FIRST_NUMBER)?),
            first_salt: fields.u64(store::FIRST_SALT)?,
        };
        if copy.mark_number > SegmentNumber::MAX || copy.first_number > SegmentNumber::MAX {
            return Err(Refused::Malformed("a segment number is out of range"));
        }
        if copy.first_number == SegmentNumber(0) && copy.mark_number != SegmentNumber(0) {
            return Err(Refused::Malformed(
                "a segment is marked, though the store has none yet",
            ));
        }
        if copy.generation > GENERATION_MAX {
            return Err(Refused::Malformed("the generation is too high"));
        }
        if !copy.mark_end.is_multiple_of(8) {
            return Err(Refused::Malformed(
                "the end of the mark is not a multiple of 8",
            ));
        }
        fields.zeros(store::RESERVED)?;
        Ok(copy)
    }
}

#[cfg(test)]
#[path = "store_file_tests.rs"]
mod tests;

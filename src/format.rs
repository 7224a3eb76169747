//! Every number of format 1: magic, version, sizes, offsets, kinds, flags, limits.
//!
//! Each offset is built from the field before it. `docs/format.md` is the promise that these
//! numbers keep; a test reads its field tables and compares. Nothing else in the crate writes such
//! a number.

#![allow(missing_docs, reason = "names and meaning stand in docs/format.md")]

/// A field of a fixed layout: where it begins and how many bytes it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl Field {
    const fn first(bytes: usize) -> Field {
        Field { offset: 0, bytes }
    }

    const fn then(self, bytes: usize) -> Field {
        Field {
            offset: self.offset + self.bytes,
            bytes,
        }
    }

    pub(crate) const fn end(self) -> usize {
        self.offset + self.bytes
    }
}

pub(crate) const VERSION: u32 = 1;
pub(crate) const EPOCH: u64 = 0;
pub(crate) const STORE_MAGIC: [u8; 8] = *b"idjstore";
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"idjsegmt";
pub(crate) const CHECKSUM_ALGORITHM: u32 = 1;

/// The fields that both headers begin with.
pub(crate) mod head {
    use super::Field;
    pub(crate) const MAGIC: Field = Field::first(8);
    pub(crate) const VERSION: Field = MAGIC.then(4);
    pub(crate) const HEADER_BYTES: Field = VERSION.then(4);
    pub(crate) const COMPATIBLE: Field = HEADER_BYTES.then(4);
    pub(crate) const INCOMPATIBLE: Field = COMPATIBLE.then(4);
    pub(crate) const IDENTITY: Field = INCOMPATIBLE.then(16);
    pub(crate) const EPOCH: Field = IDENTITY.then(8);
}

/// A copy in the store file.
pub(crate) mod store {
    use super::{Field, head};
    pub(crate) const GENERATION: Field = head::EPOCH.then(8);
    pub(crate) const MARK_NUMBER: Field = GENERATION.then(8);
    pub(crate) const MARK_SALT: Field = MARK_NUMBER.then(8);
    pub(crate) const MARK_END: Field = MARK_SALT.then(8);
    pub(crate) const FIRST_NUMBER: Field = MARK_END.then(8);
    pub(crate) const FIRST_SALT: Field = FIRST_NUMBER.then(8);
    pub(crate) const RESERVED: Field = FIRST_SALT.then(28);
    pub(crate) const CHECKSUM: Field = RESERVED.then(4);
    pub(crate) const COPY_OFFSETS: [u64; 2] = [0, 4096];
    pub(crate) const FILE_BYTES: u64 = 8192;
}

/// A copy of a segment's header.
pub(crate) mod segment {
    use super::{Field, head};
    pub(crate) const NUMBER: Field = head::EPOCH.then(8);
    pub(crate) const SALT: Field = NUMBER.then(8);
    pub(crate) const PREVIOUS_NUMBER: Field = SALT.then(8);
    pub(crate) const PREVIOUS_SALT: Field = PREVIOUS_NUMBER.then(8);
    pub(crate) const PREVIOUS_END: Field = PREVIOUS_SALT.then(8);
    pub(crate) const OLDEST_NEEDED: Field = PREVIOUS_END.then(8);
    pub(crate) const BASE_TIME: Field = OLDEST_NEEDED.then(8);
    pub(crate) const SEGMENT_BYTES: Field = BASE_TIME.then(8);
    pub(crate) const ALGORITHM: Field = SEGMENT_BYTES.then(4);
    pub(crate) const RESERVED: Field = ALGORITHM.then(8);
    pub(crate) const CHECKSUM: Field = RESERVED.then(4);
}

/// A record's frame.
pub(crate) mod frame {
    use super::Field;
    pub(crate) const CHECKSUM: Field = Field::first(4);
    pub(crate) const KIND: Field = CHECKSUM.then(1);
    pub(crate) const FLAGS: Field = KIND.then(1);
    pub(crate) const UNITS: Field = FLAGS.then(2);
    pub(crate) const BYTES: usize = UNITS.end();
    pub(crate) const LARGE_BYTES: usize = 8;
    pub(crate) const MARK_BYTES: usize = 8;
}

/// A record's flags.
pub(crate) mod flag {
    pub(crate) const PADDING: u8 = 0b0000_0111;
    pub(crate) const MARKED: u8 = 1 << 3;
    pub(crate) const LARGE: u8 = 1 << 4;
    pub(crate) const WHOLE: u8 = 1 << 5;
    pub(crate) const CARRIED: u8 = 1 << 6;
    pub(crate) const END_OF_GROUP: u8 = 1 << 7;
}

/// The kinds of record.
pub(crate) mod kind {
    pub(crate) const ADD: u8 = 1;
    pub(crate) const ADD_WITH_VALUE: u8 = 2;
    pub(crate) const CARRIED_ADD: u8 = 3;
    pub(crate) const REMOVE: u8 = 4;
    pub(crate) const RENEW: u8 = 5;
    pub(crate) const CLEAR: u8 = 6;
    pub(crate) const DROP: u8 = 7;
    pub(crate) const DEFINITION: u8 = 8;
    pub(crate) const TRANSACTION: u8 = 9;
    pub(crate) const PREPARE: u8 = 10;
    pub(crate) const COMMIT: u8 = 11;
    pub(crate) const ROLL_BACK: u8 = 12;
    pub(crate) const BOOKMARK: u8 = 13;
    pub(crate) const MARK: u8 = 14;
    pub(crate) const SEAL: u8 = 15;
    pub(crate) const RELEASE: u8 = 16;
    /// Settings of a pattern. May be skipped: what they have done to an address stands in its
    /// definition.
    pub(crate) const SETTINGS: u8 = 128;
    /// From here up a reader may skip what it does not know.
    pub(crate) const SKIPPABLE_MIN: u8 = 128;
}

/// So high that no store counts up to it, and so low that counting on never overflows.
pub(crate) const GENERATION_MAX: u64 = (1 << 63) - 1;
pub(crate) const HEADER_BYTES: usize = 128;
/// Bytes of the largest header block.
pub(crate) const HEADER_BLOCK_BYTES_MAX: usize = 4096;
pub(crate) const UNIT_BYTES: usize = 8;
/// Bytes of a seal with its mark: what every segment keeps for its end.
pub(crate) const SEAL_BYTES: u64 = 32;
/// Bytes of a release with its mark.
#[cfg(test)]
pub(crate) const RELEASE_BYTES: u64 = 24;
/// A record is marked at least every so many bytes.
pub(crate) const MARK_EVERY_BYTES: u64 = 512;

pub const SEGMENT_BYTES_MIN: u64 = 1024;
pub const SEGMENT_BYTES_MAX: u64 = 512 << 20;
pub(crate) const SEGMENT_BYTES_STEP: u64 = 1024;
pub const ID_BYTES_MAX: usize = 65_536;
pub const ADDRESS_BYTES_MAX: usize = 65_536;
pub const VALUE_BYTES_MAX: usize = 255;
pub const TRANSACTION_ID_BYTES_MAX: usize = 65_536;
pub const BOOKMARK_NAME_BYTES_MAX: usize = 65_536;
pub const CAPACITY_MAX: u64 = 1 << 31;
pub const ADDRESSES_MAX: u32 = 1_000_000;

/// Bytes of a header block in a segment of `segment_bytes`.
pub(crate) const fn header_block_bytes(segment_bytes: u64) -> u64 {
    if segment_bytes >= 32_768 {
        4096
    } else {
        segment_bytes / 8 / 128 * 128
    }
}

/// Where the records of a segment of `segment_bytes` begin.
pub(crate) const fn records_offset(segment_bytes: u64) -> u64 {
    2 * header_block_bytes(segment_bytes)
}

/// The most bytes that a record may have in a segment of `segment_bytes`.
pub(crate) const fn record_bytes_max(segment_bytes: u64) -> u64 {
    segment_bytes / 4
}

const _: () = {
    assert!(store::CHECKSUM.end() == HEADER_BYTES);
    assert!(segment::CHECKSUM.end() == HEADER_BYTES);
    assert!(frame::BYTES == UNIT_BYTES);
    assert!(header_block_bytes(SEGMENT_BYTES_MIN) == HEADER_BYTES as u64);
};

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;

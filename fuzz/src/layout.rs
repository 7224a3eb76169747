//! Places of the format, read from docs/format.md a second time, and right checksums for any bytes.

use idjournal::inspect::{RecordPlace, record_checksum};
use idjournal::{SegmentNumber, Ticks};

pub const HEADER: usize = 128;
pub const STORE_COPIES: [usize; 2] = [0, 4096];
pub const VERSION: usize = 8;
pub const IDENTITY: usize = 24;
pub const NUMBER: usize = 48;
pub const SALT: usize = 56;
pub const BASE_TIME: usize = 96;
pub const SEGMENT_BYTES: usize = 104;
pub const ALGORITHM: usize = 112;
const CHECKSUM: usize = 124;

/// The fields of both headers by place and length, without magic and checksum.
pub const STORE_FIELDS: [(usize, usize); 13] = [
    (8, 4),
    (12, 4),
    (16, 4),
    (20, 4),
    (24, 16),
    (40, 8),
    (48, 8),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 8),
    (88, 8),
    (96, 28),
];
pub const SEGMENT_FIELDS: [(usize, usize); 16] = [
    (8, 4),
    (12, 4),
    (16, 4),
    (20, 4),
    (24, 16),
    (40, 8),
    (48, 8),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 8),
    (88, 8),
    (96, 8),
    (104, 8),
    (112, 4),
    (116, 8),
];

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Writes what fits.
pub fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    let rest = bytes.get_mut(at..).unwrap_or_default();
    let count = rest.len().min(new.len());
    rest[..count].copy_from_slice(&new[..count]);
}

/// Bytes of a header block, section 3.
pub fn block_bytes(segment_bytes: usize) -> usize {
    if segment_bytes >= 32_768 {
        4096
    } else {
        segment_bytes / 8 / 128 * 128
    }
}

/// Where the two copies of the header stand in a file of this name and length.
pub fn copies(is_store: bool, file_bytes: usize) -> [usize; 2] {
    if is_store {
        STORE_COPIES
    } else {
        [0, block_bytes(file_bytes)]
    }
}

/// Gives the header copy at `at` its checksum.
pub fn mend_header(bytes: &mut [u8], at: usize) {
    if let Some(content) = bytes.get(at..at + CHECKSUM) {
        let checksum = crc32fast::hash(content);
        put(bytes, at + CHECKSUM, &checksum.to_le_bytes());
    }
}

/// What the checksums of the records of a segment file begin from, by one copy of its header.
pub fn place(bytes: &[u8], copy: usize) -> Option<RecordPlace> {
    let identity = bytes.get(copy + IDENTITY..copy + IDENTITY + 16)?;
    Some(RecordPlace {
        identity: identity.try_into().ok()?,
        salt: u64_at(bytes, copy + SALT)?,
        number: SegmentNumber(u64_at(bytes, copy + NUMBER)?),
        offset: 2 * block_bytes(bytes.len()) as u64,
        segment_bytes: u64_at(bytes, copy + SEGMENT_BYTES)?,
        base_ordinal: None,
        base_time: Ticks(u64_at(bytes, copy + BASE_TIME)?),
    })
}

/// The length of the record that `bytes` begin with, by its frame alone; none if there is no room.
pub fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let frame = bytes.get(..8)?;
    if frame == [0; 8] {
        return None;
    }
    let is_large = frame[5] & 1 << 4 != 0;
    let units = if is_large {
        usize::try_from(u32_at(bytes, 8)?).ok()?
    } else {
        usize::from(u16_at(bytes, 6)?)
    };
    let length = units.checked_mul(8)?;
    (length >= 8 && length <= bytes.len()).then_some(length)
}

/// Gives the record that `bytes` begin with its checksum.
pub fn mend_record(bytes: &mut [u8], place: &RecordPlace) -> Option<usize> {
    let length = record_bytes(bytes)?;
    let checksum = record_checksum(bytes.get(4..length)?, place);
    put(bytes, 0, &checksum.to_le_bytes());
    Some(length)
}

/// Where the records of a segment file stand, by their frames alone.
pub fn record_offsets(bytes: &[u8]) -> Vec<usize> {
    let mut offsets = Vec::new();
    let mut at = 2 * block_bytes(bytes.len());
    while let Some(length) = bytes.get(at..).and_then(record_bytes) {
        offsets.push(at);
        at += length;
    }
    offsets
}

/// Gives all records of a segment file their checksums.
pub fn mend_records(bytes: &mut [u8]) {
    let Some(mut place) = place(bytes, 0) else {
        return;
    };
    for at in record_offsets(bytes) {
        place.offset = at as u64;
        mend_record(&mut bytes[at..], &place);
    }
}

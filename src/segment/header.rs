//! The header of a segment to bytes and back, and what the store file shares of it. No I/O.
//!
//! The order of the checks is that of docs/format.md: only what has the right checksum can be
//! newer, and only what is not newer can be malformed.

use crate::format::{
    CHECKSUM_ALGORITHM, EPOCH, Field, HEADER_BYTES, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN,
    SEGMENT_BYTES_STEP, SEGMENT_MAGIC, VERSION, head, record_bytes_max, segment,
};
use crate::ids::{SegmentNumber, Ticks};
use crate::record::{Decoded, Seed, Stop, decode};

const HEADER_BYTES_MAX: usize = 4096;

/// What a block that should hold a header holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed<T> {
    /// A header.
    Valid(T),
    /// No header: another magic, an impossible length, a wrong checksum.
    NotValid,
    /// A header of a newer format.
    Newer {
        /// What tells it.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A header with a right checksum and impossible content.
    Malformed(&'static str),
}

/// Why there is no header of this version.
pub(crate) enum Refused {
    NotValid,
    Newer { what: &'static str, found: u64 },
    Malformed(&'static str),
}

impl<T> From<Result<T, Refused>> for Parsed<T> {
    fn from(result: Result<T, Refused>) -> Parsed<T> {
        match result {
            Ok(header) => Parsed::Valid(header),
            Err(Refused::NotValid) => Parsed::NotValid,
            Err(Refused::Newer { what, found }) => Parsed::Newer { what, found },
            Err(Refused::Malformed(why)) => Parsed::Malformed(why),
        }
    }
}

/// Which segment a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The store it belongs to.
    pub(crate) identity: [u8; 16],
    /// Its number, never used twice.
    pub(crate) number: SegmentNumber,
    /// Random, one per life of a slot.
    pub(crate) salt: u64,
    /// The segment that was replayed or written before it; 0 for the first.
    pub(crate) previous: SegmentNumber,
    /// The salt of that one.
    pub(crate) previous_salt: u64,
    /// Where the valid part of that one ended; 0 if it was sealed to this one.
    pub(crate) previous_end: u64,
    /// The oldest segment that was needed when this was written.
    pub(crate) oldest_needed: SegmentNumber,
    /// What the times of short records count from.
    pub(crate) base_time: Ticks,
    /// The length of the file.
    pub(crate) segment_bytes: u64,
}

impl SegmentHeader {
    /// The bytes of one copy.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = begin(&SEGMENT_MAGIC, &self.identity);
        put(&mut bytes, segment::NUMBER, &self.number.0.to_le_bytes());
        put(&mut bytes, segment::SALT, &self.salt.to_le_bytes());
        put(
            &mut bytes,
            segment::PREVIOUS_NUMBER,
            &self.previous.0.to_le_bytes(),
        );
        put(
            &mut bytes,
            segment::PREVIOUS_SALT,
            &self.previous_salt.to_le_bytes(),
        );
        put(
            &mut bytes,
            segment::PREVIOUS_END,
            &self.previous_end.to_le_bytes(),
        );
        put(
            &mut bytes,
            segment::OLDEST_NEEDED,
            &self.oldest_needed.0.to_le_bytes(),
        );
        put(
            &mut bytes,
            segment::BASE_TIME,
            &self.base_time.0.to_le_bytes(),
        );
        put(
            &mut bytes,
            segment::SEGMENT_BYTES,
            &self.segment_bytes.to_le_bytes(),
        );
        put(
            &mut bytes,
            segment::ALGORITHM,
            &CHECKSUM_ALGORITHM.to_le_bytes(),
        );
        finish(&mut bytes);
        bytes
    }

    /// Reads a copy from the block that should hold it.
    pub(crate) fn parse(block: &[u8]) -> Parsed<SegmentHeader> {
        Self::read(block).into()
    }

    fn read(block: &[u8]) -> Result<SegmentHeader, Refused> {
        let (fields, identity) = Fields::open(block, &SEGMENT_MAGIC)?;
        let algorithm = fields.u32(segment::ALGORITHM)?;
        if algorithm != CHECKSUM_ALGORITHM {
            let found = u64::from(algorithm);
            return Err(Refused::Newer {
                what: "checksum algorithm",
                found,
            });
        }
        let header = SegmentHeader {
            identity,
            number: SegmentNumber(fields.u64(segment::NUMBER)?),
            salt: fields.u64(segment::SALT)?,
            previous: SegmentNumber(fields.u64(segment::PREVIOUS_NUMBER)?),
            previous_salt: fields.u64(segment::PREVIOUS_SALT)?,
            previous_end: fields.u64(segment::PREVIOUS_END)?,
            oldest_needed: SegmentNumber(fields.u64(segment::OLDEST_NEEDED)?),
            base_time: Ticks(fields.u64(segment::BASE_TIME)?),
            segment_bytes: fields.u64(segment::SEGMENT_BYTES)?,
        };
        if header.number == SegmentNumber(0) || header.number > SegmentNumber::MAX {
            return Err(Refused::Malformed("the segment number is out of range"));
        }
        if header.previous >= header.number {
            return Err(Refused::Malformed(
                "the previous segment is not an earlier one",
            ));
        }
        if !header.previous_end.is_multiple_of(8) {
            return Err(Refused::Malformed(
                "the previous end is not a multiple of 8",
            ));
        }
        if header.oldest_needed > header.number {
            return Err(Refused::Malformed(
                "the oldest needed segment is a later one",
            ));
        }
        let lengths = SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX;
        let is_length = header.segment_bytes.is_multiple_of(SEGMENT_BYTES_STEP);
        if !is_length || !lengths.contains(&header.segment_bytes) {
            return Err(Refused::Malformed("the segment bytes are out of range"));
        }
        fields.zeros(segment::RESERVED)?;
        Ok(header)
    }

    /// What the checksums of its records begin from.
    pub(crate) fn seed(&self) -> Seed {
        Seed::new(&self.identity, self.salt, self.number)
    }

    /// What the record at `offset` of its segment says, of any form but a short add.
    pub(crate) fn decode<'a>(&self, record: &'a [u8], offset: u64) -> Result<Decoded<'a>, Stop> {
        let bytes_max = record_bytes_max(self.segment_bytes);
        let place = (&self.seed(), offset);
        decode(record, place, bytes_max, |_| None, self.base_time)
    }
}

/// A header whose magic, length, checksum, version, features and epoch are right.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Checks what both headers begin with; gives the identity too.
    pub(crate) fn open(
        block: &'a [u8],
        magic: &[u8; 8],
    ) -> Result<(Fields<'a>, [u8; 16]), Refused> {
        let fields = Fields(block);
        if fields.array(head::MAGIC)? != *magic {
            return Err(Refused::NotValid);
        }
        let bytes = usize::try_from(fields.u32(head::HEADER_BYTES)?).unwrap_or(usize::MAX);
        if !(HEADER_BYTES..=HEADER_BYTES_MAX).contains(&bytes) {
            return Err(Refused::NotValid);
        }
        // A later version may have a longer header; its checksum is last all the same.
        let header = block.get(..bytes).ok_or(Refused::NotValid)?;
        let (content, checksum) = header.split_last_chunk::<4>().ok_or(Refused::NotValid)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(Refused::NotValid);
        }
        let version = fields.u32(head::VERSION)?;
        if version != VERSION {
            return Err(Refused::Newer {
                what: "version",
                found: u64::from(version),
            });
        }
        let features = fields.u32(head::INCOMPATIBLE)?;
        if features != 0 {
            let found = u64::from(features);
            return Err(Refused::Newer {
                what: "incompatible features",
                found,
            });
        }
        let epoch = fields.u64(head::EPOCH)?;
        if epoch != EPOCH {
            return Err(Refused::Newer {
                what: "epoch",
                found: epoch,
            });
        }
        let identity = fields.array(head::IDENTITY)?;
        Ok((fields, identity))
    }

    fn array<const BYTES: usize>(&self, field: Field) -> Result<[u8; BYTES], Refused> {
        let bytes = self
            .0
            .get(field.offset..field.end())
            .ok_or(Refused::NotValid)?;
        bytes.try_into().map_err(|_| Refused::NotValid)
    }

    pub(crate) fn u32(&self, field: Field) -> Result<u32, Refused> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&self, field: Field) -> Result<u64, Refused> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Checks that a reserved field holds zeros.
    pub(crate) fn zeros(&self, field: Field) -> Result<(), Refused> {
        let bytes = self
            .0
            .get(field.offset..field.end())
            .ok_or(Refused::NotValid)?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(Refused::Malformed(
                "reserved bytes of the header are not zero",
            ));
        }
        Ok(())
    }
}

/// A header with what both kinds begin with.
pub(crate) fn begin(magic: &[u8; 8], identity: &[u8; 16]) -> [u8; HEADER_BYTES] {
    const LENGTH: [u8; 4] = {
        assert!(HEADER_BYTES == 128);
        128_u32.to_le_bytes()
    };
    let mut bytes = [0; HEADER_BYTES];
    put(&mut bytes, head::MAGIC, magic);
    put(&mut bytes, head::VERSION, &VERSION.to_le_bytes());
    put(&mut bytes, head::HEADER_BYTES, &LENGTH);
    put(&mut bytes, head::IDENTITY, identity);
    put(&mut bytes, head::EPOCH, &EPOCH.to_le_bytes());
    bytes
}

/// Puts `value` into its field, which has its length.
pub(crate) fn put(bytes: &mut [u8; HEADER_BYTES], field: Field, value: &[u8]) {
    bytes[field.offset..field.end()].copy_from_slice(value);
}

/// Puts the checksum into the last four bytes.
pub(crate) fn finish(bytes: &mut [u8; HEADER_BYTES]) {
    let checksum_offset = segment::CHECKSUM.offset;
    let checksum = crc32fast::hash(&bytes[..checksum_offset]);
    put(bytes, segment::CHECKSUM, &checksum.to_le_bytes());
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;

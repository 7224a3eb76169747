//! A second encoder of the format, from docs/format.md alone: headers, and records of any kind and
//! form, also of those that no call writes yet.
//!
//! The tests and the fuzz targets share it. It checks nothing: what it is told it writes.

#![allow(dead_code, reason = "each user takes what it needs")]
#![allow(
    unreachable_pub,
    reason = "shared by test programs and the fuzz targets"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of tests are small"
)]

pub const MARKED: u8 = 1 << 3;
pub const LARGE: u8 = 1 << 4;
pub const WHOLE: u8 = 1 << 5;
pub const CARRIED: u8 = 1 << 6;
pub const END_OF_GROUP: u8 = 1 << 7;

const HEADER_BYTES: usize = 128;
const STORE_BYTES: usize = 8192;
const SECOND_STORE_COPY: usize = 4096;

/// A segment in one of its lives: what its checksums begin from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    pub identity: [u8; 16],
    pub number: u64,
    pub salt: u64,
}

impl Life {
    /// The one that the first header copy of a segment file names.
    pub fn of(segment: &[u8]) -> Life {
        let mut identity = [0; 16];
        identity.copy_from_slice(&segment[24..40]);
        Life {
            identity,
            number: u64_at(segment, 48),
            salt: u64_at(segment, 56),
        }
    }

    /// Puts a record at `offset` of the segment file, with the checksum that it has there.
    pub fn put(&self, segment: &mut [u8], offset: usize, framed: &[u8]) {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.identity);
        hasher.update(&self.salt.to_le_bytes());
        hasher.update(&(self.number as u32).to_le_bytes());
        hasher.update(&(offset as u32).to_le_bytes());
        hasher.update(&framed[4..]);
        segment[offset..offset + framed.len()].copy_from_slice(framed);
        segment[offset..offset + 4].copy_from_slice(&hasher.finalize().to_le_bytes());
    }

    /// The mark that says that everything before `offset` of this segment was durable.
    pub fn mark(&self, offset: usize) -> [u8; 8] {
        ((self.number << 27) | (offset as u64 / 8)).to_le_bytes()
    }
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Bytes of a header block in a segment of this length.
pub fn block_bytes(segment_bytes: usize) -> usize {
    if segment_bytes >= 32_768 {
        4096
    } else {
        segment_bytes / 8 / 128 * 128
    }
}

/// A copy of a header: what all begin with, the 64-bit fields behind the epoch, the checksum.
pub fn header(magic: &[u8; 8], identity: &[u8; 16], fields: &[u64]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    for word in [1_u32, 128, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(identity);
    bytes.extend(0_u64.to_le_bytes());
    for field in fields {
        bytes.extend(field.to_le_bytes());
    }
    bytes.resize(HEADER_BYTES - 4, 0);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// A store file of generation 1 without a mark, whose life begins with `first`.
pub fn store_file(first: &Life) -> Vec<u8> {
    let copy = header(
        b"idjstore",
        &first.identity,
        &[1, 0, 0, 0, first.number, first.salt],
    );
    let mut bytes = vec![0; STORE_BYTES];
    for at in [0, SECOND_STORE_COPY] {
        bytes[at..at + HEADER_BYTES].copy_from_slice(&copy);
    }
    bytes
}

/// A record with its kind and flags, padding included, without its checksum. If it is marked, the
/// mark stands first in `parts`.
pub fn framed(kind: u8, flags: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let head = if flags & LARGE != 0 { 16 } else { 8 };
    let units = (head + body.len()).div_ceil(8);
    let padding = units * 8 - head - body.len();
    let mut bytes = vec![0, 0, 0, 0, kind, flags | padding as u8];
    if flags & LARGE == 0 {
        bytes.extend((units as u16).to_le_bytes());
    } else {
        bytes.extend([0, 0]);
        bytes.extend((units as u32).to_le_bytes());
        bytes.extend([0; 4]);
    }
    bytes.extend(body);
    bytes.resize(units * 8, 0);
    bytes
}

/// A segment file that is filled from its first record on.
pub struct Segment {
    pub life: Life,
    bytes: Vec<u8>,
    end: usize,
}

impl Segment {
    /// A segment of `length` bytes whose times count from 100; `previous` is sealed to it.
    pub fn new(life: Life, previous: Option<&Life>, length: usize) -> Segment {
        let before = previous.map_or([0, 0], |previous| [previous.number, previous.salt]);
        // Number, salt, previous, its salt, its end, oldest needed, base time, length, algorithm.
        let [number, salt] = before;
        let fields = [
            life.number,
            life.salt,
            number,
            salt,
            0,
            1,
            100,
            length as u64,
            1,
        ];
        let copy = header(b"idjsegmt", &life.identity, &fields);
        let mut bytes = vec![0; length];
        let block = block_bytes(length);
        for at in [0, block] {
            bytes[at..at + HEADER_BYTES].copy_from_slice(&copy);
        }
        Segment {
            life,
            bytes,
            end: 2 * block,
        }
    }

    /// Where the next record comes to stand.
    pub fn end(&self) -> usize {
        self.end
    }

    pub fn put(&mut self, framed: &[u8]) {
        self.life.put(&mut self.bytes, self.end, framed);
        self.end += framed.len();
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

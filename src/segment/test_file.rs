//! For the tests of this folder: a file in memory, and a segment that is written into it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::HashMap;
use std::io;

use super::SegmentHeader;
use crate::format::records_offset;
use crate::ids::{Ordinal, Position, SegmentNumber, Ticks};
use crate::record::{Add, AddForm, Base, Place, Record, Seed, encode, encode_add};
use crate::storage::{StorageFile, Writes};

pub(super) const SEGMENT_BYTES: u64 = 1 << 20;

pub(super) fn header() -> SegmentHeader {
    SegmentHeader {
        identity: *b"identity-of-this",
        number: SegmentNumber(9),
        salt: 12,
        previous: SegmentNumber(0),
        previous_salt: 0,
        previous_end: 0,
        oldest_needed: SegmentNumber(9),
        base_time: Ticks(1000),
        segment_bytes: SEGMENT_BYTES,
    }
}

/// A file that is only read.
pub(super) struct MemoryFile(pub(super) Vec<u8>);

impl StorageFile for MemoryFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self
            .0
            .get(usize::try_from(offset).unwrap()..)
            .unwrap_or_default();
        // Short reads are legal, so they are made here too.
        let count = rest.len().min(buffer.len()).min(40_000);
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn prepare(&self, _: Writes) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A segment in the making.
pub(super) struct Sketch {
    pub(super) bytes: Vec<u8>,
    pub(super) offset: u64,
    seed: Seed,
    bases: HashMap<u32, Ordinal>,
}

impl Sketch {
    pub(super) fn new() -> Sketch {
        Sketch::of_life(header().salt)
    }

    pub(super) fn of_life(salt: u64) -> Sketch {
        let header = SegmentHeader { salt, ..header() };
        Sketch {
            bytes: vec![0; usize::try_from(SEGMENT_BYTES).unwrap()],
            offset: records_offset(SEGMENT_BYTES),
            seed: header.seed(),
            bases: HashMap::new(),
        }
    }

    fn place(&self) -> Place<'_> {
        let (seed, offset) = (&self.seed, self.offset);
        Place {
            seed,
            offset,
            mark: None,
            carried: false,
            end_of_group: true,
        }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        let offset = usize::try_from(self.offset).unwrap();
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.offset += bytes.len() as u64;
    }

    pub(super) fn base(&mut self, address: u32, ordinal: u64) {
        self.bases.insert(address, Ordinal(ordinal));
    }

    pub(super) fn add(&mut self, address: u32, ordinal: u64, carried: bool) {
        let mut bytes = Vec::new();
        let (ordinal, time) = (Ordinal(ordinal), Ticks(2000));
        let id = b"0b5a9c52-8a4e-4f6e-9d43-6e1f7f0c1a2b";
        let add = Add {
            address,
            ordinal,
            time,
            value: None,
            id,
        };
        let base = Base {
            ordinal: self.bases.get(&address).copied(),
            time: Ticks(1000),
        };
        let form = encode_add(
            &mut bytes,
            &Place {
                carried,
                ..self.place()
            },
            &add,
            base,
        );
        if form == AddForm::Whole && !carried {
            self.bases.insert(address, ordinal);
        }
        self.put(&bytes);
    }

    pub(super) fn renew(&mut self, address: u32, ordinal: u64) {
        let (old, time) = (Ordinal(ordinal - 1), Ticks(2000));
        let add = Add {
            address,
            ordinal: Ordinal(ordinal),
            time,
            value: None,
            id: b"renewed",
        };
        self.record(&Record::Renew { add, old });
        self.base(address, ordinal);
    }

    pub(super) fn record(&mut self, record: &Record<'_>) {
        let mut bytes = Vec::new();
        encode(&mut bytes, &self.place(), record);
        self.put(&bytes);
    }

    pub(super) fn marked(&mut self, mark: Position) {
        let mut bytes = Vec::new();
        encode(
            &mut bytes,
            &Place {
                mark: Some(mark),
                ..self.place()
            },
            &Record::Mark,
        );
        self.put(&bytes);
    }
}

//! Reads the records of one segment in order, up to one named end.
//!
//! One window of the file is held, grown only for a record that is longer, and never beyond the
//! longest record that the segment allows.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::header::SegmentHeader;
use crate::format::{UNIT_BYTES, frame, record_bytes_max, records_offset};
use crate::ids::{Ordinal, Position, SegmentNumber, Ticks};
use crate::record::{Decoded, Frame, Record, Seed, Stop, decode};
use crate::storage::{StorageFile, read_full};

const WINDOW_BYTES: u64 = 64 << 10;

/// A record and where it stands.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    /// Its offset in the segment.
    pub(crate) offset: u64,
    /// What it says.
    pub(crate) decoded: Decoded<'a>,
    /// Its bytes.
    pub(crate) raw: &'a [u8],
}

/// How the records of a segment end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a seal.
    Sealed {
        /// Where the seal ends.
        offset_after: u64,
        /// The segment that it leads to.
        number: SegmentNumber,
        /// The salt of that one.
        salt: u64,
    },
    /// Exactly at the end that was given.
    Limit,
    /// With a record that goes beyond the end that was given, or stands behind it.
    OverLimit {
        /// Where that record stands.
        offset: u64,
    },
    /// With too few bytes left for any record.
    Full,
    /// With zeros up to the end of the file.
    CleanZeros {
        /// Where they begin.
        offset: u64,
    },
    /// With bytes that are no record of this place: a torn tail, an earlier life, or damage.
    NotARecord {
        /// Where they begin.
        offset: u64,
        /// What is wrong with them.
        stop: Stop,
    },
    /// With a record that has a right checksum and impossible content.
    Malformed {
        /// Where it stands.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// With a record of a newer format.
    NewerKind {
        /// Where it stands.
        offset: u64,
        /// Its kind.
        kind: u8,
    },
}

/// Reads a segment from front to back.
pub(crate) struct SegmentReader {
    file: Arc<dyn StorageFile>,
    window: Window,
    seed: Seed,
    base_time: Ticks,
    bases: Bases,
    record_bytes_max: u64,
    /// The end that was given.
    given_end: Option<u64>,
    offset: u64,
    highest_mark: Option<Position>,
    end: Option<End>,
}

impl SegmentReader {
    /// Begins behind the headers. `end` is where the records must end, if that is known.
    pub(crate) fn new(
        file: Arc<dyn StorageFile>,
        header: &SegmentHeader,
        end: Option<u64>,
    ) -> io::Result<SegmentReader> {
        let file_end = file.bytes()?.min(header.segment_bytes);
        Ok(SegmentReader {
            file,
            window: Window {
                bytes: Vec::new(),
                offset: 0,
                file_end,
            },
            seed: header.seed(),
            base_time: header.base_time,
            bases: Bases::default(),
            record_bytes_max: record_bytes_max(header.segment_bytes),
            given_end: end,
            offset: records_offset(header.segment_bytes),
            highest_mark: None,
            end: None,
        })
    }

    /// The next record; none once the end is reached. The seal is the last record given.
    pub(crate) fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        let is_ahead = self.end.is_none() && self.is_in_window();
        if self.end.is_none() && !is_ahead {
            self.end = self.end_before_record()?;
        }
        if self.end.is_some() {
            return Ok(None);
        }
        let offset = self.offset;
        let place = (&self.seed, offset);
        let bases = &self.bases;
        let base = |address| bases.get(address);
        let bytes = self.window.from(offset);
        let stop = match decode(bytes, place, self.record_bytes_max, base, self.base_time) {
            Ok(decoded) => {
                let offset_after = offset.saturating_add(decoded.bytes);
                if self.given_end.is_some_and(|end| offset_after > end) {
                    self.end = Some(End::OverLimit { offset });
                    return Ok(None);
                }
                if let Record::Seal { number, salt } = decoded.record {
                    self.end = Some(End::Sealed {
                        offset_after,
                        number,
                        salt,
                    });
                }
                self.offset = offset_after;
                self.highest_mark = self.highest_mark.max(decoded.mark);
                self.bases.learn(&decoded);
                let length = usize::try_from(decoded.bytes).unwrap_or(usize::MAX);
                let raw = bytes.get(..length).unwrap_or_default();
                return Ok(Some(Item {
                    offset,
                    decoded,
                    raw,
                }));
            }
            Err(stop) => stop,
        };
        self.end = Some(match stop {
            Stop::NewerKind(kind) => End::NewerKind { offset, kind },
            Stop::Malformed(reason) => End::Malformed { offset, reason },
            Stop::Zeros if zeros(&*self.file, offset, self.window.file_end)? => {
                End::CleanZeros { offset }
            }
            stop => End::NotARecord { offset, stop },
        });
        Ok(None)
    }

    /// How the records end; [`SegmentReader::next`] has given none before.
    pub(crate) fn end(&self) -> Option<End> {
        self.end
    }

    /// Where the last valid record ends.
    pub(crate) fn valid_end(&self) -> u64 {
        self.offset
    }

    /// The highest mark of the records so far.
    pub(crate) fn highest_mark(&self) -> Option<Position> {
        self.highest_mark
    }

    /// Whether the next record, if it is a usual one, lies in the window, and no end before it.
    #[inline]
    fn is_in_window(&self) -> bool {
        let ahead = self.window.from(self.offset);
        let Ok(frame) = Frame::read(ahead, self.record_bytes_max) else {
            return false;
        };
        frame.bytes <= ahead.len() as u64 && self.given_end.is_none_or(|end| end > self.offset)
    }

    /// The end that is reached without looking at a record; else the record is in the window.
    fn end_before_record(&mut self) -> io::Result<Option<End>> {
        match self.given_end {
            Some(end) if end == self.offset => return Ok(Some(End::Limit)),
            Some(end) if end < self.offset => {
                return Ok(Some(End::OverLimit {
                    offset: self.offset,
                }));
            }
            _ => {}
        }
        let head_bytes = frame::BYTES + frame::LARGE_BYTES + frame::MARK_BYTES;
        self.window
            .reach(&*self.file, self.offset, head_bytes as u64)?;
        let head = self.window.from(self.offset);
        if head.len() < UNIT_BYTES {
            return Ok(Some(End::Full));
        }
        // An impossible length is found again, and named, when the record is decoded.
        if let Ok(frame) = Frame::read(head, self.record_bytes_max)
            && frame.bytes <= self.window.file_end.saturating_sub(self.offset)
        {
            self.window.reach(&*self.file, self.offset, frame.bytes)?;
        }
        Ok(None)
    }
}

/// A part of the file.
struct Window {
    bytes: Vec<u8>,
    offset: u64,
    /// Where the file ends.
    file_end: u64,
}

impl Window {
    /// Makes the window hold `bytes` from `offset` on, or what is left of the file.
    fn reach(&mut self, file: &dyn StorageFile, offset: u64, bytes: u64) -> io::Result<()> {
        let left = self.file_end.saturating_sub(offset);
        if self.from(offset).len() as u64 >= bytes.min(left) {
            return Ok(());
        }
        let wanted = usize::try_from(bytes.max(WINDOW_BYTES).min(left)).unwrap_or(usize::MAX);
        self.offset = offset;
        // Until the read is done the window holds nothing that could be taken for the file.
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.resize(wanted, 0);
        let count = read_full(file, offset, &mut buffer)?;
        buffer.truncate(count);
        if count < wanted {
            self.file_end = offset.saturating_add(count as u64);
        }
        self.bytes = buffer;
        Ok(())
    }

    /// What the window holds from `offset` on.
    fn from(&self, offset: u64) -> &[u8] {
        let skipped = offset
            .checked_sub(self.offset)
            .and_then(|skip| usize::try_from(skip).ok());
        skipped
            .and_then(|skip| self.bytes.get(skip..))
            .unwrap_or_default()
    }
}

/// What the short adds of each address count from.
#[derive(Default)]
struct Bases {
    by_address: HashMap<u32, Ordinal, RandomState>,
    /// That of the address of the last add: most often the next one asked for.
    latest: Option<(u32, Ordinal)>,
}

impl Bases {
    fn get(&self, address: u32) -> Option<Ordinal> {
        match self.latest {
            Some((latest, base)) if latest == address => Some(base),
            _ => self.by_address.get(&address).copied(),
        }
    }

    fn learn(&mut self, decoded: &Decoded<'_>) {
        let (add, sets_base) = match &decoded.record {
            Record::Add(add) => (add, decoded.whole && !decoded.carried),
            Record::Renew { add, .. } => (add, !decoded.carried),
            _ => return,
        };
        if sets_base {
            self.by_address.insert(add.address, add.ordinal);
            self.latest = Some((add.address, add.ordinal));
        } else if self.latest.is_none_or(|(latest, _)| latest != add.address) {
            self.latest = self
                .by_address
                .get(&add.address)
                .map(|base| (add.address, *base));
        }
    }
}

/// Whether every byte from `offset` to `end` is zero.
fn zeros(file: &dyn StorageFile, mut offset: u64, end: u64) -> io::Result<bool> {
    let mut buffer = vec![0; usize::try_from(WINDOW_BYTES).unwrap_or(4096)];
    while offset < end {
        let wanted = usize::try_from(end - offset)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let part = buffer.get_mut(..wanted).unwrap_or_default();
        let count = read_full(file, offset, part)?;
        if part.iter().take(count).any(|byte| *byte != 0) {
            return Ok(false);
        }
        if count < wanted {
            break;
        }
        offset += count as u64;
    }
    Ok(true)
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;

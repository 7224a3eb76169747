//! Looks behind bytes that are no record for one that proves that they were durable.
//!
//! IDs are chosen by others, and so may be full of what looks like marked records of any length. So
//! that this cannot make the search slow, a checksum over many bytes is put together from checksums
//! that are computed once: time stays in proportion to the segment, and the answer is exact.

use std::io;

use super::header::SegmentHeader;
use crate::format::{UNIT_BYTES, frame, record_bytes_max};
use crate::ids::Position;
use crate::mutant::{self, Mutant};
use crate::record::{Frame, Seed};
use crate::storage::{StorageFile, read_full};

/// Distance of the places up to which checksums are kept.
const STEP: u64 = 512;
const STEP_BYTES: usize = 512;
const WINDOW_BYTES: usize = 64 << 10;
const HEAD_BYTES: usize = frame::BYTES + frame::LARGE_BYTES + frame::MARK_BYTES;

/// A mark behind `offset` that says that the bytes at `offset` were durable; the first that is
/// found.
///
/// Every unit behind `offset` is looked at. A record counts if its checksum is right; its content
/// is not looked at, and a short add needs no base. Only marks of this segment come into question:
/// one of an earlier segment lies before `offset`, and one of a later segment cannot stand in this
/// one.
pub(crate) fn mark_behind(
    file: &dyn StorageFile,
    header: &SegmentHeader,
    offset: u64,
) -> io::Result<Option<Position>> {
    let end = file.bytes()?.min(header.segment_bytes);
    let seed = header.seed();
    let bytes_max = record_bytes_max(header.segment_bytes);
    let bad = Position::new(header.number, offset);
    let mut checksums = None;
    let mut buffer = vec![0; WINDOW_BYTES + HEAD_BYTES];
    let mut begin = offset.saturating_add(UNIT_BYTES as u64);
    while begin < end {
        let count = read_full(file, begin, &mut buffer)?;
        let window = buffer.get(..count).unwrap_or_default();
        for unit in (0..count.min(WINDOW_BYTES)).step_by(UNIT_BYTES) {
            let place = begin + unit as u64;
            let Ok(frame) = Frame::read(window.get(unit..).unwrap_or_default(), bytes_max) else {
                continue;
            };
            let is_proof = mutant::is(Mutant::ValidBehindIsDamage)
                || mutant::is(Mutant::SealBehindIsDamage) && frame.is_seal();
            let mark = frame.mark.filter(|mark| *mark > bad);
            let Some(mark) =
                mark.or(is_proof.then(|| bad.max(Position::new(header.number, begin))))
            else {
                continue;
            };
            let is_possible = mark <= Position::new(header.number, place);
            if !is_possible || frame.bytes > end.saturating_sub(place) {
                continue;
            }
            let checksums = match &checksums {
                Some(checksums) => checksums,
                None => checksums.insert(Checksums::compute(file, offset, end)?),
            };
            if checksums.record(&seed, place, frame.bytes)? == Some(frame.checksum()) {
                return Ok(Some(mark));
            }
        }
        if count < buffer.len() {
            break;
        }
        begin += WINDOW_BYTES as u64;
    }
    Ok(None)
}

/// Checksums of the bytes from one place up to each of many.
struct Checksums<'a> {
    file: &'a dyn StorageFile,
    start: u64,
    up_to: Vec<u32>,
}

impl<'a> Checksums<'a> {
    fn compute(file: &'a dyn StorageFile, start: u64, end: u64) -> io::Result<Checksums<'a>> {
        let mut hasher = crc32fast::Hasher::new();
        let mut up_to = vec![0];
        let mut buffer = vec![0; WINDOW_BYTES];
        let mut offset = start;
        while offset < end {
            let count = read_full(file, offset, &mut buffer)?;
            for step in buffer
                .get(..count)
                .unwrap_or_default()
                .chunks_exact(STEP_BYTES)
            {
                hasher.update(step);
                up_to.push(hasher.clone().finalize());
            }
            if count < buffer.len() {
                break;
            }
            offset += count as u64;
        }
        Ok(Checksums { file, start, up_to })
    }

    /// The checksum of a record of `bytes` at `place`, if the file has so many.
    fn record(&self, seed: &Seed, place: u64, bytes: u64) -> io::Result<Option<u32>> {
        let (from, to) = (place + frame::CHECKSUM.end() as u64, place + bytes);
        let hasher = seed.begin(place);
        let first = (from - self.start).div_ceil(STEP);
        let last = (to - self.start) / STEP;
        if last <= first {
            return self.update(hasher, from, to);
        }
        let known = |step| {
            usize::try_from(step)
                .ok()
                .and_then(|step| self.up_to.get(step))
                .copied()
        };
        let (Some(up_to_first), Some(up_to_last)) = (known(first), known(last)) else {
            return Ok(None);
        };
        let Some(begun) = self.update(hasher, from, self.start + first * STEP)? else {
            return Ok(None);
        };
        // CRC-32 is linear: what is known up to the last step, with what came before the first step
        // exchanged for the beginning of this record.
        let mut joined = crc32fast::Hasher::new_with_initial_len(begun ^ up_to_first, 0);
        let middle_bytes = (last - first) * STEP;
        joined.combine(&crc32fast::Hasher::new_with_initial_len(
            up_to_last,
            middle_bytes,
        ));
        let joined = crc32fast::Hasher::new_with_initial(joined.finalize());
        self.update(joined, self.start + last * STEP, to)
    }

    /// The checksum after the bytes from `from` to `to` too; those are fewer than two steps.
    fn update(&self, mut hasher: crc32fast::Hasher, from: u64, to: u64) -> io::Result<Option<u32>> {
        let mut buffer = [0; 2 * STEP_BYTES];
        let wanted = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let Some(part) = buffer.get_mut(..wanted) else {
            return Ok(None);
        };
        if read_full(self.file, from, part)? < wanted {
            return Ok(None);
        }
        hasher.update(part);
        Ok(Some(hasher.finalize()))
    }
}

#[cfg(test)]
#[path = "behind_tests.rs"]
mod tests;

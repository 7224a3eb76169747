//! Walks a directory and collects facts: store file, headers, chain, and how each segment ends.
//!
//! Changes nothing, so that the inspection uses it too.

use std::io;

use crate::directory::{Directory, STORE_NAME, slot_name};
use crate::error::{DamageReason, Error, Result};
use crate::format::{
    HEADER_BLOCK_BYTES_MAX, HEADER_BYTES, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENT_BYTES_STEP,
    header_block_bytes, store,
};
use crate::ids::{Position, SegmentNumber, Slot};
use crate::record::Record;
use crate::recovery::File;
use crate::segment::{End, Parsed, SegmentHeader, SegmentReader, mark_behind};
use crate::storage::{StorageFile, read_full};
use crate::store_file::StoreCopy;

/// What a slot holds, by its header.
#[derive(Clone)]
pub(crate) struct SlotFacts {
    pub(crate) slot: Slot,
    pub(crate) file: File,
    /// Length of the file.
    pub(crate) bytes: u64,
    pub(crate) header: Option<SegmentHeader>,
    /// Whether it begins in zeros, as a slot that was never used does.
    pub(crate) is_blank: bool,
    /// Why there is no header: a newer format, with what tells it.
    pub(crate) newer: Option<(&'static str, u64)>,
    /// Which of the two copies are no header.
    pub(crate) bad_copies: [bool; 2],
}

/// How the records of a segment end, and what they say about others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentFacts {
    pub(crate) end: End,
    /// Where the last valid record ends.
    pub(crate) valid_end: u64,
    /// The highest mark in a valid record, also in one behind the end.
    pub(crate) highest_mark: Option<Position>,
    /// The highest "oldest needed" of its releases.
    pub(crate) oldest_needed: SegmentNumber,
}

/// Reads the store file: the valid copy with the higher generation.
pub(crate) fn read_store(directory: &Directory) -> Result<(File, StoreCopy)> {
    let file = directory.open(STORE_NAME)?;
    let copies = read_store_copies(&*file);
    let copies = copies.map_err(|error| directory.io("read", STORE_NAME, error))?;
    let copy = choose_store_copy(&copies, || directory.file(STORE_NAME))?;
    Ok((file, copy))
}

/// Both copies of the store file.
pub(crate) fn read_store_copies(file: &dyn StorageFile) -> io::Result<[Parsed<StoreCopy>; 2]> {
    let read = |offset| -> io::Result<Parsed<StoreCopy>> {
        let mut block = [0; HEADER_BYTES];
        let count = read_full(file, offset, &mut block)?;
        Ok(StoreCopy::parse(block.get(..count).unwrap_or_default()))
    };
    let [first, second] = store::COPY_OFFSETS;
    Ok([read(first)?, read(second)?])
}

/// The copy that counts; `name` is that of the file, for the error.
pub(crate) fn choose_store_copy(
    copies: &[Parsed<StoreCopy>; 2],
    name: impl Fn() -> String,
) -> Result<StoreCopy> {
    let mut best: Option<StoreCopy> = None;
    let mut reason = DamageReason::Header;
    for copy in copies {
        match copy {
            Parsed::Valid(copy) if best.is_none_or(|best| best.generation < copy.generation) => {
                best = Some(*copy);
            }
            Parsed::Newer { what, found } => {
                return Err(Error::NewerFormat {
                    file: name(),
                    what,
                    found: *found,
                });
            }
            Parsed::Malformed(why) => reason = DamageReason::Malformed(why),
            Parsed::Valid(_) | Parsed::NotValid => {}
        }
    }
    best.ok_or(Error::damaged(SegmentNumber(0), 0, reason))
}

/// Reads both header copies of `slot`.
pub(crate) fn read_slot(directory: &Directory, slot: Slot) -> Result<SlotFacts> {
    let file = directory.open_slot(slot)?;
    read_headers(slot, file).map_err(|error| directory.io("read", &slot_name(slot), error))
}

/// Reads both header copies in `file`, which holds `slot`.
pub(crate) fn read_headers(slot: Slot, file: File) -> io::Result<SlotFacts> {
    let bytes = file.bytes()?;
    let mut facts = SlotFacts {
        slot,
        file,
        bytes,
        header: None,
        is_blank: true,
        newer: None,
        bad_copies: [false; 2],
    };
    // A whole block: the header of a newer version may be longer.
    let mut is_blank = true;
    let mut read = |offset| -> io::Result<Parsed<SegmentHeader>> {
        let mut block = [0; HEADER_BLOCK_BYTES_MAX];
        let count = read_full(&*facts.file, offset, &mut block)?;
        let block = block.get(..count).unwrap_or_default();
        is_blank &= block.iter().all(|byte| *byte == 0);
        Ok(SegmentHeader::parse(block))
    };
    let first = read(0)?;
    // Where copy 1 stands is told by the length of the file, or by copy 0 if that length is wrong.
    let range = SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX;
    let whole_bytes = match &first {
        Parsed::Valid(header) => header.segment_bytes,
        _ => bytes,
    };
    let is_possible =
        range.contains(&whole_bytes) && whole_bytes.is_multiple_of(SEGMENT_BYTES_STEP);
    let second = if is_possible {
        read(header_block_bytes(whole_bytes))?
    } else {
        Parsed::NotValid
    };
    facts.bad_copies =
        [&first, &second].map(|copy| matches!(copy, Parsed::NotValid | Parsed::Malformed(_)));
    facts.is_blank = is_blank;
    for parsed in [first, second] {
        match parsed {
            Parsed::Valid(header)
                if facts.header.is_none_or(|best| best.number < header.number) =>
            {
                facts.header = Some(header);
            }
            Parsed::Newer { what, found } => facts.newer = Some((what, found)),
            Parsed::Valid(_) | Parsed::NotValid | Parsed::Malformed(_) => {}
        }
    }
    Ok(facts)
}

/// Reads a segment to its end; `limit` is where it was closed, if that is known.
pub(crate) fn scan_segment(
    facts: &SlotFacts,
    header: &SegmentHeader,
    limit: Option<u64>,
) -> Result<SegmentFacts> {
    let name = slot_name(facts.slot);
    let failed = |error| Error::io("read", name.clone(), error);
    let mut reader = SegmentReader::new(File::clone(&facts.file), header, limit).map_err(failed)?;
    let mut oldest_needed = header.oldest_needed;
    while let Some(item) = reader.next().map_err(failed)? {
        if let Record::Release { oldest } = item.decoded.record {
            oldest_needed = oldest_needed.max(oldest);
        }
    }
    let end = reader.end().unwrap_or(End::Full);
    let mut highest_mark = reader.highest_mark();
    if let End::NotARecord { offset, .. } = end {
        let behind = mark_behind(&*facts.file, header, offset).map_err(failed)?;
        highest_mark = highest_mark.max(behind);
    }
    Ok(SegmentFacts {
        end,
        valid_end: reader.valid_end(),
        highest_mark,
        oldest_needed,
    })
}

//! Makes what was recovered durable, whatever the page cache and the disk disagree on.
//!
//! Writes only bytes that were read and verified, in the place they were read from (rule 10 of
//! docs/design.md). It can crash at any step and be run again.

use crate::directory::{Directory, STORE_NAME, slot_name};
use crate::error::{Error, Result};
use crate::format::{header_block_bytes, records_offset, store};
use crate::ids::Position;
use crate::mutant::{self, Mutant};
use crate::recovery::report::RecoveryReport;
use crate::recovery::{Chain, ChainSegment, File};
use crate::ring::Ring;
use crate::storage::{Written, read_full, write_full};
use crate::store_file::StoreCopy;

const PIECE_BYTES: u64 = 64 << 10;

/// Rewrites what no mark covers, and marks the end in the store file; returns whether it had to.
pub(super) fn make_durable(
    directory: &Directory,
    (store_file, store): (&File, &mut StoreCopy),
    chain: &Chain,
    ring: &Ring<File>,
    report: &mut RecoveryReport,
) -> Result<bool> {
    let Some(last) = chain.segments.last() else {
        return Ok(false);
    };
    let life = (last.header.number, last.header.salt);
    let mark = Position::new(store.mark_number, store.mark_end);
    if (store.mark_number, store.mark_salt) == life && mark == last.end_position() {
        // The life before may have been killed between writing that and making it durable. Nothing
        // is lost by that; but what is shown now must be missed if rot takes it later.
        let synced = store_file.sync();
        synced.map_err(|error| directory.io("sync", STORE_NAME, error))?;
        return Ok(false);
    }
    // Order:
    // 1. The segments that may not be on disk as they were read: headers and records.
    // 2. Names: a slot taken from here on must not lose its name to an earlier failed sync.
    // 3. The mark, last: it says that all of this was done.
    for segment in &chain.segments {
        let is_spared = mutant::is(Mutant::SyncInsteadOfRewrite)
            || mutant::is(Mutant::RewriteNewestOnly) && segment.header.number < last.header.number;
        if segment.end_position() > chain.durable && !is_spared {
            report.rewritten_bytes += rewrite_segment(directory, segment)?;
            let number = segment.header.number;
            let rewritten = report
                .segments
                .iter_mut()
                .find(|report| report.number == number);
            rewritten
                .into_iter()
                .for_each(|report| report.is_rewritten = true);
        } else {
            let synced = segment.facts.file.sync();
            synced.map_err(|error| directory.io("sync", &slot_name(segment.facts.slot), error))?;
        }
    }
    for free in ring.free() {
        let synced = free.file.sync();
        synced.map_err(|error| directory.io("sync", &slot_name(free.slot), error))?;
    }
    directory.rename_anew(ring.free().iter().map(|free| free.slot))?;
    if mutant::is(Mutant::NoMarkAfterRecovery) {
        return Ok(true);
    }
    let marked = StoreCopy {
        generation: store.generation + 1,
        mark_number: last.header.number,
        mark_salt: last.header.salt,
        mark_end: last.end,
        ..*store
    };
    for offset in store::COPY_OFFSETS {
        write(directory, store_file, offset, &marked.encode(), STORE_NAME)?;
        store_file
            .sync()
            .map_err(|error| directory.io("sync", STORE_NAME, error))?;
    }
    *store = marked;
    Ok(true)
}

fn rewrite_segment(directory: &Directory, segment: &ChainSegment) -> Result<u64> {
    let name = slot_name(segment.facts.slot);
    let file = &segment.facts.file;
    let header = segment.header.encode();
    let synced = || {
        if mutant::is(Mutant::RewriteWithoutSync) {
            return Ok(());
        }
        file.sync()
            .map_err(|error| Error::io("sync", name.clone(), error))
    };
    // One header copy is durable before the other is touched.
    if !mutant::is(Mutant::RewriteRecordsOnly) {
        write(directory, file, 0, &header, &name)?;
        synced()?;
        let copy_1 = header_block_bytes(segment.facts.bytes);
        write(directory, file, copy_1, &header, &name)?;
    }
    let mut offset = records_offset(segment.facts.bytes);
    let mut rewritten = 2 * header.len() as u64;
    let mut buffer = vec![0; usize::try_from(PIECE_BYTES).unwrap_or(4096)];
    while offset < segment.end {
        let wanted = usize::try_from(segment.end - offset)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let piece = buffer.get_mut(..wanted).unwrap_or_default();
        let count = read_full(&**file, offset, piece);
        let count = count.map_err(|error| Error::io("read", name.clone(), error))?;
        if count < wanted {
            let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
            return Err(Error::io("read", name, short));
        }
        write(directory, file, offset, piece, &name)?;
        offset += wanted as u64;
        rewritten += wanted as u64;
    }
    synced()?;
    Ok(rewritten)
}

/// Writes all of `bytes` over what is there. Where that takes space, as on btrfs, a full disk ends
/// the recovery; it has changed nothing by then, and can be had once there is space.
fn write(directory: &Directory, file: &File, offset: u64, bytes: &[u8], name: &str) -> Result<()> {
    match write_full(&**file, offset, bytes) {
        Written::All => Ok(()),
        Written::Nothing(error) | Written::Part(error) => {
            Err(directory.refused("what recovery writes again", ("write", name), error))
        }
    }
}

//! From a directory to caches and the parts of an open journal: the steps, in order.
//!
//! docs/recovery.md lists them with what a crash in each does. Until all segments are judged
//! nothing is changed but leftovers of what was never finished.

mod ahead;
mod beside;
mod chain;
mod classify;
mod replay;
mod report;
mod rewrite;
mod scan;
mod slots;

use std::sync::Arc;

use crate::directory::{Directory, STORE_NEW_NAME, slot_away_name, slot_name, slot_new_name};
use crate::error::{DamageReason, Error, Result};
use crate::hash::IdHasher;
use crate::ids::SegmentNumber;
use crate::mutant::{self, Mutant};
use crate::recovery::ahead::{Batch, Step};
use crate::ring::{FreeSlot, Link, Ring};
use crate::storage::StorageFile;
use crate::store_file::StoreCopy;

pub(crate) use beside::{Bookmark, Change, Configured, Prepared};
pub(crate) use chain::{Chain, ChainSegment, find_chain, survey_chain};
pub(crate) use replay::{At, Replayed, ReplayedAddress, element_bytes};
pub(crate) use scan::{
    SlotFacts, choose_store_copy, read_headers, read_slot, read_store, read_store_copies,
};

pub use report::{
    AgeChange, CapacityChange, EndedCache, Progress, RecoveryReport, SegmentReport, TailReport,
};

pub(crate) type File = Arc<dyn StorageFile>;

/// What recovery hands over.
pub(crate) struct Recovered {
    pub(crate) replayed: Replayed,
    pub(crate) ring: Ring<File>,
    /// The store file and what it says; none in a directory that has no store yet.
    pub(crate) store: (File, StoreCopy),
    /// Whether the names of free slots were made durable.
    pub(crate) names_are_durable: bool,
    pub(crate) report: RecoveryReport,
}

/// Recovers the store in `directory`, whose lock is held; none if there is nothing yet.
///
/// # Errors
///
/// [`Error::Damaged`], [`Error::NewerFormat`], [`Error::NotAStore`], [`Error::Io`].
pub(crate) fn recover(
    directory: &Directory,
    hasher: IdHasher,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Recovered>> {
    let recovered = recover_within(directory, hasher, progress);
    recovered.map_err(|error| error.within(directory.place()))
}

fn recover_within(
    directory: &Directory,
    hasher: IdHasher,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Recovered>> {
    let survey = directory.survey()?;
    if !survey.has_store {
        if !survey.slots.is_empty() || !survey.slots_away.is_empty() {
            let (place, why) = (
                directory.place().to_owned(),
                "it has slots but no store file",
            );
            return Err(Error::NotAStore { place, why });
        }
        return Ok(None);
    }
    let (store_file, mut store) = read_store(directory)?;
    let slots = restore_names(directory, survey)?;
    let facts = slots
        .into_iter()
        .map(|slot| read_slot(directory, slot))
        .collect::<Result<Vec<SlotFacts>>>()?;
    let known = ahead::read_segments(&store, &facts);
    let chain = find_chain(&store, &facts, known)?;
    let mut report = RecoveryReport {
        left_out: chain.left_out,
        ..RecoveryReport::default()
    };
    let replayed = replay(&chain, hasher, progress, &mut report)?;
    let ring = build_ring(&chain, &facts);
    let names_are_durable = rewrite::make_durable(
        directory,
        (&store_file, &mut store),
        &chain,
        &ring,
        &mut report,
    )?;
    let store = (store_file, store);
    Ok(Some(Recovered {
        replayed,
        ring,
        store,
        names_are_durable,
        report,
    }))
}

/// Removes what was never finished and renames back what was on its way; returns the slots.
fn restore_names(
    directory: &Directory,
    survey: crate::directory::Survey,
) -> Result<Vec<crate::ids::Slot>> {
    let mut slots = survey.slots;
    if survey.has_store_new {
        directory.remove(STORE_NEW_NAME)?;
    }
    for slot in survey.slots_new {
        directory.remove(&slot_new_name(slot))?;
    }
    for slot in survey.slots_away {
        // Both names can be there after a power cut; they are of one file.
        if slots.contains(&slot) {
            directory.remove(&slot_away_name(slot))?;
        } else {
            directory.rename(&slot_away_name(slot), &slot_name(slot))?;
            slots.push(slot);
        }
    }
    slots.sort_unstable();
    Ok(slots)
}

/// Replays the chain, oldest first.
pub(crate) fn replay(
    chain: &Chain,
    hasher: IdHasher,
    progress: &mut dyn FnMut(Progress),
    report: &mut RecoveryReport,
) -> Result<Replayed> {
    let mut replayed = Replayed::new(hasher.clone());
    let total_bytes = chain.segments.iter().map(|segment| segment.end).sum();
    let mut done_bytes = 0;
    let mut end = At {
        segment: SegmentNumber(0),
        offset: 0,
    };
    let mut is_begun = false;
    ahead::read_chain(chain, &hasher, |batch| {
        let Some(segment) = chain.segments.get(batch.segment) else {
            return Ok(());
        };
        if !std::mem::replace(&mut is_begun, !batch.is_last) {
            progress(Progress {
                done_bytes,
                total_bytes,
            });
        }
        apply(&mut replayed, segment, batch)?;
        if batch.is_last {
            done_bytes += segment.end;
            end = At {
                segment: segment.header.number,
                offset: segment.end,
            };
            note_segment(report, segment);
        }
        Ok(())
    })?;
    replayed.finish(end)?;
    progress(Progress {
        done_bytes,
        total_bytes,
    });
    report.read_bytes = done_bytes;
    report.records = replayed.records;
    let existing = || {
        replayed
            .addresses
            .values()
            .filter(|address| address.defined.is_some() && address.is_begun)
    };
    report.caches = existing().count() as u64;
    report.ids = existing().map(|address| address.cache.len()).sum();
    report.prepared = replayed.prepared.len() as u64;
    report.bookmarks = replayed.bookmarks.len() as u64;
    Ok(replayed)
}

/// Applies what was read of `segment`.
fn apply(replayed: &mut Replayed, segment: &ChainSegment, batch: &Batch) -> Result<()> {
    let header = &segment.header;
    for step in &batch.steps {
        let at = |offset| At {
            segment: header.number,
            offset,
        };
        match step {
            Step::Add(read) => {
                let record = (read.record_bytes, read.is_carried);
                replayed.apply_add(at(read.offset), &batch.add(read), read.hash, record)?;
            }
            Step::Other {
                offset,
                start,
                bytes,
            } => {
                let decoded = header.decode(batch.bytes(*start, *bytes), *offset);
                let changed = Error::damaged(header.number, *offset, DamageReason::Checksum);
                let decoded = decoded.map_err(|_| changed)?;
                replayed.apply(at(*offset), &decoded)?;
            }
        }
    }
    Ok(())
}

fn note_segment(report: &mut RecoveryReport, segment: &ChainSegment) {
    report.segments.push(SegmentReport {
        number: segment.header.number,
        slot: segment.facts.slot,
        end: segment.end,
        is_rewritten: false,
    });
    if segment.is_torn {
        let bytes = segment.facts.bytes.saturating_sub(segment.end);
        report.tail = Some(TailReport {
            segment: segment.header.number,
            offset: segment.end,
            bytes,
        });
    }
}

fn build_ring(chain: &Chain, facts: &[SlotFacts]) -> Ring<File> {
    let links = chain.segments.iter().map(|segment| Link {
        slot: segment.facts.slot,
        number: segment.header.number,
        salt: segment.header.salt,
        base_time: segment.header.base_time,
        bytes: segment.facts.bytes,
        end: segment.end,
        file: File::clone(&segment.facts.file),
    });
    let links: Vec<Link<File>> = links.collect();
    let is_linked = |facts: &&SlotFacts| !links.iter().any(|link| link.slot == facts.slot);
    let free = facts.iter().filter(is_linked).map(|facts| FreeSlot {
        slot: facts.slot,
        bytes: facts.bytes,
        file: File::clone(&facts.file),
    });
    let free = free.collect();
    let highest = match links.last() {
        Some(last) if mutant::is(Mutant::NumberReused) => last.number,
        _ => chain.highest,
    };
    Ring::new(links, free, highest)
}

//! One reading of a directory, and as many as it takes beside a writer.
//!
//! Order: the store file and all headers, then the segments, newest first, so that what an older
//! one holds is at least what a newer one was written after. What looks wrong may still be a change
//! made during the reading. It counts only if the next reading, begun after this one ended, finds
//! the same: a place that is being written holds something else by then.

use std::time::Duration;

use crate::directory::{
    Directory, STORE_NAME, STORE_NEW_NAME, Survey, slot_away_name, slot_name, slot_new_name,
};
use crate::error::{Bytes, Error, Result};
use crate::ids::{SegmentNumber, Slot};
use crate::inspect::finding::{Finding, FindingPlace, Reason};
use crate::inspect::still::{STILL_BYTES_MAX, Still};
use crate::recovery::{
    Chain, File, SlotFacts, choose_store_copy, read_headers, read_store_copies, survey_chain,
};
use crate::segment::{Parsed, SegmentHeader, SegmentReader};
use crate::store_file::StoreCopy;

/// How often a store that changes is read again.
const READINGS_MAX: u32 = 50;
const PAUSE: Duration = Duration::from_millis(1);
/// Bytes of small segments that are held at most.
const STILL_TOTAL_BYTES_MAX: u64 = 64 << 20;

/// What a directory held.
pub(super) struct Reading {
    /// The store file; none if both copies are wrong.
    pub(super) store: Option<StoreCopy>,
    pub(super) slots: Vec<SlotFacts>,
    pub(super) chain: Chain,
    pub(super) findings: Vec<Finding>,
    seen: Seen,
}

/// What was read beside the records, to be compared.
#[derive(PartialEq)]
struct Seen {
    survey: Survey,
    store: [Parsed<StoreCopy>; 2],
    slots: Vec<(Slot, u64, Option<SegmentHeader>, [bool; 2])>,
}

/// Reads until two readings agree on what looks wrong, or nothing does.
///
/// # Errors
///
/// [`Error::NotAStore`], [`Error::NewerFormat`], [`Error::Io`].
pub(super) fn read(directory: &Directory) -> Result<Reading> {
    let reading = read_until_sure(directory);
    reading.map_err(|error| error.within(directory.place()))
}

fn read_until_sure(directory: &Directory) -> Result<Reading> {
    let mut before: Option<Reading> = None;
    let mut vanished = None;
    for _ in 0..READINGS_MAX {
        if before.is_some() || vanished.is_some() {
            std::thread::sleep(PAUSE);
        }
        let reading = match read_once(directory) {
            Ok(reading) => reading,
            Err(error) if is_vanished(&error) => {
                vanished = Some(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_sure = reading.findings.iter().all(|finding| {
            !finding.is_in_doubt()
                || before
                    .as_ref()
                    .is_some_and(|one| reading.confirms(one, finding))
        });
        if is_sure {
            return Ok(reading);
        }
        before = Some(reading);
    }
    let Some(mut reading) = before else {
        return Err(vanished.unwrap_or_else(|| not_a_store(directory, "it changes all the time")));
    };
    reading.findings.retain(|finding| !finding.is_in_doubt());
    reading
        .findings
        .push(Finding::new(FindingPlace::Directory, Reason::Moving));
    Ok(reading)
}

impl Reading {
    /// Whether `finding` was there in the reading before too, and cannot be a change in between.
    fn confirms(&self, before: &Reading, finding: &Finding) -> bool {
        before.findings.contains(finding) && (finding.is_of_bytes() || before.seen == self.seen)
    }
}

/// A file that was listed and is gone: something renames or removes it.
fn is_vanished(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. }
        if source.io_kind() == Some(std::io::ErrorKind::NotFound))
}

fn not_a_store(directory: &Directory, why: &'static str) -> Error {
    let place = String::from(directory.place());
    Error::NotAStore { place, why }
}

fn read_once(directory: &Directory) -> Result<Reading> {
    let survey = directory.survey()?;
    if !survey.has_store {
        let has_slots = !survey.slots.is_empty() || !survey.slots_away.is_empty();
        let why = if has_slots {
            "it has slots but no store file"
        } else {
            "it has no store file"
        };
        return Err(not_a_store(directory, why));
    }
    let copies = read_store_copies(&*directory.open(STORE_NAME)?);
    let copies = copies.map_err(|error| directory.io("read", STORE_NAME, error))?;
    let slots = read_slots(directory, &survey)?;
    let mut faults = Vec::new();
    let store = match choose_store_copy(&copies, || directory.file(STORE_NAME)) {
        Ok(copy) => Some(copy),
        Err(error @ Error::Damaged { .. }) => {
            faults.push(error);
            None
        }
        Err(error) => return Err(error),
    };
    let chain = match store.or_else(|| guess(&slots)) {
        Some(store) => survey_chain(&store, &slots, &mut faults)?,
        None => Chain::default(),
    };
    if store.is_none() {
        // Of what store the slots are is a guess: `open` tells of the damaged store file alone.
        faults.retain(|fault| matches!(fault, Error::Damaged { .. }));
    }
    let slot_of = |number| slot_of(&slots, &chain, number);
    let mut findings = Vec::new();
    for fault in faults {
        findings.push(Finding::of(fault, slot_of)?);
    }
    let left_out = left_out(&slots, &chain)?;
    notes(
        &copies,
        store,
        &survey,
        (&chain, left_out),
        &slots,
        &mut findings,
    );
    let facts = slots.iter();
    let facts = facts.map(|facts| (facts.slot, facts.bytes, facts.header, facts.bad_copies));
    let seen = Seen {
        survey,
        store: copies,
        slots: facts.collect(),
    };
    Ok(Reading {
        store,
        slots,
        chain,
        findings,
        seen,
    })
}

/// The headers of all slots, under the names that recovery would give them.
fn read_slots(directory: &Directory, survey: &Survey) -> Result<Vec<SlotFacts>> {
    let away = survey.slots_away.iter();
    let away = away.filter(|slot| !survey.slots.contains(slot));
    let names = survey.slots.iter().map(|slot| (*slot, slot_name(*slot)));
    let names = names.chain(away.map(|slot| (*slot, slot_away_name(*slot))));
    let mut slots = Vec::new();
    for (slot, name) in names {
        let file = directory.open(&name)?;
        let facts = read_headers(slot, file);
        slots.push(facts.map_err(|error| directory.io("read", &name, error))?);
    }
    let number = |facts: &SlotFacts| facts.header.map(|header| header.number);
    slots.sort_by_key(|facts| std::cmp::Reverse(number(facts)));
    let mut left = STILL_TOTAL_BYTES_MAX;
    for facts in &mut slots {
        if facts.bytes > STILL_BYTES_MAX.min(left) {
            continue;
        }
        left -= facts.bytes;
        let still =
            hold(facts).map_err(|error| directory.io("read", &slot_name(facts.slot), error));
        *facts = still?;
    }
    slots.sort_by_key(|facts| facts.slot);
    Ok(slots)
}

fn hold(facts: &SlotFacts) -> std::io::Result<SlotFacts> {
    let file: File = Still::of(&facts.file, facts.bytes)?;
    read_headers(facts.slot, file)
}

/// What goes for the store file where that says nothing: all is of the store of the newest segment.
fn guess(slots: &[SlotFacts]) -> Option<StoreCopy> {
    let headers = slots.iter().filter_map(|facts| facts.header);
    let newest = headers.max_by_key(|header| header.number)?;
    Some(StoreCopy {
        identity: newest.identity,
        generation: 0,
        mark_number: SegmentNumber(0),
        mark_salt: 0,
        mark_end: 0,
        first_number: SegmentNumber(1),
        first_salt: 0,
    })
}

/// The slot of a segment: that of the chain, or the only one with that number.
fn slot_of(slots: &[SlotFacts], chain: &Chain, number: SegmentNumber) -> Option<Slot> {
    let linked = chain.segments.iter();
    let linked = linked.filter(|segment| segment.header.number == number);
    let linked = linked.map(|segment| segment.facts.slot).next();
    let held = || {
        let numbered = slots.iter();
        let mut numbered = numbered
            .filter(|facts| facts.header.is_some_and(|header| header.number == number))
            .map(|facts| facts.slot);
        let first = numbered.next();
        first.filter(|_| numbered.next().is_none())
    };
    linked.or_else(held)
}

/// The segment that is left out, if it holds records; a next segment that was prepared holds none.
fn left_out(slots: &[SlotFacts], chain: &Chain) -> Result<Option<SegmentNumber>> {
    let Some(number) = chain.left_out else {
        return Ok(None);
    };
    for facts in slots {
        let Some(header) = facts.header.filter(|header| header.number == number) else {
            continue;
        };
        let failed = |error| Error::io("read", slot_name(facts.slot), error);
        let file = File::clone(&facts.file);
        let mut reader = SegmentReader::new(file, &header, None).map_err(failed)?;
        if reader.next().map_err(failed)?.is_some() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// What is no fault of the store.
fn notes(
    copies: &[Parsed<StoreCopy>; 2],
    store: Option<StoreCopy>,
    survey: &Survey,
    (chain, left_out): (&Chain, Option<SegmentNumber>),
    slots: &[SlotFacts],
    findings: &mut Vec<Finding>,
) {
    let is_sound = findings.is_empty();
    let mut note = |place, reason| findings.push(Finding::new(place, reason));
    let bad = copies
        .each_ref()
        .map(|copy| !matches!(copy, Parsed::Valid(_)));
    for (copy, offset) in bad_of(bad).zip(crate::format::store::COPY_OFFSETS) {
        if let (Some(copy), Some(_)) = (copy, store) {
            note(FindingPlace::Store { offset }, Reason::BadCopy { copy });
        }
    }
    for segment in &chain.segments {
        let (number, slot) = (segment.header.number, Some(segment.facts.slot));
        let block = crate::format::header_block_bytes(segment.facts.bytes);
        for (copy, offset) in bad_of(segment.facts.bad_copies).zip([0, block]) {
            if let Some(copy) = copy {
                let place = FindingPlace::Segment {
                    number,
                    slot,
                    offset,
                };
                note(place, Reason::BadCopy { copy });
            }
        }
    }
    if let Some(last) = chain
        .segments
        .last()
        .filter(|last| last.is_torn && is_sound)
    {
        let place = FindingPlace::Segment {
            number: last.header.number,
            slot: Some(last.facts.slot),
            offset: last.end,
        };
        let bytes = last.facts.bytes.saturating_sub(last.end);
        note(place, Reason::TornTail { bytes });
    }
    if let Some(number) = left_out {
        let slot = slot_of(slots, chain, number);
        let place = FindingPlace::Segment {
            number,
            slot,
            offset: 0,
        };
        note(place, Reason::LeftOut);
    }
    let new = survey.slots_new.iter().map(|slot| slot_new_name(*slot));
    let away = survey.slots_away.iter().map(|slot| slot_away_name(*slot));
    let store_new = survey.has_store_new.then(|| String::from(STORE_NEW_NAME));
    let file = |name: &str| FindingPlace::File(Bytes::from(name.as_bytes()));
    for name in store_new.into_iter().chain(new).chain(away) {
        note(file(&name), Reason::Leftover);
    }
    for name in &survey.unknown {
        note(file(name), Reason::Foreign);
    }
}

/// The numbers of the copies that are bad, each in its place.
fn bad_of(bad: [bool; 2]) -> impl Iterator<Item = Option<u8>> {
    bad.into_iter()
        .zip(0_u8..)
        .map(|(is_bad, copy)| is_bad.then_some(copy))
}

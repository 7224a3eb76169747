//! Finds the chain: the newest begun segment, and from it back to the oldest needed; judges each.
//!
//! Changes nothing.

use std::collections::HashMap;

use crate::directory::slot_name;
use crate::error::{DamageReason, Error, Result};
use crate::ids::{Position, SegmentNumber};
use crate::mutant::{self, Mutant};
use crate::record::Stop;
use crate::recovery::classify::{Found, Role, Verdict, classify};
use crate::recovery::scan::{SegmentFacts, SlotFacts, scan_segment};
use crate::recovery::slots::{Life, Slots, damaged};
use crate::segment::{End, SegmentHeader};
use crate::store_file::StoreCopy;

/// A segment of the chain, judged.
#[derive(Clone)]
pub(crate) struct ChainSegment {
    pub(crate) facts: SlotFacts,
    pub(crate) header: SegmentHeader,
    /// Where its records end.
    pub(crate) end: u64,
    /// It ends in bytes that are no record and not all zero.
    pub(crate) is_torn: bool,
}

/// The chain of a store, oldest first, and what is known beside it.
#[derive(Default)]
pub(crate) struct Chain {
    pub(crate) segments: Vec<ChainSegment>,
    /// A newest segment that was not begun.
    pub(crate) left_out: Option<SegmentNumber>,
    /// The highest place that is known to have been durable.
    pub(crate) durable: Position,
    /// The highest number in any header.
    pub(crate) highest: SegmentNumber,
}

/// What is known of the segment after one in the chain.
#[derive(Clone, Copy)]
enum Follows {
    Nothing,
    Header(SegmentHeader),
    /// It is not there, which is a fault of its own.
    Missing,
}

/// Finds and judges the chain; `known` are segments that were read before.
///
/// # Errors
///
/// [`Error::Damaged`] and [`Error::NewerFormat`] by the table of docs/recovery.md; [`Error::Io`].
pub(crate) fn find_chain(
    store: &StoreCopy,
    all: &[SlotFacts],
    known: HashMap<Life, SegmentFacts>,
) -> Result<Chain> {
    let mut faults = Vec::new();
    let chain = survey(Slots::new(store, all, known, &mut faults));
    // What was found first counts, also if the search for more met an error; but where a part is
    // of a newer format, what else looks wrong may be right for those who know it.
    let newer = |fault: &Error| matches!(fault, Error::NewerFormat { .. });
    let told = faults.iter().position(newer).unwrap_or(0);
    faults.into_iter().nth(told).map_or(chain, Err)
}

/// Finds and judges the chain, and goes on behind each fault to find them all: the first one is
/// that of [`find_chain`]. After it the chain is only what could be found of it.
///
/// # Errors
///
/// [`Error::Io`].
pub(crate) fn survey_chain(
    store: &StoreCopy,
    all: &[SlotFacts],
    faults: &mut Vec<Error>,
) -> Result<Chain> {
    survey(Slots::new(store, all, HashMap::new(), faults))
}

fn survey(mut slots: Slots<'_>) -> Result<Chain> {
    let store = slots.store;
    let newest = slots.by_life.keys().next_back().copied();
    let highest = newest.map_or(SegmentNumber(0), |(number, _)| number);
    let mut chain = Chain {
        durable: Position::new(store.mark_number, store.mark_end),
        highest,
        ..Chain::default()
    };
    if store.first_number == SegmentNumber(0) {
        return Ok(chain);
    }
    let first = (store.first_number, store.first_salt);
    let Some(newest) = newest else {
        let missing = slots.missing(first);
        slots.fault(missing)?;
        return Ok(chain);
    };
    let of_highest = slots.by_life.keys().filter(|life| life.0 == highest);
    if of_highest.count() > 1 {
        // Of two lives of one number at most one is ours, and which is not for us to say.
        slots.fault(damaged(highest, DamageReason::OtherLife))?;
    }
    let Some(last) = slots.newest_begun(newest, &mut chain)? else {
        return Ok(chain);
    };
    if last.0 < first.0 && !mutant::is(Mutant::MissingNotSeen) {
        let missing = slots.missing(first);
        slots.fault(missing)?;
    }
    slots.walk_back(last, &mut chain)?;
    let has_first = chain.segments.iter().any(|segment| segment.life() == first);
    let begins_later = chain
        .segments
        .first()
        .is_some_and(|oldest| oldest.life().0 > first.0);
    let is_seen = slots.faults.is_empty() && !mutant::is(Mutant::MissingNotSeen);
    if !has_first && !begins_later && is_seen {
        let missing = slots.missing(first);
        slots.fault(missing)?;
    }
    Ok(chain)
}

impl ChainSegment {
    fn life(&self) -> Life {
        (self.header.number, self.header.salt)
    }

    /// Where it ends, as a position.
    pub(crate) fn end_position(&self) -> Position {
        Position::new(self.header.number, self.end)
    }
}

impl Slots<'_> {
    /// Whether the segment is begun (rule 7 of docs/design.md).
    fn is_begun(&mut self, life: Life) -> Result<bool> {
        let (_, header) = self.find(life)?;
        if mutant::is(Mutant::UnbegunReplayed) {
            return Ok(true);
        }
        if header.previous == SegmentNumber(0) || header.previous_end != 0 {
            return Ok(true);
        }
        // The newer one is read first: of a journal that is being written this shows a state that
        // it passed through.
        let oldest_needed = self.read(life)?.oldest_needed;
        let previous = (header.previous, header.previous_salt);
        if self.by_life.contains_key(&previous) {
            let end = self.read(previous)?.end;
            let leads_anywhere = mutant::is(Mutant::SealNamesNobody);
            if matches!(end, End::Sealed { number, salt, .. }
                if (number, salt) == life || leads_anywhere)
            {
                return Ok(true);
            }
        }
        Ok(oldest_needed >= header.number)
    }

    /// The newest begun segment, or the newest sound one after a fault. One that is not begun is
    /// left out; its marks still count.
    fn newest_begun(&mut self, newest: Life, chain: &mut Chain) -> Result<Option<Life>> {
        match self.newest_begun_or_fault(newest, chain) {
            Ok(last) => Ok(Some(last)),
            Err(error) => {
                self.fault(error)?;
                let mut life = Some(newest);
                while let Some(bad) = life.filter(|life| self.find(*life).is_err()) {
                    life = self.before(bad, SegmentNumber(0));
                }
                Ok(life)
            }
        }
    }

    fn newest_begun_or_fault(&mut self, newest: Life, chain: &mut Chain) -> Result<Life> {
        if self.is_begun(newest)? {
            return Ok(newest);
        }
        let (_, header) = self.find(newest)?;
        let marks = self.read(newest)?.highest_mark.unwrap_or_default();
        let previous = (header.previous, header.previous_salt);
        self.find(previous)?;
        if !self.is_begun(previous)? {
            return Err(self.not_begun(previous)?);
        }
        chain.left_out = Some(newest.0);
        chain.durable = chain.durable.max(marks);
        Ok(previous)
    }

    /// Why this segment, which must be begun, is not: what would have shown it may be missing, or
    /// be damaged itself.
    fn not_begun(&mut self, life: Life) -> Result<Error> {
        let (_, header) = self.find(life)?;
        let before = (header.previous, header.previous_salt);
        let (facts, _) = self.find(before)?;
        let read = self.read(before)?;
        Ok(
            match classify(Role::Sealed, found(read.end, Some(life)), false) {
                Verdict::Damaged(
                    reason @ (DamageReason::Checksum | DamageReason::Malformed(_)),
                ) => Error::damaged(before.0, read.valid_end, reason),
                Verdict::NewerFormat => newer_kind(facts, read.end),
                _ => damaged(life.0, DamageReason::NotLinked),
            },
        )
    }

    /// From `last` back to the oldest needed; then judges each, from the last on.
    fn walk_back(&mut self, last: Life, chain: &mut Chain) -> Result<()> {
        let mut lives = Vec::new();
        let mut oldest_needed = SegmentNumber(0);
        let (mut at, mut follows) = (last, Follows::Nothing);
        loop {
            let header = match self.find(at) {
                Ok((_, header)) => header,
                Err(error) => {
                    self.fault(error)?;
                    let Some(before) = self.before(at, oldest_needed) else {
                        break;
                    };
                    (at, follows) = (before, Follows::Missing);
                    continue;
                }
            };
            lives.push((at, follows));
            let read = self.read(at)?;
            oldest_needed = oldest_needed.max(read.oldest_needed);
            chain.durable = chain.durable.max(read.highest_mark.unwrap_or_default());
            let previous = (header.previous, header.previous_salt);
            let is_gone_on =
                mutant::is(Mutant::ReplayFreed) && self.by_life.contains_key(&previous);
            if at.0 <= oldest_needed && !is_gone_on || header.previous == SegmentNumber(0) {
                break;
            }
            at = previous;
            follows = Follows::Header(header);
        }
        if at.0 < oldest_needed && !mutant::is(Mutant::ReplayFreed) {
            let missing = self.missing((oldest_needed, 0));
            self.fault(missing)?;
        }
        for (life, follows) in lives {
            let segment = self.judge(life, follows, chain.durable)?;
            chain.segments.push(segment);
        }
        chain.segments.reverse();
        Ok(())
    }

    fn judge(&mut self, life: Life, follows: Follows, durable: Position) -> Result<ChainSegment> {
        let (facts, header) = self.find(life)?;
        let is_marked = (self.store.mark_number, self.store.mark_salt) == life;
        let (role, limit, next) = match follows {
            Follows::Nothing => (Role::Last, is_marked.then_some(self.store.mark_end), None),
            Follows::Missing => (Role::Last, None, None),
            Follows::Header(next) => {
                let life = Some((next.number, next.salt));
                match next.previous_end {
                    0 => (Role::Sealed, None, life),
                    end => (Role::Closed, Some(end), life),
                }
            }
        };
        let read = match limit {
            None => self.read(life)?,
            Some(_) => scan_segment(facts, &header, limit)?,
        };
        let found = found(read.end, next);
        let segment = ChainSegment {
            facts: facts.clone(),
            header,
            end: read.valid_end,
            is_torn: found == Found::NotARecord,
        };
        let is_below_mark = role == Role::Last
            && segment.end_position() < durable
            && !mutant::is(Mutant::EveryTailTorn);
        let verdict = classify(role, found, is_below_mark);
        // What is missing after it would have told where it must end.
        let is_end_known = !matches!(follows, Follows::Missing)
            || matches!(found, Found::Impossible(_) | Found::Newer);
        match verdict {
            Verdict::Damaged(reason) if is_end_known => {
                self.fault(Error::damaged(header.number, read.valid_end, reason))?;
            }
            Verdict::NewerFormat => self.fault(newer_kind(facts, read.end))?,
            Verdict::Whole | Verdict::Tail | Verdict::Damaged(_) => {}
        }
        Ok(segment)
    }
}

fn newer_kind(facts: &SlotFacts, end: End) -> Error {
    let kind = if let End::NewerKind { kind, .. } = end {
        kind
    } else {
        0
    };
    Error::NewerFormat {
        file: slot_name(facts.slot),
        what: "the kind of a record",
        found: u64::from(kind),
    }
}

/// The end of a reader in the words of the table.
fn found(end: End, next: Option<Life>) -> Found {
    match end {
        End::Sealed { number, salt, .. } if next == Some((number, salt)) => Found::SealToNext,
        End::Sealed { .. } if mutant::is(Mutant::SealNamesNobody) => match next {
            Some(_) => Found::SealToNext,
            None => Found::Zeros,
        },
        End::Sealed { .. } => Found::SealElsewhere,
        End::Limit => Found::AtLimit,
        End::OverLimit { .. } => Found::OverLimit,
        End::Full | End::CleanZeros { .. } => Found::Zeros,
        End::NotARecord {
            stop: Stop::Malformed(why),
            ..
        } => Found::Impossible(why),
        End::NotARecord { .. } => Found::NotARecord,
        End::Malformed { reason, .. } => Found::Impossible(reason),
        End::NewerKind { .. } => Found::Newer,
    }
}

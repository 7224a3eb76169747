//! Finds the chain: the newest begun segment, and from it back to the oldest needed; judges each.
//!
//! Changes nothing.

use std::collections::{BTreeMap, HashMap};

use crate::directory::slot_name;
use crate::error::{DamageReason, Error, Result};
use crate::ids::{Position, SegmentNumber};
use crate::record::Stop;
use crate::recovery::classify::{Found, Role, Verdict, classify};
use crate::recovery::scan::{SegmentFacts, SlotFacts, scan_segment};
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

type Life = (SegmentNumber, u64);

/// The slots of this store by number and salt, and those already read.
struct Slots<'a> {
    store: &'a StoreCopy,
    all: &'a [SlotFacts],
    by_life: BTreeMap<Life, Vec<&'a SlotFacts>>,
    read: HashMap<Life, SegmentFacts>,
}

/// Finds and judges the chain.
///
/// # Errors
///
/// [`Error::Damaged`] and [`Error::NewerFormat`] by the table of docs/recovery.md; [`Error::Io`].
pub(crate) fn find_chain(store: &StoreCopy, all: &[SlotFacts]) -> Result<Chain> {
    let mut slots = Slots {
        store,
        all,
        by_life: BTreeMap::new(),
        read: HashMap::new(),
    };
    for facts in all {
        if let Some(header) = facts
            .header
            .filter(|header| header.identity == store.identity)
        {
            slots
                .by_life
                .entry((header.number, header.salt))
                .or_default()
                .push(facts);
        }
    }
    let newest = slots.by_life.keys().next_back().copied();
    let highest = newest.map_or(SegmentNumber(0), |(number, _)| number);
    let mark = Position::new(store.mark_number, store.mark_end);
    let mut chain = Chain {
        durable: mark,
        highest,
        ..Chain::default()
    };
    if store.first_number == SegmentNumber(0) {
        return Ok(chain);
    }
    let first = (store.first_number, store.first_salt);
    let Some(newest) = newest else {
        return Err(slots.missing(first));
    };
    if slots
        .by_life
        .keys()
        .filter(|life| life.0 == highest)
        .count()
        > 1
    {
        // Of two lives of one number at most one is ours, and which is not for us to say.
        let reason = DamageReason::OtherLife;
        return Err(Error::Damaged {
            segment: highest,
            offset: 0,
            reason,
        });
    }
    let last = slots.newest_begun(newest, &mut chain)?;
    if last.0 < first.0 {
        return Err(slots.missing(first));
    }
    slots.walk_back(last, &mut chain)?;
    let has_first = chain.segments.iter().any(|segment| segment.life() == first);
    let begins_later = chain
        .segments
        .first()
        .is_some_and(|oldest| oldest.life().0 > first.0);
    if !has_first && !begins_later {
        return Err(slots.missing(first));
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

impl<'a> Slots<'a> {
    /// The slot that holds this life of a segment, and its header.
    fn find(&self, life: Life) -> Result<(&'a SlotFacts, SegmentHeader)> {
        let damaged = |reason| Error::Damaged {
            segment: life.0,
            offset: 0,
            reason,
        };
        let facts = match self.by_life.get(&life).map(Vec::as_slice) {
            Some([facts]) => *facts,
            Some([_, _, ..]) => return Err(damaged(DamageReason::Twice)),
            _ => return Err(self.missing(life)),
        };
        let Some(header) = facts.header else {
            return Err(self.missing(life));
        };
        if facts.bytes != header.segment_bytes {
            let (offset, reason) = (facts.bytes.min(header.segment_bytes), DamageReason::Length);
            return Err(Error::Damaged {
                segment: life.0,
                offset,
                reason,
            });
        }
        Ok((facts, header))
    }

    /// The error for a segment that is needed and not there, as exactly as can be told.
    fn missing(&self, (number, _): Life) -> Error {
        let newer = self
            .all
            .iter()
            .find_map(|facts| Some((facts, facts.newer?)));
        if let Some((facts, (what, found))) = newer {
            return Error::NewerFormat {
                file: slot_name(facts.slot),
                what,
                found,
            };
        }
        let same_number = self
            .all
            .iter()
            .filter_map(|facts| facts.header)
            .find(|header| header.number == number);
        let has_bad_header = self
            .all
            .iter()
            .any(|facts| facts.header.is_none() && !facts.is_blank);
        let reason = match same_number {
            Some(header) if header.identity != self.store.identity => DamageReason::OtherStore,
            Some(_) => DamageReason::OtherLife,
            None if has_bad_header => DamageReason::Header,
            None => DamageReason::Missing,
        };
        Error::Damaged {
            segment: number,
            offset: 0,
            reason,
        }
    }

    /// Reads a segment to its end, once.
    fn read(&mut self, life: Life) -> Result<SegmentFacts> {
        if let Some(facts) = self.read.get(&life) {
            return Ok(*facts);
        }
        let (facts, header) = self.find(life)?;
        let read = scan_segment(facts, &header, None)?;
        self.read.insert(life, read);
        Ok(read)
    }

    /// Whether the segment is begun (rule 7 of docs/design.md).
    fn is_begun(&mut self, life: Life) -> Result<bool> {
        let (_, header) = self.find(life)?;
        if header.previous == SegmentNumber(0) || header.previous_end != 0 {
            return Ok(true);
        }
        let previous = (header.previous, header.previous_salt);
        if self.by_life.contains_key(&previous) {
            let end = self.read(previous)?.end;
            if matches!(end, End::Sealed { number, salt, .. } if (number, salt) == life) {
                return Ok(true);
            }
        }
        Ok(self.read(life)?.oldest_needed >= header.number)
    }

    /// The newest begun segment. One that is not begun is left out; its marks still count.
    fn newest_begun(&mut self, newest: Life, chain: &mut Chain) -> Result<Life> {
        if self.is_begun(newest)? {
            return Ok(newest);
        }
        let (_, header) = self.find(newest)?;
        let marks = self.read(newest)?.highest_mark.unwrap_or_default();
        let previous = (header.previous, header.previous_salt);
        self.find(previous)?;
        if !self.is_begun(previous)? {
            // What would have shown it begun may not be there at all.
            let (_, header) = self.find(previous)?;
            self.find((header.previous, header.previous_salt))?;
            let (segment, reason) = (previous.0, DamageReason::NotLinked);
            return Err(Error::Damaged {
                segment,
                offset: 0,
                reason,
            });
        }
        chain.left_out = Some(newest.0);
        chain.durable = chain.durable.max(marks);
        Ok(previous)
    }

    /// From `last` back to the oldest needed; then judges each, from the last on.
    fn walk_back(&mut self, last: Life, chain: &mut Chain) -> Result<()> {
        let mut lives = vec![last];
        let mut oldest_needed = SegmentNumber(0);
        let mut at = last;
        loop {
            let (_, header) = self.find(at)?;
            let read = self.read(at)?;
            oldest_needed = oldest_needed.max(read.oldest_needed);
            chain.durable = chain.durable.max(read.highest_mark.unwrap_or_default());
            if at.0 <= oldest_needed || header.previous == SegmentNumber(0) {
                break;
            }
            at = (header.previous, header.previous_salt);
            lives.push(at);
        }
        if at.0 < oldest_needed {
            return Err(self.missing((oldest_needed, 0)));
        }
        let mut follows: Option<SegmentHeader> = None;
        for life in lives {
            let (_, header) = self.find(life)?;
            let segment = self.judge(life, follows, chain.durable)?;
            chain.segments.push(segment);
            follows = Some(header);
        }
        chain.segments.reverse();
        Ok(())
    }

    fn judge(
        &mut self,
        life: Life,
        follows: Option<SegmentHeader>,
        durable: Position,
    ) -> Result<ChainSegment> {
        let (facts, header) = self.find(life)?;
        let is_marked = (self.store.mark_number, self.store.mark_salt) == life;
        let (role, limit) = match follows {
            None => (Role::Last, is_marked.then_some(self.store.mark_end)),
            Some(next) if next.previous_end == 0 => (Role::Sealed, None),
            Some(next) => (Role::Closed, Some(next.previous_end)),
        };
        let read = match limit {
            None => self.read(life)?,
            Some(_) => scan_segment(facts, &header, limit)?,
        };
        let next = follows.map(|next| (next.number, next.salt));
        let found = found(read.end, next);
        let end = Position::new(header.number, read.valid_end);
        let is_below_mark = role == Role::Last && end < durable;
        match classify(role, found, is_below_mark) {
            Verdict::Whole | Verdict::Tail => Ok(ChainSegment {
                facts: facts.clone(),
                header,
                end: read.valid_end,
                is_torn: found == Found::NotARecord,
            }),
            Verdict::Damaged(reason) => Err(Error::Damaged {
                segment: header.number,
                offset: read.valid_end,
                reason,
            }),
            Verdict::NewerFormat => {
                let found = if let End::NewerKind { kind, .. } = read.end {
                    kind
                } else {
                    0
                };
                let (file, what) = (slot_name(facts.slot), "the kind of a record");
                Err(Error::NewerFormat {
                    file,
                    what,
                    found: u64::from(found),
                })
            }
        }
    }
}

/// The end of a reader in the words of the table.
fn found(end: End, next: Option<Life>) -> Found {
    match end {
        End::Sealed { number, salt, .. } if next == Some((number, salt)) => Found::SealToNext,
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

//! Carrying forward: what lives in the oldest segment is copied to the end, a bounded piece at a
//! time, and then the segment is released.
//!
//! What lives is asked by ordinal, never by looking an ID up (rule 12 of docs/design.md). A record
//! that has a later copy already, from before a restart, is passed over once per copy.
//!
//! Where the addresses know that nothing of theirs is so far back the segment is not read at all:
//! that is the usual case while windows are full and all addresses are in use.

mod piece;

use std::collections::{HashMap, VecDeque};

use crate::error::{DamageReason, Error};
use crate::ids::{Ordinal, Position, SegmentNumber};
use crate::journal::{Journal, Oldest, Refused};
use crate::mutant::{self, Mutant};
#[cfg(idjournal_mutants)]
use crate::record::{Element, Record};
use crate::segment::{End, SegmentReader};
use piece::{Copies, Piece, note_pieces};

/// Who knows what lives, and copies it when asked. Each answers with the bytes appended, 0 if the
/// piece is dead.
pub(crate) trait Living {
    /// The addresses whose definitions are all that may live in `segment`, the oldest; none if more
    /// may, or if it is quicker to read the segment than to ask all addresses.
    fn only_definitions(&self, segment: SegmentNumber) -> Option<Vec<u32>>;
    /// Takes the ordinals that are dealt with out of `ordinals`, from the front on; also if it is
    /// refused in between.
    fn carry_adds(
        &self,
        address: u32,
        ordinals: &mut VecDeque<Ordinal>,
        carried: &mut u64,
    ) -> Result<(), Refused>;
    fn carry_definition(&self, address: u32, segment: SegmentNumber) -> Result<u64, Refused>;
    /// Copies the definition of an address if nothing else may tell that `ordinal` was given there:
    /// the commit that says so is of a prepare that is let go, and may lie behind the definition.
    fn carry_last(&self, address: u32, ordinal: Ordinal) -> Result<u64, Refused>;
    /// Copies a record of an ID that lives with another ordinal.
    #[cfg(idjournal_mutants)]
    fn carry_dead(&self, address: u32, ordinal: Ordinal, id: &[u8]) -> Result<u64, Refused>;
    fn carry_bookmark(&self, name: &[u8], segment: SegmentNumber) -> Result<u64, Refused>;
    fn carry_settings(&self, pattern: &[u8], segment: SegmentNumber) -> Result<u64, Refused>;
    /// Copies the prepare at `position`, if that is where an unresolved transaction lives.
    fn carry_prepare(&self, transaction: &[u8], position: Position) -> Result<PrepareIs, Refused>;
    /// Says again that these adds ended, where a record of theirs may still be.
    fn carry_removes(&self, removes: &[(u32, Ordinal)]) -> Result<u64, Refused>;
}

/// What became of a prepare.
pub(crate) enum PrepareIs {
    /// It is unresolved, and was copied with so many bytes.
    Copied(u64),
    /// It was committed, and its adds were given these ordinals; 0 is none.
    Committed(Box<[Ordinal]>),
    /// It was rolled back, or lives elsewhere.
    Gone,
}

/// Bytes of records that are looked at in one step.
const PIECE_BYTES: u64 = 4096;

/// Where carrying stands.
#[derive(Default)]
pub(crate) struct Carrier {
    cursor: Option<Cursor>,
    /// How many later copies there are of records that are still there themselves.
    copies: Copies,
}

struct Cursor {
    number: SegmentNumber,
    reader: Option<SegmentReader>,
    /// Bytes that need not be read, to be counted as looked at.
    unread: u64,
    /// Pieces of the records read last that are not dealt with yet.
    pieces: VecDeque<Piece>,
    /// Empty between calls.
    run: VecDeque<Ordinal>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is no segment but the active one.
    Nothing,
    /// It looked at so many bytes and copied so many.
    Looked { bytes: u64, carried: u64 },
    /// The oldest segment was released.
    Released(SegmentNumber),
}

impl Carrier {
    pub(crate) fn new(copies: HashMap<(u32, Ordinal), u32>) -> Carrier {
        let copies = match mutant::is(Mutant::CopyFromTheStart) {
            true => HashMap::new(),
            false => copies,
        };
        Carrier {
            cursor: None,
            copies,
        }
    }

    /// Looks at some records of the oldest segment, or carries what lives in them; at the end of
    /// the segment, releases it.
    ///
    /// # Errors
    ///
    /// [`Refused::NoRoom`]: call again once there is room; nothing is lost by it.
    pub(crate) fn step(
        &mut self,
        journal: &Journal,
        living: &impl Living,
    ) -> Result<Step, Refused> {
        // Nobody else releases, so that the segment of a cursor is the oldest as long as it is
        // read.
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            none => {
                let Some(oldest) = journal.oldest() else {
                    return Ok(Step::Nothing);
                };
                let cursor = match living.only_definitions(oldest.number) {
                    Some(addresses) => {
                        // All that lives was added in this life: nothing of it is in the segments
                        // that recovery found, nor has a copy there.
                        self.copies.clear();
                        Cursor::with_definitions(&oldest, addresses)
                    }
                    None => Cursor::open(&oldest).map_err(|error| stop(journal, error))?,
                };
                #[cfg(idjournal_mutants)]
                let cursor = cursor.behind_the_last_copy(&oldest, &mut self.copies);
                none.insert(cursor)
            }
        };
        let mut carried = 0;
        while !cursor.pieces.is_empty() {
            match cursor.carry_first(living, &mut self.copies, &mut carried) {
                Ok(()) => {}
                // What was copied before is paid for, and no longer among the pieces.
                Err(_) if carried > 0 => return Ok(Step::Looked { bytes: 0, carried }),
                Err(refused) => return Err(refused),
            }
        }
        if carried > 0 {
            return Ok(Step::Looked { bytes: 0, carried });
        }
        match cursor.advance(&mut self.copies) {
            Ok(0) => {
                let released = journal.release_oldest()?;
                self.cursor = None;
                Ok(Step::Released(released))
            }
            Ok(bytes) => Ok(Step::Looked { bytes, carried: 0 }),
            Err(error) => Err(stop(journal, error.within(&journal.place()))),
        }
    }
}

/// A segment that cannot be read to its end must never be released: the store stops.
fn stop(journal: &Journal, error: Error) -> Refused {
    journal
        .commit
        .poison(crate::error::Cause::from(error.clone()));
    Refused::Failed(error)
}

/// Deals with a piece that is no add; the ordinals that were given if it is a prepare that was
/// committed, whose own pieces then take its place.
fn carry(
    living: &impl Living,
    segment: SegmentNumber,
    piece: &Piece,
    carried: &mut u64,
) -> Result<Option<Box<[Ordinal]>>, Refused> {
    match piece {
        Piece::Add { .. } => {}
        #[cfg(idjournal_mutants)]
        Piece::Dead {
            address,
            ordinal,
            id,
        } => *carried += living.carry_dead(*address, *ordinal, id)?,
        Piece::Definition { address } => *carried += living.carry_definition(*address, segment)?,
        Piece::Last { address, ordinal } => *carried += living.carry_last(*address, *ordinal)?,
        Piece::Bookmark { name } => *carried += living.carry_bookmark(name, segment)?,
        Piece::Settings { pattern } => *carried += living.carry_settings(pattern, segment)?,
        Piece::Prepare(prepare) => {
            match living.carry_prepare(&prepare.transaction, prepare.position)? {
                PrepareIs::Copied(bytes) => *carried += bytes,
                PrepareIs::Committed(given) => return Ok(Some(given)),
                PrepareIs::Gone => {}
            }
        }
        Piece::Removes(removes) => *carried += living.carry_removes(removes)?,
    }
    Ok(None)
}

impl Cursor {
    fn open(oldest: &Oldest) -> Result<Cursor, Error> {
        let file = oldest.file.clone();
        let reader = SegmentReader::new(file, &oldest.header, Some(oldest.end))
            .map_err(|error| Error::io("read", "a segment", error))?;
        Ok(Cursor {
            number: oldest.number,
            reader: Some(reader),
            unread: 0,
            pieces: VecDeque::new(),
            run: VecDeque::new(),
        })
    }

    /// A segment in which nothing lives but these definitions, if they still do.
    fn with_definitions(oldest: &Oldest, addresses: Vec<u32>) -> Cursor {
        let pieces = addresses
            .into_iter()
            .map(|address| Piece::Definition { address });
        Cursor {
            number: oldest.number,
            reader: None,
            unread: oldest.end,
            pieces: pieces.collect(),
            run: VecDeque::new(),
        }
    }

    /// The seeded bug that begins behind the last record that has a copy.
    #[cfg(idjournal_mutants)]
    fn behind_the_last_copy(mut self, oldest: &Oldest, copies: &mut Copies) -> Cursor {
        if !mutant::is(Mutant::CursorBehindTheLastCopy) {
            return self;
        }
        let has_copy = |copies: &Copies, address: u32, ordinal: Ordinal| {
            copies.contains_key(&(address, ordinal))
        };
        let (mut records, mut last_copied) = (0, 0);
        let Ok(mut ahead) = Cursor::open(oldest) else {
            return self;
        };
        while let Some(Ok(Some(item))) = ahead.reader.as_mut().map(SegmentReader::next) {
            records += 1;
            let is_copied = match &item.decoded.record {
                Record::Add(add) => has_copy(copies, add.address, add.ordinal),
                Record::Transaction { elements, .. } => elements.clone().any(|element| {
                    matches!(element, Element::Add { address, ordinal, .. }
                        if has_copy(copies, address, ordinal))
                }),
                _ => false,
            };
            last_copied = if is_copied { records } else { last_copied };
        }
        for _ in 0..last_copied {
            let _ = self.reader.as_mut().map(SegmentReader::next);
        }
        if last_copied > 0 {
            copies.clear();
        }
        self
    }

    /// Deals with the first piece; with adds, with all of one address that come first.
    fn carry_first(
        &mut self,
        living: &impl Living,
        copies: &mut Copies,
        carried: &mut u64,
    ) -> Result<(), Refused> {
        let Some(first) = self.pieces.front() else {
            return Ok(());
        };
        if let Piece::Add { address, .. } = *first {
            return self.carry_run(living, address, carried);
        }
        let committed = carry(living, self.number, first, carried)?;
        let dealt_with = self.pieces.pop_front();
        if let (Some(Piece::Prepare(prepare)), Some(given)) = (dealt_with, committed) {
            let mut pieces = prepare.committed(&given, copies);
            pieces.append(&mut self.pieces);
            self.pieces = pieces;
        }
        Ok(())
    }

    /// Carries the adds of `address` that come first; those that are refused stay where they were.
    fn carry_run(
        &mut self,
        living: &impl Living,
        address: u32,
        carried: &mut u64,
    ) -> Result<(), Refused> {
        let run = &mut self.run;
        let is_own =
            |piece: &mut Piece| matches!(piece, Piece::Add { address: of, .. } if *of == address);
        while let Some(Piece::Add { ordinal, .. }) = self.pieces.pop_front_if(is_own) {
            run.push_back(ordinal);
        }
        let done = living.carry_adds(address, run, carried);
        if done.is_err() {
            let left = run.iter().rev().copied();
            left.for_each(|ordinal| self.pieces.push_front(Piece::Add { address, ordinal }));
        }
        run.clear();
        done
    }

    /// Reads some records and notes their pieces; how many bytes those were, 0 at the end.
    fn advance(&mut self, copies: &mut Copies) -> Result<u64, Error> {
        let Some(reader) = &mut self.reader else {
            return Ok(std::mem::take(&mut self.unread));
        };
        let mut bytes = 0;
        while bytes < PIECE_BYTES {
            let item = reader.next();
            let item = item.map_err(|error| Error::io("read", "a segment", error))?;
            let Some(item) = item else { break };
            bytes += item.decoded.bytes;
            let position = Position::new(self.number, item.offset);
            note_pieces(&mut self.pieces, copies, &item.decoded.record, position);
        }
        match reader.end() {
            None | Some(End::Limit | End::Sealed { .. }) => Ok(bytes),
            Some(_) => {
                let (number, offset) = (self.number, reader.valid_end());
                Err(Error::damaged(number, offset, DamageReason::Checksum))
            }
        }
    }
}

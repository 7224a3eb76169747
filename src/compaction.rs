//! Carrying forward: what lives in the oldest segment is copied to the end, a bounded piece at a
//! time, and then the segment is released.
//!
//! What lives is asked by ordinal, never by looking an ID up (rule 12 of docs/design.md). A record
//! that has a later copy already, from before a restart, is passed over once per copy.

use std::collections::{HashMap, VecDeque};

use crate::error::{DamageReason, Error};
use crate::ids::{Ordinal, SegmentNumber};
use crate::journal::{Journal, Oldest, Refused};
use crate::mutant::{self, Mutant};
use crate::record::{Element, Record};
use crate::segment::{End, SegmentReader};

/// Who knows what lives, and copies it when asked. Each answers with the bytes appended, 0 if the
/// piece is dead.
pub(crate) trait Living {
    fn carry_add(&self, address: u32, ordinal: Ordinal) -> Result<u64, Refused>;
    fn carry_definition(&self, address: u32, segment: SegmentNumber) -> Result<u64, Refused>;
    /// Copies a record of an ID that lives with another ordinal.
    #[cfg(idjournal_mutants)]
    fn carry_dead(&self, address: u32, ordinal: Ordinal, id: &[u8]) -> Result<u64, Refused>;
    fn carry_bookmark(&self, name: &[u8], segment: SegmentNumber) -> Result<u64, Refused>;
    fn carry_prepare(&self, transaction: &[u8], segment: SegmentNumber) -> Result<u64, Refused>;
}

/// Where carrying stands.
#[derive(Default)]
pub(crate) struct Carrier {
    cursor: Option<Cursor>,
    /// How many later copies there are of records that are still there themselves.
    copies: HashMap<(u32, Ordinal), u32>,
}

struct Cursor {
    number: SegmentNumber,
    reader: SegmentReader,
    /// Pieces of the record read last that are not dealt with yet.
    pieces: VecDeque<Piece>,
}

/// What may have to be carried.
enum Piece {
    Add {
        address: u32,
        ordinal: Ordinal,
    },
    #[cfg(idjournal_mutants)]
    Dead {
        address: u32,
        ordinal: Ordinal,
        id: Box<[u8]>,
    },
    Definition {
        address: u32,
    },
    Bookmark {
        name: Box<[u8]>,
    },
    Prepare {
        transaction: Box<[u8]>,
    },
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

    /// Looks at one record of the oldest segment, or carries one piece of it; at the end of the
    /// segment, releases it.
    ///
    /// # Errors
    ///
    /// [`Refused::NoRoom`]: call again once there is room; nothing is lost by it.
    pub(crate) fn step(
        &mut self,
        journal: &Journal,
        living: &impl Living,
    ) -> Result<Step, Refused> {
        let Some(oldest) = journal.oldest() else {
            return Ok(Step::Nothing);
        };
        let cursor = match &mut self.cursor {
            Some(cursor) if cursor.number == oldest.number => cursor,
            other => {
                let cursor = Cursor::open(&oldest).map_err(|error| stop(journal, error))?;
                #[cfg(idjournal_mutants)]
                let cursor = cursor.behind_the_last_copy(&oldest, &mut self.copies);
                other.insert(cursor)
            }
        };
        if let Some(piece) = cursor.pieces.front() {
            let carried = carry(living, &mut self.copies, cursor.number, piece)?;
            cursor.pieces.pop_front();
            return Ok(Step::Looked { bytes: 0, carried });
        }
        match cursor.advance() {
            Ok(Some(bytes)) => Ok(Step::Looked { bytes, carried: 0 }),
            Ok(None) => {
                let released = journal.release_oldest()?;
                self.cursor = None;
                Ok(Step::Released(released))
            }
            Err(error) => Err(stop(journal, error)),
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

fn carry(
    living: &impl Living,
    copies: &mut HashMap<(u32, Ordinal), u32>,
    segment: SegmentNumber,
    piece: &Piece,
) -> Result<u64, Refused> {
    match piece {
        Piece::Add { address, ordinal } => {
            let key = (*address, *ordinal);
            match copies.get_mut(&key) {
                None => living.carry_add(*address, *ordinal),
                Some(0 | 1) => {
                    copies.remove(&key);
                    Ok(0)
                }
                Some(count) => {
                    *count -= 1;
                    Ok(0)
                }
            }
        }
        #[cfg(idjournal_mutants)]
        Piece::Dead {
            address,
            ordinal,
            id,
        } => living.carry_dead(*address, *ordinal, id),
        Piece::Definition { address } => living.carry_definition(*address, segment),
        Piece::Bookmark { name } => living.carry_bookmark(name, segment),
        Piece::Prepare { transaction } => living.carry_prepare(transaction, segment),
    }
}

impl Cursor {
    fn open(oldest: &Oldest) -> Result<Cursor, Error> {
        let file = oldest.file.clone();
        let reader = SegmentReader::new(file, &oldest.header, Some(oldest.end))
            .map_err(|error| Error::io("read", "a segment", error))?;
        Ok(Cursor {
            number: oldest.number,
            reader,
            pieces: VecDeque::new(),
        })
    }

    /// The seeded bug that begins behind the last record that has a copy.
    #[cfg(idjournal_mutants)]
    fn behind_the_last_copy(
        mut self,
        oldest: &Oldest,
        copies: &mut HashMap<(u32, Ordinal), u32>,
    ) -> Cursor {
        let mut records = 0;
        let mut last_copied = 0;
        let mut ahead = match Cursor::open(oldest) {
            Ok(cursor) if mutant::is(Mutant::CursorBehindTheLastCopy) => cursor,
            _ => return self,
        };
        while let Ok(Some(_)) = ahead.advance() {
            records += 1;
            let has_copy = ahead.pieces.drain(..).any(|piece| match piece {
                Piece::Add { address, ordinal } => copies.contains_key(&(address, ordinal)),
                _ => false,
            });
            last_copied = if has_copy { records } else { last_copied };
        }
        for _ in 0..last_copied {
            let _ = self.advance();
            self.pieces.clear();
        }
        if last_copied > 0 {
            copies.clear();
        }
        self
    }

    /// Reads one record and notes its pieces; its bytes, or none at the end.
    fn advance(&mut self) -> Result<Option<u64>, Error> {
        let item = self.reader.next();
        let item = item.map_err(|error| Error::io("read", "a segment", error))?;
        if let Some(item) = item {
            let bytes = item.decoded.bytes;
            note_pieces(&mut self.pieces, &item.decoded.record);
            return Ok(Some(bytes));
        }
        match self.reader.end() {
            Some(End::Limit | End::Sealed { .. }) => Ok(None),
            _ => Err(Error::Damaged {
                segment: self.number,
                offset: self.reader.valid_end(),
                reason: DamageReason::Checksum,
            }),
        }
    }
}

fn note_pieces(pieces: &mut VecDeque<Piece>, record: &Record<'_>) {
    match record {
        Record::Add(add) | Record::Renew { add, .. } => {
            #[cfg(idjournal_mutants)]
            if mutant::is(Mutant::LiveIfTheIdIsHeld) {
                pieces.push_back(Piece::Dead {
                    address: add.address,
                    ordinal: add.ordinal,
                    id: Box::from(add.id),
                });
            }
            pieces.push_back(Piece::Add {
                address: add.address,
                ordinal: add.ordinal,
            });
        }
        Record::Definition(definition) => {
            pieces.push_back(Piece::Definition {
                address: definition.address,
            });
        }
        Record::Bookmark { name, .. } => {
            pieces.push_back(Piece::Bookmark {
                name: Box::from(*name),
            });
        }
        Record::Prepare { transaction, .. } => {
            pieces.push_back(Piece::Prepare {
                transaction: Box::from(*transaction),
            });
        }
        Record::Transaction { elements, .. } => {
            pieces.extend((*elements).filter_map(|element| match element {
                Element::Add {
                    address, ordinal, ..
                } => Some(Piece::Add { address, ordinal }),
                Element::Bookmark { name, .. } => Some(Piece::Bookmark {
                    name: Box::from(name),
                }),
                Element::Remove { .. } => None,
            }));
        }
        _ => {}
    }
}

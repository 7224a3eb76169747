//! What a record may have left to be carried, in pieces that are dealt with one by one.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::ids::{Ordinal, Position};
#[cfg(idjournal_mutants)]
use crate::mutant::{self, Mutant};
use crate::record::{Element, Elements, Record};

/// How many later copies there are of records that are still there themselves.
pub(super) type Copies = HashMap<(u32, Ordinal), u32>;

/// What may have to be carried.
pub(super) enum Piece {
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
    Prepare(Box<Prepare>),
    Settings {
        pattern: Box<[u8]>,
    },
    /// The last place that a commit gave at an address.
    Last {
        address: u32,
        ordinal: Ordinal,
    },
    /// What ended adds whose copies may lie behind the record that says so.
    Removes(Vec<(u32, Ordinal)>),
}

/// A prepare, and what it leaves if it was committed since.
pub(super) struct Prepare {
    pub(super) transaction: Box<[u8]>,
    pub(super) position: Position,
    /// The addresses of its adds, in order.
    adds: Vec<u32>,
    removes: Vec<(u32, Ordinal)>,
    bookmarks: Vec<Box<[u8]>>,
}

impl Prepare {
    fn new(transaction: &[u8], position: Position, elements: &Elements<'_>) -> Prepare {
        let mut prepare = Prepare {
            transaction: Box::from(transaction),
            position,
            adds: Vec::new(),
            removes: Vec::new(),
            bookmarks: Vec::new(),
        };
        for element in *elements {
            match element {
                Element::Add { address, .. } => prepare.adds.push(address),
                Element::Remove { address, ordinal } => prepare.removes.push((address, ordinal)),
                Element::Bookmark { name, .. } => prepare.bookmarks.push(Box::from(name)),
            }
        }
        prepare
    }

    /// Its pieces, now that its adds were given these places; 0 is none.
    pub(super) fn committed(self, given: &[Ordinal], copies: &mut Copies) -> VecDeque<Piece> {
        let mut pieces = VecDeque::new();
        let placed = self.adds.into_iter().zip(given.iter().copied());
        let placed: Vec<(u32, Ordinal)> = placed
            .filter(|(_, ordinal)| *ordinal != Ordinal(0))
            .collect();
        for (address, ordinal) in &placed {
            note_add(&mut pieces, copies, *address, *ordinal);
        }
        let last: BTreeMap<u32, Ordinal> = placed.into_iter().collect();
        let last = last.into_iter();
        pieces.extend(last.map(|(address, ordinal)| Piece::Last { address, ordinal }));
        let bookmarks = self.bookmarks.into_iter();
        pieces.extend(bookmarks.map(|name| Piece::Bookmark { name }));
        if !self.removes.is_empty() {
            pieces.push_back(Piece::Removes(self.removes));
        }
        pieces
    }
}

/// Notes what of `record` may have to be carried.
pub(super) fn note_pieces(
    pieces: &mut VecDeque<Piece>,
    copies: &mut Copies,
    record: &Record<'_>,
    position: Position,
) {
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
            note_add(pieces, copies, add.address, add.ordinal);
        }
        Record::Definition(definition) => {
            let address = definition.address;
            pieces.push_back(Piece::Definition { address });
        }
        Record::Bookmark { name, .. } => {
            let name = Box::from(*name);
            pieces.push_back(Piece::Bookmark { name });
        }
        Record::Prepare {
            transaction,
            elements,
            ..
        } => {
            let prepare = Prepare::new(transaction, position, elements);
            pieces.push_back(Piece::Prepare(Box::new(prepare)));
        }
        Record::Settings { pattern, .. } => {
            let pattern = Box::from(*pattern);
            pieces.push_back(Piece::Settings { pattern });
        }
        Record::Transaction { elements, .. } => {
            for element in *elements {
                match element {
                    Element::Add {
                        address, ordinal, ..
                    } => {
                        note_add(pieces, copies, address, ordinal);
                    }
                    Element::Bookmark { name, .. } => {
                        let name = Box::from(name);
                        pieces.push_back(Piece::Bookmark { name });
                    }
                    Element::Remove { .. } => {}
                }
            }
        }
        _ => {}
    }
}

/// Notes an add.
fn note_add(pieces: &mut VecDeque<Piece>, copies: &mut Copies, address: u32, ordinal: Ordinal) {
    if copies.is_empty() || !has_copy(copies, (address, ordinal)) {
        pieces.push_back(Piece::Add { address, ordinal });
    }
}

/// Takes one copy off those that a record has later on; whether there was one.
fn has_copy(copies: &mut Copies, key: (u32, Ordinal)) -> bool {
    let Some(count) = copies.get_mut(&key) else {
        return false;
    };
    *count = count.saturating_sub(1);
    if *count == 0 {
        copies.remove(&key);
    }
    true
}

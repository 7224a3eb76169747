//! What lives in the journal beside IDs, applied: bookmarks and prepared transactions.
//!
//! The adds, removes and bookmarks of a committed transaction lie in its prepare, and the commit
//! says only which places the adds were given. So what a commit did is where the prepare is.

use crate::address_settings::AddressSettings;
use crate::error::Result;
use crate::ids::{Ordinal, Owner, Position, SegmentNumber, Ticks};
use crate::mutant::{self, Mutant};
use crate::record::{Add, Element, Elements, Ordinals, PREPARED_HOLE};
use crate::recovery::replay::{At, Replayed, element_bytes, malformed};

/// The latest value of a bookmark, and where its record is.
pub(crate) struct Bookmark {
    pub(crate) value: Box<[u8]>,
    pub(crate) time: Ticks,
    pub(crate) segment: SegmentNumber,
    /// What it takes in that record.
    pub(crate) record_bytes: u64,
}

/// The settings of a pattern, and where their record is.
pub(crate) struct Configured {
    pub(crate) settings: AddressSettings,
    pub(crate) time: Ticks,
    pub(crate) segment: SegmentNumber,
    pub(crate) record_bytes: u64,
}

/// A prepared transaction that is not resolved.
pub(crate) struct Prepared {
    pub(crate) owner: Owner,
    pub(crate) time: Ticks,
    pub(crate) changes: Vec<Change>,
    /// Where the last record of it stands, which is the one that lives.
    pub(crate) position: Position,
    pub(crate) record_bytes: u64,
}

/// One change of a prepared transaction, owned.
pub(crate) enum Change {
    Add {
        address: u32,
        value: Box<[u8]>,
        id: Box<[u8]>,
        /// Whether the transaction removes it again: then it is a place without an ID.
        is_hole: bool,
    },
    Remove {
        address: u32,
        ordinal: Ordinal,
    },
    Bookmark {
        name: Box<[u8]>,
        value: Box<[u8]>,
    },
}

impl Change {
    /// The change as a prepare has it, of the address with the number that `number` gives.
    pub(crate) fn element(&self, number: impl Fn(u32) -> u32) -> Element<'_> {
        match self {
            Change::Add {
                address,
                value,
                id,
                is_hole,
            } => Element::Add {
                address: number(*address),
                ordinal: if *is_hole { PREPARED_HOLE } else { Ordinal(0) },
                value: Some(&**value),
                id,
            },
            Change::Remove { address, ordinal } => Element::Remove {
                address: number(*address),
                ordinal: *ordinal,
            },
            Change::Bookmark { name, value } => Element::Bookmark { name, value },
        }
    }

    /// The address that it is of; a bookmark is of none.
    pub(crate) fn address(&self) -> Option<u32> {
        match self {
            Change::Add { address, .. } | Change::Remove { address, .. } => Some(*address),
            Change::Bookmark { .. } => None,
        }
    }

    /// The same change, of another number or place.
    pub(crate) fn with_address(mut self, of: impl Fn(u32) -> u32) -> Change {
        if let Change::Add { address, .. } | Change::Remove { address, .. } = &mut self {
            *address = of(*address);
        }
        self
    }
}

impl From<Element<'_>> for Change {
    fn from(element: Element<'_>) -> Change {
        match element {
            Element::Add {
                address,
                value,
                id,
                ordinal,
            } => Change::Add {
                address,
                value: Box::from(value.unwrap_or_default()),
                id: Box::from(id),
                is_hole: ordinal == PREPARED_HOLE,
            },
            Element::Remove { address, ordinal } => Change::Remove { address, ordinal },
            Element::Bookmark { name, value } => Change::Bookmark {
                name: Box::from(name),
                value: Box::from(value),
            },
        }
    }
}

impl Replayed {
    /// Applies a prepare. One that is carried stands for the one before it.
    pub(super) fn prepare(
        &mut self,
        at: At,
        (time, owner): (Ticks, Owner),
        transaction: &[u8],
        (elements, record_bytes): (&Elements<'_>, u64),
    ) -> Result<()> {
        self.newest_time = self.newest_time.max(time);
        let changes: Vec<Change> = (*elements).map(Change::from).collect();
        for address in changes.iter().filter_map(Change::address) {
            // From here on its number is named.
            self.at(at, address)?;
        }
        let prepared = Prepared {
            owner,
            time,
            changes,
            position: at.position(),
            record_bytes,
        };
        self.prepared.insert(Box::from(transaction), prepared);
        Ok(())
    }

    /// Applies a commit; of a transaction that is not there it says nothing.
    pub(super) fn commit(
        &mut self,
        at: At,
        time: Ticks,
        transaction: &[u8],
        ordinals: Ordinals<'_>,
    ) -> Result<()> {
        self.newest_time = self.newest_time.max(time);
        let Some(prepared) = self.prepared.remove(transaction) else {
            return Ok(());
        };
        let is_add = |change: &&Change| matches!(change, Change::Add { .. });
        if prepared.changes.iter().filter(is_add).count() != ordinals.len() {
            return Err(malformed(at, "a commit gives ordinals to other adds"));
        }
        let count = prepared.changes.len() as u64;
        let mut given = ordinals;
        for change in &prepared.changes {
            let bytes = element_bytes(count, &change.element(|number| number));
            match change {
                Change::Add {
                    address,
                    value,
                    id,
                    is_hole,
                } => {
                    let ordinal = given.next().unwrap_or_default();
                    if ordinal == Ordinal(0) {
                        continue;
                    }
                    let is_wrong = mutant::is(Mutant::CommitWithWrongOrdinals);
                    let ordinal = Ordinal(ordinal.0 + u64::from(is_wrong));
                    let add = Add {
                        address: *address,
                        ordinal,
                        time,
                        value: Some(value),
                        id,
                    };
                    self.add(at, &add, self.hasher.hash(id), (bytes, false))?;
                    if *is_hole {
                        self.at(at, *address)?.cache.remove(ordinal);
                    }
                }
                Change::Remove { address, ordinal } => {
                    self.at(at, *address)?.cache.remove(*ordinal);
                }
                Change::Bookmark { name, value } => {
                    let segment = prepared.position.segment();
                    self.bookmark(segment, time, (name, value), bytes);
                }
            }
        }
        self.committed.insert(prepared.position, ordinals.collect());
        Ok(())
    }

    /// Applies a bookmark whose bytes are in `segment`.
    pub(super) fn bookmark(
        &mut self,
        segment: SegmentNumber,
        time: Ticks,
        (name, value): (&[u8], &[u8]),
        record_bytes: u64,
    ) {
        self.newest_time = self.newest_time.max(time);
        let is_known = self.bookmarks.contains_key(name);
        if is_known && mutant::is(Mutant::BookmarkOutOfOrder) {
            return;
        }
        let bookmark = Bookmark {
            value: Box::from(value),
            time,
            segment,
            record_bytes,
        };
        self.bookmarks.insert(Box::from(name), bookmark);
    }

    /// Checks what can only be known at the end: each address that is named has a name.
    pub(super) fn check_prepared(&self) -> Result<()> {
        for prepared in self.prepared.values() {
            let mut named = prepared.changes.iter().filter_map(Change::address);
            let has_name = |number: &u32| {
                let address = self.addresses.get(number);
                address.is_some_and(|address| address.name.is_some())
            };
            if !named.all(|number| has_name(&number)) {
                let at = At {
                    segment: prepared.position.segment(),
                    offset: prepared.position.offset(),
                };
                return Err(malformed(
                    at,
                    "a prepared transaction names an address without a definition",
                ));
            }
        }
        Ok(())
    }
}

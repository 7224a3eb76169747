//! What lives in the journal beside IDs: bookmarks and prepared transactions, kept and carried.

use std::collections::HashMap;

use crate::ids::{Ordinal, Owner, SegmentNumber, Ticks};
use crate::record::{Element, TransactionBody};
use crate::recovery::Change;

/// Bookmarks and prepared transactions as the journal left them.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) bookmarks: HashMap<Box<[u8]>, Bookmark>,
    pub(crate) prepared: HashMap<Box<[u8]>, Prepared>,
}

impl Extras {
    /// The oldest segment in which one of them lives; the highest number if there is none.
    pub(crate) fn oldest(&self) -> SegmentNumber {
        let bookmarks = self.bookmarks.values().map(|bookmark| bookmark.segment);
        let prepared = self.prepared.values().map(|prepared| prepared.segment);
        bookmarks
            .chain(prepared)
            .min()
            .unwrap_or(SegmentNumber::MAX)
    }
}

/// The latest value of a bookmark.
pub(crate) struct Bookmark {
    pub(crate) value: Box<[u8]>,
    pub(crate) time: Ticks,
    pub(crate) segment: SegmentNumber,
}

/// A prepared transaction that is not resolved.
pub(crate) struct Prepared {
    pub(crate) owner: Owner,
    pub(crate) time: Ticks,
    pub(crate) changes: Vec<Change>,
    pub(crate) segment: SegmentNumber,
}

impl Prepared {
    /// Its changes as the body of a record has them.
    pub(crate) fn body(&self) -> TransactionBody {
        let mut body = TransactionBody::default();
        for change in &self.changes {
            body.push(match change {
                Change::Add { address, value, id } => {
                    let (address, ordinal, value) = (*address, Ordinal(0), Some(&**value));
                    Element::Add {
                        address,
                        ordinal,
                        value,
                        id,
                    }
                }
                Change::Remove { address, ordinal } => Element::Remove {
                    address: *address,
                    ordinal: *ordinal,
                },
                Change::Bookmark { name, value } => Element::Bookmark { name, value },
            });
        }
        body
    }
}

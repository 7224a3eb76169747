//! What a replay finds beside IDs: bookmarks and prepared transactions.

use crate::ids::{Ordinal, Owner, SegmentNumber, Ticks};
use crate::record::Element;

/// A bookmark as the journal leaves it.
pub(crate) struct ReplayedBookmark {
    pub(crate) value: Box<[u8]>,
    pub(crate) time: Ticks,
    pub(crate) segment: SegmentNumber,
}

/// A prepared transaction that is not resolved.
pub(crate) struct ReplayedPrepare {
    pub(crate) owner: Owner,
    pub(crate) time: Ticks,
    pub(crate) changes: Vec<Change>,
    pub(crate) segment: SegmentNumber,
}

/// One change of a prepared transaction, owned.
pub(crate) enum Change {
    Add {
        address: u32,
        value: Box<[u8]>,
        id: Box<[u8]>,
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

impl From<Element<'_>> for Change {
    fn from(element: Element<'_>) -> Change {
        match element {
            Element::Add {
                address, value, id, ..
            } => {
                let value = Box::from(value.unwrap_or_default());
                Change::Add {
                    address,
                    value,
                    id: Box::from(id),
                }
            }
            Element::Remove { address, ordinal } => Change::Remove { address, ordinal },
            Element::Bookmark { name, value } => Change::Bookmark {
                name: Box::from(name),
                value: Box::from(value),
            },
        }
    }
}

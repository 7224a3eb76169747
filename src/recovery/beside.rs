//! What lives in the journal beside IDs: bookmarks and prepared transactions.

use crate::address_settings::AddressSettings;
use crate::ids::{Ordinal, Owner, SegmentNumber, Ticks};
use crate::record::{Element, TransactionBody};

/// The latest value of a bookmark, and where its record is.
pub(crate) struct Bookmark {
    pub(crate) value: Box<[u8]>,
    pub(crate) time: Ticks,
    pub(crate) segment: SegmentNumber,
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

//! What a look at a journal finds, and where.

use std::fmt;

use crate::error::{Bytes, DamageReason, Error};
use crate::ids::{SegmentNumber, Slot};

/// Something worth telling.
///
/// Shown, it is one line of printable ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where.
    pub place: FindingPlace,
    /// What.
    pub reason: Reason,
}

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingPlace {
    /// The directory as a whole.
    Directory,
    /// The store file.
    Store {
        /// The byte in it.
        offset: u64,
    },
    /// A segment.
    Segment {
        /// Its number.
        number: SegmentNumber,
        /// The slot that holds it; none if it is missing.
        slot: Option<Slot>,
        /// The byte in it.
        offset: u64,
    },
    /// A file by its name.
    File(Bytes),
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Wrong bytes where right ones were known to be: the store is refused.
    Damaged(DamageReason),
    /// The last segment ends in bytes that are no record and not zeros: a torn tail, or what an
    /// earlier life of the slot left.
    TornTail {
        /// Bytes from there to the end of the segment.
        bytes: u64,
    },
    /// The newest segment is not begun and is left out with its records.
    LeftOut,
    /// One of two copies of a header is not valid; the other one counts.
    BadCopy {
        /// Which one: 0 or 1.
        copy: u8,
    },
    /// A file that was being made or renamed; the next open removes it or renames it back.
    Leftover,
    /// A file that is not of the store. It is left alone.
    Foreign,
    /// The store changes faster than it can be read: what is told of it is incomplete.
    Moving,
    /// The segment was let go or written over while it was read.
    Overtaken,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// No fault of the store.
    Note,
    /// The store is refused because of it.
    Damage,
}

impl Finding {
    pub(super) fn new(place: FindingPlace, reason: Reason) -> Finding {
        Finding { place, reason }
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        match self.reason {
            Reason::Damaged(_) => Severity::Damage,
            _ => Severity::Note,
        }
    }

    /// The finding for an error that says that the store is damaged; else the error.
    pub(super) fn of(
        error: Error,
        slot: impl Fn(SegmentNumber) -> Option<Slot>,
    ) -> Result<Finding, Error> {
        match error {
            Error::Damaged {
                segment,
                offset,
                reason,
                ..
            } => {
                let place = match segment {
                    SegmentNumber(0) => FindingPlace::Store { offset },
                    number => FindingPlace::Segment {
                        number,
                        slot: slot(number),
                        offset,
                    },
                };
                Ok(Finding::new(place, Reason::Damaged(reason)))
            }
            other => Err(other),
        }
    }

    /// Whether it is about bytes of one segment, which a second reading finds the same only if they
    /// are; what is missing can be told of the directory as a whole only.
    pub(super) fn is_of_bytes(&self) -> bool {
        use DamageReason::{Checksum, EndsTooEarly, Malformed};
        matches!(
            self.reason,
            Reason::Damaged(Checksum | EndsTooEarly | Malformed(_)) | Reason::BadCopy { .. }
        )
    }

    /// Whether it may be nothing but a change that was made during the reading.
    pub(super) fn is_in_doubt(&self) -> bool {
        matches!(self.reason, Reason::Damaged(_) | Reason::BadCopy { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity() {
            Severity::Damage => "damage",
            Severity::Note => "note",
        };
        write!(formatter, "{severity}: {}: {}", self.place, self.reason)
    }
}

impl fmt::Display for FindingPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindingPlace::Directory => formatter.write_str("directory"),
            FindingPlace::Store { offset } => write!(formatter, "store file offset {offset}"),
            FindingPlace::Segment {
                number,
                slot: Some(slot),
                offset,
            } => write!(formatter, "segment {number} slot {slot} offset {offset}"),
            FindingPlace::Segment { number, offset, .. } => {
                write!(formatter, "segment {number} offset {offset}")
            }
            FindingPlace::File(name) => write!(formatter, "file {name}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Reason::Damaged(reason) => return fmt::Display::fmt(reason, formatter),
            Reason::TornTail { bytes } => {
                return write!(
                    formatter,
                    "the records end before {bytes} bytes of a torn tail or of an earlier life"
                );
            }
            Reason::BadCopy { copy } => {
                return write!(
                    formatter,
                    "copy {copy} of the header is not valid, the other is"
                );
            }
            Reason::LeftOut => "the segment is not begun and is left out",
            Reason::Leftover => "it was being made or renamed; the next open finishes that",
            Reason::Foreign => "it is not of the store, and is left alone",
            Reason::Moving => "moving: the store changes faster than it can be read",
            Reason::Overtaken => "moving: the segment was written over while it was read",
        };
        formatter.write_str(text)
    }
}

//! The one error type: each variant tells cause, place and remedy and keeps its source.
//!
//! An error of the operating system is [`Error::Io`], never [`Error::Damaged`]. Bytes of callers
//! and files are shown with everything escaped that a terminal could act on.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::ids::{Owner, SegmentNumber};

#[cfg(feature = "serde")]
mod written;

/// What the calls of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, by what a caller can do about it.
///
/// It is cheap to clone, so that all who wait for one sync can be told the same cause.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no space for this record, and nothing of it is on disk.
    ///
    /// The store stays usable: make space and call again. Clearing, dropping and removing go on.
    /// From `open` it means that writing over what is there took space, as on btrfs, and recovery
    /// found none: nothing is lost; make space and open again.
    #[error("no space for {what} in {place}")]
    NoSpace {
        /// What was to be written.
        what: &'static str,
        /// The directory.
        place: String,
        /// What the operating system said, if it was asked.
        #[source]
        source: Option<Cause>,
    },

    /// The write or sync that this call waited for failed: the record may be on disk or not.
    ///
    /// Reopening the store settles it: the retry then answers "added" or "duplicate".
    #[error("outcome unknown: a write or sync of the journal in {place} failed")]
    OutcomeUnknown {
        /// The directory.
        place: String,
        /// What failed.
        #[source]
        source: Cause,
    },

    /// An earlier write or sync failed, and nothing is recorded any more. Reopen the store.
    #[error("the store in {place} is poisoned by an earlier failure; reopen it")]
    Poisoned {
        /// The directory.
        place: String,
        /// The first failure.
        #[source]
        source: Cause,
    },

    /// The store was opened by the process that this one was forked off. Nothing was done.
    ///
    /// Only that process can use it; a child opens a store of its own, once the parent's is closed.
    #[error("the store in {place} was opened by the parent of this forked process; use it there")]
    Forked {
        /// The directory.
        place: String,
    },

    /// The store is closed.
    #[error("the store is closed")]
    Closed,

    /// The receipt was awaited before, which gave its outcome. Keep that.
    #[error("the outcome of this receipt was taken before")]
    OutcomeTaken,

    /// The transaction met an ID that is known or pending, and was begun to reject that.
    #[error("transaction rejected: ID {id} of address {address} is {state}")]
    Rejected {
        /// The address.
        address: Bytes,
        /// The ID.
        id: Bytes,
        /// Whether it is known or pending.
        state: RejectedBecause,
    },

    /// A transaction with this ID is prepared already, and not resolved. The new one was rolled
    /// back.
    #[error("a transaction with the ID {id} is prepared already")]
    TransactionExists {
        /// The ID of the transaction.
        id: Bytes,
    },

    /// A limit is exceeded; nothing was done.
    #[error("{limit}: at most {max}, this is {actual}")]
    Limit {
        /// The limit by name.
        limit: &'static str,
        /// The highest value allowed.
        max: u64,
        /// The value that was given or reached.
        actual: u64,
    },

    /// Another open store holds the directory.
    ///
    /// The process named may have ended while a child that it forked still holds the lock.
    #[error("the store in {place} is locked by process {holder} (or a child of it)")]
    Locked {
        /// The directory.
        place: String,
        /// The process number that the holder wrote.
        holder: String,
    },

    /// A cache of another store was given to a transaction.
    #[error("the cache of address {address} belongs to another store")]
    ForeignCache {
        /// The address.
        address: Bytes,
    },

    /// Wrong bytes stand where right ones were known to be.
    ///
    /// Cause: a failing medium, a foreign write, a mixed-up copy. The store is not opened and
    /// nothing is changed on disk. See docs/recovery.md, "damaged", for the choices.
    #[error("{} in {place} is damaged at byte {offset}: {reason}", Place(*.segment))]
    Damaged {
        /// The directory.
        place: String,
        /// The segment; 0 stands for the store file.
        segment: SegmentNumber,
        /// Where in its file.
        offset: u64,
        /// What is wrong there.
        reason: DamageReason,
    },

    /// The store was written by a newer version of this crate. Use that one.
    #[error("{file} is of a newer format: {what} is {found}")]
    NewerFormat {
        /// The file.
        file: String,
        /// What tells it.
        what: &'static str,
        /// Its value.
        found: u64,
    },

    /// The directory holds something that is not a store, or a part of one. Nothing is changed.
    #[error("{place} is not a store: {why}")]
    NotAStore {
        /// The directory.
        place: String,
        /// What was found there.
        why: &'static str,
    },

    /// The options contradict each other or the store.
    #[error("option {option}: {why}")]
    Options {
        /// The option by name.
        option: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },

    /// The operating system reports an error outside writing the journal; nothing is lost by it.
    #[error("cannot {doing} {file}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        file: String,
        /// What the operating system said.
        #[source]
        source: Cause,
    },
}

impl Error {
    /// This error with the directory that it is of: what reads segments knows their slots only.
    pub(crate) fn within(self, directory: &str) -> Error {
        let path = |file: String| {
            if file.starts_with(directory) {
                file
            } else {
                format!("{directory}/{file}")
            }
        };
        match self {
            Error::Damaged {
                segment,
                offset,
                reason,
                ..
            } => Error::Damaged {
                place: String::from(directory),
                segment,
                offset,
                reason,
            },
            Error::NewerFormat { file, what, found } => Error::NewerFormat {
                file: path(file),
                what,
                found,
            },
            Error::Io {
                doing,
                file,
                source,
            } => Error::Io {
                doing,
                file: path(file),
                source,
            },
            other => other,
        }
    }

    /// The damage of a place in a segment, whose directory is told by [`within`](Error::within).
    pub(crate) fn damaged(segment: SegmentNumber, offset: u64, reason: DamageReason) -> Error {
        Error::Damaged {
            place: String::new(),
            segment,
            offset,
            reason,
        }
    }

    pub(crate) fn io(doing: &'static str, file: impl Into<String>, source: io::Error) -> Error {
        Error::Io {
            doing,
            file: file.into(),
            source: Cause::from(source),
        }
    }
}

/// Why a transaction was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectedBecause {
    /// The ID is known.
    Known,
    /// The ID is claimed by this owner.
    Pending(Owner),
}

impl fmt::Display for RejectedBecause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RejectedBecause::Known => formatter.write_str("known"),
            RejectedBecause::Pending(owner) => write!(formatter, "pending for owner {owner}"),
        }
    }
}

/// What is wrong at a place of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum DamageReason {
    /// A record below a durable mark does not match its checksum.
    #[error("a record below a durable mark does not match its checksum")]
    Checksum,
    /// The records end before a place that was known to be durable.
    #[error("the records end before a place that was durable")]
    EndsTooEarly,
    /// A record with a right checksum has impossible content.
    #[error("a record with a right checksum has impossible content: {0}")]
    Malformed(&'static str),
    /// Both copies of a header are wrong.
    #[error("no copy of the header is valid")]
    Header,
    /// The file is shorter or longer than its header says.
    #[error("the file has not the length that its header gives")]
    Length,
    /// A segment that the chain needs is not there.
    #[error("the segment is missing")]
    Missing,
    /// A segment of that number is there, but it is of another store.
    #[error("the segment is of another store")]
    OtherStore,
    /// A segment of that number is there, but of another life: from a copy or a backup.
    #[error("the segment is of another life of its slot")]
    OtherLife,
    /// Two slots hold the same segment.
    #[error("two slots hold this segment")]
    Twice,
    /// A segment that was proved to be begun is not begun by what is found before it.
    #[error("the segment before it does not lead to it")]
    NotLinked,
}

/// What a source error was, kept so that it can be cloned.
#[derive(Clone)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// The kind, if this is an error of the operating system.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.0.downcast_ref::<io::Error>().map(io::Error::kind)
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Cause {
        Cause(Arc::new(error))
    }
}

impl From<Error> for Cause {
    fn from(error: Error) -> Cause {
        Cause(Arc::new(error))
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Bytes of a caller, shown as text where all of them are printable ASCII, else as `0x` and hex.
///
/// # Examples
///
/// ```
/// use idjournal::Bytes;
///
/// assert_eq!(Bytes::from(&b"order-1842"[..]).to_string(), "order-1842");
/// assert_eq!(Bytes::from(&b"\x1b[2J"[..]).to_string(), "0x1b5b324a");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Arc<[u8]>);

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(Arc::from(bytes))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(formatter, &self.0)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Writes `bytes` as text if all are printable ASCII and they do not begin with `0x`, else as hex.
///
/// # Errors
///
/// Those of `out`.
pub fn write_escaped(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    let is_text = !bytes.starts_with(b"0x") && bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    if is_text {
        return bytes
            .iter()
            .try_for_each(|byte| out.write_char(char::from(*byte)));
    }
    out.write_str("0x")?;
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

struct Place(SegmentNumber);

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SegmentNumber(0) => formatter.write_str("the store file"),
            number => write!(formatter, "segment {number}"),
        }
    }
}

//! Records: what the journal says, as values and as bytes. No I/O.
//!
//! Layout and meaning stand in docs/format.md, sections 4 and 5. In a [`Record`] ordinals and times
//! are always whole; the short form of an add is the business of the codec alone. Everything that
//! is read is hostile, before its checksum and after it: [`decode`] checks each field once, so that
//! whoever gets a record needs no check of its own.

mod body;
mod decode;
mod encode;
mod length;
mod settings;

use crate::address_settings::AddressSettings;
use crate::ids::{Namespace, Ordinal, Owner, Position, SegmentNumber, Ticks};
use crate::mutant::{self, Mutant};

pub use body::{Element, Elements, Ordinals, PREPARED_HOLE};
pub(crate) use body::{OrdinalsBody, TransactionBody};
pub(crate) use decode::{Frame, decode};
pub(crate) use encode::{AddForm, Base, Place, encode, encode_add};
pub(crate) use length::{
    add_bytes, commit_bytes, definition_bytes, encoded_bytes, transaction_bytes,
};

/// One thing that the journal says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// An ID was added; or, if the record is carried, lives still.
    Add(Add<'a>),
    /// The add with this ordinal ended.
    Remove {
        /// The number of its address.
        address: u32,
        /// The ordinal of the add.
        ordinal: Ordinal,
        /// When.
        time: Ticks,
    },
    /// A known ID was given the newest place.
    Renew {
        /// The ID at its new place.
        add: Add<'a>,
        /// Its place before.
        old: Ordinal,
    },
    /// All of an address was forgotten.
    Clear {
        /// The number of the address.
        address: u32,
        /// Every ordinal below it is forgotten.
        floor: Ordinal,
        /// When.
        time: Ticks,
    },
    /// An address ended.
    Drop {
        /// What ended.
        dropped: Dropped,
        /// The other namespace of the same name, if that ended with it.
        other: Option<Dropped>,
        /// When.
        time: Ticks,
    },
    /// What an address is and where it stands.
    Definition(Definition<'a>),
    /// Changes that hold together or not at all.
    Transaction {
        /// When.
        time: Ticks,
        /// The changes in order.
        elements: Elements<'a>,
    },
    /// Changes that wait for a commit or a roll back.
    Prepare {
        /// When.
        time: Ticks,
        /// Who holds the claims of it.
        owner: Owner,
        /// The caller's ID of the transaction.
        transaction: &'a [u8],
        /// The changes in order; the ordinals of adds are 0, or [`PREPARED_HOLE`].
        elements: Elements<'a>,
    },
    /// A prepared transaction was committed.
    Commit {
        /// When.
        time: Ticks,
        /// The caller's ID of the transaction.
        transaction: &'a [u8],
        /// The ordinals that its adds were given, in order; 0 for an ID that was known already.
        ordinals: Ordinals<'a>,
    },
    /// A prepared transaction was given up.
    RollBack {
        /// When.
        time: Ticks,
        /// The caller's ID of the transaction.
        transaction: &'a [u8],
    },
    /// A bookmark was set.
    Bookmark {
        /// When.
        time: Ticks,
        /// Its name.
        name: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// A pattern has these settings from now on, all of them; none if it was taken away.
    Settings {
        /// When.
        time: Ticks,
        /// The pattern.
        pattern: &'a [u8],
        /// Its settings.
        settings: AddressSettings,
    },
    /// Nothing but the mark in the frame.
    Mark,
    /// The segment ends here and goes on in another.
    Seal {
        /// The number of the next segment.
        number: SegmentNumber,
        /// The salt of the next segment.
        salt: u64,
    },
    /// Segments were let go.
    Release {
        /// The oldest segment that is needed from here on.
        oldest: SegmentNumber,
    },
    /// A record that this version does not know and may skip.
    Skipped {
        /// Its kind, 128 or more.
        kind: u8,
    },
}

/// An address that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The number of the address.
    pub address: u32,
    /// Which of its incarnations ended.
    pub incarnation: u32,
    /// Every ordinal below it is forgotten.
    pub floor: Ordinal,
}

/// An ID at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Add<'a> {
    /// The number of the address.
    pub address: u32,
    /// The place within the address.
    pub ordinal: Ordinal,
    /// When it was added.
    pub time: Ticks,
    /// What was kept with the ID. A value of no bytes is none.
    pub value: Option<&'a [u8]>,
    /// The ID.
    pub id: &'a [u8],
}

/// What an address is and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// The number that other records name it by.
    pub address: u32,
    /// Which of the two caches of its name.
    pub namespace: Namespace,
    /// Whether its capacity was set by a call, else by settings.
    pub by_call: bool,
    /// Whether its age was set by a call, else by settings.
    pub age_by_call: bool,
    /// How often it was dropped and begun again.
    pub incarnation: u32,
    /// How many adds its window holds.
    pub capacity: u64,
    /// The age in ticks from which an ID is as if it were gone; 0 is none.
    pub max_age: u64,
    /// Every ordinal below it is forgotten.
    pub floor: Ordinal,
    /// The ordinal of the last add so far.
    pub last: Ordinal,
    /// When this was written.
    pub time: Ticks,
    /// The address.
    pub name: &'a [u8],
}

/// A record with what its frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// What it says.
    pub record: Record<'a>,
    /// Its length.
    pub bytes: u64,
    /// Everything before this position was durable when it was written.
    pub mark: Option<Position>,
    /// It repeats a record that was there before.
    pub carried: bool,
    /// It is an add in the long form.
    pub whole: bool,
    /// It is the last record of one call.
    pub end_of_group: bool,
}

/// Why no record can be read at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// It begins with eight zero bytes, as no record does.
    #[error("zeros")]
    Zeros,
    /// Too few bytes are left for the frame.
    #[error("too few bytes for a record")]
    TooShort,
    /// The length is impossible here.
    #[error("an impossible length")]
    Length,
    /// The checksum does not match: not a record, or not of this place.
    #[error("a checksum that does not match")]
    Checksum,
    /// A record of a kind that only a newer version knows.
    #[error("a record of unknown kind {0}")]
    NewerKind(u8),
    /// The checksum matches, the content is impossible.
    #[error("impossible content: {0}")]
    Malformed(&'static str),
}

/// The state that the checksums of a segment begin from: its life, told apart from every other.
///
/// docs/format.md, section 5. It costs no bytes on disk.
#[derive(Clone)]
pub(crate) struct Seed {
    hasher: crc32fast::Hasher,
    number: SegmentNumber,
}

impl Seed {
    pub(crate) fn new(identity: &[u8; 16], salt: u64, number: SegmentNumber) -> Seed {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(identity);
        if !mutant::is(Mutant::NeitherSaltNorNumber) {
            hasher.update(&salt.to_le_bytes());
        }
        // The number comes last: CRC-32 maps 32-bit words one to one, so that for one salt two
        // numbers less than 2^32 apart can never begin from the same state.
        if !mutant::is(Mutant::NeitherSaltNorNumber) {
            hasher.update(&low_32(number.0));
        }
        Seed { hasher, number }
    }

    pub(crate) fn number(&self) -> SegmentNumber {
        self.number
    }

    /// The checksum of a record at `offset` whose bytes from the kind on are `rest`.
    pub(crate) fn checksum(&self, offset: u64, rest: &[u8]) -> u32 {
        let mut hasher = self.begin(offset);
        hasher.update(rest);
        hasher.finalize()
    }

    /// The checksum of a record at `offset`, to be fed with its bytes from the kind on.
    pub(crate) fn begin(&self, offset: u64) -> crc32fast::Hasher {
        let mut hasher = self.hasher.clone();
        hasher.update(&low_32(offset));
        hasher
    }

    /// The checksum of a record in whose place for the checksum stands its offset.
    fn checksum_in_place(&self, record: &[u8]) -> u32 {
        let mut hasher = self.hasher.clone();
        hasher.update(record);
        hasher.finalize()
    }
}

/// The lower 32 bits as bytes.
fn low_32(number: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = number.to_le_bytes();
    [a, b, c, d]
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

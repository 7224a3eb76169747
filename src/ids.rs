//! The numbers of the engine as types of their own: ordinal, segment number, slot, position, owner.
//!
//! Each is a plain value; nothing here reads, writes or locks.

use std::fmt;

/// The place of an add within its address.
///
/// It counts every add ever made there, also those removed since. The first add has ordinal 1;
/// 0 means "before the first". It never restarts, not even over a drop while older records of the
/// address can still be on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(pub u64);

impl fmt::Display for Ordinal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The number of a segment: never reused, one more than the highest ever seen. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct SegmentNumber(pub u64);

impl SegmentNumber {
    /// The highest number a segment can have; a [`Position`] holds it in 37 bits.
    pub const MAX: SegmentNumber = SegmentNumber((1 << 37) - 1);
}

impl fmt::Display for SegmentNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A file of the journal by its fixed place in the directory; its content changes from life to
/// life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Slot(pub u32);

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A place in the journal: segment number and byte offset. Positions are ordered as the journal is.
///
/// Durability is a position: all that lies before it is on disk. Offsets are multiples of eight and
/// at most 1 GiB, so that a position is one 64-bit word.
///
/// # Examples
///
/// ```
/// use idjournal::{Position, SegmentNumber};
///
/// let position = Position::new(SegmentNumber(3), 4096);
/// assert_eq!((position.segment(), position.offset()), (SegmentNumber(3), 4096));
/// assert!(position < Position::new(SegmentNumber(4), 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

impl Position {
    const OFFSET_BITS: u32 = 27;
    const OFFSET_MASK: u64 = (1 << Self::OFFSET_BITS) - 1;

    /// The position of byte `offset` in `segment`.
    ///
    /// An offset is rounded down to a multiple of eight; a number above [`SegmentNumber::MAX`] or
    /// an offset above 1 GiB is cut to the highest there is.
    pub const fn new(segment: SegmentNumber, offset: u64) -> Position {
        let number = if segment.0 > SegmentNumber::MAX.0 {
            SegmentNumber::MAX.0
        } else {
            segment.0
        };
        let units = offset / 8;
        let units = if units > Self::OFFSET_MASK {
            Self::OFFSET_MASK
        } else {
            units
        };
        Position(number << Self::OFFSET_BITS | units)
    }

    /// The position that a 64-bit word on disk stands for.
    pub const fn from_bits(bits: u64) -> Position {
        Position(bits)
    }

    /// This position as the 64-bit word that is written to disk.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The segment it lies in.
    pub const fn segment(self) -> SegmentNumber {
        SegmentNumber(self.0 >> Self::OFFSET_BITS)
    }

    /// The byte within that segment.
    pub const fn offset(self) -> u64 {
        (self.0 & Self::OFFSET_MASK) * 8
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.segment(), self.offset())
    }
}

/// Who holds a claim: a number that the caller chooses, such as that of a connection or a consumer.
///
/// The engine gives it no meaning but equality. [`Owner::NOBODY`] is for callers that do not tell
/// their owners apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub u64);

impl Owner {
    /// The owner of claims made without naming one.
    pub const NOBODY: Owner = Owner(0);
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The time of an add in ticks of 10 milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Milliseconds in a tick.
    pub const MILLISECONDS: u64 = 10;

    /// The same time as milliseconds since the Unix epoch.
    pub const fn milliseconds(self) -> u64 {
        self.0.saturating_mul(Self::MILLISECONDS)
    }
}

/// Which of an address's two caches: that of its clients' IDs or that of a bridge's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Namespace {
    /// IDs that clients set on their messages.
    #[default]
    Client,
    /// IDs that a bridge sets on the messages it forwards.
    Bridge,
}

#[cfg(any(feature = "metrics", feature = "tracing"))]
impl Namespace {
    /// The word for it in labels and fields.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Namespace::Client => "client",
            Namespace::Bridge => "bridge",
        }
    }
}

//! What recovery found and did, for callers and the tool.

use std::time::Duration;

use crate::error::Bytes;
use crate::ids::{Namespace, SegmentNumber, Slot};

/// How far recovery has come; given to the closure of [`Store::open_on`](crate::Store::open_on).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of the journal that were replayed.
    pub done_bytes: u64,
    /// Bytes of the journal that are to be replayed.
    pub total_bytes: u64,
}

/// What recovery found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct RecoveryReport {
    /// The directory was empty, and a new store was made there.
    pub is_new: bool,
    /// The segments of the chain, oldest first.
    pub segments: Vec<SegmentReport>,
    /// A segment that was not begun and was left out with its records. After a clean close this is
    /// usual: the one that was made ahead, which holds none.
    pub left_out: Option<SegmentNumber>,
    /// Records replayed.
    pub records: u64,
    /// Bytes of segments read.
    pub read_bytes: u64,
    /// Bytes written again, since no mark covered them.
    pub rewritten_bytes: u64,
    /// Caches that exist.
    pub caches: u64,
    /// IDs that live in them.
    pub ids: u64,
    /// Prepared transactions that wait for their outcome.
    pub prepared: u64,
    /// Bookmarks that are set.
    pub bookmarks: u64,
    /// Where the last segment ended in something that is no record, and is not zeros either: a torn
    /// tail, or what an earlier life of the slot left behind.
    pub tail: Option<TailReport>,
    /// Capacities that the options changed.
    pub capacity_changes: Vec<CapacityChange>,
    /// Ages that the options changed.
    pub age_changes: Vec<AgeChange>,
    /// Caches whose stored IDs were ended, since address settings turn their persistence off.
    pub ended_caches: Vec<EndedCache>,
    /// Patterns that calls have set which mean nothing with the wildcards of these options.
    pub inactive_patterns: Vec<Bytes>,
    /// Milliseconds by which the clock is ahead of the newest time in the journal; negative if
    /// behind.
    pub clock_ahead_milliseconds: i64,
    /// Milliseconds that it all took.
    pub took_milliseconds: u64,
}

/// A segment of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct SegmentReport {
    /// Its number.
    pub number: SegmentNumber,
    /// The slot that holds it.
    pub slot: Slot,
    /// Where its records end.
    pub end: u64,
    /// Whether it was written again.
    pub is_rewritten: bool,
}

/// Where the journal ends in something that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct TailReport {
    /// The segment.
    pub segment: SegmentNumber,
    /// Where its valid records end.
    pub offset: u64,
    /// Bytes from there to the end of the segment.
    pub bytes: u64,
}

/// A capacity that the options changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct CapacityChange {
    /// Which of the two caches.
    pub namespace: Namespace,
    /// The address.
    pub address: Bytes,
    /// The capacity before.
    pub old: u64,
    /// The capacity now.
    pub new: u64,
    /// Live IDs that were forgotten by it.
    pub forgotten: u64,
}

/// An age that the options changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct AgeChange {
    /// Which of the two caches.
    pub namespace: Namespace,
    /// The address.
    pub address: Bytes,
    /// The age before; none if there was none.
    #[cfg_attr(
        feature = "serde",
        serde(default, with = "crate::units::text::optional_span")
    )]
    pub old: Option<Duration>,
    /// The age now.
    #[cfg_attr(
        feature = "serde",
        serde(default, with = "crate::units::text::optional_span")
    )]
    pub new: Option<Duration>,
    /// Live IDs that were forgotten by it.
    pub forgotten: u64,
}

/// A cache whose stored IDs were ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct EndedCache {
    /// Which of the two caches.
    pub namespace: Namespace,
    /// The address.
    pub address: Bytes,
    /// Live IDs that were forgotten by it.
    pub forgotten: u64,
}

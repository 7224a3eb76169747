//! Plain counters that callers read.

/// What a store has done since it was opened, and how much there is of what now.
///
/// Bytes are bytes of records in the journal unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// IDs told "added".
    pub added: u64,
    /// IDs told "duplicate".
    pub duplicates: u64,
    /// IDs told "pending".
    pub pending: u64,
    /// Records appended, copies included.
    pub records: u64,
    /// Bytes of those records.
    pub record_bytes: u64,
    /// Bytes of segment headers and seals.
    pub header_bytes: u64,
    /// Records carried forward.
    pub carried_records: u64,
    /// Bytes of those.
    pub carried_bytes: u64,
    /// Segments begun.
    pub segments_begun: u64,
    /// Segments released.
    pub segments_released: u64,
    /// Shared syncs done.
    pub syncs: u64,
    /// Slots on disk now.
    pub slots: u64,
    /// Segments of the chain now.
    pub segments: u64,
    /// Bytes of all slots on disk now.
    pub disk_bytes: u64,
    /// Bytes of the chain up to where it is written.
    pub used_bytes: u64,
    /// Bytes of the records that live.
    pub live_bytes: u64,
    /// Bytes set aside for claims.
    pub claimed_bytes: u64,
    /// Caches that exist now.
    pub caches: u64,
    /// Whether the active segment is written through a map.
    pub is_mapped: bool,
    /// Whether the store is stopped by a failure.
    pub is_poisoned: bool,
}

impl Stats {
    /// All bytes appended: records, headers and seals.
    pub fn appended_bytes(&self) -> u64 {
        self.record_bytes + self.header_bytes
    }
}

/// What one cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// IDs it remembers.
    pub len: u64,
    /// Adds that its window holds.
    pub capacity: u64,
    /// The ordinal of the last add.
    pub last_ordinal: u64,
    /// IDs that are claimed.
    pub claims: u64,
    /// Bytes of the records of what it remembers.
    pub live_bytes: u64,
}

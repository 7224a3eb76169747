//! Plain counters that callers read.

use std::time::Duration;

use crate::address_settings::Origin;
use crate::ids::Ticks;

/// What a store has done since it was opened, and how much there is of what now.
///
/// What is counted per ID is the sum of what the [caches](CacheStats) have counted, dropped ones
/// included. Bytes are bytes of records in the journal unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct Stats {
    /// IDs told "added".
    pub added: u64,
    /// IDs told "duplicate".
    pub duplicates: u64,
    /// IDs told "pending".
    pub pending: u64,
    /// Claims of reservations that were confirmed.
    pub confirmed: u64,
    /// Claims of reservations that were released.
    pub released: u64,
    /// Claims that were confirmed too late: others had taken the ID.
    pub leases_lost: u64,
    /// IDs that later adds pushed out of their windows.
    pub evicted: u64,
    /// IDs removed one by one.
    pub removed: u64,
    /// IDs ended by a clear or a drop.
    pub cleared: u64,
    /// IDs forgotten since a capacity was made smaller, also by the options of this open.
    pub shrunk: u64,
    /// IDs passed over for their age.
    pub expired: u64,
    /// IDs given the newest place.
    pub renewed: u64,
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
    /// Milliseconds that recovery took; [`Store::recovery`](crate::Store::recovery) says more.
    pub recovery_milliseconds: u64,
    /// Bytes that recovery wrote again, since no mark covered them.
    pub recovery_rewritten_bytes: u64,
    /// Whether the journal ended in something that is no record.
    pub recovery_found_tail: bool,
    /// Milliseconds by which the clock was ahead of the newest time in the journal at open;
    /// negative if behind.
    pub clock_ahead_milliseconds: i64,
}

impl Stats {
    /// All bytes appended: records, headers and seals.
    pub fn appended_bytes(&self) -> u64 {
        self.record_bytes + self.header_bytes
    }

    /// How many records one sync made durable, on average; none before the first.
    #[allow(
        clippy::cast_precision_loss,
        reason = "an average needs no more than 53 bits"
    )]
    pub fn records_per_sync(&self) -> Option<f64> {
        (self.syncs > 0).then(|| self.records as f64 / self.syncs as f64)
    }
}

/// What one cache holds, and what it has done.
///
/// `len`, `capacity`, `added`, `last_ordinal`, `live_bytes` and `oldest_age` are true over
/// restarts. The others count from the open of the store on, or from the first use of the address
/// since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "kebab-case"))]
#[non_exhaustive]
pub struct CacheStats {
    /// IDs it remembers.
    pub len: u64,
    /// Adds that its window holds.
    pub capacity: u64,
    /// Where that capacity comes from.
    pub capacity_origin: Origin,
    /// The age from which an ID is as if it were gone; none if no age ends it.
    #[cfg_attr(feature = "serde", serde(with = "crate::units::text::optional_span"))]
    pub max_age: Option<Duration>,
    /// Where that age comes from.
    pub max_age_origin: Origin,
    /// Whether IDs are written to the journal.
    pub is_stored: bool,
    /// Where that comes from.
    pub persistence_origin: Origin,
    /// The ordinal of the last add.
    pub last_ordinal: u64,
    /// IDs that are claimed.
    pub claims: u64,
    /// Bytes of the records of what it remembers.
    pub live_bytes: u64,
    /// IDs told "added" ever, in earlier lives of the store too, where a renewal counts as one.
    pub added: u64,
    /// IDs told "duplicate".
    pub duplicates: u64,
    /// IDs told "pending".
    pub pending: u64,
    /// Claims of reservations that were confirmed.
    pub confirmed: u64,
    /// Claims of reservations that were released.
    pub released: u64,
    /// Claims that were confirmed too late: others had taken the ID.
    pub leases_lost: u64,
    /// IDs that later adds pushed out of the window.
    pub evicted: u64,
    /// IDs removed one by one.
    pub removed: u64,
    /// IDs ended by a clear or a drop.
    pub cleared: u64,
    /// IDs forgotten since the capacity was made smaller, also by the options of this open.
    pub shrunk: u64,
    /// IDs passed over for their age.
    pub expired: u64,
    /// IDs given the newest place.
    pub renewed: u64,
    /// How old the oldest ID is that it remembers.
    #[cfg_attr(feature = "serde", serde(with = "crate::units::text::optional_span"))]
    pub oldest_age: Option<Duration>,
    /// How old the ID was that was last pushed out by a later add: how far back in time the window
    /// reaches.
    #[cfg_attr(feature = "serde", serde(with = "crate::units::text::optional_span"))]
    pub age_at_last_eviction: Option<Duration>,
}

/// What an address has counted beside what its ordinals say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) duplicates: u64,
    pub(crate) pending: u64,
    pub(crate) confirmed: u64,
    pub(crate) released: u64,
    pub(crate) leases_lost: u64,
    pub(crate) evicted: u64,
    pub(crate) removed: u64,
    pub(crate) cleared: u64,
    pub(crate) shrunk: u64,
    pub(crate) expired: u64,
    pub(crate) renewed: u64,
    /// Adds that got no ordinal that is still counted on: at capacity 0, and in memory only those
    /// before a drop.
    pub(crate) unplaced: u64,
    /// How old the ID was that was last pushed out.
    pub(crate) evicted_ticks: u64,
    /// What was told of it.
    #[cfg(feature = "tracing")]
    pub(crate) told: Told,
}

/// What of an address was told to `tracing`, so that it is not told too often.
#[cfg(feature = "tracing")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// When the last duplicate was told, and how many there were then.
    pub(crate) duplicate: Option<Ticks>,
    pub(crate) duplicates: u64,
    /// When the last eviction was told.
    pub(crate) eviction: Option<Ticks>,
    /// Whether an ID was pushed out that nobody has looked at yet.
    pub(crate) has_evicted: bool,
}

impl Counts {
    /// Adds what another address has counted.
    pub(crate) fn sum(&mut self, other: &Counts) {
        self.duplicates += other.duplicates;
        self.pending += other.pending;
        self.confirmed += other.confirmed;
        self.released += other.released;
        self.leases_lost += other.leases_lost;
        self.evicted += other.evicted;
        self.removed += other.removed;
        self.cleared += other.cleared;
        self.shrunk += other.shrunk;
        self.expired += other.expired;
        self.renewed += other.renewed;
        self.unplaced += other.unplaced;
    }

    /// Writes itself into the figures of a store.
    pub(crate) fn tell_store(&self, stats: &mut Stats) {
        stats.duplicates = self.duplicates;
        stats.pending = self.pending;
        stats.confirmed = self.confirmed;
        stats.released = self.released;
        stats.leases_lost = self.leases_lost;
        stats.evicted = self.evicted;
        stats.removed = self.removed;
        stats.cleared = self.cleared;
        stats.shrunk = self.shrunk;
        stats.expired = self.expired;
        stats.renewed = self.renewed;
    }

    /// Writes itself into the figures of a cache.
    pub(crate) fn tell_cache(&self, stats: &mut CacheStats) {
        stats.duplicates = self.duplicates;
        stats.pending = self.pending;
        stats.confirmed = self.confirmed;
        stats.released = self.released;
        stats.leases_lost = self.leases_lost;
        stats.evicted = self.evicted;
        stats.removed = self.removed;
        stats.cleared = self.cleared;
        stats.shrunk = self.shrunk;
        stats.expired = self.expired;
        stats.renewed = self.renewed;
        stats.age_at_last_eviction = (self.evicted > 0)
            .then(|| Duration::from_millis(Ticks(self.evicted_ticks).milliseconds()));
    }
}

//! The figures of a store: docs/operations.md has the same table, and a test compares them.

use std::time::Duration;

use crate::meter::Metric;
use crate::{CacheStats, Stats};

/// Where a figure comes from: a count, which only rises, or a level.
#[derive(Clone, Copy)]
pub(super) enum Value {
    Count(fn(&Stats) -> u64),
    Level(fn(&Stats) -> f64),
    /// Caches that have no figures of their own.
    Unmetered,
    AddressCount(fn(&CacheStats) -> u64),
    /// The same, counted on over the lives of the store.
    AddressCountEver(fn(&CacheStats) -> u64),
    AddressLevel(fn(&CacheStats) -> f64),
}

impl Metric {
    /// Whether it only rises.
    pub fn is_counter(&self) -> bool {
        matches!(
            self.value,
            Value::Count(_) | Value::AddressCount(_) | Value::AddressCountEver(_)
        )
    }

    /// Whether it is counted on over the lives of the store.
    pub(super) fn is_stored(&self) -> bool {
        matches!(self.value, Value::AddressCountEver(_))
    }
}

pub(super) const fn metric(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    value: Value,
) -> Metric {
    Metric {
        name,
        unit,
        meaning,
        value,
    }
}

/// A number as a level; no figure comes to 2^53.
#[allow(
    clippy::cast_precision_loss,
    reason = "a level needs no more than 53 bits"
)]
pub(super) fn level(number: u64) -> f64 {
    number as f64
}

pub(super) fn truth(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

pub(super) fn seconds(time: Option<Duration>) -> f64 {
    time.map_or(0.0, |time| time.as_secs_f64())
}

fn milliseconds(milliseconds: u64) -> f64 {
    level(milliseconds) / 1_000.0
}

fn ahead(milliseconds: i64) -> f64 {
    let size = level(milliseconds.unsigned_abs()) / 1_000.0;
    if milliseconds < 0 { -size } else { size }
}

/// The figures of a store.
pub static STORE_METRICS: &[Metric] = &[
    metric(
        "idjournal_added_total",
        "IDs",
        "IDs told \"added\"",
        Value::Count(|stats| stats.added),
    ),
    metric(
        "idjournal_duplicates_total",
        "IDs",
        "IDs told \"duplicate\"",
        Value::Count(|stats| stats.duplicates),
    ),
    metric(
        "idjournal_pending_total",
        "IDs",
        "IDs told \"pending\"",
        Value::Count(|stats| stats.pending),
    ),
    metric(
        "idjournal_confirmed_total",
        "claims",
        "claims of reservations that were confirmed",
        Value::Count(|stats| stats.confirmed),
    ),
    metric(
        "idjournal_released_total",
        "claims",
        "claims of reservations that were released",
        Value::Count(|stats| stats.released),
    ),
    metric(
        "idjournal_leases_lost_total",
        "claims",
        "claims that were confirmed too late: others had taken the ID",
        Value::Count(|stats| stats.leases_lost),
    ),
    metric(
        "idjournal_evicted_total",
        "IDs",
        "IDs that later adds pushed out of their windows",
        Value::Count(|stats| stats.evicted),
    ),
    metric(
        "idjournal_removed_total",
        "IDs",
        "IDs removed one by one",
        Value::Count(|stats| stats.removed),
    ),
    metric(
        "idjournal_cleared_total",
        "IDs",
        "IDs ended by a clear or a drop",
        Value::Count(|stats| stats.cleared),
    ),
    metric(
        "idjournal_shrunk_total",
        "IDs",
        "IDs forgotten since a capacity was made smaller",
        Value::Count(|stats| stats.shrunk),
    ),
    metric(
        "idjournal_expired_total",
        "IDs",
        "IDs passed over for their age",
        Value::Count(|stats| stats.expired),
    ),
    metric(
        "idjournal_renewed_total",
        "IDs",
        "IDs given the newest place",
        Value::Count(|stats| stats.renewed),
    ),
    metric(
        "idjournal_records_total",
        "records",
        "records appended, copies included",
        Value::Count(|stats| stats.records),
    ),
    metric(
        "idjournal_record_bytes_total",
        "bytes",
        "bytes of those records",
        Value::Count(|stats| stats.record_bytes),
    ),
    metric(
        "idjournal_header_bytes_total",
        "bytes",
        "bytes of segment headers and seals",
        Value::Count(|stats| stats.header_bytes),
    ),
    metric(
        "idjournal_carried_records_total",
        "records",
        "records carried forward",
        Value::Count(|stats| stats.carried_records),
    ),
    metric(
        "idjournal_carried_bytes_total",
        "bytes",
        "bytes of those",
        Value::Count(|stats| stats.carried_bytes),
    ),
    metric(
        "idjournal_segments_begun_total",
        "segments",
        "segments begun",
        Value::Count(|stats| stats.segments_begun),
    ),
    metric(
        "idjournal_segments_released_total",
        "segments",
        "segments released",
        Value::Count(|stats| stats.segments_released),
    ),
    metric(
        "idjournal_syncs_total",
        "syncs",
        "shared syncs done",
        Value::Count(|stats| stats.syncs),
    ),
    metric(
        "idjournal_records_per_sync",
        "records",
        "records that one sync made durable, on average since the open",
        Value::Level(|stats| stats.records_per_sync().unwrap_or(0.0)),
    ),
    metric(
        "idjournal_caches",
        "caches",
        "caches that exist",
        Value::Level(|stats| level(stats.caches)),
    ),
    metric(
        "idjournal_slots",
        "slots",
        "slots on disk",
        Value::Level(|stats| level(stats.slots)),
    ),
    metric(
        "idjournal_segments",
        "segments",
        "segments of the chain",
        Value::Level(|stats| level(stats.segments)),
    ),
    metric(
        "idjournal_disk_bytes",
        "bytes",
        "bytes of all slots on disk",
        Value::Level(|stats| level(stats.disk_bytes)),
    ),
    metric(
        "idjournal_used_bytes",
        "bytes",
        "bytes of the chain up to where it is written",
        Value::Level(|stats| level(stats.used_bytes)),
    ),
    metric(
        "idjournal_live_bytes",
        "bytes",
        "bytes of the records that live",
        Value::Level(|stats| level(stats.live_bytes)),
    ),
    metric(
        "idjournal_claimed_bytes",
        "bytes",
        "bytes set aside for claims",
        Value::Level(|stats| level(stats.claimed_bytes)),
    ),
    metric(
        "idjournal_is_mapped",
        "0 or 1",
        "whether the active segment is written through a map",
        Value::Level(|stats| truth(stats.is_mapped)),
    ),
    metric(
        "idjournal_is_poisoned",
        "0 or 1",
        "whether the store is stopped by a failure",
        Value::Level(|stats| truth(stats.is_poisoned)),
    ),
    metric(
        "idjournal_recovery_seconds",
        "seconds",
        "how long the open took",
        Value::Level(|stats| milliseconds(stats.recovery_milliseconds)),
    ),
    metric(
        "idjournal_recovery_rewritten_bytes",
        "bytes",
        "bytes that recovery wrote again, since no mark covered them",
        Value::Level(|stats| level(stats.recovery_rewritten_bytes)),
    ),
    metric(
        "idjournal_recovery_found_tail",
        "0 or 1",
        "whether the journal ended in something that is no record",
        Value::Level(|stats| truth(stats.recovery_found_tail)),
    ),
    metric(
        "idjournal_clock_ahead_seconds",
        "seconds",
        "by how much the clock was ahead of the newest time in the journal at open; negative if \
         behind",
        Value::Level(|stats| ahead(stats.clock_ahead_milliseconds)),
    ),
    metric(
        "idjournal_caches_unmetered",
        "caches",
        "caches that have no figures of their own here",
        Value::Unmetered,
    ),
];

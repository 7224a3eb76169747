//! The figures of each address: the other half of the table.

use crate::meter::Metric;
use crate::meter::table::{Value, level, metric, seconds, truth};

/// The figures of each address.
pub static ADDRESS_METRICS: &[Metric] = &[
    metric(
        "idjournal_address_added_total",
        "IDs",
        "IDs told \"added\" ever, in earlier lives of the store too",
        Value::AddressCountEver(|stats| stats.added),
    ),
    metric(
        "idjournal_address_duplicates_total",
        "IDs",
        "IDs told \"duplicate\"",
        Value::AddressCount(|stats| stats.duplicates),
    ),
    metric(
        "idjournal_address_pending_total",
        "IDs",
        "IDs told \"pending\"",
        Value::AddressCount(|stats| stats.pending),
    ),
    metric(
        "idjournal_address_confirmed_total",
        "claims",
        "claims of reservations that were confirmed",
        Value::AddressCount(|stats| stats.confirmed),
    ),
    metric(
        "idjournal_address_released_total",
        "claims",
        "claims of reservations that were released",
        Value::AddressCount(|stats| stats.released),
    ),
    metric(
        "idjournal_address_leases_lost_total",
        "claims",
        "claims that were confirmed too late: others had taken the ID",
        Value::AddressCount(|stats| stats.leases_lost),
    ),
    metric(
        "idjournal_address_evicted_total",
        "IDs",
        "IDs that later adds pushed out of the window",
        Value::AddressCount(|stats| stats.evicted),
    ),
    metric(
        "idjournal_address_removed_total",
        "IDs",
        "IDs removed one by one",
        Value::AddressCount(|stats| stats.removed),
    ),
    metric(
        "idjournal_address_cleared_total",
        "IDs",
        "IDs ended by a clear or a drop",
        Value::AddressCount(|stats| stats.cleared),
    ),
    metric(
        "idjournal_address_shrunk_total",
        "IDs",
        "IDs forgotten since the capacity was made smaller",
        Value::AddressCount(|stats| stats.shrunk),
    ),
    metric(
        "idjournal_address_expired_total",
        "IDs",
        "IDs passed over for their age",
        Value::AddressCount(|stats| stats.expired),
    ),
    metric(
        "idjournal_address_renewed_total",
        "IDs",
        "IDs given the newest place",
        Value::AddressCount(|stats| stats.renewed),
    ),
    metric(
        "idjournal_address_ids",
        "IDs",
        "IDs that the cache remembers",
        Value::AddressLevel(|stats| level(stats.len)),
    ),
    metric(
        "idjournal_address_capacity",
        "adds",
        "adds that its window holds",
        Value::AddressLevel(|stats| level(stats.capacity)),
    ),
    metric(
        "idjournal_address_claims",
        "claims",
        "IDs that are claimed",
        Value::AddressLevel(|stats| level(stats.claims)),
    ),
    metric(
        "idjournal_address_live_bytes",
        "bytes",
        "bytes of the records of what it remembers",
        Value::AddressLevel(|stats| level(stats.live_bytes)),
    ),
    metric(
        "idjournal_address_oldest_age_seconds",
        "seconds",
        "how old the oldest ID is that it remembers; 0 if there is none",
        Value::AddressLevel(|stats| seconds(stats.oldest_age)),
    ),
    metric(
        "idjournal_address_last_eviction_age_seconds",
        "seconds",
        "how old the ID was that was last pushed out: how far back the window reaches; 0 before \
         the first",
        Value::AddressLevel(|stats| seconds(stats.age_at_last_eviction)),
    ),
    metric(
        "idjournal_address_max_age_seconds",
        "seconds",
        "the age from which an ID is as if it were gone; 0 if no age ends it",
        Value::AddressLevel(|stats| seconds(stats.max_age)),
    ),
    metric(
        "idjournal_address_is_stored",
        "0 or 1",
        "whether IDs are written to the journal",
        Value::AddressLevel(|stats| truth(stats.is_stored)),
    ),
];

//! Sync policies, named by what they promise.

use std::time::Duration;

/// What [`wait`](crate::Receipt::wait) waits for, and so what an acknowledgement is worth.
///
/// A record is in the operating system's hands before the call that made it returns, under every
/// policy. [`wait_synced`](crate::Receipt::wait_synced) waits for the disk under every policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// An acknowledged record survives a power cut: `wait` waits for the disk. Syncs are shared by
    /// all who wait.
    #[default]
    Always,
    /// An acknowledged record survives a kill of the process at once, and a power cut once the
    /// interval has gone by. Without the keeper it is the first call after the interval that syncs,
    /// so that a store where nothing more is recorded is not synced by itself.
    Interval(Duration),
    /// An acknowledged record survives a kill of the process; [`Store::sync`](crate::Store::sync)
    /// makes everything durable when you say.
    Manual,
}

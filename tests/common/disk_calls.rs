//! Calls of the simulated disk: kinds, trace, planned faults, and what a snapshot is taken with.

use super::media::Media;

/// The kinds of call that are counted and can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    List,
    Create,
    Open,
    Rename,
    Remove,
    SyncDirectory,
    Lock,
    Length,
    Read,
    Write,
    Sync,
}

pub const KINDS: usize = CallKind::Sync as usize + 1;

/// One call, as it stands in the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub kind: CallKind,
    pub name: String,
    pub offset: u64,
    pub bytes: usize,
    pub is_failed: bool,
}

/// What happens to the call that a fault is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The call fails with this error number and does nothing; a failing sync forgets as well.
    Fails(i32),
    /// A write writes only so many bytes, and says so.
    Short(usize),
}

/// A planned fault: the `nth` call of its kind from now on (the next is 1), or all from there on.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: CallKind,
    pub nth: u64,
    pub is_lasting: bool,
    pub effect: Effect,
}

/// What a driver knows when a snapshot is taken: numbers of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Acknowledged as synced.
    pub acknowledged: usize,
    /// Returned, so in the operating system's hands.
    pub returned: usize,
    /// Begun.
    pub issued: usize,
}

impl Progress {
    /// Everything up to here is acknowledged.
    pub fn all(state: usize) -> Progress {
        Progress {
            acknowledged: state,
            returned: state,
            issued: state,
        }
    }
}

/// The disk at one call.
#[derive(Clone)]
pub struct Snapshot {
    pub media: Media,
    pub progress: Progress,
    /// Which of the disk's calls it was taken before.
    pub call: u64,
    /// Whether a write or sync has failed, so that cache and disk may differ for good.
    pub is_after_failure: bool,
}

//! What one process of its own measures, and what it reports: both pass as JSON.
//!
//! Each measurement has a fresh process, so that memory, counters and background threads of one
//! peer are not seen in the next.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::peer::Survives;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub peer: String,
    pub survives: Survives,
    pub work: Work,
    /// How many IDs each address remembers.
    pub windows: Vec<usize>,
    /// How long each measured part lasts.
    pub seconds: f64,
    /// An empty directory for it alone.
    pub directory: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// The answers are compared with the plain reference.
    Check,
    /// Adds by one thread to full windows, one by one or in batches; then it is reopened.
    Adds { batch: usize, is_reopened: bool },
    /// Filling and reopening alone.
    Reopen,
    /// Adds by this many threads, each waiting for its own.
    Threads { count: usize },
    /// The latency of each add from the first on, past the point where the window is full.
    Cliff { adds: usize },
}

/// What was seen; what does not apply is left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    pub adds: u64,
    pub adds_per_second: Option<f64>,
    pub latency: Option<Latency>,
    pub bytes: Option<BytesWritten>,
    pub memory: Option<Memory>,
    pub disk_bytes: Option<u64>,
    pub reopen: Option<Reopened>,
    pub answers_checked: u64,
    /// In order: the latency of each group of adds.
    pub cliff: Vec<CliffPoint>,
}

/// Microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Latency {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// For each add: bytes handed to write calls, and bytes the kernel counted for the device, in whole
/// pages as they become dirty.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BytesWritten {
    pub by_calls: f64,
    pub to_device: f64,
}

/// Growth for each ID remembered, in bytes: memory of its own, and pages of files mapped.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Memory {
    pub own: f64,
    pub mapped: f64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Reopened {
    pub seconds: f64,
    pub ids: u64,
}

/// Microseconds, of some adds in a row.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CliffPoint {
    pub add: u64,
    pub median: f64,
    pub max: f64,
}

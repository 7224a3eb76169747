//! What is measured: the modes, and the tasks that each is made of.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::ids::ADDRESSES;
use crate::peer::Survives;
use crate::peers::{KINDS, Kind, redis};
use crate::task::{Task, Work};

pub const SMALL: usize = 20_000;
pub const LARGE: usize = 1_000_000;
/// How many IDs a slow address remembers.
const SLOW: usize = 5_000;
/// Instead of the large one in a quick run.
const MIDDLE: usize = 100_000;
const BATCH: usize = 1_000;
const THREADS: usize = 64;
const CLIFF_ADDS: usize = 2 * SMALL + SMALL / 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Answers compared with the plain reference, reopened twice.
    Check,
    /// One thread, no syncs, windows of 20,000 and of a million.
    Unsynced,
    /// One thread, each add synced.
    Synced,
    /// One thread, synced after each 1,000 adds.
    Batches,
    /// 64 threads, each waiting for the sync of its add.
    Threads,
    /// Opening a million IDs again.
    Reopen,
    /// 1 to 128 threads, each waiting for the sync of its add.
    Scaling,
    /// The latency of each add, from an empty window to a full one and past it.
    Cliff,
}

impl Mode {
    pub const ALL: &[Mode] = &[
        Mode::Check,
        Mode::Unsynced,
        Mode::Synced,
        Mode::Batches,
        Mode::Threads,
        Mode::Reopen,
        Mode::Scaling,
        Mode::Cliff,
    ];

    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// What the caller asked for.
pub struct Wanted<'a> {
    pub peers: &'a [String],
    pub modes: &'a [Mode],
    pub is_quick: bool,
    pub directory: &'a Path,
}

impl Wanted<'_> {
    fn has(&self, mode: Mode) -> bool {
        self.modes.is_empty() || self.modes.contains(&mode)
    }

    /// The tasks in order, each with the mode whose table it belongs to.
    pub fn tasks(&self) -> Vec<(Mode, Task)> {
        let is_wanted = |kind: &&Kind| {
            let is_named = self.peers.iter().any(|name| name == kind.name);
            let is_default = self.peers.is_empty() && !(self.is_quick && kind.is_index());
            (is_named || is_default) && (kind.name != "redis" || redis::is_present())
        };
        let kinds: Vec<&Kind> = KINDS.iter().filter(is_wanted).collect();
        let mut tasks = Vec::new();
        for mode in Mode::ALL.iter().filter(|mode| self.has(**mode)) {
            for kind in &kinds {
                self.of_mode(*mode, kind, &mut tasks);
            }
        }
        tasks
    }

    fn of_mode(&self, mode: Mode, kind: &Kind, tasks: &mut Vec<(Mode, Task)>) {
        let seconds = if self.is_quick { 0.2 } else { 0.8 };
        let large = if self.is_quick { MIDDLE } else { LARGE };
        let mut push = |survives, work, size| {
            tasks.push((mode, self.task(kind, survives, work, size, seconds)));
        };
        let unsynced = kind
            .levels
            .iter()
            .copied()
            .filter(|level| *level != Survives::Power);
        let has_power = kind.can(Survives::Power);
        let adds = |is_reopened| Work::Adds {
            batch: 1,
            is_reopened,
        };
        match mode {
            Mode::Check => {
                for level in kind.levels {
                    push(*level, Work::Check, 300);
                }
            }
            Mode::Unsynced => {
                for level in unsynced {
                    push(level, adds(false), SMALL);
                    push(level, adds(self.has(Mode::Reopen)), large);
                }
            }
            Mode::Synced if has_power => push(Survives::Power, adds(false), SMALL),
            Mode::Batches if has_power => {
                let work = Work::Adds {
                    batch: BATCH,
                    is_reopened: false,
                };
                push(Survives::Power, work, SMALL);
            }
            Mode::Threads if has_power => {
                push(Survives::Power, Work::Threads { count: THREADS }, SMALL);
            }
            // Where adds without syncs are measured, the same windows are reopened there.
            Mode::Reopen if kind.is_in_flight => {}
            Mode::Reopen => match kind.levels[0] {
                Survives::Power => push(Survives::Power, Work::Reopen, large),
                level if !self.has(Mode::Unsynced) => push(level, Work::Reopen, large),
                _ => {}
            },
            Mode::Scaling if matches!(kind.name, "idjournal" | "okaywal" | "rocksdb") => {
                for count in [1, 2, 4, 8, 16, 32, 64, 128] {
                    push(Survives::Power, Work::Threads { count }, SMALL / 10);
                }
            }
            Mode::Cliff if kind.name == "idjournal" || kind.name.starts_with("camel") => {
                push(kind.levels[0], Work::Cliff { adds: CLIFF_ADDS }, SMALL);
            }
            _ => {}
        }
    }

    fn task(&self, kind: &Kind, survives: Survives, work: Work, size: usize, seconds: f64) -> Task {
        // The slow addresses keep small windows; in the check each has another size.
        let windows = (0..ADDRESSES).map(|address| match (work, address) {
            (Work::Check, _) => size - 40 * address,
            (_, 0) => size,
            _ => size.min(SLOW),
        });
        Task {
            peer: kind.name.to_owned(),
            survives,
            work,
            windows: windows.collect(),
            seconds,
            directory: PathBuf::from(self.directory),
        }
    }
}

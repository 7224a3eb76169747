//! Where it is measured: the directories, and what the system says about itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::Result;

/// What a full run needs at most, on the disk and on tmpfs each.
const NEEDED_BYTES: u64 = 5 << 30;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    Disk,
    Memory,
}

impl Medium {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Medium::Disk => "disk",
            Medium::Memory => "tmpfs",
        }
    }
}

/// How much is measured, and where.
pub(crate) struct Run {
    pub(crate) is_quick: bool,
    disk: PathBuf,
    memory: PathBuf,
}

impl Run {
    pub(crate) fn new(is_quick: bool, disk: PathBuf, memory: PathBuf) -> Result<Run> {
        for (directory, is_memory) in [(&disk, false), (&memory, true)] {
            let name = directory.display();
            let system = file_system(directory)?;
            if (system == "tmpfs") != is_memory {
                let wanted = if is_memory { "tmpfs" } else { "a disk" };
                return Err(format!("{name} is on {system}, not on {wanted}").into());
            }
            let free = rustix::fs::statvfs(directory)?;
            if free.f_bavail * free.f_frsize < NEEDED_BYTES {
                return Err(format!("{name} has less than {} GiB free", NEEDED_BYTES >> 30).into());
            }
        }
        Ok(Run {
            is_quick,
            disk,
            memory,
        })
    }

    pub(crate) fn rounds(&self) -> usize {
        if self.is_quick { 3 } else { 5 }
    }

    /// How long one side is measured in one round.
    pub(crate) fn turn(&self) -> Duration {
        Duration::from_millis(if self.is_quick { 120 } else { 300 })
    }

    /// A directory that is gone when it is dropped.
    pub(crate) fn directory(&self, medium: Medium) -> Result<TempDir> {
        let parent = match medium {
            Medium::Disk => &self.disk,
            Medium::Memory => &self.memory,
        };
        let prefix = "idjournal-figures-";
        Ok(tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?)
    }

    /// The machine in one line.
    pub(crate) fn machine(&self) -> Result<String> {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let information = read("/proc/cpuinfo");
        let model = information
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map_or("", |rest| rest.trim_start_matches([' ', '\t', ':']));
        let kernel = read("/proc/sys/kernel/osrelease");
        let system = file_system(&self.disk)?;
        let kernel = kernel.trim();
        Ok(format!(
            "{processors} processors, {model}, Linux {kernel}, {system}"
        ))
    }
}

fn file_system(directory: &Path) -> Result<String> {
    let kind = rustix::fs::statfs(directory)?.f_type;
    Ok(match kind {
        0xef53 => "ext4".to_owned(),
        0x0102_1994 => "tmpfs".to_owned(),
        0x5846_5342 => "xfs".to_owned(),
        0x9123_683e => "btrfs".to_owned(),
        0x794c_7630 => "overlay".to_owned(),
        other => format!("file system {other:#x}"),
    })
}

/// How many processes wanted a processor over the last minute.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

/// Bytes that this process has handed to devices, counted as pages become dirty.
pub(crate) fn device_bytes() -> Result<f64> {
    field("/proc/self/io", "write_bytes:")
}

/// Bytes of memory that this process has for itself, mapped files apart.
pub(crate) fn memory_bytes() -> Result<f64> {
    Ok(field("/proc/self/status", "RssAnon:")? * 1024.0)
}

fn field(path: &str, name: &str) -> Result<f64> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    let number = number.ok_or_else(|| format!("{path} has no {name}"))?;
    Ok(number.parse()?)
}

//! What the kernel says about a process and a directory.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::peer::Result;

/// Counters of one process, or of two together.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub bytes_by_calls: u64,
    pub bytes_to_device: u64,
    pub memory_own: u64,
    pub memory_mapped: u64,
}

impl Usage {
    /// Of this process, and of the server beside it.
    pub fn now(server: Option<u32>) -> Result<Usage> {
        let mut usage = of_process("self")?;
        if let Some(process) = server {
            let other = of_process(&process.to_string())?;
            usage.bytes_by_calls += other.bytes_by_calls;
            usage.bytes_to_device += other.bytes_to_device;
            usage.memory_own += other.memory_own;
            usage.memory_mapped += other.memory_mapped;
        }
        Ok(usage)
    }
}

fn of_process(process: &str) -> Result<Usage> {
    let counters = std::fs::read_to_string(format!("/proc/{process}/io"))?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    Ok(Usage {
        bytes_by_calls: field(&counters, "wchar:"),
        bytes_to_device: field(&counters, "write_bytes:"),
        memory_own: field(&status, "RssAnon:") * 1024,
        memory_mapped: (field(&status, "RssFile:") + field(&status, "RssShmem:")) * 1024,
    })
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Bytes that the files below a directory take on the device.
pub fn disk_bytes(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() {
            disk_bytes(&entry.path())?
        } else {
            metadata.blocks() * 512
        };
    }
    Ok(bytes)
}

/// The load of the machine over the last minute, and how many processors it has.
pub fn load() -> (f64, usize) {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text
        .split_whitespace()
        .next()
        .and_then(|number| number.parse().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (load.unwrap_or(f64::NAN), processors)
}

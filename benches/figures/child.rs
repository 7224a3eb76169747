//! Tasks in a process of their own: what a store costs in memory, and how long it takes to open.
//!
//! A process that has held memory before takes less of the system when it needs some again, so that
//! its growth says nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use idjournal::{Cache, Store};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::ids::{BATCH, Source};
use crate::place::memory_bytes;
use crate::work::{How, options};

/// The hidden option by which a process is told its task.
pub(crate) const OPTION: &str = "--task";

#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Fills windows, pushes an eighth of them out again, and closes.
    Fill {
        directory: PathBuf,
        addresses: u64,
        window: u64,
    },
    /// Opens what was filled.
    Open { directory: PathBuf, window: u64 },
    /// Takes handles of so many addresses, and adds so many IDs to each.
    Idle {
        directory: PathBuf,
        addresses: u64,
        ids: u64,
        has_handles: bool,
    },
    /// Clears a full window.
    Clear { directory: PathBuf, window: u64 },
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// What it took; of a fill, the adds alone.
    pub(crate) seconds: f64,
    /// What the process's own memory grew by; of a fill, without what every store has.
    pub(crate) memory_bytes: f64,
    /// What every store has, however few IDs.
    pub(crate) store_bytes: f64,
    /// IDs that live at the end.
    pub(crate) ids: u64,
    /// Records that a clear appended, and its bytes.
    pub(crate) records: u64,
    pub(crate) record_bytes: u64,
    /// What filling another window of the same size took after the clear.
    pub(crate) memory_again: f64,
    /// Bytes of the journal that an opening read.
    pub(crate) read_bytes: u64,
}

/// Runs a task in a process of its own.
pub(crate) fn run(task: &Task) -> Result<Report> {
    let output = Command::new(std::env::current_exe()?)
        .arg(OPTION)
        .arg(serde_json::to_string(task)?)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("a task ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What such a process does; its report in JSON.
pub(crate) fn answer(task: &str) -> Result<String> {
    let report = match serde_json::from_str(task)? {
        Task::Fill {
            directory,
            addresses,
            window,
        } => fill(&directory, addresses, window),
        Task::Open { directory, window } => open(&directory, window),
        Task::Idle {
            directory,
            addresses,
            ids,
            has_handles,
        } => idle(&directory, addresses, ids, has_handles),
        Task::Clear { directory, window } => clear(&directory, window),
    };
    Ok(serde_json::to_string(&report?)?)
}

fn name(address: u64) -> String {
    format!("address-{address:06}")
}

fn add(store: &Store, source: &mut Source, addresses: u64, ids: u64) -> Result<()> {
    for address in 0..addresses {
        fill_one(&store.cache(name(address))?, source, ids)?;
    }
    Ok(())
}

fn fill_one(cache: &Cache, source: &mut Source, ids: u64) -> Result<()> {
    let mut left = usize::try_from(ids)?;
    while left > 0 {
        let batch = source.batch(left.min(BATCH));
        for id in batch {
            cache.submit(id).detach();
        }
        left -= batch.len();
    }
    Ok(())
}

fn living(store: &Store, addresses: u64) -> Result<u64> {
    (0..addresses).try_fold(
        0,
        |sum, address| Ok(sum + store.cache(name(address))?.len()),
    )
}

fn fill(directory: &Path, addresses: u64, window: u64) -> Result<Report> {
    let options = options(window).addresses_max(u32::try_from(addresses.max(1_000))?);
    let mut source = Source::new(1);
    let empty = memory_bytes()?;
    let store = Store::open(directory, options)?;
    // What every store has, its thread among it.
    let _ = store.cache(name(0))?.add("first")?;
    store.cache(name(0))?.clear().wait()?;
    let before = memory_bytes()?;
    let began = Instant::now();
    add(&store, &mut source, addresses, window + window / 8)?;
    let seconds = began.elapsed().as_secs_f64();
    let memory_bytes = memory_bytes()? - before;
    let ids = living(&store, addresses)?;
    store.close()?;
    Ok(Report {
        seconds,
        memory_bytes,
        store_bytes: before - empty,
        ids,
        ..Report::default()
    })
}

fn open(directory: &Path, window: u64) -> Result<Report> {
    let before = memory_bytes()?;
    let began = Instant::now();
    let store = Store::open(directory, options(window))?;
    let seconds = began.elapsed().as_secs_f64();
    let memory_bytes = memory_bytes()? - before;
    let (ids, read_bytes) = (store.recovery().ids, store.recovery().read_bytes);
    store.close()?;
    Ok(Report {
        seconds,
        memory_bytes,
        ids,
        read_bytes,
        ..Report::default()
    })
}

fn idle(directory: &Path, addresses: u64, ids: u64, has_handles: bool) -> Result<Report> {
    let store = Store::open(directory, How::MAPPED.options(20_000))?;
    let _ = store.cache("first")?.add("first")?;
    let mut caches = Vec::with_capacity(usize::try_from(addresses)?);
    let mut source = Source::new(1);
    let before = memory_bytes()?;
    for address in 0..addresses {
        let cache = store.cache(name(address))?;
        for id in source.batch(usize::try_from(ids)?) {
            cache.submit(id).detach();
        }
        if has_handles {
            caches.push(cache);
        }
    }
    let memory_bytes = memory_bytes()? - before;
    drop(caches);
    let ids = living(&store, addresses)?;
    store.close()?;
    Ok(Report {
        memory_bytes,
        ids,
        ..Report::default()
    })
}

fn clear(directory: &Path, window: u64) -> Result<Report> {
    let store = Store::open(directory, options(window))?;
    let mut source = Source::new(1);
    let empty = memory_bytes()?;
    add(&store, &mut source, 1, window)?;
    let full = memory_bytes()?;
    let cache = store.cache(name(0))?;
    let before = store.stats();
    let began = Instant::now();
    let cleared = cache.clear().wait()?;
    let seconds = began.elapsed().as_secs_f64();
    let after = store.stats();
    if cleared != window || !cache.is_empty() {
        return Err(format!("{cleared} IDs were cleared").into());
    }
    // An allocator keeps what is freed: what a second window takes tells whether it was.
    let other = store.cache("other")?;
    fill_one(&other, &mut source, window)?;
    let again = memory_bytes()? - full;
    store.close()?;
    Ok(Report {
        seconds,
        memory_bytes: full - empty,
        memory_again: again.max(0.0),
        records: after.records - before.records - (after.carried_records - before.carried_records),
        record_bytes: after.record_bytes - before.record_bytes,
        ..Report::default()
    })
}

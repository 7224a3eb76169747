//! Opening a store: lock, recovery, and putting its parts together.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timeline;
use crate::compaction::Carrier;
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::hash::IdHasher;
use crate::ids::{SegmentNumber, Ticks};
use crate::journal::OpenStoreFile;
use crate::options::Options;
use crate::recovery::{Progress, Recovered, RecoveryReport, Replayed, recover};
use crate::ring::Ring;
use crate::storage::{Storage, StorageLock};
use crate::store::Handle;
use crate::store::assembling::assemble;
use crate::store::extras::Extras;
use crate::store::registry::Registry;
use crate::store::shared::{Begin, Shared};
use crate::store_file::StoreCopy;

/// How often a held lock is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A store without a directory.
pub(crate) fn in_memory(options: Options) -> Result<Handle> {
    options.validate()?;
    Ok(with_report(
        Shared::new(without_journal(options, None)?),
        RecoveryReport::default(),
    ))
}

fn without_journal(options: Options, lock: Option<Box<dyn StorageLock>>) -> Result<Begin> {
    let timeline = Timeline::begin(Arc::clone(&options.clock), Ticks(0));
    Ok(Begin {
        patterns: options.patterns()?,
        options,
        hasher: IdHasher::random(),
        registry: Registry::default(),
        journal: None,
        timeline,
        extras: Extras::default(),
        carrier: Carrier::default(),
        caches: 0,
        added_before: 0,
        lock,
    })
}

/// Opens the store in `storage`.
pub(crate) fn open(
    storage: Arc<dyn Storage>,
    options: Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Handle> {
    options.validate()?;
    let began = options.clock.monotonic();
    let directory = Directory::new(storage);
    let lock = lock(&directory, &options)?;
    let hasher = IdHasher::random();
    let recovered = recover(&directory, hasher.clone(), progress)?;
    if !options.persistence {
        return open_without_persistence(directory, options, lock, hasher, recovered);
    }
    let recovered = match recovered {
        Some(recovered) => recovered,
        None => make_store(&directory, &options, hasher.clone())?,
    };
    let (begin, mut report) = assemble(directory, options, Some(lock), hasher, recovered)?;
    // From here on whatever fails closes the store, which ends its keeper and its lock.
    let handle = Handle {
        shared: Shared::new(begin).share(),
    };
    report.ids -= expire(&handle.shared);
    handle.shared.apply_options(&mut report)?;
    let took = handle.shared.timeline.monotonic().saturating_sub(began);
    report.took_milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let _ = handle.shared.report.set(report);
    Ok(handle)
}

/// A store that had nothing to recover.
fn with_report(shared: Shared, report: RecoveryReport) -> Handle {
    let _ = shared.report.set(report);
    Handle {
        shared: shared.share(),
    }
}

/// With persistence off what the directory holds is in the way, unless it may be ended.
fn open_without_persistence(
    directory: Directory,
    options: Options,
    lock: Box<dyn StorageLock>,
    hasher: IdHasher,
    recovered: Option<Recovered>,
) -> Result<Handle> {
    let holds_ids = |recovered: &Recovered| {
        let report = &recovered.report;
        report.caches > 0 || report.prepared > 0 || report.bookmarks > 0
    };
    let Some(recovered) = recovered.filter(holds_ids) else {
        let shared = Shared::new(without_journal(options, Some(lock))?);
        return Ok(with_report(shared, RecoveryReport::default()));
    };
    if !options.end_stored_ids {
        let why = "the directory holds IDs; to end them, set end_stored_ids too";
        return Err(Error::Options {
            option: "persistence",
            why,
        });
    }
    let ending = options.clone().keeper(false);
    let shared = assemble(directory, ending, None, hasher, recovered)?.0;
    let shared = Shared::new(shared).share();
    for address in shared.registry.numbered() {
        let (_, _) = shared.drop_addresses(&[address])?;
    }
    shared.end_extras()?;
    shared.compact()?;
    shared.close()?;
    Ok(with_report(
        Shared::new(without_journal(options, Some(lock))?),
        RecoveryReport::default(),
    ))
}

fn lock(directory: &Directory, options: &Options) -> Result<Box<dyn StorageLock>> {
    let began = options.clock.monotonic();
    // Counted too, in case the clock stands still or goes back.
    let mut left = options.lock_wait;
    loop {
        match directory.lock() {
            Err(Error::Locked { .. })
                if !left.is_zero()
                    && options.clock.monotonic().saturating_sub(began) < options.lock_wait =>
            {
                std::thread::sleep(LOCK_PAUSE);
                left = left.saturating_sub(LOCK_PAUSE);
            }
            other => return other,
        }
    }
}

/// Makes a store file in an empty directory.
fn make_store(directory: &Directory, options: &Options, hasher: IdHasher) -> Result<Recovered> {
    let mut identity = [0; 16];
    let filled = options.entropy.fill(&mut identity);
    filled.map_err(|error| Error::io("ask for random bytes", "the system", error))?;
    let copy = StoreCopy {
        identity,
        generation: 1,
        mark_number: SegmentNumber(0),
        mark_salt: 0,
        mark_end: 0,
        first_number: SegmentNumber(0),
        first_salt: 0,
    };
    let store_file = OpenStoreFile::create(directory, copy)?;
    Ok(Recovered {
        replayed: Replayed::new(hasher),
        ring: Ring::new(Vec::new(), Vec::new(), SegmentNumber(0)),
        store: (store_file.file(), copy),
        names_are_durable: true,
        report: RecoveryReport {
            is_new: true,
            ..RecoveryReport::default()
        },
    })
}

/// Takes out what has expired while the store was closed; how many IDs that were.
fn expire(shared: &Shared) -> u64 {
    let expired = shared.registry.numbered().into_iter().map(|address| {
        let (max_age, before) = {
            let state = address.state.lock();
            (state.cache.max_age(), state.cache.len())
        };
        match max_age {
            0 => 0,
            _ => before - shared.lock(&address).cache.len(),
        }
    });
    expired.sum()
}

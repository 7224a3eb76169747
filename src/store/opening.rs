//! Opening a store: lock, recovery, and putting its parts together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::address_settings::{Patterns, SetBy};
use crate::clock::{Timeline, ticks};
use crate::compaction::Carrier;
use crate::directory::Directory;
use crate::error::{Bytes, Error, Result};
use crate::format::frame::MARK_BYTES;
use crate::format::record_bytes_max;
use crate::hash::IdHasher;
use crate::ids::{Ordinal, SegmentNumber, Ticks};
use crate::journal::{Journal, OpenStoreFile, Parts, Settings};
use crate::options::Options;
use crate::record::{AddForm, Record, add_bytes, definition_bytes, encoded_bytes};
use crate::recovery::{
    Configured, Progress, Recovered, RecoveryReport, Replayed, ReplayedAddress, recover,
};
use crate::ring::Ring;
use crate::storage::{Storage, StorageLock};
use crate::store::Handle;
use crate::store::address::{Address, Defined};
use crate::store::extras::{Ended, Extras};
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

fn assemble(
    directory: Directory,
    options: Options,
    lock: Option<Box<dyn StorageLock>>,
    hasher: IdHasher,
    recovered: Recovered,
) -> Result<(Begin, RecoveryReport)> {
    let Recovered {
        mut replayed,
        ring,
        store,
        names_are_durable,
        mut report,
    } = recovered;
    let largest = ring.chain().map(|link| link.bytes).max();
    if largest > Some(options.segment_bytes) {
        check_segments(&replayed, &options)?;
    }
    let newest = replayed.newest_time;
    let timeline = Timeline::begin(Arc::clone(&options.clock), newest);
    if newest > Ticks(0) {
        report.clock_ahead_milliseconds = ahead(ticks(options.clock.wall()), newest);
    }
    let registry = Registry::default();
    let (patterns, inactive) = all_patterns(&options, &replayed.configured)?;
    report.inactive_patterns = inactive;
    let configured = replayed.configured.values();
    let mut live_bytes = configured.map(|pattern| pattern.record_bytes).sum();
    // What exists comes first: a name that was dropped and begun anew under another number is that.
    let found = std::mem::take(&mut replayed.addresses);
    let names = ended_names(&found);
    let (begun, ended): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, found)| found.is_begun);
    for (number, found) in begun.into_iter().chain(ended) {
        live_bytes += restore(&registry, (&options, &patterns), number, found);
    }
    registry.restored();
    let added_before = registry.last_ordinals();
    let extras = Shared::restore_extras(&mut replayed, &registry, &hasher, names)
        .map_err(|error| error.within(directory.place()))?;
    live_bytes += extras.live_bytes();
    let parts = Parts {
        directory,
        store_file: OpenStoreFile::new(store.0, store.1),
        ring,
        names_are_durable,
        live_bytes,
    };
    let settings = Settings {
        segment_bytes: options.segment_bytes,
        writes: options.writes,
        entropy: Arc::clone(&options.entropy),
        timeline: timeline.clone(),
    };
    let journal = Journal::new(parts, settings);
    for (lasting, longest) in extras.lasting_bytes() {
        journal.claim_again(lasting, longest);
    }
    let journal = Some(Arc::new(journal));
    let carrier = Carrier::new(replayed.copies);
    let begin = Begin {
        options,
        hasher,
        registry,
        journal,
        timeline,
        extras,
        patterns,
        carrier,
        caches: report.caches,
        added_before,
        lock,
    };
    Ok((begin, report))
}

/// The definitions of addresses that do not exist: what tells their names.
fn ended_names(found: &HashMap<u32, ReplayedAddress, RandomState>) -> HashMap<u32, Ended> {
    let ended = found.iter().filter(|(_, address)| !address.is_begun);
    let ended = ended.filter_map(|(number, address)| {
        let defined = address.defined.or(address.ended)?;
        let (segment, bytes) = (defined.segment, defined.record_bytes);
        Some((*number, Ended { segment, bytes }))
    });
    ended.collect()
}

/// Refuses segments that are smaller than some record needs which lives in a larger one: it could
/// never be carried, and its segment and all behind it never be released.
fn check_segments(replayed: &Replayed, options: &Options) -> Result<()> {
    let max = record_bytes_max(options.segment_bytes);
    if longest_beside(replayed) > max {
        return Err(Error::Options {
            option: "segment_bytes",
            why: "a bookmark or prepared transaction that is stored needs larger segments",
        });
    }
    for address in replayed.addresses.values() {
        let name_bytes = address.name.as_ref().map_or(0, |(_, name)| name.len());
        let mut longest = definition_bytes(name_bytes, true);
        let mut next = Ordinal(1);
        while let Some(known) = address.cache.next_from(next) {
            let (id, value) = (known.id.len(), known.value.len());
            longest = longest.max(add_bytes(id, value, AddForm::Whole, true));
            next = Ordinal(known.ordinal.0 + 1);
        }
        if address.defined.is_some() && longest > max {
            return Err(Error::Options {
                option: "segment_bytes",
                why: "an ID or address that is stored needs larger segments",
            });
        }
    }
    Ok(())
}

/// The longest record that carrying bookmarks and prepared transactions may take, with their marks.
fn longest_beside(replayed: &Replayed) -> u64 {
    let bookmarks = replayed.bookmarks.iter().map(|(name, bookmark)| {
        let (time, value) = (bookmark.time, &*bookmark.value);
        encoded_bytes(&Record::Bookmark { time, name, value }, true)
    });
    let mark = MARK_BYTES as u64;
    let prepared = replayed.prepared.values();
    let prepared = prepared.map(|prepared| prepared.record_bytes + mark);
    bookmarks.chain(prepared).max().unwrap_or(0)
}

/// By how many milliseconds the clock is ahead of the newest time.
fn ahead(wall: Ticks, newest: Ticks) -> i64 {
    let (wall, newest) = (wall.milliseconds(), newest.milliseconds());
    let apart = i64::try_from(wall.abs_diff(newest)).unwrap_or(i64::MAX);
    if wall >= newest { apart } else { -apart }
}

/// The patterns of the options and those that calls have set; and which of these mean nothing.
fn all_patterns(
    options: &Options,
    configured: &HashMap<Box<[u8]>, Configured>,
) -> Result<(Patterns, Vec<Bytes>)> {
    let mut patterns = options.patterns()?;
    let mut inactive = Vec::new();
    for (text, configured) in configured {
        match patterns.parse(text) {
            Ok(pattern) => {
                patterns.set(SetBy::Call, pattern, configured.settings);
            }
            Err(_) => inactive.push(Bytes::from(&**text)),
        }
    }
    inactive.sort_by(|one, other| one.0.cmp(&other.0));
    Ok((patterns, inactive))
}

/// Takes in an address as recovery found it; the bytes of what lives of it.
fn restore(
    registry: &Registry,
    (options, patterns): (&Options, &Patterns),
    number: u32,
    found: ReplayedAddress,
) -> u64 {
    let Some((namespace, name)) = found.name else {
        registry.restore_nameless(number, found.named_in);
        return 0;
    };
    // A definition before a first add that is not there says nothing.
    let defined = found.defined.filter(|_| found.is_begun);
    // The name may have begun anew under another number since.
    if defined.is_none() && registry.get(namespace, &name).is_some() {
        registry.restore_nameless(number, found.named_in);
        return 0;
    }
    let fresh = Options::fresh(&options.inherit(patterns.effective(&name)));
    let address = Arc::new(Address::new(namespace, &name, fresh));
    let mut live_bytes = found.cache.live_bytes();
    {
        let mut state = address.state.lock();
        state.number = Some(number);
        state.cache = found.cache;
        state.incarnation = found.incarnation;
        state.is_begun = found.is_begun;
        match defined {
            Some(defined) => {
                (state.by_call, state.age_by_call) = (defined.by_call, defined.age_by_call);
                // What it has stored is ended, if at all, when settings are applied.
                state.is_memory_only = false;
                let (segment, bytes) = (defined.segment, defined.record_bytes);
                state.defined = Some(Defined { segment, bytes });
                live_bytes += bytes;
            }
            None => {
                state.incarnation = found.incarnation.saturating_add(1);
                drop(state.cache.set_capacity(fresh.capacity));
                state.cache.set_max_age(fresh.max_age);
            }
        }
    }
    let is_dropped = defined.is_none();
    registry.restore(number, &address);
    if is_dropped {
        registry.dropped(number, &address, found.named_in);
    }
    live_bytes
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

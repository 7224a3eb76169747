//! Putting the parts of a store together from what recovery found.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::address_settings::{Patterns, SetBy};
use crate::clock::{Timeline, ticks};
use crate::compaction::Carrier;
use crate::directory::Directory;
use crate::error::{Bytes, Error, Result};
use crate::format::frame::MARK_BYTES;
use crate::format::record_bytes_max;
use crate::hash::IdHasher;
use crate::ids::{Ordinal, Ticks};
use crate::journal::{Journal, OpenStoreFile, Parts, Settings};
use crate::options::Options;
use crate::record::{AddForm, Record, add_bytes, definition_bytes, encoded_bytes};
use crate::recovery::{Configured, Recovered, RecoveryReport, Replayed, ReplayedAddress};
use crate::storage::StorageLock;
use crate::store::address::{Address, Defined};
use crate::store::extras::Ended;
use crate::store::registry::Registry;
use crate::store::shared::{Begin, Shared};

/// The parts of a store of what recovery found.
pub(super) fn assemble(
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

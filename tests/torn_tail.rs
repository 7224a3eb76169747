//! Promise: whatever of the last writes is missing, the store reopens in a state that it passed
//! through, with everything synced in it; after a clean close a missing end is damage.
//!
//! Method: keep what the store answers after each change; cut the last segment of a killed store at
//! every byte, with zeros and with noise behind the cut; reopen, go on, reopen again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use idjournal::{DamageReason, Error, MemoryStorage, Outcome, Store};

use support::{Answers, Files, answers, files, open, refusal, repeatable, small, storage_of, uuid};

/// A store that was worked on, and every state that it passed through.
struct Worked {
    storage: MemoryStorage,
    store: Store,
    states: Vec<Answers>,
    /// The state that was synced last.
    synced: usize,
}

/// Makes `changes` changes of all kinds, and syncs after `sync_at` of them.
fn work(segment_bytes: u64, changes: u64, sync_at: u64) -> Worked {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), repeatable(segment_bytes, 1).0).unwrap();
    let mut states = vec![Answers::new()];
    let mut synced = 0;
    let mut note = |store: &Store| {
        let now = answers(store);
        if states.last() != Some(&now) {
            states.push(now);
        }
        states.len() - 1
    };
    for number in 0..changes {
        let (orders, bills) = (
            store.cache("orders").unwrap(),
            store.cache("bills").unwrap(),
        );
        match number % 9 {
            2 => drop(bills.remove(uuid(number - 1)).wait().unwrap()),
            4 => orders.set_capacity(3 + number % 2).wait().unwrap(),
            6 if number % 27 == 6 => drop(bills.clear().wait().unwrap()),
            7 => support::commit(&store, &[(&orders, uuid(number)), (&bills, uuid(number))]),
            8 if number % 18 == 8 => drop(store.drop_cache("bills").wait().unwrap()),
            _ => {
                let cache = if number % 3 == 0 { &orders } else { &bills };
                assert!(matches!(cache.add(uuid(number)), Ok(Outcome::Added)));
            }
        }
        let at = note(&store);
        if number + 1 == sync_at {
            store.sync().wait_synced().unwrap();
            synced = at;
        }
    }
    Worked {
        storage,
        store,
        states,
        synced,
    }
}

/// The slot of the last segment, and where its records begin and end.
fn last_segment(files: &Files) -> (String, usize, usize) {
    let storage = storage_of(files);
    let store = open(storage, small(1024)).unwrap();
    let last = *store.recovery().segments.last().unwrap();
    let slot = format!("slot-{:06}", last.slot.0);
    let begin = if files[&slot].len() < 32_768 {
        files[&slot].len() / 4
    } else {
        8192
    };
    (slot, begin, usize::try_from(last.end).unwrap())
}

/// Opens what a cut left; what it answers. It must stay so, and go on.
fn settle(cut: &Files, when: &str) -> Answers {
    let storage = storage_of(cut);
    let store =
        open(storage.clone(), small(1024)).unwrap_or_else(|error| panic!("{when}: {error}"));
    let now = answers(&store);
    drop(store);
    let store = open(storage.clone(), small(1024)).unwrap();
    assert!(
        answers(&store) == now,
        "{when}: another state after opening again"
    );
    let added = store.cache("later").unwrap().add("later");
    assert!(matches!(added, Ok(Outcome::Added)), "{when}");
    let known = answers(&store);
    drop(store);
    let store = open(storage, small(1024)).unwrap();
    assert!(
        answers(&store) == known,
        "{when}: something came alive behind the tear"
    );
    now
}

#[test]
fn a_cut_at_every_byte_of_a_killed_store_gives_a_state_that_was() {
    for (segment_bytes, changes, sync_at) in [(1024, 5, 0), (1024, 40, 38), (4096, 60, 30)] {
        let worked = work(segment_bytes, changes, sync_at);
        let left = files(&worked.storage);
        let (slot, begin, end) = last_segment(&left);
        for kind in ["zeros", "noise"] {
            let mut state = 0;
            let mut states = 0;
            for cut_at in begin..=end {
                let mut cut = left.clone();
                let bytes = cut.get_mut(&slot).unwrap();
                let lost = &mut bytes[cut_at..end];
                match kind {
                    "zeros" => lost.fill(0),
                    _ => lost.iter_mut().for_each(|byte| *byte ^= 0xa5),
                }
                let when = format!("{segment_bytes}, {kind} from {cut_at} of {end}");
                let now = settle(&cut, &when);
                // With less cut off it is the same state or a later one.
                let found = worked.states[state..]
                    .iter()
                    .position(|state| *state == now);
                let further = found.unwrap_or_else(|| panic!("{when}: not a state that was"));
                states += u64::from(further > 0);
                state += further;
            }
            let last = worked.states.last().unwrap();
            assert!(worked.states[state] == *last, "nothing cut, nothing lost");
            assert!(states > 0, "the cuts must cost something");
        }
    }
}

#[test]
fn what_was_synced_is_in_every_state_that_a_legal_cut_leaves() {
    for sync_at in [1, 10, 20, 33, 40] {
        let worked = work(4096, 40, sync_at);
        let left = files(&worked.storage);
        let (slot, begin, end) = last_segment(&left);
        // Where the synced part ends is found by the first cut that keeps it.
        let keeps = |cut_at: usize| {
            let mut cut = left.clone();
            cut.get_mut(&slot).unwrap()[cut_at..end].fill(0);
            let now = settle(&cut, "a cut");
            assert!(worked.states.contains(&now), "{cut_at}");
            worked.states[worked.synced..].contains(&now)
        };
        let first = (begin..=end).find(|cut_at| keeps(*cut_at)).unwrap();
        assert!((first..=end).all(keeps), "a longer rest that knows less");
    }
}

#[test]
fn lost_sectors_in_the_middle_of_the_tail_hide_what_is_behind_them() {
    // One segment, which nothing has synced.
    let worked = work(16 << 10, 60, 0);
    let left = files(&worked.storage);
    let (slot, begin, end) = last_segment(&left);
    for sector in (begin..end).step_by(128) {
        for bytes in [128, 256, 512] {
            let mut cut = left.clone();
            let till = (sector + bytes).min(end);
            cut.get_mut(&slot).unwrap()[sector..till].fill(0);
            let when = format!("{bytes} bytes from {sector}");
            let now = settle(&cut, &when);
            assert!(worked.states.contains(&now), "{when}");
        }
    }
}

#[test]
fn after_a_clean_close_every_cut_is_damage() {
    for (segment_bytes, changes) in [(1024, 5), (1024, 40), (4096, 60)] {
        let worked = work(segment_bytes, changes, 0);
        let last = worked.states.last().unwrap();
        worked.store.close().unwrap();
        let left = files(&worked.storage);
        let (slot, begin, end) = last_segment(&left);
        for cut_at in begin..end {
            let mut cut = left.clone();
            let bytes = cut.get_mut(&slot).unwrap();
            if bytes[cut_at..end].iter().all(|byte| *byte == 0) {
                continue;
            }
            let lost = &mut bytes[cut_at..end];
            let zeros = lost.iter().take_while(|byte| **byte == 0).count();
            lost.fill(0);
            match refusal(&cut, small(1024)) {
                Error::Damaged { offset, reason, .. } => {
                    let reasons = [DamageReason::Checksum, DamageReason::EndsTooEarly];
                    assert!(reasons.contains(&reason), "{cut_at}: {reason}");
                    let first_lost = (cut_at + zeros) as u64;
                    assert!(offset <= first_lost, "{offset} of {first_lost}");
                }
                other => panic!("{cut_at}: {other:?}"),
            }
        }
        assert_eq!(
            &answers(&open(storage_of(&left), small(1024)).unwrap()),
            last
        );
    }
}

#[test]
fn a_tail_shown_once_is_damage_when_it_goes_later() {
    let worked = work(4096, 30, 0);
    let storage = support::killed(&worked.storage);
    drop(open(storage.clone(), small(1024)).unwrap());
    let left = files(&storage);
    let (slot, begin, end) = last_segment(&left);
    for cut_at in (begin..end).step_by(8) {
        let mut cut = left.clone();
        cut.get_mut(&slot).unwrap()[cut_at] ^= 1;
        let error = refusal(&cut, small(1024));
        assert!(
            matches!(error, Error::Damaged { .. }),
            "{cut_at}: {error:?}"
        );
    }
}

//! Rows 47 and 48: deaths at every write, and torn records.

use idjournal::{MemoryStorage, Storage, SyncPolicy};

use super::common::deaths::at_every_call;
use super::support::home::{assert_absent, assert_added, assert_duplicate, fill, ids, numbers};
use super::support::{files, killed, open, small, storage_of};

/// What a step does; all but the last are changes of what is known.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u64),
    Remove(u64),
    Clear,
    Compact,
}

const SIZE: usize = 6;

/// Adds, removals of old and new IDs, clears and compactions, so that slots are used again.
fn script() -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..70 {
        steps.push(Step::Add(number));
        match number % 10 {
            3 => steps.push(Step::Remove(number - 2)),
            5 => steps.push(Step::Remove(number)),
            7 if number % 20 == 7 => steps.push(Step::Clear),
            8 => steps.push(Step::Compact),
            _ => {}
        }
    }
    steps
}

/// What is known after each number of steps: adds in order, those removed as none.
fn states(script: &[Step]) -> Vec<Vec<u64>> {
    let mut places: Vec<Option<u64>> = Vec::new();
    let mut states = vec![Vec::new()];
    for step in script {
        match step {
            Step::Add(number) => places.push(Some(*number)),
            Step::Remove(number) => {
                let place = places.iter_mut().find(|place| **place == Some(*number));
                *place.unwrap() = None;
            }
            Step::Clear => places.iter_mut().for_each(|place| *place = None),
            Step::Compact => {}
        }
        let window = &places[places.len().saturating_sub(SIZE)..];
        states.push(window.iter().copied().flatten().collect());
    }
    states
}

#[test]
fn r47_after_a_death_at_any_call_what_was_acknowledged_is_known_and_nothing_else() {
    let (script, mut kills, mut between) = (script(), 0, 0);
    let states = states(&script);
    let options = small(1024)
        .id_cache_size(SIZE as u64)
        .sync_policy(SyncPolicy::Always);
    let seen = at_every_call(
        &options,
        |_| {},
        script.len(),
        |store, step| {
            let orders = store.cache("orders").unwrap();
            match script[step] {
                Step::Add(number) => assert_added(&orders, number.to_string()),
                Step::Remove(number) => {
                    assert!(orders.remove(number.to_string()).wait().unwrap());
                }
                Step::Clear => drop(orders.clear().wait().unwrap()),
                Step::Compact => store.compact().unwrap(),
            }
        },
        6,
        |left| {
            let known = numbers(&left.store.cache("orders").unwrap());
            let may_be = &states[left.acknowledged..=left.begun];
            assert!(may_be.contains(&known), "{known:?} is none of {may_be:?}");
            kills += usize::from(left.is_kill);
            between += usize::from(left.acknowledged < left.begun);
        },
    );
    assert!(
        seen > 2_000 && kills * 7 == seen && between > 1_000,
        "{seen}, {kills}, {between}"
    );
}

/// Where the records of the newest segment end, and its slot's name.
fn end(storage: &MemoryStorage) -> (String, usize) {
    let store = open(killed(storage), small(4096)).unwrap();
    let segment = *store.recovery().segments.last().unwrap();
    let name = format!("slot-{:06}", segment.slot.0);
    (name, usize::try_from(segment.end).unwrap())
}

#[test]
fn r48_a_torn_last_record_is_dropped_and_the_next_add_is_whole() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    fill(&orders, 0..3);
    let (name, from) = end(&storage);
    assert_added(&orders, "a rather long ID that will be torn");
    let (same, to) = end(&storage);
    assert!(name == same && to > from);
    assert!(storage.list().unwrap().contains(&name));
    let whole = files(&storage);
    for torn in from..to {
        for filling in [0, 0xff] {
            let mut files = whole.clone();
            let rest = &mut files.get_mut(&name).unwrap()[torn..];
            if rest.iter().all(|byte| *byte == filling) {
                // The record ends in zeros: nothing is torn.
                continue;
            }
            rest.fill(filling);
            let storage = storage_of(&files);
            let store = open(storage.clone(), small(4096)).unwrap();
            let orders = store.cache("orders").unwrap();
            assert_absent(&orders, "a rather long ID that will be torn");
            assert_added(&orders, "next");
            let store = open(killed(&storage), small(4096)).unwrap();
            let orders = store.cache("orders").unwrap();
            assert_duplicate(&orders, "next");
            assert_eq!(ids(&orders), ["0", "1", "2", "next"], "torn at {torn}");
        }
    }
}

//! Promise: a backup of a store that goes on is the store in the state of one moment, complete and
//! on disk, or it does not open as a store; and the store does not suffer by it.
//!
//! Method: copies beside writers, upkeep and other copies, compared with what was acknowledged;
//! each call of the target's disk fails once, and the power fails after each.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod beside;
#[path = "../common/mod.rs"]
mod common;
mod faults;
#[path = "../support/mod.rs"]
mod support;

use common::simulated::{CallKind, Effect, Fault, SimulatedDisk};
use idjournal::inspect::Inspection;
use idjournal::{
    Error, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Resolved, State, Storage, Store,
};

use support::{answers, assert_same, commit, files, open, small, uuid};

fn is_bare(storage: &impl Storage) -> bool {
    storage.list().unwrap().iter().all(|name| name == "lock")
}

/// Asserts that `copy` is a store without any finding that knows this, and that opening it changes
/// nothing; returns it open.
#[track_caller]
fn assert_copy(copy: &(impl Storage + Clone), known: &support::Answers) -> Store {
    let inspection = Inspection::on(copy.clone()).unwrap();
    assert_eq!(inspection.findings(), []);
    let before = files(copy);
    let store = open(copy.clone(), small(2048)).unwrap();
    assert_eq!(answers(&store), *known);
    let report = store.recovery();
    assert_eq!((report.rewritten_bytes, report.tail), (0, None));
    assert_same(&files(copy), &before);
    store
}

/// Asserts that `left` does not open as a store.
#[track_caller]
fn assert_no_copy(left: &impl Storage, what: &str) {
    if is_bare(left) {
        return;
    }
    let files = files(left);
    match open(support::storage_of(&files), small(2048)) {
        Err(Error::NotAStore { .. }) => {}
        Err(error) => panic!("{what}: {error}"),
        Ok(_) => panic!("{what}: it opens, of {:?}", files.keys()),
    }
}

/// Some of everything, over several segments; `store` is one of 2 KiB segments.
fn fill(store: &Store) {
    let (orders, bills) = (
        store.cache("orders").unwrap(),
        store.cache("bills").unwrap(),
    );
    bills.set_capacity(20).wait().unwrap();
    for number in 0..200 {
        assert_eq!(orders.add(uuid(number)).unwrap(), Outcome::Added);
        commit(
            store,
            &[(&bills, uuid(number)), (&orders, uuid(1_000 + number))],
        );
    }
    assert!(orders.remove(uuid(150)).wait().unwrap());
    assert_eq!(
        store.cache("gone").unwrap().add("x").unwrap(),
        Outcome::Added
    );
    assert!(store.drop_cache("gone").wait().unwrap());
}

#[test]
fn a_backup_is_the_store_as_it_is_and_both_go_on() {
    for keeper in [true, false] {
        let (storage, copy) = (MemoryStorage::new(), MemoryStorage::new());
        let store = open(storage.clone(), small(2048).keeper(keeper)).unwrap();
        fill(&store);
        store.set_bookmark("file", [7]).wait().unwrap();
        let orders = store.cache("orders").unwrap();
        let mut batch = store.begin(OnDuplicate::Reject, Owner(7));
        assert_eq!(batch.add(&orders, "in doubt").unwrap(), Outcome::Added);
        drop(batch.prepare("xid").wait().unwrap());
        let known = answers(&store);
        store.backup_on(copy.clone()).unwrap();
        assert_eq!(answers(&store), known);
        let copied = assert_copy(&copy, &known);
        assert_eq!(copied.bookmark("file"), Some(vec![7]));
        let copied_orders = copied.cache("orders").unwrap();
        assert_eq!(copied_orders.state("in doubt"), State::Pending(Owner(7)));
        let prepared = copied.find_prepared("xid").unwrap();
        assert_eq!(prepared.roll_back().wait().unwrap(), Resolved::Done);
        assert!(store.find_prepared("xid").is_some(), "each has its own");
        // From here on they are two stores.
        for (one, id) in [(&store, "here"), (&copied, "there")] {
            let orders = one.cache("orders").unwrap();
            for number in 5_000..5_300 {
                assert_eq!(orders.add(uuid(number)).unwrap(), Outcome::Added);
            }
            assert_eq!(orders.add(id).unwrap(), Outcome::Added);
            one.close().unwrap();
        }
        for (storage, id, other) in [(storage, "here", "there"), (copy, "there", "here")] {
            let store = open(storage, small(2048)).unwrap();
            let orders = store.cache("orders").unwrap();
            assert!(orders.contains(id).unwrap() && !orders.contains(other).unwrap());
        }
    }
}

#[test]
fn a_store_is_copied_at_every_stage_of_its_life() {
    let storage = MemoryStorage::new();
    let copied = |source: &MemoryStorage, work: &dyn Fn(&Store)| {
        let store = open(source.clone(), small(2048)).unwrap();
        work(&store);
        let (known, copy) = (answers(&store), MemoryStorage::new());
        store.backup_on(copy.clone()).unwrap();
        drop(assert_copy(&copy, &known));
        support::killed(source)
    };
    let late = |store: &Store| {
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.add("late").unwrap(), Outcome::Added);
    };
    let nothing = |_: &Store| {};
    // Nothing was ever recorded; then something; then nothing in this life; then one record.
    copied(&storage, &nothing);
    copied(&storage, &fill);
    copied(&storage, &nothing);
    let killed = copied(&storage, &late);
    // Killed, so that the last segment ends without a seal; and torn.
    copied(&killed, &nothing);
    let torn = support::killed(&killed);
    let last = Inspection::on(torn.clone()).unwrap();
    let last = last.segments().last().unwrap();
    let slot = torn.open(&format!("slot-{:06}", last.slot.0)).unwrap();
    assert_eq!(slot.write_at(last.end, &[1; 64]).unwrap(), 64);
    copied(&torn, &nothing);
    copied(&torn, &|store| {
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.add("later").unwrap(), Outcome::Added);
    });
}

#[test]
fn a_directory_that_is_not_empty_or_not_free_is_refused_and_left_alone() {
    let store = open(MemoryStorage::new(), small(2048)).unwrap();
    fill(&store);
    let copy = MemoryStorage::new();
    store.backup_on(copy.clone()).unwrap();
    let other = MemoryStorage::new();
    drop(other.create("notes.txt").unwrap());
    for target in [copy, other] {
        let before = files(&target);
        let error = store.backup_on(target.clone()).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_same(&files(&target), &before);
    }
    let target = MemoryStorage::new();
    let lock = target.try_lock("lock", "9").unwrap();
    let error = store.backup_on(target.clone()).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(lock);
    store.backup_on(target.clone()).unwrap();
    drop(assert_copy(&target, &answers(&store)));
}

#[test]
fn a_store_that_cannot_be_copied_says_why_and_leaves_nothing() {
    let target = MemoryStorage::new();
    let store = Store::in_memory(Options::default()).unwrap();
    let error = store.backup_on(target.clone()).unwrap_err();
    assert!(matches!(error, Error::Options { .. }), "{error}");
    let store = open(MemoryStorage::new(), small(2048)).unwrap();
    store.close().unwrap();
    let error = store.backup_on(target.clone()).unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
    let disk = SimulatedDisk::new(512);
    let store = open(disk.clone(), small(2048)).unwrap();
    fill(&store);
    let of_writes = |nth, kind| Fault {
        kind,
        nth,
        is_lasting: true,
        effect: Effect::Fails(5),
    };
    // The source fails to sync what is not on disk yet.
    disk.fail(of_writes(1, CallKind::Sync));
    let error = store.backup_on(target.clone()).unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error}");
    let error = store.backup_on(target.clone()).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    assert!(is_bare(&target));
}

#[test]
fn rot_in_the_store_is_not_copied() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(2048)).unwrap();
    fill(&store);
    let inspection = Inspection::on(storage.clone()).unwrap();
    let segment = inspection.segments().next().unwrap();
    let slot = storage
        .open(&format!("slot-{:06}", segment.slot.0))
        .unwrap();
    let at = segment.begin + 64;
    let mut byte = [0];
    assert_eq!(slot.read_at(at, &mut byte).unwrap(), 1);
    slot.write_at(at, &[byte[0] ^ 1]).unwrap();
    let target = MemoryStorage::new();
    match store.backup_on(target.clone()).unwrap_err() {
        Error::Damaged { .. } => {}
        error => panic!("{error}"),
    }
    assert!(is_bare(&target));
}

#[test]
fn a_real_directory_is_made_and_holds_a_copy_without_a_finding() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, copy) = (scratch.path().join("ids"), scratch.path().join("copy"));
    let store = Store::open(&path, Options::default().segment_bytes(16 << 10)).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..2_000 {
        orders.submit(uuid(number)).detach();
    }
    store.backup(&copy).unwrap();
    assert!(store.backup(&copy).is_err(), "it is not empty now");
    let inspection = Inspection::open(&copy).unwrap();
    assert_eq!(inspection.findings(), []);
    let copied = Store::open(&copy, Options::default()).unwrap();
    assert_eq!(answers(&copied), answers(&store));
}

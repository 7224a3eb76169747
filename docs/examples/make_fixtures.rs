//! Makes the fixtures of format 1: small directories, the same bytes in every run, and what opening
//! each tells.
//!
//! `cargo run --example make_fixtures -- tests/fixtures/v1` writes them. Fixtures of a released
//! format are never made anew: `tests/golden.rs` opens them as they are, and holds the writer to
//! the same bytes.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made must stop the program"
)]
#![allow(
    dead_code,
    reason = "a test takes this as a module and never calls `main`"
)]

#[path = "../../tests/support/mod.rs"]
pub(crate) mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{env, fs};

use idjournal::{
    AddressSettings, Bytes, Error, MemoryStorage, Namespace, OnDuplicate, Options, Owner, Result,
    Store,
};

use support::{Files, HandClock, answers, commit, files, open, repeatable, storage_of, uuid};

/// A directory, and in words what opening it tells.
pub(crate) struct Fixture {
    pub(crate) files: Files,
    pub(crate) told: String,
}

fn main() {
    let target = env::args_os()
        .nth(1)
        .unwrap_or_else(|| "tests/fixtures/v1".into());
    let target = Path::new(&target);
    for (name, fixture) in fixtures() {
        let directory = target.join(name);
        // A slot that a fixture no longer has must not stay.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        for (file, bytes) in &fixture.files {
            fs::write(directory.join(file), bytes).unwrap();
        }
        fs::write(target.join(format!("{name}.txt")), &fixture.told).unwrap();
    }
}

/// All fixtures by name.
pub(crate) fn fixtures() -> BTreeMap<&'static str, Fixture> {
    let made = [
        ("empty", closed(1024, |_, _| {})),
        (
            "one_segment",
            closed(4096, |store, clock| add(store, clock, "orders", 0..5)),
        ),
        ("wrapped", closed(1024, go_round)),
        ("stale", killed(1024, go_round)),
        ("cleared", closed(1024, clear)),
        ("every_kind", closed(1024, every_kind)),
        ("settings", closed(1024, settings)),
        ("torn", torn()),
        ("damaged", damaged()),
    ];
    let with_words = |(name, files): (&'static str, Files)| {
        let told = tell(Store::open_on(storage_of(&files), options().0, &mut |_| {}));
        (name, Fixture { files, told })
    };
    made.into_iter().map(with_words).collect()
}

/// Options under which opening a fixture tells the same each time.
pub(crate) fn options() -> (Options, Arc<HandClock>) {
    repeatable(1024, 77)
}

fn worked_on(segment_bytes: u64, work: impl FnOnce(&Store, &HandClock)) -> (MemoryStorage, Store) {
    let storage = MemoryStorage::new();
    let (options, clock) = repeatable(segment_bytes, 42);
    let store = open(storage.clone(), options).unwrap();
    work(&store, &clock);
    (storage, store)
}

fn closed(segment_bytes: u64, work: impl FnOnce(&Store, &HandClock)) -> Files {
    let (storage, store) = worked_on(segment_bytes, work);
    store.close().unwrap();
    files(&storage)
}

fn killed(segment_bytes: u64, work: impl FnOnce(&Store, &HandClock)) -> Files {
    let (storage, _store) = worked_on(segment_bytes, work);
    files(&storage)
}

/// Lets time go by a second.
fn pass(clock: &HandClock) {
    clock.0.fetch_add(1_000, Ordering::Relaxed);
}

fn add(store: &Store, clock: &HandClock, address: &str, numbers: std::ops::Range<u64>) {
    let cache = store.cache(address).unwrap();
    for number in numbers {
        pass(clock);
        let _ = cache.add(uuid(number)).unwrap();
    }
}

fn go_round(store: &Store, clock: &HandClock) {
    store
        .cache("orders")
        .unwrap()
        .set_capacity(20)
        .wait()
        .unwrap();
    add(store, clock, "orders", 0..90);
}

fn clear(store: &Store, clock: &HandClock) {
    add(store, clock, "orders", 0..12);
    assert_eq!(store.cache("orders").unwrap().clear().wait().unwrap(), 12);
    add(store, clock, "orders", 5..7);
}

/// Every kind of record that a call writes.
fn every_kind(store: &Store, clock: &HandClock) {
    let orders = store.cache("orders").unwrap();
    let bridge = store.cache_in(Namespace::Bridge, "orders").unwrap();
    let bills = store.cache("bills").unwrap();
    bills.set_capacity(3).wait().unwrap();
    add(store, clock, "kept", 500..502);
    add(store, clock, "bills", 0..16);
    let _ = (
        orders.add("an ID").unwrap(),
        bridge.add(b"\x00\xff").unwrap(),
    );
    pass(clock);
    commit(
        store,
        &[(&orders, uuid(1)), (&bridge, uuid(2)), (&bills, uuid(30))],
    );
    assert!(orders.remove("an ID").wait().unwrap());
    let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
    assert!(transaction.remove(&orders, uuid(1)).unwrap());
    let _ = transaction.add(&orders, uuid(5)).unwrap();
    transaction.commit().wait().unwrap();
    assert_eq!(bridge.clear().wait().unwrap(), 2);
    let _ = store.cache("short").unwrap().add("x").unwrap();
    assert!(store.drop_cache("short").wait().unwrap());
    add(store, clock, "orders", 40..44);
    let stats = store.stats();
    assert!(stats.carried_records > 0 && stats.segments_released > 0);
}

/// Patterns set by calls, one of them taken away, and what they did; carried once around.
fn settings(store: &Store, clock: &HandClock) {
    let age = std::time::Duration::from_secs(1_000_000);
    let none = AddressSettings::default();
    let set = |pattern: &str, settings| store.configure(pattern, settings).wait().unwrap();
    add(store, clock, "orders.eu", 0..8);
    set("orders.#", none.id_cache_size(5).max_age(age));
    set("orders.*", none.id_cache_size(3));
    set("orders.eu", none.persistence(true));
    set("orders.eu", none);
    set("tmp.#", none.persistence(false).end_stored_ids(true));
    add(store, clock, "tmp.1", 0..3);
    store.cache("busy").unwrap().set_capacity(4).wait().unwrap();
    add(store, clock, "busy", 0..60);
    add(store, clock, "orders.eu.all", 0..7);
    let stats = store.stats();
    assert!(stats.carried_records > 0 && stats.segments_released > 0);
}

/// The last record is there in part only.
fn torn() -> Files {
    let mut files = killed(4096, |store, clock| add(store, clock, "orders", 0..6));
    let slot = files.get_mut("slot-000000").unwrap();
    let end = slot.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    slot[end - 20..end].fill(0);
    files
}

/// One bit of a record is wrong, below the mark of a clean close.
fn damaged() -> Files {
    let mut files = closed(4096, |store, clock| add(store, clock, "orders", 0..6));
    files.get_mut("slot-000000").unwrap()[1024 + 200] ^= 0x10;
    files
}

fn without_place(error: &Error) -> String {
    let Error::Damaged { place, .. } = error else {
        return format!("{error}\n");
    };
    format!("{error}\n").replace(&format!(" in {place}"), "")
}

/// What opening a fixture tells: the error, or the report and every ID.
pub(crate) fn tell(opened: Result<Store>) -> String {
    let store = match opened {
        Ok(store) => store,
        // The same wherever the directory stands.
        Err(error) => return without_place(&error),
    };
    let report = store.recovery();
    let mut told = format!(
        "records {}, IDs {}, caches {}, bytes read {}, rewritten {}, clock ahead {} ms\n",
        report.records,
        report.ids,
        report.caches,
        report.read_bytes,
        report.rewritten_bytes,
        report.clock_ahead_milliseconds
    );
    for segment in &report.segments {
        let (number, slot, end) = (segment.number, segment.slot, segment.end);
        let rewritten = if segment.is_rewritten {
            ", rewritten"
        } else {
            ""
        };
        writeln!(told, "segment {number} in slot {slot} to {end}{rewritten}").unwrap();
    }
    if let Some(number) = report.left_out {
        writeln!(told, "segment {number} left out").unwrap();
    }
    if let Some(tail) = report.tail {
        let (segment, offset, bytes) = (tail.segment, tail.offset, tail.bytes);
        writeln!(
            told,
            "tail of {bytes} bytes in segment {segment} at {offset}"
        )
        .unwrap();
    }
    for ((namespace, address), (capacity, ids)) in answers(&store) {
        let address = Bytes::from(&*address);
        writeln!(told, "{namespace:?} {address}, capacity {capacity}").unwrap();
        for (ordinal, id) in ids {
            writeln!(told, "  {ordinal} {}", Bytes::from(&*id)).unwrap();
        }
    }
    told
}

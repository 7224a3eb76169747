//! Promise: `journal-dump` shows what a journal holds and names every damage, changes nothing, and
//! never calls sound what `open` refuses, nor damaged what is only being written.
//!
//! Method: the built program is run on stores of many shapes, on damaged ones, and beside a writer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod damage;
mod kinds;
mod living;
mod views;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use idjournal::{Namespace, OnDuplicate, Options, Owner, Store};
use serde_json::Value;

const VIEWS: [&str; 3] = ["records", "stats", "verify"];

/// A directory for a store, and other files of a test.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        // In memory where there is such a place: tiny segments sync without end.
        let memory = std::path::Path::new("/dev/shm");
        let made = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Place(made.expect("a temporary directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("ids")
    }

    fn open(&self, options: Options) -> Store {
        // A child that another test is starting holds the lock of a closed store for a moment.
        let options = options.lock_wait(Duration::from_secs(10));
        Store::open(self.path(), options).expect("the store opens")
    }
}

/// What a run came to.
#[derive(Debug)]
struct Run {
    status: i32,
    out: String,
    errors: String,
}

impl Run {
    /// The output as JSON, line by line.
    fn json(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

/// Runs the program; whatever it shows must be plain.
fn dump(arguments: &[&str], directory: &Path) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_journal-dump"))
        .args(arguments)
        .arg(directory)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    for bytes in [&output.stdout, &output.stderr] {
        let other = bytes
            .iter()
            .find(|byte| !matches!(byte, b'\n' | 0x20..0x7f));
        assert_eq!(other, None, "{}", String::from_utf8_lossy(bytes));
    }
    Run {
        status: output.status.code().expect("it ends by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Every view, with and without JSON.
fn all_views() -> Vec<Vec<&'static str>> {
    let plain = VIEWS.iter().map(|view| vec![*view]);
    let json = VIEWS.iter().map(|view| vec![*view, "--json"]);
    plain.chain(json).collect()
}

fn tiny() -> Options {
    Options::default().segment_bytes(1024).keeper(false)
}

/// Fills several addresses in both namespaces, with something of every kind that a call writes.
fn fill(store: &Store, rounds: u32) {
    let orders = store.cache("orders").unwrap();
    let bridge = store.cache_in(Namespace::Bridge, "orders").unwrap();
    let bills = store.cache("bills").unwrap();
    orders.set_capacity(7).wait().unwrap();
    for round in 0..rounds {
        let _ = orders.add(format!("order-{round}")).unwrap();
        let _ = bridge.add(format!("bridged-{round}")).unwrap();
        if round % 10 == 3 {
            let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
            let _ = transaction.add(&bills, format!("bill-{round}")).unwrap();
            transaction
                .remove(&orders, format!("order-{round}"))
                .unwrap();
            transaction.commit().wait().unwrap();
        }
        if round % 10 == 5 {
            orders.remove(format!("order-{round}")).wait().unwrap();
        }
    }
}

/// Names, bytes and modification times.
fn state(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut state = BTreeMap::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let time = std::fs::metadata(&path).unwrap().modified().unwrap();
        state.insert(path.clone(), (std::fs::read(&path).unwrap(), time));
    }
    let time = std::fs::metadata(directory).unwrap().modified().unwrap();
    state.insert(directory.to_owned(), (Vec::new(), time));
    state
}

/// A copy of the files, as a process that was killed would have left them.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// The file of a slot.
fn slot(directory: &Path, slot: &Value) -> PathBuf {
    directory.join(format!("slot-{:06}", slot.as_u64().unwrap()))
}

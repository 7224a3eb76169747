//! Promise: a directory is open once at a time, in this process or in any; the error names it and
//! the holder.
//!
//! Method: open it a second time here; have a child, which is this program again, hold it, and kill
//! that child by its own number. A child that it forked could outlive it (docs/operations.md); that
//! is not tried here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use idjournal::inspect::Inspection;
use idjournal::{Clock, Error, MemoryStorage, Outcome, Storage, Store, SystemClock};

use support::watched::{Call, Watched};
use support::{open, small};

const DIRECTORY: &str = "IDJOURNAL_TEST_HOLD";

/// What the child does: holds the directory until its input ends. Without the variable, nothing.
#[test]
fn hold_for_a_parent() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let store = Store::open(directory, small(4096)).unwrap();
    let added = store.cache("orders").unwrap().add("from the child");
    assert!(matches!(added, Ok(Outcome::Added)));
    let mut out = std::io::stdout();
    out.write_all(b"held\n").unwrap();
    out.flush().unwrap();
    let mut rest = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut rest).unwrap();
    store.close().unwrap();
}

/// A child that holds `directory`, once it says so.
fn holder(directory: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_for_a_parent", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.ends_with("held\n") {
        line.clear();
        assert!(
            out.read_line(&mut line).unwrap() > 0,
            "the child ended without holding"
        );
    }
    // The child's output stays open as long as the reader lives.
    (child, out)
}

fn assert_locked(directory: &Path, process: u32) {
    match Store::open(directory, small(4096)) {
        Err(error @ Error::Locked { .. }) => {
            let words = error.to_string();
            for part in [directory.to_str().unwrap(), &process.to_string(), "child"] {
                assert!(words.contains(part), "{words}");
            }
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("opened twice"),
    }
}

#[test]
fn a_second_open_in_the_same_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), small(4096)).unwrap();
    assert_locked(directory.path(), std::process::id());
    let link = tempfile::tempdir().unwrap().path().join("link");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(directory.path(), &link).unwrap();
    let again = Store::open(&link, small(4096));
    assert!(
        matches!(again, Err(Error::Locked { .. })),
        "by another path"
    );
    std::fs::remove_dir_all(link.parent().unwrap()).unwrap();
    let _ = store.cache("orders").unwrap().add("order-1").unwrap();
    store.close().unwrap();
    // A closed store frees its directory although handles of it are left.
    let store = Store::open(directory.path(), small(4096)).unwrap();
    assert!(store.cache("orders").unwrap().contains("order-1").unwrap());
    drop(store);
    Store::open(directory.path(), small(4096))
        .unwrap()
        .close()
        .unwrap();
}

#[test]
fn the_last_handle_holds_the_directory_also_that_of_a_cache() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    drop(store);
    assert!(matches!(
        open(storage.clone(), small(4096)),
        Err(Error::Locked { .. })
    ));
    let _ = orders.add("order-1").unwrap();
    drop(orders);
    let store = open(storage, small(4096)).unwrap();
    assert!(store.cache("orders").unwrap().contains("order-1").unwrap());
}

#[test]
fn another_process_is_named_and_its_death_frees_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (mut child, _out) = holder(directory.path());
    assert_locked(directory.path(), child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    let store = Store::open(directory.path(), small(4096)).unwrap();
    let known = store.cache("orders").unwrap().contains("from the child");
    assert!(known.unwrap(), "a kill forgets nothing");
    drop(store);
    let (mut child, _out) = holder(&directory.path().join("another"));
    assert_locked(&directory.path().join("another"), child.id());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let store = Store::open(directory.path().join("another"), small(4096)).unwrap();
    assert!(
        store
            .recovery()
            .segments
            .iter()
            .all(|segment| !segment.is_rewritten)
    );
}

#[test]
fn the_wait_for_a_lock_is_bounded_and_succeeds_when_it_comes_free() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let clock = SystemClock;
    let (began, wait) = (clock.monotonic(), Duration::from_millis(60));
    let refused = open(storage.clone(), small(4096).lock_wait(wait));
    assert!(matches!(refused, Err(Error::Locked { .. })));
    let waited = clock.monotonic() - began;
    assert!(waited >= Duration::from_millis(50), "{waited:?}");
    let (closing, waiting) = (Arc::new(store), storage.clone());
    let waiter = std::thread::spawn(move || {
        let options = small(4096).lock_wait(Duration::from_secs(30));
        open(waiting, options).map(|store| store.close())
    });
    closing.close().unwrap();
    waiter.join().unwrap().unwrap().unwrap();
}

#[test]
fn a_refused_open_gives_the_lock_back() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(1024)).unwrap();
    let _ = store.cache("orders").unwrap().add("order-1").unwrap();
    store.close().unwrap();
    let off = small(1024).persistence(false);
    assert!(matches!(
        open(storage.clone(), off),
        Err(Error::Options { .. })
    ));
    assert!(open(storage, small(1024)).is_ok());
}

/// No lock is to be had on some network file systems: ENOLCK, EOPNOTSUPP, ENOSYS.
#[test]
fn f33_where_there_are_no_locks_a_store_is_refused_before_anything_is_read() {
    let lives = MemoryStorage::new();
    let store = open(lives.clone(), small(4096)).unwrap();
    assert!(matches!(
        store.cache("orders").unwrap().add("a"),
        Ok(Outcome::Added)
    ));
    store.close().unwrap();
    let before = support::files(&lives);
    for (number, kind) in [
        (37, None),
        (95, Some(std::io::ErrorKind::Unsupported)),
        (38, Some(std::io::ErrorKind::Unsupported)),
    ] {
        for inner in [lives.clone(), MemoryStorage::new()] {
            let is_new = inner.list().unwrap().is_empty();
            let storage = Watched::new(inner.clone()).without_locks(number);
            // Waiting for another holder is of no use: there is none.
            let options = small(4096).lock_wait(Duration::from_secs(3600));
            let Err(error) = open(storage.clone(), options) else {
                panic!("opened without a lock");
            };
            let Error::Io {
                doing,
                file,
                source,
            } = &error
            else {
                panic!("{error:?}");
            };
            assert_eq!((*doing, file.as_str()), ("lock", "memory/lock"));
            assert!(
                kind.is_none_or(|kind| source.io_kind() == Some(kind)),
                "{source:?}"
            );
            assert_eq!(storage.calls(), [Call::Lock], "nothing else was called");
            // Looking needs no lock.
            let inspection = Inspection::on(storage.clone());
            assert_eq!(inspection.is_err(), is_new);
            assert!(!storage.calls().contains(&Call::Create("lock".to_owned())));
        }
    }
    assert!(support::files(&lives) == before, "nothing was changed");
    let store = open(lives, small(4096)).unwrap();
    assert!(store.cache("orders").unwrap().contains("a").unwrap());
}

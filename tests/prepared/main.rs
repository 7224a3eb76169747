//! Promise: a prepared transaction is recorded, pending and in doubt over any number of restarts,
//! until it is committed or rolled back; then it is as if it had been done or had never been.
//!
//! Method: each open case over each way to store (mapped, positioned, in memory) and each way to go
//! on: in the same life, after a close, after a kill, and after all segments were carried. What a
//! store says lives is compared over each restart.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "modules of a test program")]
#![allow(
    clippy::print_stderr,
    reason = "a failure shows in which way it was met"
)]

mod between;
mod carrying;
mod outcomes;
mod settings;
mod space;
#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;

use idjournal::{
    Cache, FileStorage, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Prepared, State,
    Store, Transaction, Writes,
};

use support::{files, files_in, small, storage_of, uuid};

const SEGMENT_BYTES: u64 = 8192;
const OWNER: Owner = Owner(7);

/// Where a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Mapped,
    Positioned,
    Memory,
    /// Without a journal: nothing outlives it, so that only the same life is asked.
    NoJournal,
}

/// How the test goes on between its two halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    SameLife,
    Closed,
    Killed,
    /// Everything that lives was carried, then closed.
    Carried,
    /// Everything that lives was carried after a restart, then killed.
    CarriedAgain,
}

/// A store and where it lies.
struct Home {
    way: Way,
    between: Between,
    directory: tempfile::TempDir,
    memory: MemoryStorage,
    lives: usize,
    store: Option<Store>,
}

/// Runs `test` in every way; `home.go_on()` is where they differ.
fn everywhere(test: impl Fn(&mut Home)) {
    use Between::{Carried, CarriedAgain, Closed, Killed, SameLife};
    for way in [Way::Mapped, Way::Positioned, Way::Memory, Way::NoJournal] {
        for between in [SameLife, Closed, Killed, Carried, CarriedAgain] {
            if way == Way::NoJournal && between != SameLife {
                continue;
            }
            let mut home = Home {
                way,
                between,
                directory: tempfile::tempdir().unwrap(),
                memory: MemoryStorage::new(),
                lives: 0,
                store: None,
            };
            home.open();
            eprintln!("{way:?}, {between:?}");
            test(&mut home);
            home.restart(false);
        }
    }
}

impl Home {
    fn options(&self) -> Options {
        let writes = match self.way {
            Way::Mapped => Writes::Mapped,
            _ => Writes::Positioned,
        };
        small(SEGMENT_BYTES).writes(writes)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(self.lives.to_string())
    }

    fn open(&mut self) {
        let options = self.options();
        let store = match self.way {
            Way::Mapped | Way::Positioned => {
                let storage = FileStorage::create(self.path()).unwrap();
                support::open(storage, options)
            }
            Way::Memory => support::open(self.memory.clone(), options),
            Way::NoJournal => Store::in_memory(options),
        };
        self.store = Some(store.unwrap());
    }

    fn store(&self) -> Store {
        self.store.clone().unwrap()
    }

    fn cache(&self, address: &str) -> Cache {
        self.store().cache(address).unwrap()
    }

    /// Ends the store by a close or a kill, and opens what that leaves.
    fn restart(&mut self, is_killed: bool) {
        let store = self.store.take().unwrap();
        if self.way == Way::NoJournal {
            self.store = Some(store);
            return;
        }
        store.sync().wait().unwrap();
        let live_bytes = store.stats().live_bytes;
        if is_killed {
            self.lives += 1;
            match self.way {
                Way::Memory => self.memory = storage_of(&files(&self.memory)),
                _ => {
                    let before = self.directory.path().join((self.lives - 1).to_string());
                    std::fs::create_dir(self.path()).unwrap();
                    for (name, bytes) in files_in(&before) {
                        std::fs::write(self.path().join(name), bytes).unwrap();
                    }
                }
            }
        }
        store.close().unwrap();
        drop(store);
        self.open();
        assert_eq!(self.store().stats().live_bytes, live_bytes, "what lives");
    }

    /// Goes on to the second half.
    fn go_on(&mut self) {
        match self.between {
            Between::SameLife => {}
            Between::Closed => self.restart(false),
            Between::Killed => self.restart(true),
            Between::Carried => {
                self.carry();
                self.restart(false);
            }
            Between::CarriedAgain => {
                self.restart(true);
                self.carry();
                self.restart(true);
                self.carry();
                self.restart(true);
            }
        }
    }

    /// Lets go of every segment that there is now, by adds to an address that nothing else has.
    fn carry(&self) {
        let store = self.store();
        let filler = store.cache("filler").unwrap();
        let first = filler.len();
        filler.set_capacity(8).wait().unwrap();
        let begun = store.stats().segments_begun;
        let mut number = 1_000_000 * (first + self.lives as u64 + 1);
        while store.stats().segments_begun < begun + 8 {
            let _ = filler.add(uuid(number)).unwrap();
            number += 1;
        }
        assert!(store.stats().segments_released > 0, "nothing was let go");
    }
}

/// The IDs of a cache in order.
fn ids(cache: &Cache) -> Vec<String> {
    let text = |id: Vec<u8>| String::from_utf8(id).unwrap();
    cache.ids().map(text).collect()
}

fn add(cache: &Cache, ids: &[&str]) {
    for id in ids {
        assert_eq!(cache.add(id).unwrap(), Outcome::Added, "{id}");
    }
}

fn begin(store: &Store) -> Transaction {
    store.begin(OnDuplicate::Reject, OWNER)
}

/// A prepared transaction that adds `ids` to `cache`.
fn prepare(store: &Store, xid: &str, cache: &Cache, ids: &[&str]) -> Prepared {
    let mut transaction = begin(store);
    for id in ids {
        assert_eq!(transaction.add(cache, id).unwrap(), Outcome::Added, "{id}");
    }
    transaction.prepare(xid).wait().unwrap()
}

/// The IDs of the transactions that are in doubt, by time and ID.
fn in_doubt(store: &Store) -> Vec<String> {
    let prepared = store.prepared();
    let ids = prepared
        .iter()
        .map(|one| String::from_utf8_lossy(one.id()).into_owned());
    ids.collect()
}

fn assert_pending(cache: &Cache, id: &str) {
    assert_eq!(cache.state(id), State::Pending(OWNER), "{id}");
    assert_eq!(cache.add(id).unwrap(), Outcome::Pending(OWNER), "{id}");
}

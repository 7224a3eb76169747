//! Patterns set and taken away by one thread while others use the addresses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use idjournal::{MemoryStorage, OnDuplicate, Owner, Store};

use super::{add, cache, ids, known, none, open, plain};

const ROUNDS: u64 = 20_000;
const WORKERS: u64 = 2;
/// Nobody waits for so long but who waits for ever.
const PATIENCE: Duration = Duration::from_secs(300);

/// Tells when it is over that the thread has come to its end, whatever that was.
struct Told(Sender<bool>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(thread::panicking());
    }
}

/// Adds, prepares, drops and commits at an address of its own, until it is over.
fn work(store: &Store, worker: u64, is_over: &AtomicBool) {
    let name = format!("tmp.{worker}");
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 2;
        let _ = cache(store, &name).add(number.to_string()).unwrap();
        let mut branch = store.begin(OnDuplicate::Skip, Owner(worker));
        let _ = branch
            .add(&cache(store, &name), (number + 1).to_string())
            .unwrap();
        let prepared = branch.prepare(name.as_str()).wait().unwrap();
        store.drop_cache(&name).wait().unwrap();
        let _ = prepared.commit().wait().unwrap();
        assert!(cache(store, &name).stats().capacity > 0);
    }
}

#[test]
fn patterns_change_while_addresses_are_dropped_and_nobody_waits_for_ever() {
    let store = open(&MemoryStorage::new(), plain());
    let (sender, is_done) = channel();
    let is_over = Arc::new(AtomicBool::new(false));
    for worker in 0..WORKERS {
        let (store, told) = (store.clone(), Told(sender.clone()));
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || {
            let _told = told;
            work(&store, worker, &is_over);
        });
    }
    let (configured, told) = (store.clone(), Told(sender));
    thread::spawn(move || {
        let _told = told;
        for round in 0..ROUNDS {
            // Most of them reach no address, and are quick.
            let pattern = if round % 50 == 0 { "tmp.#" } else { "other" };
            let is_on = round % 100 == 0;
            let settings = none().persistence(is_on).end_stored_ids(!is_on);
            let settings = settings.id_cache_size(1 + round % 7);
            configured.configure(pattern, settings).wait().unwrap();
            configured.configure("other.*", ids(3)).wait().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    for _ in 0..=WORKERS {
        assert!(
            !is_done.recv_timeout(PATIENCE).unwrap(),
            "a thread has panicked"
        );
    }
    add(&store, "tmp.0", 1_000_000..1_000_001);
    assert!(known(&store, "tmp.0").contains(&1_000_000));
}

//! Promise: check and add are one step for any number of threads, and no call that runs beside
//! others makes the store forget, invent or miscount.
//!
//! Method: threads that meet at a barrier, bounded counts, then the answers before and after
//! reopening.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use common::generator::Choices;
use common::media::Cut;
use common::simulated::{CallKind, Effect, Fault, SimulatedDisk};

use idjournal::{
    Cache, Confirmed, Error, MemoryStorage, OnDuplicate, Options, Outcome, Owner, Reserve, Store,
    SyncPolicy,
};

use support::{answers, open, small, uuid};

const THREADS: u64 = 8;

fn policies() -> [Options; 4] {
    let options = || Options::default().segment_bytes(4096);
    [
        options(),
        options().keeper(false),
        options().sync_policy(SyncPolicy::Manual),
        small(4096),
    ]
}

/// Runs `work` in all threads at once; the sum of what they return.
fn together(work: impl Fn(u64) -> u64 + Sync) -> u64 {
    let barrier = Barrier::new(usize::try_from(THREADS).unwrap());
    thread::scope(|scope| {
        let run = |thread| {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    })
}

#[test]
fn of_all_threads_with_one_id_exactly_one_is_told_added() {
    for options in policies() {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), options).unwrap();
        let orders = store.cache("orders").unwrap();
        let ids = 300;
        let added = together(|thread| {
            let mut added = 0;
            for number in 0..ids {
                let outcome = match thread % 3 {
                    0 => orders.add(uuid(number)).unwrap(),
                    1 => orders.submit(uuid(number)).wait().unwrap(),
                    _ => by_claim(&orders, number),
                };
                added += u64::from(outcome == Outcome::Added);
                // Nobody waits for the owner of a claim here: whoever is told "pending" goes on.
            }
            added
        });
        assert_eq!(added, ids);
        assert_eq!((orders.len(), store.stats().added), (ids, ids));
        let known = answers(&store);
        store.close().unwrap();
        assert_eq!(answers(&open(storage, small(4096)).unwrap()), known);
    }
}

fn by_claim(orders: &Cache, number: u64) -> Outcome {
    match orders.reserve_as(uuid(number), Owner(9), None).unwrap() {
        Reserve::Reserved(claim) => {
            assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
            Outcome::Added
        }
        Reserve::Duplicate(seen) => Outcome::Duplicate(seen.wait().unwrap()),
        Reserve::Pending(owner) => {
            assert_eq!(owner, Owner(9));
            Outcome::Pending(owner)
        }
    }
}

#[test]
fn many_ids_over_many_addresses_are_all_there_once_in_order() {
    for options in policies() {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), options).unwrap();
        let added = together(|thread| {
            let own = store.cache(format!("own-{thread}")).unwrap();
            let shared = store.cache("shared").unwrap();
            let mut receipts = Vec::new();
            for number in 0..250 {
                receipts.push(own.submit(uuid(number)));
                receipts.push(shared.submit(uuid(thread * 1_000 + number)));
            }
            let receipts = receipts.into_iter();
            let last = receipts
                .map(|receipt| receipt.wait_synced().unwrap())
                .filter(|outcome| {
                    assert_eq!(*outcome, Outcome::Added);
                    true
                });
            last.count() as u64
        });
        assert_eq!(added, THREADS * 500);
        for thread in 0..THREADS {
            let own = store.cache(format!("own-{thread}")).unwrap();
            assert!(own.ids().eq((0..250).map(|number| uuid(number).to_vec())));
        }
        assert_eq!(store.cache("shared").unwrap().len(), THREADS * 250);
        let known = answers(&store);
        store.close().unwrap();
        assert_eq!(answers(&open(storage, small(4096)).unwrap()), known);
    }
}

#[test]
fn transactions_over_two_addresses_never_wait_for_each_other_for_ever() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(16 << 10)).unwrap();
    let (one, two) = (store.cache("one").unwrap(), store.cache("two").unwrap());
    let committed = together(|thread| {
        let mut committed = 0;
        for number in 0..200 {
            let mut both = store.begin(OnDuplicate::Reject, Owner(thread));
            let order = if thread % 2 == 0 {
                [&one, &two]
            } else {
                [&two, &one]
            };
            for cache in order {
                let _ = both.add(cache, uuid(number)).unwrap();
            }
            match both.commit().wait() {
                Ok(()) => committed += 1,
                Err(Error::Rejected { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        committed
    });
    assert_eq!((one.len(), two.len()), (committed, committed));
    let ids = |cache: &Cache| {
        let mut ids: Vec<Vec<u8>> = cache.ids().collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&one), ids(&two), "both or neither");
    let known = answers(&store);
    store.close().unwrap();
    assert_eq!(answers(&open(storage, small(16 << 10)).unwrap()), known);
}

#[test]
fn clears_drops_and_capacities_beside_adds_lose_and_invent_nothing() {
    for options in policies() {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), options).unwrap();
        let forgotten = AtomicU64::new(0);
        let orders = store.cache("orders").unwrap();
        orders.set_capacity(1_000_000).wait().unwrap();
        let added = together(|thread| {
            let mut added = 0;
            for number in 0..200 {
                if thread == 0 && number % 10 == 0 {
                    forgotten.fetch_add(orders.clear().wait().unwrap(), Ordering::Relaxed);
                }
                if thread == 1 && number % 20 == 0 {
                    let other = store.cache("other").unwrap();
                    let _ = other.add(uuid(number)).unwrap();
                    assert!(store.drop_cache("other").wait().unwrap());
                }
                if thread == 2 && number % 25 == 0 {
                    store.compact().unwrap();
                }
                let outcome = orders.add(uuid(thread * 1_000 + number)).unwrap();
                added += u64::from(outcome == Outcome::Added);
            }
            added
        });
        assert_eq!(added, THREADS * 200, "every ID is new");
        assert_eq!(orders.len() + forgotten.into_inner(), added);
        let known = answers(&store);
        store.close().unwrap();
        assert_eq!(answers(&open(storage, small(4096)).unwrap()), known);
    }
}

#[test]
fn a_close_beside_adds_keeps_what_was_acknowledged_and_refuses_the_rest() {
    for options in policies() {
        let storage = MemoryStorage::new();
        let store: Store = open(storage.clone(), options).unwrap();
        let orders = store.cache("orders").unwrap();
        let acknowledged = together(|thread| {
            for number in 0..2_000 {
                if thread == 0 && number == 50 {
                    store.close().unwrap();
                }
                match orders.add(uuid(thread * 10_000 + number)) {
                    Ok(outcome) => assert_eq!(outcome, Outcome::Added),
                    Err(Error::Closed) => return number,
                    Err(other) => panic!("{other:?}"),
                }
            }
            2_000
        });
        assert!(matches!(orders.contains("x"), Err(Error::Closed)));
        drop((orders, store));
        let store = open(storage, small(4096)).unwrap();
        assert_eq!(store.cache("orders").unwrap().len(), acknowledged);
    }
}

#[test]
fn an_add_is_gone_if_a_clear_began_after_it_and_there_if_it_began_after_all() {
    for options in policies() {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), options).unwrap();
        let orders = store.cache("orders").unwrap();
        let moment = AtomicU64::new(0);
        let now = || moment.fetch_add(1, Ordering::SeqCst);
        let (adds, clears) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        together(|thread| {
            for number in 0..150 {
                let (id, begin) = (uuid(thread * 1_000 + number), now());
                if thread == 0 && number % 15 == 0 {
                    orders.clear().wait().unwrap();
                    clears.lock().unwrap().push((begin, now()));
                } else {
                    assert_eq!(orders.add(id).unwrap(), Outcome::Added);
                    adds.lock().unwrap().push((id, begin, now()));
                }
            }
            0
        });
        let clears = clears.into_inner().unwrap();
        let known: BTreeSet<Vec<u8>> = orders.ids().collect();
        let (mut gone, mut there) = (0, 0);
        for (id, begin, end) in adds.into_inner().unwrap() {
            let is_known = known.contains(&id[..]);
            if clears.iter().any(|clear| end < clear.0) {
                gone += 1;
                assert!(!is_known, "an add from before a clear is known");
            } else if clears.iter().all(|clear| clear.1 < begin) {
                there += 1;
                assert!(is_known, "an add from after all clears is gone");
            }
        }
        assert!(gone > 100 && there > 0, "{gone} gone, {there} there");
        let known = answers(&store);
        store.close().unwrap();
        assert_eq!(answers(&open(storage, small(4096)).unwrap()), known);
    }
}

/// Threads add the same IDs while a sync fails: whoever is told "added", "duplicate" or "known" is
/// told what a power cut right then does not take away.
#[test]
fn what_is_answered_beside_a_failing_sync_is_on_the_disk() {
    let (mut failed, mut answered) = (0, 0);
    for seed in 0..120 {
        let disk = SimulatedDisk::new(512);
        let options = Options::default().segment_bytes(1024).keeper(seed % 2 == 0);
        let store = open(disk.clone(), options.clone()).unwrap();
        let orders = store.cache("orders").unwrap();
        disk.fail(Fault {
            kind: CallKind::Sync,
            nth: 1 + seed,
            is_lasting: false,
            effect: Effect::Fails(5),
        });
        let known = Mutex::new(BTreeSet::new());
        let added = together(|thread| {
            let mut added = 0;
            for number in 0..60 {
                let id = uuid(number);
                let answer = match thread % 4 {
                    0 => orders.contains(id),
                    _ => orders.add(id).map(|outcome| {
                        added += u64::from(outcome == Outcome::Added);
                        true
                    }),
                };
                match answer {
                    Ok(true) => drop(known.lock().unwrap().insert(id.to_vec())),
                    Ok(false) => {}
                    // Whoever makes a slot and is the first to see the failure is told that.
                    Err(
                        Error::OutcomeUnknown { .. } | Error::Poisoned { .. } | Error::Io { .. },
                    ) => break,
                    Err(other) => panic!("seed {seed}: {other:?}"),
                }
            }
            added
        });
        let known = known.into_inner().unwrap();
        assert!(
            added <= known.len() as u64,
            "seed {seed}: an ID was added twice"
        );
        failed += u64::from(disk.has_failed());
        // The keeper may be about to say so; without it the failure was somebody's answer.
        if seed % 2 == 1 && disk.has_failed() {
            let error = orders.add("one more").unwrap_err();
            assert!(
                matches!(error, Error::Poisoned { .. }),
                "seed {seed}: {error:?}"
            );
        }
        answered += known.len();
        let cut = disk.media().image(Cut::Nothing, &mut Choices::random(seed));
        let store = open(SimulatedDisk::holding(cut), options).unwrap();
        let found: BTreeSet<Vec<u8>> = store.cache("orders").unwrap().ids().collect();
        let lost: Vec<_> = known.difference(&found).collect();
        assert!(lost.is_empty(), "seed {seed}: {} are lost", lost.len());
    }
    assert!(
        failed > 20 && answered > 1_000,
        "{failed} failed, {answered} were answered"
    );
}

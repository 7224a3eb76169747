//! Carrying: a prepared transaction lives on while it is unresolved, and what a commit did lives on
//! when the segment of its prepare is let go. A kill is looked at after every segment.

use idjournal::{Resolved, SyncPolicy};

use super::support::{Random, killed, open, small};
use super::*;

const SMALL_BYTES: u64 = 2048;

fn options() -> Options {
    small(SMALL_BYTES).sync_policy(SyncPolicy::Manual)
}

fn commit(store: &Store, xid: &str) {
    assert_eq!(
        store.commit_prepared(xid).wait().unwrap(),
        Resolved::Done,
        "{xid}"
    );
}

fn roll_back(store: &Store, xid: &str) {
    let resolved = store.roll_back_prepared(xid).wait().unwrap();
    assert_eq!(resolved, Resolved::Done, "{xid}");
}

/// Adds to an address of its own until `count` more segments were let go; `look` is called with
/// what a kill leaves each time one is begun.
fn let_go(memory: &MemoryStorage, store: &Store, count: u64, look: impl Fn(&Store)) {
    let filler = store.cache("filler").unwrap();
    filler.set_capacity(2).wait().unwrap();
    let released = store.stats().segments_released;
    let mut begun = store.stats().segments_begun;
    let mut number = begun * 1_000_000;
    while store.stats().segments_released < released + count {
        let _ = filler.add(uuid(number)).unwrap();
        number += 1;
        if store.stats().segments_begun > begun {
            begun = store.stats().segments_begun;
            look(&open(killed(memory), options()).unwrap());
        }
    }
}

fn new() -> (MemoryStorage, Store) {
    let memory = MemoryStorage::new();
    let store = open(memory.clone(), options()).unwrap();
    (memory, store)
}

#[test]
fn one_in_doubt_outlives_any_number_of_segments_and_restarts() {
    let (mut memory, mut store) = new();
    let orders = store.cache("orders").unwrap();
    drop(prepare(&store, "x", &orders, &["a", "b"]));
    drop(orders);
    for _ in 0..5 {
        let_go(&memory, &store, 20, |store| {
            assert_eq!(in_doubt(store), ["x"]);
            assert_pending(&store.cache("orders").unwrap(), "a");
        });
        memory = killed(&memory);
        store = open(memory.clone(), options()).unwrap();
    }
    commit(&store, "x");
    let_go(&memory, &store, 20, |store| {
        assert_eq!(ids(&store.cache("orders").unwrap()), ["a", "b"]);
    });
}

/// The IDs of a commit are in the record of the prepare, which lies before it.
#[test]
fn what_was_committed_outlives_its_prepare() {
    let (memory, store) = new();
    let orders = store.cache("orders").unwrap();
    add(&orders, &["before"]);
    for round in 0..4 {
        drop(prepare(&store, "x", &orders, &["a", "b"]));
        // From none to some segments lie between them.
        let_go(&memory, &store, 2 * round, |_| {});
        let filler = store.cache("filler").unwrap();
        for number in 0..5 * round {
            let _ = filler
                .add(uuid(77_000_000 + 1000 * round + number))
                .unwrap();
        }
        commit(&store, "x");
        let expected = ["before", "a", "b"];
        assert_eq!(ids(&orders), expected);
        let_go(&memory, &store, 12, |store| {
            assert_eq!(
                ids(&store.cache("orders").unwrap()),
                expected,
                "round {round}"
            );
        });
        for id in ["a", "b"] {
            assert!(orders.remove(id).wait().unwrap());
        }
    }
}

/// No copy tells of a place whose ID is gone; the definition was written before the commit.
#[test]
fn the_places_that_a_commit_gave_outlive_its_prepare_though_their_ids_are_gone() {
    for (is_hole, apart) in [false, true]
        .into_iter()
        .flat_map(|hole| (0..60).map(move |n| (hole, n)))
    {
        let (memory, store) = new();
        let orders = store.cache("orders").unwrap();
        add(&orders, &["before"]);
        let mut transaction = begin(&store);
        assert_eq!(transaction.add(&orders, "a").unwrap(), Outcome::Added);
        if is_hole {
            assert!(transaction.remove(&orders, "a").unwrap());
        }
        drop(transaction.prepare("x").wait().unwrap());
        // So that the commit lies in the same segment or a later one, and its definition with it.
        let filler = store.cache("filler").unwrap();
        for number in 0..apart {
            let _ = filler.add(uuid(77_000_000 + number)).unwrap();
        }
        assert!(store.drop_cache("orders").wait().unwrap());
        commit(&store, "x");
        if !is_hole {
            assert!(orders.remove("a").wait().unwrap());
        }
        let last = orders.stats().last_ordinal;
        let_go(&memory, &store, 12, |store| {
            let caches = store.caches(None, 9);
            let exists = caches.iter().any(|info| &*info.address.0 == b"orders");
            assert!(exists, "is a hole: {is_hole}, {apart} apart");
            let found = store.cache("orders").unwrap().stats().last_ordinal;
            assert_eq!(found, last, "is a hole: {is_hole}, {apart} apart");
        });
    }
}

/// The removed add is carried while the remove is only prepared, so that its copy lies behind the
/// prepare; it must not come back when the prepare is let go.
#[test]
fn what_a_commit_removed_does_not_come_back() {
    let (mut memory, mut store) = new();
    let orders = store.cache("orders").unwrap();
    add(&orders, &["kept", "ended", "other"]);
    let mut transaction = begin(&store);
    assert!(transaction.remove(&orders, "ended").unwrap());
    drop(transaction.prepare("x").wait().unwrap());
    drop(orders);
    for restarts in [false, true] {
        let orders = store.cache("orders").unwrap();
        // The prepare and the add lie in other segments each time.
        for steps in [1, 1, 2, 3] {
            let_go(&memory, &store, steps, |store| {
                assert_eq!(
                    ids(&store.cache("orders").unwrap()),
                    ["kept", "ended", "other"]
                );
            });
        }
        drop(orders);
        if restarts {
            memory = killed(&memory);
            store = open(memory.clone(), options()).unwrap();
        }
    }
    commit(&store, "x");
    let_go(&memory, &store, 12, |store| {
        assert_eq!(ids(&store.cache("orders").unwrap()), ["kept", "other"]);
    });
    let last = open(killed(&memory), options()).unwrap();
    assert_eq!(ids(&last.cache("orders").unwrap()), ["kept", "other"]);
}

#[test]
fn the_name_of_a_dropped_address_outlives_its_definition() {
    let (mut memory, mut store) = new();
    let orders = store.cache("orders").unwrap();
    add(&orders, &["old"]);
    drop(prepare(&store, "x", &orders, &["a"]));
    assert!(store.drop_cache("orders").wait().unwrap());
    drop(orders);
    let look = |store: &Store| {
        assert_pending(&store.cache("orders").unwrap(), "a");
        let caches = store.caches(None, 10);
        assert!(caches.iter().all(|info| *info.address.0 != *b"orders"));
    };
    for _ in 0..3 {
        let_go(&memory, &store, 7, look);
        // Numbers of others are given and free again meanwhile.
        add(&store.cache("temporary").unwrap(), &["t"]);
        assert!(store.drop_cache("temporary").wait().unwrap());
        memory = killed(&memory);
        store = open(memory.clone(), options()).unwrap();
    }
    commit(&store, "x");
    let_go(&memory, &store, 12, |store| {
        assert_eq!(ids(&store.cache("orders").unwrap()), ["a"]);
    });
}

/// The number of an address that only a prepared transaction named is not given to another one
/// while a record on disk names it.
#[test]
fn a_number_is_given_again_only_when_no_prepare_names_it() {
    let (mut memory, mut store) = new();
    for round in 0..60_u64 {
        let name = format!("once-{round}");
        let cache = store.cache(&name).unwrap();
        let mut transaction = begin(&store);
        let _ = transaction.add(&cache, "a").unwrap();
        drop(transaction.prepare("x").wait().unwrap());
        let filler = store.cache("filler").unwrap();
        filler.set_capacity(2).wait().unwrap();
        for number in 0..round % 41 {
            let _ = filler.add(uuid(round * 1000 + number)).unwrap();
        }
        drop((cache, filler));
        match round % 3 {
            0 => roll_back(&store, "x"),
            1 => {
                commit(&store, "x");
                assert!(store.drop_cache(&name).wait().unwrap());
            }
            _ => {
                assert!(!store.drop_cache(&name).wait().unwrap(), "it never was");
                roll_back(&store, "x");
            }
        }
        let copy = open(killed(&memory), options()).unwrap();
        let names: Vec<String> = copy
            .caches(None, 10)
            .iter()
            .map(|info| info.address.to_string())
            .collect();
        assert_eq!(names, ["filler"], "round {round}");
        if round % 7 == 0 {
            memory = killed(&memory);
            store = open(memory.clone(), options()).unwrap();
        }
    }
}

#[test]
fn space_is_bounded_however_many_are_prepared_carried_and_resolved() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let (mut memory, mut store) = new();
        let mut xids: Vec<String> = Vec::new();
        let mut most_live = 0;
        for step in 0..4_000_u64 {
            let orders = store.cache(format!("orders-{}", random.below(3))).unwrap();
            orders.set_capacity(20).wait().unwrap();
            match random.below(10) {
                0..=3 => {
                    let mut transaction = begin(&store);
                    for _ in 0..random.below(5) {
                        let _ = transaction.add(&orders, uuid(random.below(200))).unwrap();
                    }
                    let _ = transaction
                        .remove(&orders, uuid(random.below(200)))
                        .unwrap();
                    let value = vec![b'v'; usize::try_from(random.below(30)).unwrap()];
                    transaction
                        .bookmark(step.to_string().len().to_string(), value)
                        .unwrap();
                    let xid = format!("x{step}");
                    if transaction.rejected().is_none() {
                        drop(transaction.prepare(&xid).wait().unwrap());
                        xids.push(xid);
                    }
                }
                4..=7 if xids.len() > 5 || random.below(4) == 0 => {
                    let at = random.below(xids.len().max(1) as u64);
                    if !xids.is_empty() {
                        let xid = xids.swap_remove(usize::try_from(at).unwrap());
                        let resolved = match random.below(2) {
                            0 => store.commit_prepared(&xid),
                            _ => store.roll_back_prepared(&xid),
                        };
                        assert_eq!(resolved.wait().unwrap(), Resolved::Done);
                    }
                }
                _ => {
                    let _ = orders.add(uuid(random.below(200))).unwrap();
                }
            }
            if step % 1000 == 999 {
                let live_bytes = store.stats().live_bytes;
                memory = killed(&memory);
                store = open(memory.clone(), options()).unwrap();
                assert_eq!(
                    store.stats().live_bytes,
                    live_bytes,
                    "seed {seed}, step {step}"
                );
            }
            let stats = store.stats();
            most_live = most_live.max(stats.live_bytes);
            // Beside the bound: slots that are kept for the commits of what is in doubt, of which
            // each holds half a segment of them at least.
            let kept = 1 + 2 * stats.claimed_bytes / SMALL_BYTES;
            let bound = 2 * most_live + (4 + kept) * SMALL_BYTES;
            assert!(
                stats.disk_bytes <= bound + 2 * SMALL_BYTES * (step / 1000),
                "seed {seed}, step {step}: {} of {bound}, {} live",
                stats.disk_bytes,
                stats.live_bytes
            );
        }
    }
}

//! The disk fills up at open, at add, at confirm and at clear.

use idjournal::{
    Cache, Confirmed, Error, MemoryStorage, OnDuplicate, Outcome, Owner, Reserve, Store,
};

use crate::support::limited::Limited;
use crate::support::{Answers, answers, files, open, small};

/// A store on a disk that is full from now on, its cache filled until an add is told so.
fn filled() -> (Limited, Store, Cache) {
    let disk = Limited::new(MemoryStorage::new(), false);
    let store = open(disk.clone(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    let _ = orders.add("order-0").unwrap();
    disk.fill_after(0);
    fill(&orders);
    (disk, store, orders)
}

/// Adds until there is no space; how many were added.
fn fill(orders: &Cache) -> u64 {
    for number in 0..10_000 {
        match orders.add(format!("filler-{}-{number}", orders.len())) {
            Ok(Outcome::Added) => {}
            Ok(other) => panic!("{other:?}"),
            Err(Error::NoSpace { place, .. }) => {
                assert_eq!(place, "a small disk");
                return number;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the disk never filled up");
}

fn reopened(disk: &Limited) -> Answers {
    answers(&open(disk.clone(), small(1024)).unwrap())
}

#[test]
fn a_full_disk_at_open_is_an_error_and_leaves_nothing_half_made() {
    for calls in 0..4 {
        let disk = Limited::new(MemoryStorage::new(), false);
        disk.fill_after(calls);
        match open(disk.clone(), small(1024)) {
            Ok(store) => {
                let added = store.cache("orders").unwrap().add("order-1");
                assert!(matches!(added, Err(Error::NoSpace { .. })), "{added:?}");
            }
            Err(Error::NoSpace { .. } | Error::Io { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
        assert!(disk.full_calls() > 0);
        disk.free();
        let store = open(disk.clone(), small(1024)).unwrap();
        let added = store.cache("orders").unwrap().add("order-1");
        assert!(matches!(added, Ok(Outcome::Added)));
        store.close().unwrap();
        assert_eq!(reopened(&disk).len(), 1);
    }
}

#[test]
fn a_store_opens_on_a_full_disk_and_answers() {
    let (disk, store, _) = filled();
    let known = answers(&store);
    store.close().unwrap();
    let store = open(disk.clone(), small(1024)).unwrap();
    assert_eq!(answers(&store), known);
    assert!(store.cache("orders").unwrap().contains("order-0").unwrap());
    store.close().unwrap();
}

#[test]
fn where_writing_over_takes_space_a_recovery_may_find_none_says_so_and_can_be_had_later() {
    let (disk, store, _) = filled();
    let known = answers(&store);
    let mut refusals = 0;
    for calls in 0..10 {
        let after_kill = Limited::new(disk.killed(), true);
        after_kill.fill_after(calls);
        match open(after_kill.clone(), small(1024)) {
            Ok(opened) => assert_eq!(answers(&opened), known),
            Err(Error::NoSpace { .. }) => refusals += 1,
            Err(other) => panic!("{calls}: {other:?}"),
        }
        after_kill.free();
        assert_eq!(reopened(&after_kill), known, "{calls}");
    }
    assert!(refusals > 2, "{refusals}");
}

#[test]
fn a_full_disk_at_add_adds_nothing_and_later_goes_on() {
    let (disk, store, orders) = filled();
    let known = answers(&store);
    for _ in 0..5 {
        assert!(matches!(orders.add("late"), Err(Error::NoSpace { .. })));
        assert!(matches!(orders.reserve("late"), Err(Error::NoSpace { .. })));
        let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
        let gathered = transaction.add(&orders, "late");
        assert!(
            matches!(gathered, Err(Error::NoSpace { .. })),
            "{gathered:?}"
        );
        transaction.commit().wait().unwrap();
        assert!(matches!(orders.add("order-0"), Ok(Outcome::Duplicate(_))));
    }
    assert_eq!(answers(&store), known);
    let left = files(&disk);
    assert!(
        left.keys().all(|name| !name.ends_with(".new")),
        "{:?}",
        left.keys()
    );
    disk.free();
    assert!(matches!(orders.add("late"), Ok(Outcome::Added)));
    let known = answers(&store);
    store.close().unwrap();
    assert_eq!(reopened(&disk), known);
}

#[test]
fn confirm_and_commit_never_fail_for_want_of_space() {
    for claims in [1, 5, 40] {
        let disk = Limited::new(MemoryStorage::new(), false);
        let store = open(disk.clone(), small(1024)).unwrap();
        let (orders, bills) = (
            store.cache("orders").unwrap(),
            store.cache("bills").unwrap(),
        );
        let claimed: Vec<_> = (0..claims)
            .map(
                |number| match orders.reserve(format!("claimed-{number}")).unwrap() {
                    Reserve::Reserved(claim) => claim,
                    _ => panic!("not reserved"),
                },
            )
            .collect();
        let mut transaction = store.begin(OnDuplicate::Reject, Owner(2));
        for number in 0..4 {
            let _ = transaction.add(&orders, format!("both-{number}")).unwrap();
            let _ = transaction.add(&bills, format!("both-{number}")).unwrap();
        }
        disk.fill_after(0);
        let _ = fill(&orders);
        transaction.commit().wait().unwrap();
        for claim in claimed {
            assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
        }
        assert!(bills.contains("both-3").unwrap());
        for number in 0..claims {
            assert!(orders.contains(format!("claimed-{number}")).unwrap());
        }
        assert_eq!(store.stats().claimed_bytes, 0);
        let known = answers(&store);
        store.close().unwrap();
        disk.free();
        assert_eq!(reopened(&disk), known);
    }
}

#[test]
fn clear_remove_and_drop_go_on_when_the_disk_is_full() {
    for what in ["clear", "drop", "remove"] {
        let (disk, store, orders) = filled();
        match what {
            "clear" => assert!(orders.clear().wait().unwrap() > 0),
            "drop" => assert!(store.drop_cache("orders").wait().unwrap()),
            _ => assert!(orders.remove("order-0").wait().unwrap()),
        }
        assert!(!orders.contains("order-0").unwrap(), "{what}");
        let known = answers(&store);
        store.close().unwrap();
        assert_eq!(reopened(&disk), known, "{what}");
        drop((store, orders));
        if matches!(what, "clear" | "drop") {
            // The space comes back without any from the disk.
            let store = open(disk.clone(), small(1024)).unwrap();
            let orders = store.cache("orders").unwrap();
            for number in 0..8 {
                let added = orders.add(format!("after-{number}"));
                assert!(
                    matches!(added, Ok(Outcome::Added)),
                    "{what} {number}: {added:?}"
                );
            }
        }
    }
}

#[test]
fn clears_and_refills_on_a_full_disk_go_on_for_ever() {
    let (_disk, store, orders) = filled();
    for round in 0..50 {
        assert!(orders.clear().wait().unwrap() > 0, "round {round}");
        assert!(fill(&orders) > 0, "round {round}");
    }
    assert!(!store.stats().is_poisoned);
}

#[test]
fn lives_on_a_full_disk_can_always_clear_and_then_add() {
    for is_kill in [false, true] {
        for ids in [1, 5, 11, 12, 13, 30, 100] {
            let mut disk = Limited::new(MemoryStorage::new(), false);
            let store = open(disk.clone(), small(1024)).unwrap();
            for number in 0..ids {
                let _ = store
                    .cache("orders")
                    .unwrap()
                    .add(format!("order-{number}"))
                    .unwrap();
            }
            store.close().unwrap();
            disk.fill_after(0);
            for life in 0..12 {
                let when = format!("{ids} IDs, life {life}, kill {is_kill}");
                let store = open(disk.clone(), small(1024)).unwrap();
                let orders = store.cache("orders").unwrap();
                let _ = fill(&orders);
                if life % 3 == 2 {
                    let cleared = orders.clear().wait();
                    assert!(cleared.is_ok(), "{when}: {cleared:?}");
                    let more = fill(&orders);
                    assert!(
                        more > 0,
                        "{when}: everything is dead and nothing can be added"
                    );
                }
                if is_kill {
                    disk = Limited::new(disk.killed(), false);
                    disk.fill_after(0);
                } else {
                    store.close().unwrap();
                }
            }
        }
    }
}

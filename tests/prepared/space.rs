//! Space: "no space" is an answer of prepare, never of commit, over a restart too; and limits.

use idjournal::{Error, Resolved};

use super::support::limited::Limited;
use super::support::{open, small};
use super::*;

/// Adds until the disk is full.
fn fill(store: &Store, first: u64) -> u64 {
    let filler = store.cache("filler").unwrap();
    for number in first.. {
        match filler.add(uuid(number)) {
            Ok(_) => {}
            Err(Error::NoSpace { .. }) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the disk is small")
}

/// Removes and clears take what they may of a full disk.
fn free_something(store: &Store, first: u64) {
    let filler = store.cache("filler").unwrap();
    for number in first..first + 200 {
        match filler.remove(uuid(number)).wait() {
            Ok(_) => {}
            Err(Error::NoSpace { .. }) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn no_space_is_never_an_answer_of_commit() {
    for segment_bytes in [2048, 8192] {
        for is_restarted in [false, true] {
            for is_freed in [false, true] {
                for room in [3, 40, 60, 200] {
                    commit_on_a_full_disk(segment_bytes, (is_restarted, is_freed), room);
                }
            }
        }
    }
}

/// So many calls that take space go through before the disk is full.
fn commit_on_a_full_disk(segment_bytes: u64, (is_restarted, is_freed): (bool, bool), room: u64) {
    let what = format!("{segment_bytes} {is_restarted} {is_freed} {room}");
    let memory = MemoryStorage::new();
    let disk = Limited::new(memory.clone(), false);
    let options = small(segment_bytes).writes(Writes::Positioned);
    let mut store = open(disk.clone(), options.clone()).unwrap();
    let orders = store.cache("orders").unwrap();
    add(&orders, &["seen", "dropped"]);
    let mut transaction = begin(&store);
    for id in ["a", "b", "c"] {
        assert_eq!(transaction.add(&orders, id).unwrap(), Outcome::Added);
    }
    assert!(transaction.remove(&orders, "seen").unwrap());
    transaction.bookmark("place", "17").unwrap();
    drop(transaction.prepare("x").wait().unwrap());
    drop(prepare(&store, "y", &orders, &["d"]));
    // The definition that the commit will need again.
    assert!(store.drop_cache("orders").wait().unwrap());
    disk.fill_after(room);
    let first = fill(&store, 0);
    if is_freed {
        free_something(&store, 0);
        fill(&store, first + 1000);
    }
    drop(orders);
    if is_restarted {
        store.close().unwrap();
        store = open(disk.clone(), options.clone()).unwrap();
        let filler = store.cache("filler").unwrap();
        let error = filler.add("one more").unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{what}: {error}");
    }
    assert!(disk.full_calls() > 0, "{what}: the disk was never full");
    for xid in ["x", "y"] {
        let resolved = store.commit_prepared(xid).wait();
        assert_eq!(resolved.unwrap(), Resolved::Done, "{what}: {xid}");
    }
    let orders = store.cache("orders").unwrap();
    assert_eq!(ids(&orders), ["a", "b", "c", "d"], "{what}");
    store.close().unwrap();
    let store = open(disk, options).unwrap();
    assert_eq!(
        ids(&store.cache("orders").unwrap()),
        ["a", "b", "c", "d"],
        "{what}"
    );
    assert_eq!(
        store.bookmark("place").as_deref(),
        Some(&b"17"[..]),
        "{what}"
    );
}

#[test]
fn a_prepare_without_space_is_refused_and_rolled_back() {
    let disk = Limited::new(MemoryStorage::new(), false);
    let options = small(2048).writes(Writes::Positioned);
    let store = open(disk.clone(), options.clone()).unwrap();
    let orders = store.cache("orders").unwrap();
    add(&orders, &["first"]);
    disk.fill_after(10);
    fill(&store, 0);
    let claimed_bytes = store.stats().claimed_bytes;
    assert_eq!(claimed_bytes, 0);
    let mut refused = 0;
    for number in 0..40 {
        let mut transaction = begin(&store);
        match transaction.add(&orders, format!("id{number}")) {
            Ok(_) => {}
            Err(Error::NoSpace { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        match transaction.prepare(format!("x{number}")).wait() {
            Ok(prepared) => drop(prepared),
            Err(Error::NoSpace { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0, "the disk is full");
    let left = store.prepared().len();
    store
        .resolve(|_| idjournal::Decision::RollBack)
        .wait()
        .unwrap();
    assert_eq!(
        store.stats().claimed_bytes,
        0,
        "of {left} in doubt nothing is set aside"
    );
    disk.free();
    drop(prepare(&store, "late", &orders, &["late"]));
    store.close().unwrap();
    let store = open(disk, options).unwrap();
    assert_eq!(in_doubt(&store), ["late"]);
}

#[test]
fn what_is_set_aside_is_given_back_whatever_becomes_of_it() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["known"]);
        drop(prepare(&store, "x", &orders, &["a"]));
        drop(prepare(&store, "y", &orders, &["b"]));
        let mut refused = begin(&store);
        let _ = refused.add(&orders, "c").unwrap();
        drop(refused.prepare("x").wait().unwrap_err());
        let mut doomed = begin(&store);
        let _ = doomed.add(&orders, "known").unwrap();
        drop(doomed.prepare("z").wait().unwrap_err());
        let claimed_bytes = store.stats().claimed_bytes;
        assert_eq!(claimed_bytes > 0, home.way != Way::NoJournal);
        drop((store, orders));
        home.go_on();
        let store = home.store();
        assert_eq!(
            store.stats().claimed_bytes,
            claimed_bytes,
            "the same over a restart"
        );
        assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
        assert_eq!(
            store.roll_back_prepared("y").wait().unwrap(),
            Resolved::Done
        );
        assert_eq!(store.stats().claimed_bytes, 0);
    });
}

#[test]
fn what_is_too_long_is_refused_by_name() {
    everywhere(|home| {
        let store = home.store();
        let long = vec![b'x'; idjournal::TRANSACTION_ID_BYTES_MAX + 1];
        let error = begin(&store).prepare(&long).wait().unwrap_err();
        assert!(
            matches!(&error, Error::Limit { limit, max: 65_536, actual: 65_537 }
                if limit.contains("transaction's ID")),
            "{error}"
        );
        if home.way != Way::NoJournal {
            // The record would be longer than a quarter of a segment.
            let error = begin(&store).prepare(&long[..3000]).wait().unwrap_err();
            assert!(matches!(error, Error::Limit { max: 2048, .. }), "{error}");
            assert_eq!(store.stats().claimed_bytes, 0);
        }
        assert_eq!(in_doubt(&store), [""; 0]);
    });
}

#[test]
fn segments_too_small_for_what_is_in_doubt_are_refused() {
    let memory = MemoryStorage::new();
    let store = open(memory.clone(), small(8192)).unwrap();
    let orders = store.cache("orders").unwrap();
    let mut transaction = begin(&store);
    for number in 0..20 {
        let _ = transaction.add(&orders, uuid(number)).unwrap();
    }
    drop(transaction.prepare("x").wait().unwrap());
    drop(orders);
    store.close().unwrap();
    drop(store);
    let error = open(memory.clone(), small(1024)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Options {
                option: "segment_bytes",
                ..
            }
        ),
        "{error}"
    );
    let store = open(memory, small(8192)).unwrap();
    assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
}

//! Rows D20 to D23, D30, D32 and N5: branches that are prepared.

use idjournal::{Decision, Outcome, Prepared, Resolved};

use super::support::home::{
    ADDRESS, Home, OWNER, assert_absent, assert_added, assert_duplicate, everywhere, fill, ids,
    numbers, plain, where_stored, window, without_persistence,
};

/// A prepared branch that adds these, all of them new.
fn prepare(home: &Home, xid: &str, ids: &[&str]) -> Prepared {
    let mut branch = home.begin();
    for id in ids {
        assert_eq!(branch.add(&home.orders(), id).unwrap(), Outcome::Added);
    }
    branch.prepare(xid).wait().unwrap()
}

#[test]
fn d20_the_id_of_a_prepared_branch_is_pending_for_others_until_it_is_decided() {
    everywhere(&plain(), |home| {
        for is_committed in [false, true] {
            let prepared = prepare(home, "x", &["a"]);
            let mut other = home.begin();
            let outcome = other.add(&home.orders(), "a").unwrap();
            assert_eq!(outcome, Outcome::Pending(OWNER));
            assert!(other.commit().wait().is_err());
            assert_eq!(home.orders().add("a").unwrap(), Outcome::Pending(OWNER));
            let resolved = match is_committed {
                true => prepared.commit(),
                false => prepared.roll_back(),
            };
            assert_eq!(resolved.wait().unwrap(), Resolved::Done);
            if is_committed {
                assert_duplicate(&home.orders(), "a");
            } else {
                assert_added(&home.orders(), "a");
                assert!(home.orders().remove("a").wait().unwrap());
            }
        }
    });
}

#[test]
fn d21_a_prepared_branch_that_is_rolled_back_leaves_its_id_free() {
    everywhere(&plain(), |home| {
        let resolved = prepare(home, "x", &["a"]).roll_back().wait();
        assert_eq!(resolved.unwrap(), Resolved::Done);
        assert_absent(&home.orders(), "a");
        assert_added(&home.orders(), "a");
        assert!(home.store().prepared().is_empty());
    });
}

#[test]
fn d22_a_prepared_branch_may_be_rolled_back_after_a_restart() {
    where_stored(&plain(), |home| {
        for is_killed in [false, true] {
            drop(prepare(home, "x", &["a", "b"]));
            match is_killed {
                true => home.kill(),
                false => home.reopen(),
            }
            assert_eq!(home.orders().add("a").unwrap(), Outcome::Pending(OWNER));
            let decided = home.store().resolve(|prepared| {
                assert_eq!((prepared.id(), prepared.owner()), (&b"x"[..], OWNER));
                Decision::RollBack
            });
            assert_eq!(decided.wait().unwrap(), 1);
            assert_eq!((home.orders().len(), home.live_records()), (0, 0));
            assert_added(&home.orders(), "a");
            assert!(home.orders().remove("a").wait().unwrap());
        }
    });
}

#[test]
fn d23_a_branch_with_an_id_that_is_known_can_not_be_prepared() {
    everywhere(&plain(), |home| {
        let committed = prepare(home, "x", &["a"]).commit().wait();
        assert_eq!(committed.unwrap(), Resolved::Done);
        let mut other = home.begin();
        let _ = other.add(&home.orders(), "b").unwrap();
        let outcome = other.add(&home.orders(), "a").unwrap();
        assert!(matches!(outcome, Outcome::Duplicate(_)));
        let refused = other.prepare("y").wait();
        assert!(
            matches!(refused, Err(idjournal::Error::Rejected { .. })),
            "{refused:?}"
        );
        assert!(home.store().prepared().is_empty());
        assert_absent(&home.orders(), "b");
    });
}

#[test]
fn d30_without_persistence_ids_of_a_committed_branch_are_free_after_a_restart() {
    without_persistence(&plain(), |home| {
        let committed = prepare(home, "x", &["a", "b"]).commit().wait();
        assert_eq!(committed.unwrap(), Resolved::Done);
        drop(prepare(home, "y", &["c"]));
        assert_duplicate(&home.orders(), "a");
        home.reopen();
        assert!(home.store().prepared().is_empty());
        for id in ["a", "b", "c"] {
            assert_added(&home.orders(), id);
        }
    });
}

#[test]
fn d32_ids_of_a_committed_branch_are_duplicates_after_a_restart() {
    where_stored(&plain(), |home| {
        drop(prepare(home, "x", &["a"]));
        drop(prepare(home, "y", &["b"]));
        let committed = home.store().commit_prepared("x").wait();
        assert_eq!(committed.unwrap(), Resolved::Done);
        home.kill();
        assert_duplicate(&home.orders(), "a");
        let committed = home.store().find_prepared("y").unwrap().commit().wait();
        assert_eq!(committed.unwrap(), Resolved::Done);
        home.reopen();
        assert_eq!(ids(&home.cache(ADDRESS)), ["a", "b"]);
        assert_duplicate(&home.orders(), "b");
        let again = home.store().commit_prepared("y").wait();
        assert_eq!(again.unwrap(), Resolved::Unknown);
    });
}

#[test]
fn n5_a_prepared_id_outlives_restarts_and_evictions_and_counts_from_its_commit() {
    where_stored(&window(3), |home| {
        drop(prepare(home, "x", &["100"]));
        for life in 0..3_u64 {
            fill(&home.orders(), life * 10..(life + 1) * 10);
            let outcome = home.orders().add("100").unwrap();
            assert_eq!(outcome, Outcome::Pending(OWNER));
            match life % 2 {
                0 => home.kill(),
                _ => home.reopen(),
            }
        }
        home.store().compact().unwrap();
        assert_eq!(numbers(&home.orders()), [27, 28, 29]);
        let committed = home.store().commit_prepared("x").wait();
        assert_eq!(committed.unwrap(), Resolved::Done);
        assert_eq!(numbers(&home.orders()), [28, 29, 100]);
        home.kill();
        fill(&home.orders(), 30..32);
        assert_eq!(numbers(&home.orders()), [100, 30, 31]);
        fill(&home.orders(), [32]);
        assert_absent(&home.orders(), "100");
    });
}

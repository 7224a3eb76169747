//! Commit and roll back, at once and later; what is unknown, what exists, what is left in doubt.

use idjournal::{
    Decision, Error, OnDuplicate, Outcome, Owner, RejectedBecause, Reserve, Resolved, State,
};

use super::*;

#[test]
fn ids_are_pending_with_their_owner_until_the_commit_and_known_after_it() {
    everywhere(|home| {
        let orders = home.cache("orders");
        add(&orders, &["before"]);
        drop(prepare(&home.store(), "x", &orders, &["a", "b"]));
        drop(orders);
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        for id in ["a", "b"] {
            assert_pending(&orders, id);
            assert!(!orders.contains(id).unwrap());
            assert!(matches!(
                orders.reserve(id).unwrap(),
                Reserve::Pending(OWNER)
            ));
        }
        assert_eq!(ids(&orders), ["before"]);
        let prepared = store.find_prepared("x").unwrap();
        assert_eq!((prepared.id(), prepared.owner()), (&b"x"[..], OWNER));
        assert_eq!(prepared.commit().wait().unwrap(), Resolved::Done);
        assert_eq!(ids(&orders), ["before", "a", "b"]);
        drop((store, orders, prepared));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["before", "a", "b"]);
        assert_eq!(in_doubt(&home.store()), [""; 0]);
    });
}

#[test]
fn a_roll_back_frees_the_ids_and_changes_nothing() {
    everywhere(|home| {
        let orders = home.cache("orders");
        add(&orders, &["before"]);
        drop(prepare(&home.store(), "x", &orders, &["a"]));
        drop(orders);
        home.go_on();
        let prepared = home.store().find_prepared("x").unwrap();
        assert_eq!(prepared.roll_back().wait().unwrap(), Resolved::Done);
        drop(prepared);
        home.go_on();
        let orders = home.cache("orders");
        assert_eq!(ids(&orders), ["before"]);
        add(&orders, &["a"]);
        assert_eq!(
            home.store().commit_prepared("x").wait().unwrap(),
            Resolved::Unknown
        );
    });
}

#[test]
fn a_roll_back_leaves_no_trace_of_an_address_that_never_was() {
    everywhere(|home| {
        let orders = home.cache("orders");
        drop(prepare(&home.store(), "x", &orders, &["a"]));
        drop(orders);
        home.go_on();
        let store = home.store();
        let exists = |store: &Store| {
            let caches = store.caches(None, 10);
            caches.iter().any(|info| *info.address.0 == *b"orders")
        };
        assert!(!exists(&store), "nothing was added yet");
        let live_bytes = store.stats().live_bytes;
        assert_eq!(
            store.roll_back_prepared("x").wait().unwrap(),
            Resolved::Done
        );
        assert!(!exists(&store));
        if home.way != Way::NoJournal {
            assert!(
                store.stats().live_bytes + 100 < live_bytes,
                "record and name"
            );
        }
        drop(store);
        home.go_on();
        add(&home.cache("orders"), &["a"]);
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["a"]);
    });
}

#[test]
fn committing_or_rolling_back_an_unknown_one_is_an_answer() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        assert_eq!(
            store.commit_prepared("never").wait().unwrap(),
            Resolved::Unknown
        );
        assert_eq!(
            store.roll_back_prepared("never").wait().unwrap(),
            Resolved::Unknown
        );
        let prepared = prepare(&store, "x", &orders, &["a"]);
        assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
        assert_eq!(prepared.commit().wait().unwrap(), Resolved::Unknown);
        assert_eq!(prepared.roll_back().wait().unwrap(), Resolved::Unknown);
        assert_eq!(ids(&orders), ["a"]);
        drop((store, orders, prepared));
        home.go_on();
        assert_eq!(
            home.store().commit_prepared("x").wait().unwrap(),
            Resolved::Unknown
        );
        assert_eq!(ids(&home.cache("orders")), ["a"]);
    });
}

#[test]
fn a_second_prepare_with_the_same_id_is_refused_and_rolled_back() {
    everywhere(|home| {
        let orders = home.cache("orders");
        drop(prepare(&home.store(), "x", &orders, &["a"]));
        drop(orders);
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        let mut second = begin(&store);
        let _ = second.add(&orders, "b").unwrap();
        let error = second.prepare("x").wait().unwrap_err();
        assert!(
            matches!(&error, Error::TransactionExists { id } if *id.0 == *b"x"),
            "{error}"
        );
        add(&orders, &["b"]);
        assert_eq!(in_doubt(&store), ["x"]);
        assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
        drop(prepare(&store, "x", &orders, &["c"]));
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        assert_eq!(ids(&orders), ["b", "a"]);
        assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
        assert_eq!(ids(&orders), ["b", "a", "c"]);
    });
}

#[test]
fn a_handle_of_one_transaction_never_resolves_a_later_one_of_the_same_id() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        let first = prepare(&store, "x", &orders, &["a"]);
        assert_eq!(
            store.roll_back_prepared("x").wait().unwrap(),
            Resolved::Done
        );
        let second = prepare(&store, "x", &orders, &["b"]);
        assert_eq!(first.commit().wait().unwrap(), Resolved::Unknown);
        assert_eq!(second.commit().wait().unwrap(), Resolved::Done);
        assert_eq!(ids(&orders), ["b"]);
    });
}

#[test]
fn a_doomed_transaction_cannot_be_prepared() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["known"]);
        let mut doomed = begin(&store);
        let _ = doomed.add(&orders, "new").unwrap();
        let _ = doomed.add(&orders, "known").unwrap();
        let error = doomed.prepare("x").wait().unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Rejected {
                    state: RejectedBecause::Known,
                    ..
                }
            ),
            "{error}"
        );
        add(&orders, &["new"]);
        let first = prepare(&store, "x", &orders, &["held"]);
        let mut doomed = begin(&store);
        assert_eq!(
            doomed.add(&orders, "held").unwrap(),
            Outcome::Pending(OWNER)
        );
        assert!(matches!(
            doomed.commit().wait().unwrap_err(),
            Error::Rejected {
                state: RejectedBecause::Pending(OWNER),
                ..
            }
        ));
        assert_eq!(first.commit().wait().unwrap(), Resolved::Done);
        drop((store, orders, first));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["known", "new", "held"]);
    });
}

#[test]
fn a_transaction_that_skips_leaves_what_it_met_out_of_the_prepare() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["known"]);
        let mut skipping = store.begin(OnDuplicate::Skip, Owner(9));
        assert!(matches!(
            skipping.add(&orders, "known").unwrap(),
            Outcome::Duplicate(_)
        ));
        let _ = skipping.add(&orders, "new").unwrap();
        drop(skipping.prepare("x").wait().unwrap());
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        assert_eq!(orders.state("new"), State::Pending(Owner(9)));
        assert_eq!(store.commit_prepared("x").wait().unwrap(), Resolved::Done);
        assert_eq!(ids(&orders), ["known", "new"]);
    });
}

#[test]
fn a_transaction_that_changes_nothing_may_be_prepared() {
    everywhere(|home| {
        drop(begin(&home.store()).prepare("empty").wait().unwrap());
        home.go_on();
        assert_eq!(in_doubt(&home.store()), ["empty"]);
        let store = home.store();
        assert_eq!(
            store.commit_prepared("empty").wait().unwrap(),
            Resolved::Done
        );
        drop(store);
        home.go_on();
        assert_eq!(in_doubt(&home.store()), [""; 0]);
    });
}

#[test]
fn each_one_in_doubt_is_decided_on_in_an_order_that_restarts_keep() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        for number in 0..6 {
            drop(prepare(
                &store,
                &format!("x{number}"),
                &orders,
                &[&format!("id{number}")],
            ));
        }
        drop((store, orders));
        home.go_on();
        let store = home.store();
        let mut asked = Vec::new();
        let resolved = store.resolve(|prepared| {
            assert_eq!(prepared.owner(), OWNER);
            asked.push(prepared.id().to_vec());
            match prepared.id() {
                b"x0" | b"x4" => Decision::Commit,
                b"x1" | b"x5" => Decision::RollBack,
                _ => Decision::Leave,
            }
        });
        assert_eq!(resolved.wait().unwrap(), 4);
        assert_eq!(asked, [b"x0", b"x1", b"x2", b"x3", b"x4", b"x5"]);
        drop(store);
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        assert_eq!(in_doubt(&store), ["x2", "x3"]);
        assert_eq!(ids(&orders), ["id0", "id4"]);
        assert_pending(&orders, "id2");
        add(&orders, &["id1", "id5"]);
    });
}

#[test]
fn a_prepared_id_may_be_any_bytes() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        for (number, xid) in [&b""[..], b"\0", b"\xff\x00", &[b'x'; 64]]
            .iter()
            .enumerate()
        {
            let mut transaction = begin(&store);
            let _ = transaction.add(&orders, number.to_string()).unwrap();
            drop(transaction.prepare(xid).wait().unwrap());
        }
        drop((store, orders));
        home.go_on();
        let store = home.store();
        assert_eq!(store.prepared().len(), 4);
        assert_eq!(store.commit_prepared("").wait().unwrap(), Resolved::Done);
        assert_eq!(ids(&home.cache("orders")), ["0"]);
    });
}

#[test]
fn d20_of_two_branches_with_one_id_the_second_is_told_who_has_it() {
    everywhere(|home| {
        let orders = home.cache("orders");
        drop(prepare(&home.store(), "x", &orders, &["a"]));
        drop(orders);
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        let mut second = store.begin(OnDuplicate::Skip, Owner(8));
        assert_eq!(second.add(&orders, "a").unwrap(), Outcome::Pending(OWNER));
        assert_eq!(
            store.roll_back_prepared("x").wait().unwrap(),
            Resolved::Done
        );
        assert_eq!(second.add(&orders, "a").unwrap(), Outcome::Added);
        drop(second.prepare("y").wait().unwrap());
        assert_eq!(store.commit_prepared("y").wait().unwrap(), Resolved::Done);
        let mut third = store.begin(OnDuplicate::Skip, Owner(8));
        assert!(matches!(
            third.add(&orders, "a").unwrap(),
            Outcome::Duplicate(_)
        ));
    });
}

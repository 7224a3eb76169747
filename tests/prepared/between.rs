//! What happens between prepare and commit: drops, clears, removes, other IDs, other capacities.

use idjournal::{Outcome, Resolved};

use super::*;

fn commit(store: &Store, xid: &str) {
    assert_eq!(
        store.commit_prepared(xid).wait().unwrap(),
        Resolved::Done,
        "{xid}"
    );
}

#[test]
fn an_address_that_is_dropped_between_comes_to_be_again() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["old"]);
        drop(prepare(&store, "x", &orders, &["a", "b"]));
        assert!(store.drop_cache("orders").wait().unwrap());
        assert_pending(&orders, "a");
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        let caches = store.caches(None, 10);
        assert!(caches.iter().all(|info| *info.address.0 != *b"orders"));
        assert_pending(&orders, "a");
        commit(&store, "x");
        assert_eq!(ids(&orders), ["a", "b"]);
        drop((store, orders));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["a", "b"]);
    });
}

#[test]
fn an_address_that_is_dropped_and_begun_anew_between_gets_the_ids_too() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["old"]);
        drop(prepare(&store, "x", &orders, &["a"]));
        assert!(store.drop_cache("orders").wait().unwrap());
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["new"]);
        assert!(store.drop_cache("orders").wait().unwrap());
        add(&orders, &["newer"]);
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "x");
        assert_eq!(ids(&orders), ["newer", "a"]);
        drop((store, orders));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["newer", "a"]);
    });
}

#[test]
fn a_clear_between_forgets_what_is_recorded_and_not_what_is_pending() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["old"]);
        drop(prepare(&store, "x", &orders, &["a"]));
        assert_eq!(orders.clear().wait().unwrap(), 1);
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        assert_pending(&orders, "a");
        commit(&store, "x");
        assert_eq!(ids(&orders), ["a"]);
    });
}

/// In the view of the transaction its own adds had pushed `x` out; then the window grew.
#[test]
fn an_id_that_is_known_in_between_is_left_as_it_is() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        orders.set_capacity(2).wait().unwrap();
        add(&orders, &["x", "y"]);
        drop(prepare(&store, "x", &orders, &["a", "x", "b"]));
        orders.set_capacity(10).wait().unwrap();
        assert!(orders.contains("x").unwrap());
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "x");
        assert_eq!(ids(&orders), ["x", "y", "a", "b"]);
        drop((store, orders));
        home.go_on();
        let orders = home.cache("orders");
        assert_eq!(ids(&orders), ["x", "y", "a", "b"]);
        assert!(orders.remove("x").wait().unwrap(), "there is one of it");
        drop(orders);
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["y", "a", "b"]);
    });
}

#[test]
fn a_prepared_remove_ends_only_the_add_that_it_saw() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["a", "b"]);
        let mut transaction = begin(&store);
        assert!(transaction.remove(&orders, "a").unwrap());
        assert!(transaction.remove(&orders, "b").unwrap());
        drop(transaction.prepare("x").wait().unwrap());
        assert_eq!(ids(&orders), ["a", "b"], "until the commit");
        assert!(orders.remove("a").wait().unwrap());
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["a"]);
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "x");
        assert_eq!(ids(&orders), ["a"], "the second add of it");
        drop((store, orders));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["a"]);
    });
}

#[test]
fn a_prepared_remove_ends_nothing_in_an_address_that_was_dropped() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["a"]);
        let mut transaction = begin(&store);
        assert!(transaction.remove(&orders, "a").unwrap());
        drop(transaction.prepare("x").wait().unwrap());
        assert!(store.drop_cache("orders").wait().unwrap());
        drop((store, orders));
        home.go_on();
        // A number that is free again would go to this one.
        add(&home.cache("others"), &["a"]);
        add(&home.cache("orders"), &["a"]);
        commit(&home.store(), "x");
        home.go_on();
        assert_eq!(ids(&home.cache("others")), ["a"]);
        assert_eq!(ids(&home.cache("orders")), ["a"]);
    });
}

#[test]
fn a_commit_of_removes_alone_begins_no_address() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["a"]);
        let mut transaction = begin(&store);
        assert!(transaction.remove(&orders, "a").unwrap());
        drop(transaction.prepare("x").wait().unwrap());
        assert!(store.drop_cache("orders").wait().unwrap());
        drop((store, orders));
        home.go_on();
        commit(&home.store(), "x");
        home.go_on();
        let caches = home.store().caches(None, 10);
        assert!(caches.iter().all(|info| *info.address.0 != *b"orders"));
        add(&home.cache("orders"), &["a"]);
    });
}

#[test]
fn what_is_pending_neither_ages_nor_is_pushed_out() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        orders.set_capacity(3).wait().unwrap();
        drop(prepare(&store, "x", &orders, &["a", "b"]));
        for number in 0..50 {
            add(&orders, &[&format!("other{number}")]);
        }
        assert_pending(&orders, "a");
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        assert_pending(&orders, "b");
        commit(&store, "x");
        assert_eq!(ids(&orders), ["other49", "a", "b"], "as the newest");
        drop((store, orders));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["other49", "a", "b"]);
    });
}

#[test]
fn the_capacity_at_the_commit_decides() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        drop(prepare(&store, "x", &orders, &["a", "b", "c"]));
        drop(prepare(&store, "none", &orders, &["d"]));
        orders.set_capacity(2).wait().unwrap();
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "x");
        assert_eq!(ids(&orders), ["b", "c"]);
        orders.set_capacity(0).wait().unwrap();
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "none");
        assert_eq!(ids(&orders), [""; 0]);
        orders.set_capacity(5).wait().unwrap();
        assert_eq!(orders.add("d").unwrap(), Outcome::Added);
    });
}

/// An ID that is added and removed by one transaction takes a place all the same.
#[test]
fn an_id_added_and_removed_again_leaves_a_hole() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        orders.set_capacity(3).wait().unwrap();
        add(&orders, &["p", "q", "r"]);
        let mut transaction = begin(&store);
        let _ = transaction.add(&orders, "a").unwrap();
        let _ = transaction.add(&orders, "x").unwrap();
        assert!(transaction.remove(&orders, "x").unwrap());
        drop(transaction.prepare("x").wait().unwrap());
        assert_pending(&orders, "x");
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "x");
        assert_eq!(
            ids(&orders),
            ["r", "a"],
            "two were added, one of them is a hole"
        );
        drop((store, orders));
        home.go_on();
        let orders = home.cache("orders");
        assert_eq!(ids(&orders), ["r", "a"]);
        add(&orders, &["b"]);
        assert_eq!(ids(&orders), ["a", "b"]);
    });
}

#[test]
fn an_id_added_removed_and_added_again_is_there_once() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        orders.set_capacity(3).wait().unwrap();
        add(&orders, &["p", "q"]);
        let mut transaction = begin(&store);
        assert!(transaction.remove(&orders, "q").unwrap());
        let _ = transaction.add(&orders, "q").unwrap();
        assert!(transaction.remove(&orders, "q").unwrap());
        let _ = transaction.add(&orders, "q").unwrap();
        drop(transaction.prepare("x").wait().unwrap());
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        commit(&store, "x");
        assert_eq!(
            ids(&orders),
            ["q"],
            "four places, of which the window has three"
        );
        drop((store, orders));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["q"]);
    });
}

#[test]
fn commits_take_their_places_in_the_order_of_the_commits() {
    everywhere(|home| {
        let (store, orders) = (home.store(), home.cache("orders"));
        drop(prepare(&store, "first", &orders, &["a", "b"]));
        drop(prepare(&store, "second", &orders, &["c"]));
        drop((store, orders));
        home.go_on();
        let (store, orders) = (home.store(), home.cache("orders"));
        add(&orders, &["between"]);
        commit(&store, "second");
        commit(&store, "first");
        drop((store, orders));
        home.go_on();
        assert_eq!(ids(&home.cache("orders")), ["between", "c", "a", "b"]);
    });
}

#[test]
fn it_goes_over_many_addresses_in_both_namespaces() {
    use idjournal::Namespace::{Bridge, Client};
    everywhere(|home| {
        let store = home.store();
        let names = ["one", "two", "three"];
        let mut transaction = begin(&store);
        for (namespace, word) in [(Client, "c"), (Bridge, "b")] {
            for name in names {
                let cache = store.cache_in(namespace, name).unwrap();
                let _ = transaction.add(&cache, format!("{word}-{name}")).unwrap();
            }
        }
        drop(transaction.prepare("x").wait().unwrap());
        drop(store);
        home.go_on();
        commit(&home.store(), "x");
        home.go_on();
        let store = home.store();
        for (namespace, word) in [(Client, "c"), (Bridge, "b")] {
            for name in names {
                let cache = store.cache_in(namespace, name).unwrap();
                assert_eq!(ids(&cache), [format!("{word}-{name}")]);
            }
        }
    });
}

//! Promise: the public face does what its documentation says, live and after reopening.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use idjournal::{
    Confirmed, MemoryStorage, Namespace, OnDuplicate, Options, Outcome, Owner, Reserve, State,
    Store,
};

fn open(storage: &MemoryStorage, options: Options) -> Store {
    Store::open_on(storage.clone(), options, &mut |_| {}).unwrap()
}

fn small() -> Options {
    Options::default().segment_bytes(1024).keeper(false)
}

fn is_added(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Added)
}

#[test]
fn ids_are_known_after_reopening_and_the_window_goes_on() {
    let storage = MemoryStorage::default();
    let store = open(&storage, small().id_cache_size(3));
    let orders = store.cache("orders").unwrap();
    for id in ["a", "b", "c", "d"] {
        assert!(is_added(orders.add(id).unwrap()));
    }
    drop((orders, store));
    let store = open(&storage, small());
    let orders = store.cache("orders").unwrap();
    assert_eq!(orders.ids().collect::<Vec<_>>(), [b"b", b"c", b"d"]);
    assert_eq!((orders.len(), orders.capacity()), (3, 3));
    assert!(is_added(orders.add("a").unwrap()));
    assert!(!orders.contains("b").unwrap());
    assert!(matches!(orders.state("c"), State::Known(seen) if seen.adds_left == 1));
}

#[test]
fn a_long_run_through_tiny_segments_keeps_the_window_and_the_space() {
    let storage = MemoryStorage::default();
    let store = open(&storage, small().id_cache_size(10));
    let orders = store.cache("orders").unwrap();
    for number in 0..5_000 {
        assert!(
            is_added(orders.add(format!("id-{number}")).unwrap()),
            "{number}"
        );
        let stats = store.stats();
        assert!(
            stats.slots <= 4 + 2 * 1_200 / 1024 + 1,
            "{number}: {stats:?}"
        );
    }
    assert!(store.stats().segments_released > 100);
    drop((orders, store));
    let store = open(&storage, small());
    let ids: Vec<Vec<u8>> = store.cache("orders").unwrap().ids().collect();
    let expected: Vec<Vec<u8>> = (4_990..5_000)
        .map(|number| format!("id-{number}").into_bytes())
        .collect();
    assert_eq!(ids, expected);
}

#[test]
fn a_reservation_is_pending_until_it_is_confirmed_or_released() {
    let storage = MemoryStorage::default();
    let store = open(&storage, small());
    let orders = store.cache("orders").unwrap();
    let Reserve::Reserved(claim) = orders.reserve_as("a", Owner(7), None).unwrap() else {
        panic!("a free ID is reserved");
    };
    assert_eq!(orders.add("a").unwrap(), Outcome::Pending(Owner(7)));
    assert!(!orders.contains("a").unwrap());
    drop(claim);
    let Reserve::Reserved(claim) = orders.reserve("a").unwrap() else {
        panic!("a released ID is free");
    };
    assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
    assert!(matches!(
        orders.reserve("a").unwrap(),
        Reserve::Duplicate(_)
    ));
    assert_eq!(store.stats().claimed_bytes, 0);
}

#[test]
fn a_transaction_is_known_as_a_whole_or_not_at_all() {
    let storage = MemoryStorage::default();
    let store = open(&storage, small());
    let (orders, bills) = (
        store.cache("orders").unwrap(),
        store.cache("bills").unwrap(),
    );
    let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
    assert!(is_added(transaction.add(&orders, "a").unwrap()));
    assert!(is_added(transaction.add(&bills, "b").unwrap()));
    assert_eq!(orders.add("a").unwrap(), Outcome::Pending(Owner(1)));
    transaction.commit().wait().unwrap();
    let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
    assert!(is_added(transaction.add(&orders, "c").unwrap()));
    assert!(!is_added(transaction.add(&bills, "b").unwrap()));
    assert!(transaction.rejected().is_some());
    assert!(transaction.commit().wait().is_err());
    assert!(!orders.contains("c").unwrap());
    drop((orders, bills, store));
    let store = open(&storage, small());
    assert!(store.cache("orders").unwrap().contains("a").unwrap());
    assert!(store.cache("bills").unwrap().contains("b").unwrap());
    assert!(!store.cache("orders").unwrap().contains("c").unwrap());
}

#[test]
fn clear_drop_remove_and_capacities_hold_over_a_restart() {
    let storage = MemoryStorage::default();
    let store = open(&storage, small());
    let orders = store.cache("orders").unwrap();
    let bridge = store.cache_in(Namespace::Bridge, "orders").unwrap();
    let temporary = store.cache("temporary").unwrap();
    for id in ["a", "b", "c"] {
        let _ = (
            orders.add(id).unwrap(),
            bridge.add(id).unwrap(),
            temporary.add(id).unwrap(),
        );
    }
    assert!(orders.remove("b").wait().unwrap());
    assert_eq!(bridge.clear().wait().unwrap(), 3);
    assert!(store.drop_cache("temporary").wait().unwrap());
    orders.set_capacity(2).wait().unwrap();
    drop((orders, bridge, temporary, store));
    let store = open(&storage, small());
    let orders = store.cache("orders").unwrap();
    assert_eq!(orders.ids().collect::<Vec<_>>(), [b"c"]);
    assert_eq!(orders.capacity(), 2);
    let names: Vec<String> = store
        .caches(None, 10)
        .iter()
        .map(|info| info.address.to_string())
        .collect();
    assert_eq!(names, ["orders", "orders"]);
    assert!(
        store
            .cache_in(Namespace::Bridge, "orders")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn an_open_that_finds_nothing_to_do_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options::default().segment_bytes(1 << 16);
    let store = Store::open(directory.path(), options()).unwrap();
    let _ = store.cache("orders").unwrap().add("a").unwrap();
    drop(store);
    let read = || {
        let mut files: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.ends_with("lock"))
            .map(|path| {
                let modified = path.metadata().unwrap().modified().unwrap();
                (path.clone(), std::fs::read(path).unwrap(), modified)
            })
            .collect();
        files.sort();
        files
    };
    let before = read();
    let store = Store::open(directory.path(), options()).unwrap();
    assert!(store.cache("orders").unwrap().contains("a").unwrap());
    assert!(before == read());
    // A close makes sure of the mark, and leaves the same bytes.
    drop(store);
    let bytes = |files: Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)>| {
        let named = files.into_iter().map(|(path, bytes, _)| (path, bytes));
        named.collect::<Vec<_>>()
    };
    assert!(bytes(before) == bytes(read()));
}

#[test]
fn a_cache_in_memory_outlives_its_handles() {
    let store = Store::in_memory(Options::default()).unwrap();
    let _ = store.cache("orders").unwrap().add("a").unwrap();
    store.cache("bills").unwrap().set_capacity(7).detach();
    assert!(store.cache("orders").unwrap().contains("a").unwrap());
    assert_eq!(store.cache("bills").unwrap().capacity(), 7);
    assert_eq!(store.caches(None, 10).len(), 2);
    assert!(store.drop_cache("orders").wait().unwrap());
    assert!(store.drop_cache("bills").wait().unwrap());
    assert!(store.caches(None, 10).is_empty());
}

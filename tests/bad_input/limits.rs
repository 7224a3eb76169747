//! What callers bring: IDs, addresses, capacities and options beyond what there is room for.

use std::time::Duration;

use idjournal::{
    ADDRESS_BYTES_MAX, ADDRESSES_MAX, CAPACITY_MAX, Error, ID_BYTES_MAX, MemoryStorage,
    OnDuplicate, Options, Outcome, Owner, Reserve, Store, SyncPolicy,
};

use crate::support::{answers, open, small};

/// Asserts that an error is this limit with these numbers, by field and in words.
fn assert_limit(error: &Error, limit: &str, max: u64, actual: u64) {
    match error {
        Error::Limit {
            limit: named,
            max: most,
            actual: given,
        } => assert_eq!((*named, *most, *given), (limit, max, actual)),
        other => panic!("{other:?}"),
    }
    let words = error.to_string();
    for part in [limit, &max.to_string(), &actual.to_string()] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn an_id_over_the_limit_is_named_by_every_call() {
    let store = open(MemoryStorage::new(), Options::default().keeper(false)).unwrap();
    let orders = store.cache("orders").unwrap();
    let most = vec![b'x'; ID_BYTES_MAX];
    assert!(matches!(orders.add(&most), Ok(Outcome::Added)));
    assert!(orders.contains(&most).unwrap());
    let over = vec![b'x'; ID_BYTES_MAX + 1];
    let (max, actual) = (ID_BYTES_MAX as u64, over.len() as u64);
    let is_limited = |error: &Error| assert_limit(error, "bytes of an ID", max, actual);
    is_limited(&orders.add(&over).err().unwrap());
    is_limited(orders.submit(&over).outcome().err().unwrap());
    is_limited(&orders.reserve(&over).err().unwrap());
    is_limited(orders.remove(&over).outcome().err().unwrap());
    let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
    is_limited(&transaction.add(&orders, &over).err().unwrap());
    is_limited(&transaction.remove(&orders, &over).err().unwrap());
    transaction.commit().wait().unwrap();
    assert!(!orders.contains(&over).unwrap());
    assert_eq!(orders.len(), 1);
    let own = open(MemoryStorage::new(), small(1024).id_bytes_max(8)).unwrap();
    let error = own.cache("orders").unwrap().add("123456789").err().unwrap();
    assert_limit(&error, "bytes of an ID", 8, 9);
}

#[test]
fn an_id_that_no_segment_can_hold_is_a_limit_not_a_loop() {
    let store = open(MemoryStorage::new(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    let _ = orders.add("small").unwrap();
    let over = vec![b'x'; 400];
    assert!(matches!(orders.add(&over), Err(Error::Limit { .. })));
    assert!(matches!(
        orders.submit(&over).wait(),
        Err(Error::Limit { .. })
    ));
    assert!(matches!(orders.reserve(&over), Err(Error::Limit { .. })));
    let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
    assert!(matches!(
        transaction.add(&orders, &over),
        Err(Error::Limit { .. })
    ));
    transaction.rollback();
    let long = store.cache(vec![b'a'; 400]).unwrap();
    assert!(matches!(long.add("x"), Err(Error::Limit { .. })));
    assert!(matches!(long.reserve("x"), Err(Error::Limit { .. })));
    assert!(matches!(
        long.set_capacity(3).wait(),
        Err(Error::Limit { .. })
    ));
    let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
    assert!(matches!(
        transaction.add(&long, "x"),
        Err(Error::Limit { .. })
    ));
    transaction.rollback();
    assert!(matches!(orders.add("more"), Ok(Outcome::Added)));
    assert_eq!(orders.len(), 2);
}

#[test]
fn an_address_over_the_limit_is_named() {
    let store = open(MemoryStorage::new(), Options::default().keeper(false)).unwrap();
    let most = vec![b'a'; ADDRESS_BYTES_MAX];
    assert!(matches!(
        store.cache(&most).unwrap().add("x"),
        Ok(Outcome::Added)
    ));
    let over = vec![b'a'; ADDRESS_BYTES_MAX + 1];
    let error = store.cache(&over).err().unwrap();
    assert_limit(&error, "bytes of an address", 65_536, 65_537);
    let own = Store::in_memory(Options::default().address_bytes_max(3)).unwrap();
    assert_limit(
        &own.cache("four").err().unwrap(),
        "bytes of an address",
        3,
        4,
    );
}

#[test]
fn one_address_too_many_is_named_and_the_others_go_on() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096).addresses_max(3)).unwrap();
    for name in ["a", "b", "c"] {
        assert!(matches!(
            store.cache(name).unwrap().add("x"),
            Ok(Outcome::Added)
        ));
    }
    let late = store.cache("d").unwrap();
    match late.add("x").err().unwrap() {
        Error::Limit { limit, max, actual } => {
            assert!(limit.contains("addresses"), "{limit}");
            assert_eq!((max, actual), (3, 4));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(late.reserve("x"), Err(Error::Limit { .. })));
    let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
    let gathered = transaction.add(&late, "x");
    assert!(matches!(gathered, Err(Error::Limit { .. })), "{gathered:?}");
    transaction.rollback();
    assert!(matches!(
        store.cache("a").unwrap().add("y"),
        Ok(Outcome::Added)
    ));
    let known = answers(&store);
    store.close().unwrap();
    let store = open(storage, small(4096).addresses_max(3)).unwrap();
    assert_eq!(answers(&store), known);
}

#[test]
fn capacities_from_nothing_to_the_most_there_is() {
    for in_memory in [true, false] {
        let options = |ids| small(4096).id_cache_size(ids);
        let begin = |ids| match in_memory {
            true => Store::in_memory(options(ids)),
            false => open(MemoryStorage::new(), options(ids)),
        };
        let nothing = begin(0).unwrap().cache("orders").unwrap();
        for _ in 0..3 {
            assert!(matches!(nothing.add("x"), Ok(Outcome::Added)));
        }
        assert!(matches!(nothing.reserve("x"), Ok(Reserve::Reserved(_))));
        assert_eq!((nothing.len(), nothing.contains("x").unwrap()), (0, false));
        let one = begin(1).unwrap().cache("orders").unwrap();
        assert!(matches!(one.add("x"), Ok(Outcome::Added)));
        assert!(matches!(one.add("x"), Ok(Outcome::Duplicate(_))));
        assert!(matches!(one.add("y"), Ok(Outcome::Added)));
        assert!(matches!(one.add("x"), Ok(Outcome::Added)));
        assert_eq!(one.len(), 1);
        let most = begin(CAPACITY_MAX).unwrap().cache("orders").unwrap();
        assert!(matches!(most.add("x"), Ok(Outcome::Added)));
        assert!(matches!(most.add("x"), Ok(Outcome::Duplicate(_))));
        assert_eq!(most.capacity(), 1 << 31);
        let error = begin(CAPACITY_MAX + 1).err().unwrap();
        assert_limit(&error, "capacity", 1 << 31, (1 << 31) + 1);
        let error = most.set_capacity(CAPACITY_MAX + 1).wait().err().unwrap();
        assert_limit(&error, "capacity", 1 << 31, (1 << 31) + 1);
        assert_eq!((most.capacity(), most.len()), (1 << 31, 1));
        most.set_capacity(0).wait().unwrap();
        assert_eq!((most.capacity(), most.len()), (0, 0));
        assert!(matches!(most.add("x"), Ok(Outcome::Added)));
        most.set_capacity(2).wait().unwrap();
        assert!(matches!(most.add("x"), Ok(Outcome::Added)));
        assert_eq!(most.len(), 1);
    }
}

#[test]
fn options_that_contradict_each_other_are_named() {
    let wrong = |options: Options| match open(MemoryStorage::new(), options) {
        Err(Error::Options { option, .. }) => option,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("opened"),
    };
    let plain = Options::default;
    for bytes in [0, 1023, 1025, (512 << 20) + 1024, u64::MAX] {
        assert_eq!(wrong(plain().segment_bytes(bytes)), "segment_bytes");
    }
    assert_eq!(wrong(plain().end_stored_ids(true)), "end_stored_ids");
    let zero = SyncPolicy::Interval(Duration::ZERO);
    assert_eq!(wrong(plain().sync_policy(zero)), "sync_policy");
    let over = plain().addresses_max(ADDRESSES_MAX + 1);
    let error = open(MemoryStorage::new(), over).err().unwrap();
    assert_limit(&error, "addresses_max", 1_000_000, 1_000_001);
    let over = plain().id_bytes_max(ID_BYTES_MAX + 1);
    let error = open(MemoryStorage::new(), over).err().unwrap();
    assert_limit(&error, "id_bytes_max", 65_536, 65_537);
    let over = plain().address_bytes_max(ADDRESS_BYTES_MAX + 1);
    let error = open(MemoryStorage::new(), over).err().unwrap();
    assert_limit(&error, "address_bytes_max", 65_536, 65_537);
    // Bad options are told before anything is made.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ids");
    assert!(Store::open(&path, plain().segment_bytes(7)).is_err());
    assert!(!path.exists());
}

#[test]
fn persistence_off_never_ends_stored_ids_by_itself() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(1024)).unwrap();
    let _ = store.cache("orders").unwrap().add("order-1").unwrap();
    store.close().unwrap();
    let off = || small(1024).persistence(false);
    match open(storage.clone(), off()) {
        Err(Error::Options { option, .. }) => assert_eq!(option, "persistence"),
        other => panic!("{:?}", other.map(|_| ())),
    }
    let store = open(storage.clone(), small(1024)).unwrap();
    assert!(store.cache("orders").unwrap().contains("order-1").unwrap());
    store.close().unwrap();
    let store = open(storage.clone(), off().end_stored_ids(true)).unwrap();
    assert!(matches!(
        store.cache("orders").unwrap().add("order-1"),
        Ok(Outcome::Added)
    ));
    store.close().unwrap();
    let store = open(storage, small(1024)).unwrap();
    assert!(answers(&store).is_empty());
}

#[test]
fn segments_that_are_too_small_for_what_is_stored_are_refused() {
    for (name, id) in [
        ("orders", "x".repeat(300)),
        (&*"a".repeat(300), String::from("x")),
    ] {
        let storage = MemoryStorage::new();
        let store = open(storage.clone(), small(4096)).unwrap();
        let cache = store.cache(name).unwrap();
        cache.set_capacity(20).wait().unwrap();
        let _ = cache.add(&id).unwrap();
        store.close().unwrap();
        match open(storage.clone(), small(1024)) {
            Err(Error::Options { option, .. }) => assert_eq!(option, "segment_bytes"),
            other => panic!("{:?}", other.map(|_| ())),
        }
        // With what needs them gone, smaller ones serve, and the larger ones go.
        let store = open(storage.clone(), small(4096)).unwrap();
        assert!(store.drop_cache(name).wait().unwrap());
        let _ = store.cache("orders").unwrap().add("y").unwrap();
        store.close().unwrap();
        let store = open(storage, small(1024)).unwrap();
        let orders = store.cache("orders").unwrap();
        orders.set_capacity(5).wait().unwrap();
        for number in 0..500 {
            let _ = orders.add(format!("order-{number}")).unwrap();
        }
        assert!(store.stats().disk_bytes <= 6 << 10, "{:?}", store.stats());
    }
}

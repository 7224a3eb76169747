//! Persistence off and on, per store and per address, live and over restarts.

use idjournal::{
    Confirmed, Error, MemoryStorage, OnDuplicate, Options, Origin, Outcome, Owner, Reserve, State,
    Store,
};

use super::{add, again, cache, known, none, open, plain};

fn off() -> idjournal::AddressSettings {
    none().persistence(false)
}

/// The option that an open which must not succeed names.
fn refused(storage: &MemoryStorage, options: Options) -> &'static str {
    match super::support::open(storage.clone(), options) {
        Err(Error::Options { option, .. }) => option,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn without_persistence_an_address_answers_alike_and_writes_nothing() {
    let storage = MemoryStorage::new();
    let store = open(
        &storage,
        plain().address_settings("tmp.#", off().id_cache_size(3)),
    );
    let before = store.stats().records;
    let tmp = cache(&store, "tmp.a");
    add(&store, "tmp.a", 0..5);
    assert!(matches!(tmp.add("4").unwrap(), Outcome::Duplicate(_)));
    let Reserve::Reserved(claim) = tmp.reserve("5").unwrap() else {
        panic!("it is new")
    };
    assert!(matches!(tmp.add("5").unwrap(), Outcome::Pending(_)));
    assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
    assert!(matches!(tmp.state("5"), State::Known(_)));
    assert_eq!(known(&store, "tmp.a"), [3, 4, 5]);
    assert!(tmp.renew("3").wait().unwrap());
    assert!(tmp.remove("4").wait().unwrap());
    tmp.set_capacity(1).wait().unwrap();
    assert_eq!(known(&store, "tmp.a"), [3]);
    assert_eq!(tmp.clear().wait().unwrap(), 1);
    add(&store, "tmp.a", 0..2);
    assert!(store.drop_cache("tmp.a").wait().unwrap());
    assert!(store.caches(None, 9).is_empty());
    add(&store, "tmp.a", 0..2);
    let stats = store.stats();
    assert_eq!(
        (stats.records, stats.live_bytes, stats.claimed_bytes),
        (before, 0, 0)
    );
    drop(tmp);
    let store = again(store, &storage, plain());
    assert!(store.caches(None, 9).is_empty(), "free after a restart");
}

#[test]
fn a_transaction_over_stored_and_unstored_addresses_keeps_the_stored_part() {
    let storage = MemoryStorage::new();
    let options = plain().address_settings("tmp", off());
    let store = open(&storage, options.clone());
    let (tmp, kept) = (cache(&store, "tmp"), cache(&store, "kept"));
    let mut both = store.begin(OnDuplicate::Reject, Owner::NOBODY);
    let _ = both.add(&tmp, "1").unwrap();
    let _ = both.add(&kept, "2").unwrap();
    both.commit().wait().unwrap();
    let mut only = store.begin(OnDuplicate::Reject, Owner::NOBODY);
    let _ = only.add(&tmp, "3").unwrap();
    only.commit().wait().unwrap();
    assert_eq!(
        (known(&store, "tmp"), known(&store, "kept")),
        (vec![1, 3], vec![2])
    );
    assert_eq!(store.stats().claimed_bytes, 0);
    drop((tmp, kept));
    let store = again(store, &storage, options);
    assert_eq!(
        (known(&store, "tmp"), known(&store, "kept")),
        (vec![], vec![2])
    );
}

#[test]
fn stored_ids_are_ended_at_open_only_with_the_second_option_and_that_is_reported() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "tmp", 0..5);
    add(&store, "kept", 0..5);
    store.close().unwrap();
    drop(store);
    let settings = plain().address_settings("tmp", off());
    assert_eq!(refused(&storage, settings), "address_settings");
    let store = open(&storage, plain());
    assert_eq!(
        (known(&store, "tmp").len(), known(&store, "kept").len()),
        (5, 5)
    );

    let ending = || plain().address_settings("tmp", off().end_stored_ids(true));
    let store = again(store, &storage, ending());
    let ended = &store.recovery().ended_caches;
    assert_eq!((ended.len(), ended[0].forgotten), (1, 5));
    assert_eq!(
        (known(&store, "tmp"), known(&store, "kept").len()),
        (vec![], 5)
    );
    add(&store, "tmp", 0..5);
    let store = again(store, &storage, ending());
    assert!(store.recovery().ended_caches.is_empty() && known(&store, "tmp").is_empty());
    let store = again(store, &storage, plain());
    assert!(known(&store, "tmp").is_empty(), "nothing comes back");
    add(&store, "tmp", 3..5);
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "tmp"), [3, 4], "stored again");
}

#[test]
fn live_off_needs_the_second_option_where_ids_are_stored_and_keeps_them_until_the_end() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "tmp.a", 0..5);
    let error = store.configure("tmp.#", off()).wait().unwrap_err();
    assert!(
        matches!(
            error,
            Error::Options {
                option: "pattern",
                ..
            }
        ),
        "{error}"
    );
    assert!(
        cache(&store, "tmp.b").stats().is_stored,
        "nothing was changed"
    );
    let ending = off().end_stored_ids(true);
    store.configure("tmp.#", ending).wait().unwrap();
    let stats = cache(&store, "tmp.a").stats();
    assert_eq!(
        (stats.is_stored, stats.persistence_origin),
        (false, Origin::PatternByCall)
    );
    assert_eq!(store.stats().caches, 1);
    add(&store, "tmp.a", 5..7);
    assert_eq!(
        known(&store, "tmp.a"),
        Vec::from_iter(0..7),
        "until the store is closed"
    );
    store.configure("tmp.#", off()).wait().unwrap();
    let store = again(store, &storage, plain());
    assert!(known(&store, "tmp.a").is_empty());
    assert!(
        !cache(&store, "tmp.a").stats().is_stored,
        "the pattern was journaled"
    );
}

#[test]
fn taking_a_pattern_away_that_kept_ids_stored_is_refused_too() {
    let storage = MemoryStorage::new();
    let options = || plain().address_settings("tmp.#", off());
    let store = open(&storage, options());
    store
        .configure("tmp.a", none().persistence(true))
        .wait()
        .unwrap();
    add(&store, "tmp.a", 0..3);
    let error = store.configure("tmp.a", none()).wait().unwrap_err();
    assert!(matches!(error, Error::Options { .. }), "{error}");
    assert_eq!(store.configured().len(), 1);
    // A more specific one decides: these settings end nothing.
    store.configure("#", off()).wait().unwrap();
    let store = again(store, &storage, options());
    assert_eq!(known(&store, "tmp.a"), [0, 1, 2]);
}

#[test]
fn live_on_stores_what_is_added_from_then_on_and_forgets_nothing_meanwhile() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain().id_cache_size(8));
    let ending = off().end_stored_ids(true);
    let on = none().persistence(true);
    for number in 0..4 {
        add(&store, "a", number * 4..number * 4 + 2);
        store.configure("a", ending).wait().unwrap();
        add(&store, "a", number * 4 + 2..number * 4 + 4);
        store.configure("a", on).wait().unwrap();
    }
    assert_eq!(known(&store, "a"), Vec::from_iter(8..16));
    add(&store, "a", 16..18);
    assert!(cache(&store, "a").remove("15").wait().unwrap());
    store.compact().unwrap();
    assert_eq!(known(&store, "a"), [10, 11, 12, 13, 14, 16, 17]);
    let store = again(store, &storage, plain().id_cache_size(8));
    assert_eq!(known(&store, "a"), [16, 17]);
    add(&store, "a", 20..40);
    let stats = store.stats();
    let store = again(store, &storage, plain().id_cache_size(8));
    assert_eq!(store.stats().live_bytes, stats.live_bytes, "counted alike");
}

#[test]
fn what_was_turned_off_and_on_does_not_come_back_when_the_journal_goes_round() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "a", 0..30);
    store
        .configure("a", off().end_stored_ids(true))
        .wait()
        .unwrap();
    store
        .configure("a", none().persistence(true))
        .wait()
        .unwrap();
    add(&store, "a", 30..31);
    cache(&store, "busy").set_capacity(5).wait().unwrap();
    for round in 0..20 {
        add(&store, "busy", round * 50..round * 50 + 50);
        let seen = open(&super::support::killed(&storage), plain());
        assert_eq!(known(&seen, "a"), [30], "round {round}");
    }
    assert!(store.stats().segments_released > 3);
    assert_eq!(known(&store, "a"), Vec::from_iter(0..31));
}

#[test]
fn the_store_is_turned_off_and_on_over_restarts() {
    let storage = MemoryStorage::new();
    let store = open(&storage, plain());
    add(&store, "a", 0..2);
    store
        .configure("a", off().end_stored_ids(true))
        .wait()
        .unwrap();
    add(&store, "b", 0..2);
    store.close().unwrap();
    drop(store);
    assert_eq!(refused(&storage, plain().persistence(false)), "persistence");
    let store = open(&storage, plain().persistence(false).end_stored_ids(true));
    let stats = cache(&store, "b").stats();
    assert_eq!(
        (stats.is_stored, stats.persistence_origin),
        (false, Origin::Options)
    );
    add(&store, "b", 0..2);
    let store = again(store, &storage, plain());
    assert!(known(&store, "b").is_empty());
    add(&store, "b", 0..2);
    let store = again(store, &storage, plain());
    assert_eq!(known(&store, "b"), [0, 1]);
}

#[test]
fn temporary_addresses_without_persistence_leave_nothing_behind() {
    let store: Store = open(
        &MemoryStorage::new(),
        plain().address_settings("tmp.#", off()),
    );
    for round in 0..100 {
        let name = format!("tmp.{round}");
        add(&store, &name, 0..3);
        let claimed = cache(&store, &name).reserve("9").unwrap();
        drop(claimed);
        assert!(store.drop_cache(&name).wait().unwrap());
    }
    let stats = store.stats();
    assert_eq!((stats.caches, stats.added, stats.cleared), (0, 300, 300));
}

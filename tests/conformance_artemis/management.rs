//! Rows G: sizes and settings as they are told and kept, and looks that change nothing.

use std::process::{Command, Stdio};
use std::time::Duration;

use idjournal::inspect::Inspection;
use idjournal::{AddressSettings, CAPACITY_MAX, Error, ID_CACHE_SIZE, Options, Origin};

use super::support::home::{
    Home, assert_absent, assert_added, assert_duplicate, everywhere, fill, ids, plain, seen,
    where_stored, window,
};

#[test]
fn g1_the_size_after_two_ids_is_two_and_after_a_restart_what_was_stored() {
    everywhere(&plain(), |home| {
        fill(&home.orders(), 0..2);
        assert_eq!(home.orders().len(), 2);
        home.reopen();
        let left = if home.is_stored() { 2 } else { 0 };
        assert_eq!(home.orders().len(), left);
        assert_eq!(home.orders().stats().len, left);
    });
}

#[test]
fn g2_a_clear_leaves_nothing_also_after_a_restart() {
    everywhere(&plain(), |home| {
        fill(&home.orders(), 0..2);
        assert_eq!(home.orders().clear().wait().unwrap(), 2);
        assert_eq!(home.orders().len(), 0);
        home.reopen();
        assert_eq!((home.orders().len(), home.live_records()), (0, 0));
        fill(&home.orders(), 0..2);
    });
}

#[test]
fn g4_size_and_persistence_are_told_as_they_were_set() {
    everywhere(&window(17), |home| {
        let stats = home.orders().stats();
        assert_eq!((stats.capacity, stats.is_stored), (17, home.is_stored()));
        let origins = (stats.capacity_origin, stats.persistence_origin);
        let persistence = match home.is_stored() {
            true => Origin::Stored,
            false => Origin::Options,
        };
        assert_eq!(origins, (Origin::Options, persistence));
        fill(&home.orders(), 0..1);
        let info = home.store().caches(None, 9).remove(0);
        assert_eq!(info.capacity, 17);
    });
}

#[test]
fn g6_asking_for_an_id_adds_and_alters_nothing() {
    everywhere(&window(3), |home| {
        let orders = home.orders();
        fill(&orders, 0..3);
        let before = (ids(&orders), orders.stats(), home.store().stats().records);
        for _ in 0..10 {
            assert!(orders.contains("0").unwrap());
            assert_absent(&orders, "absent");
            assert_eq!(seen(&orders, "0").adds_left, 1);
        }
        let after = (ids(&orders), orders.stats(), home.store().stats().records);
        assert_eq!(before.0, after.0);
        assert_eq!(before.2, after.2);
        assert_eq!(before.1.last_ordinal, after.1.last_ordinal);
        assert_eq!(before.1.duplicates, after.1.duplicates);
        assert_added(&orders, "absent");
        assert_absent(&orders, "0");
    });
}

/// Looks at the directory in every way, also with the program where that was built.
fn assert_looks_change_nothing(home: &Home) {
    let before = home.directory();
    let mut inspection = Inspection::open(home.path()).unwrap();
    assert_eq!(inspection.statistics().unwrap().addresses.len(), 1);
    let mut records = 0;
    let mut count = |_: &idjournal::inspect::Item<'_>| {
        records += 1;
        std::ops::ControlFlow::Continue(())
    };
    inspection.records(&mut count).map(drop).unwrap();
    assert!(records > 200, "{records}");
    if let Some(program) = option_env!("CARGO_BIN_EXE_journal-dump") {
        let mut command = Command::new(program);
        command.arg(home.path()).stdin(Stdio::null());
        assert!(command.output().unwrap().status.success());
    }
    assert!(before == home.directory(), "a look has changed something");
}

#[test]
fn g8_a_look_at_a_living_and_at_a_stopped_store_leaves_every_byte() {
    where_stored(&window(50), |home| {
        fill(&home.orders(), 0..300);
        home.store().sync().wait_synced().unwrap();
        assert_looks_change_nothing(home);
        home.store().close().unwrap();
        assert_looks_change_nothing(home);
        home.reopen();
        assert_looks_change_nothing(home);
    });
}

#[test]
fn g10_unless_set_the_size_is_20_000_and_ids_are_stored() {
    where_stored(&plain(), |home| {
        let stats = home.orders().stats();
        assert_eq!((stats.capacity, stats.is_stored), (20_000, true));
        assert_eq!(ID_CACHE_SIZE, 20_000);
        assert_eq!(stats.max_age, None);
        home.reopen_with(window(77));
        assert_eq!(home.orders().capacity(), 77);
    });
    let by_default = idjournal::Store::in_memory(Options::default()).unwrap();
    assert_eq!(by_default.cache("orders").unwrap().capacity(), 20_000);
}

#[test]
fn g11_a_size_of_0_may_be_set_and_none_beyond_the_limit() {
    everywhere(&window(0), |home| {
        assert_eq!(home.orders().capacity(), 0);
        let orders = home.cache("other");
        orders.set_capacity(5).wait().unwrap();
        orders.set_capacity(0).wait().unwrap();
        assert_eq!(orders.capacity(), 0);
        let none = AddressSettings::default().id_cache_size(0);
        home.store().configure("none.#", none).wait().unwrap();
        assert_eq!(home.cache("none.a").capacity(), 0);
        let beyond = orders.set_capacity(CAPACITY_MAX + 1).wait();
        assert!(matches!(beyond, Err(Error::Limit { .. })), "{beyond:?}");
        assert_eq!(orders.capacity(), 0);
    });
}

#[test]
fn g13_what_a_pattern_leaves_unset_is_inherited_and_what_it_sets_is_not() {
    let ids = |count| AddressSettings::default().id_cache_size(count);
    let age = Duration::from_secs(60);
    let options = window(2)
        .address_settings("a.#", ids(10).max_age(age))
        .address_settings("a.b.#", AddressSettings::default().max_age(2 * age))
        .address_settings("a.b.c", ids(0));
    everywhere(&options, |home| {
        let told = |address| {
            let cache = home.cache(address);
            (cache.capacity(), cache.max_age())
        };
        assert_eq!(told("b"), (2, None));
        assert_eq!(told("a.x"), (10, Some(age)));
        assert_eq!(told("a.b"), (10, Some(2 * age)));
        assert_eq!(told("a.b.c"), (0, Some(2 * age)), "0 is a size like others");
        let origin = |address| home.cache(address).stats().capacity_origin;
        assert_eq!(origin("b"), Origin::Options);
        assert_eq!(origin("a.b"), Origin::PatternByOptions);
        home.cache("a.b").set_capacity(3).wait().unwrap();
        assert_eq!((told("a.b").0, origin("a.b")), (3, Origin::Call));
    });
}

#[test]
fn g14_settings_are_read_back_as_they_were_written() {
    let age = Duration::from_millis(123_450);
    where_stored(&plain(), |home| {
        let settings = AddressSettings::default()
            .id_cache_size(CAPACITY_MAX)
            .max_age(age)
            .persistence(true);
        home.store().configure("a.*", settings).wait().unwrap();
        for (number, capacity) in [0, 1, 255, 65_536, CAPACITY_MAX].into_iter().enumerate() {
            let cache = home.cache(&number.to_string());
            assert_added(&cache, "a");
            cache.set_capacity(capacity).wait().unwrap();
            cache.set_max_age(Some(age)).wait().unwrap();
        }
        let told = |home: &Home| {
            let of = |address: &str| {
                let stats = home.cache(address).stats();
                let values = (stats.capacity, stats.max_age, stats.is_stored);
                let origins = (stats.capacity_origin, stats.max_age_origin);
                (values, origins, stats.persistence_origin, stats.len)
            };
            ["0", "1", "2", "3", "4", "a.b", "b"].map(of)
        };
        let before = told(home);
        assert_eq!(before[5].0, (CAPACITY_MAX, Some(age), true));
        home.reopen();
        assert_eq!(told(home), before);
        home.store().compact().unwrap();
        home.kill();
        assert_eq!(told(home), before);
        assert_duplicate(&home.cache("4"), "a");
    });
}

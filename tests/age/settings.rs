//! Where an age comes from, what overrules what, and that no change of it brings anything back.

use std::time::Duration;

use idjournal::{Namespace, Outcome};

use super::support::kept::Kept;
use super::{AGE, Time, ids};

#[test]
fn a_higher_age_revives_nothing_and_a_lower_one_forgets_at_once() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let mut store = kept.open(time.options());
        let orders = store.cache("orders").unwrap();
        for number in 0..10_u64 {
            time.set(number * 10);
            let _ = orders.add(number.to_string()).unwrap();
        }
        drop(orders);
        // At 90 ms: from 70 on; then with every higher age the same, in this life and the next.
        let ages = [
            (30, 3),
            (40, 3),
            (1000, 3),
            (20, 2),
            (60_000, 2),
            (0, 1),
            (50, 1),
        ];
        for (age, count) in ages {
            let orders = store.cache("orders").unwrap();
            let age = Duration::from_millis(age);
            orders.set_max_age(Some(age)).wait().unwrap();
            assert_eq!(ids(&orders).len(), count, "{age:?}");
            drop(orders);
            store = kept.again(store, count == 2, time.options());
            let orders = store.cache("orders").unwrap();
            assert_eq!(ids(&orders).len(), count, "{age:?}, again");
            assert_eq!(orders.max_age(), Some(age.max(Duration::from_millis(10))));
        }
        let orders = store.cache("orders").unwrap();
        orders.set_max_age(None).wait().unwrap();
        time.set(1_000_000);
        assert_eq!(ids(&orders), ["9"]);
    }
}

#[test]
fn an_age_from_options_holds_where_no_call_has_set_one() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let store = kept.open(time.options().max_age(Some(AGE)));
        let (given, called) = (
            store.cache("given").unwrap(),
            store.cache("called").unwrap(),
        );
        called.set_max_age(Some(2 * AGE)).wait().unwrap();
        for cache in [&given, &called] {
            assert_eq!(cache.add("a").unwrap(), Outcome::Added);
        }
        assert_eq!(given.max_age(), Some(AGE));
        drop((given, called));
        let ages = |store: &idjournal::Store| {
            let age = |address: &str| store.cache(address).unwrap().max_age();
            (age("given"), age("called"), age("new"))
        };
        // Unset, what is stored stays.
        let store = kept.again(store, true, time.options());
        assert_eq!(ages(&store), (Some(AGE), Some(2 * AGE), None));
        assert!(store.recovery().age_changes.is_empty());
        // Set, it changes what came from options, and says so.
        let store = kept.again(store, false, time.options().max_age(Some(3 * AGE)));
        assert_eq!(ages(&store), (Some(3 * AGE), Some(2 * AGE), Some(3 * AGE)));
        let [change] = &store.recovery().age_changes[..] else {
            panic!("one changed");
        };
        assert_eq!(
            (change.namespace, &*change.address.0),
            (Namespace::Client, &b"given"[..])
        );
        assert_eq!(
            (change.old, change.new, change.forgotten),
            (Some(AGE), Some(3 * AGE), 0)
        );
        // A lower one forgets, and says how many.
        time.set(20);
        let store = kept.again(store, false, time.options().max_age(Some(AGE / 5)));
        let [change] = &store.recovery().age_changes[..] else {
            panic!("one changed");
        };
        assert_eq!((change.new, change.forgotten), (Some(AGE / 5), 1));
        let store = kept.again(store, false, time.options().max_age(None));
        assert_eq!(ages(&store), (None, Some(2 * AGE), None));
        assert!(store.cache("given").unwrap().is_empty());
        assert_eq!(ids(&store.cache("called").unwrap()), ["a"]);
        // A drop ends what a call has set.
        assert!(store.drop_cache("called").wait().unwrap());
        assert_eq!(store.cache("called").unwrap().max_age(), None);
        let _ = store.cache("called").unwrap().add("b").unwrap();
        let store = kept.again(store, false, time.options().max_age(Some(AGE)));
        assert_eq!(ages(&store), (Some(AGE), Some(AGE), Some(AGE)));
    }
}

#[test]
fn the_same_age_by_the_same_origin_writes_nothing() {
    let time = Time::begin();
    for kept in Kept::all() {
        let store = kept.open(time.options());
        let orders = store.cache("orders").unwrap();
        orders.set_max_age(Some(AGE)).wait().unwrap();
        let records = store.stats().records;
        orders.set_max_age(Some(AGE)).wait().unwrap();
        assert_eq!(store.stats().records, records);
        orders.set_max_age(Some(2 * AGE)).wait().unwrap();
        assert_eq!(store.stats().records, records + 1);
    }
}

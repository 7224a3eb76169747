//! One tick before, at and after; and the count bound beside the age.

use std::time::Duration;

use idjournal::{OnDuplicate, Outcome, Owner, Reserve, State, Store, Ticks};

use super::support::kept::Kept;
use super::{AGE, Time, ids, seen};

/// Every call that tells whether `id` is known, each of which must leave it as it is.
fn is_known(store: &Store, id: &str) -> bool {
    let orders = store.cache("orders").unwrap();
    let is_known = orders.contains(id).unwrap();
    assert_eq!(orders.state(id) != State::Absent, is_known);
    assert_eq!(ids(&orders).contains(&id.to_owned()), is_known);
    assert_eq!(orders.value(id, &mut Vec::new()).unwrap(), is_known);
    let infos = store.caches(None, 10);
    assert_eq!(infos[0].len, orders.len());
    assert_eq!(infos[0].newest.is_some(), !orders.is_empty());
    let reserve = orders.reserve(id).unwrap();
    assert_eq!(matches!(reserve, Reserve::Duplicate(_)), is_known);
    drop(reserve);
    let mut inside = store.begin(OnDuplicate::Skip, Owner(1));
    assert_eq!(inside.remove(&orders, id).unwrap(), is_known);
    inside.rollback();
    let mut inside = store.begin(OnDuplicate::Skip, Owner(1));
    let is_duplicate = matches!(inside.add(&orders, id).unwrap(), Outcome::Duplicate(_));
    assert_eq!(is_duplicate, is_known);
    inside.rollback();
    is_known
}

#[test]
fn an_id_is_known_one_tick_before_its_age_and_gone_at_it_and_after() {
    for is_closed in [true, false] {
        for mut kept in Kept::all() {
            let time = Time::begin();
            let mut store = kept.open(time.options());
            let orders = store.cache("orders").unwrap();
            orders.set_max_age(Some(AGE)).wait().unwrap();
            let _ = (orders.add("a").unwrap(), orders.add("b").unwrap());
            drop(orders);
            let there = [0, 80, 90, 99].map(|milliseconds| (milliseconds, true));
            let gone = [100, 101, 110, 99_999].map(|milliseconds| (milliseconds, false));
            for (milliseconds, is_there) in there.into_iter().chain(gone) {
                time.set(milliseconds);
                assert_eq!(is_known(&store, "a"), is_there, "{milliseconds} ms");
                store = kept.again(store, is_closed, time.options());
                assert_eq!(is_known(&store, "a"), is_there, "{milliseconds} ms, again");
                assert_eq!(store.recovery().ids, if is_there { 2 } else { 0 });
            }
        }
    }
}

#[test]
fn what_takes_the_place_of_an_expired_id_is_new() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let store = kept.open(time.options());
        let orders = store.cache("orders").unwrap();
        orders.set_max_age(Some(AGE)).wait().unwrap();
        for id in ["a", "b", "c", "d"] {
            assert_eq!(orders.add(id).unwrap(), Outcome::Added);
        }
        time.set(100);
        assert_eq!(orders.add("a").unwrap(), Outcome::Added);
        let Reserve::Reserved(claim) = orders.reserve("b").unwrap() else {
            panic!("it had expired");
        };
        let _ = claim.confirm().wait().unwrap();
        let mut both = store.begin(OnDuplicate::Reject, Owner(1));
        assert_eq!(both.add(&orders, "c").unwrap(), Outcome::Added);
        both.commit().wait().unwrap();
        assert!(!orders.remove("d").wait().unwrap());
        assert!(!orders.renew("d").wait().unwrap());
        assert_eq!(orders.clear().wait().unwrap(), 3);
        assert_eq!(orders.add("d").unwrap(), Outcome::Added);
        let store = kept.again(store, false, time.options());
        let orders = store.cache("orders").unwrap();
        assert_eq!(ids(&orders), ["d"]);
        assert_eq!(seen(&orders, "d").ordinal.0, 8);
    }
}

#[test]
fn a_claim_does_not_age_and_what_it_records_is_as_old_as_its_confirmation() {
    for kept in Kept::all() {
        let time = Time::begin();
        let store = kept.open(time.options().max_age(Some(AGE)));
        let orders = store.cache("orders").unwrap();
        let Reserve::Reserved(claim) = orders.reserve("a").unwrap() else {
            panic!("it is new");
        };
        let mut open = store.begin(OnDuplicate::Reject, Owner(2));
        let _ = open.add(&orders, "b").unwrap();
        time.set(5_000);
        assert!(matches!(orders.state("a"), State::Pending(_)));
        let _ = claim.confirm().wait().unwrap();
        open.commit().wait().unwrap();
        time.set(5_099);
        assert_eq!(ids(&orders), ["a", "b"]);
        time.set(5_100);
        assert!(orders.is_empty());
    }
}

#[test]
fn the_count_and_the_age_each_forget_what_they_would_alone() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let options = || time.options().id_cache_size(3).max_age(Some(AGE));
        let mut store = kept.open(options());
        // One ID each 30 ms: the age holds four, the count three.
        for number in 0..20_u64 {
            time.set(number * 30);
            let orders = store.cache("orders").unwrap();
            assert_eq!(orders.add(number.to_string()).unwrap(), Outcome::Added);
            let first = number.saturating_sub(2);
            let expected: Vec<String> = (first..=number).map(|id| id.to_string()).collect();
            assert_eq!(ids(&orders), expected);
            drop(orders);
            store = kept.again(store, number % 2 == 0, options());
            assert_eq!(ids(&store.cache("orders").unwrap()), expected);
        }
        // One each 40 ms: the age holds three at 80 ms, two after that.
        let begin = 10_000;
        let orders = store.cache("orders").unwrap();
        for number in 0..20_u64 {
            time.set(begin + number * 40);
            assert_eq!(orders.add(number.to_string()).unwrap(), Outcome::Added);
            assert_eq!(orders.len(), (number + 1).min(3));
            let left = seen(&orders, &number.to_string());
            assert_eq!(left.adds_left, 3);
            assert_eq!(left.expires, Some(Ticks(left.time.0 + 10)));
            time.set(begin + number * 40 + 20);
            assert_eq!(orders.len(), (number + 1).min(2).max(u64::from(number > 0)));
        }
    }
}

#[test]
fn holes_and_renewed_ids_age_as_others_do() {
    for mut kept in Kept::all() {
        let time = Time::begin();
        let options = || time.options().max_age(Some(AGE));
        let store = kept.open(options());
        let orders = store.cache("orders").unwrap();
        for number in 0..300_u64 {
            time.set(number);
            let _ = orders.add(number.to_string()).unwrap();
        }
        // At 299 ms all of before 200 are gone.
        assert_eq!(orders.len(), 100);
        for number in 200..290_u64 {
            assert!(orders.remove(number.to_string()).wait().unwrap());
        }
        time.set(380);
        assert_eq!(orders.len(), 10);
        assert!(orders.renew("290").wait().unwrap());
        let store = kept.again(store, false, options());
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.len(), 10);
        time.set(479);
        assert_eq!(ids(&orders), ["290"]);
        let store = kept.again(store, true, options());
        let orders = store.cache("orders").unwrap();
        assert_eq!(ids(&orders), ["290"]);
        time.set(480);
        assert!(orders.is_empty());
    }
}

#[test]
fn a_store_in_memory_only_forgets_by_age_too() {
    let time = Time::begin();
    let store = Store::in_memory(time.options().max_age(Some(AGE))).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..1000_u64 {
        time.set(number * 10);
        assert_eq!(orders.add(number.to_string()).unwrap(), Outcome::Added);
        assert_eq!(orders.len(), (number + 1).min(10));
    }
    assert!(is_known(&store, "999"));
    time.set(9_990 + 99);
    assert_eq!(ids(&orders), ["999"]);
    time.set(9_990 + 100);
    assert!(!is_known(&store, "999"));
    assert_eq!(orders.add("999").unwrap(), Outcome::Added);
}

#[test]
fn an_age_counts_in_ticks_rounded_up() {
    let time = Time::begin();
    let store = Store::in_memory(time.options()).unwrap();
    let orders = store.cache("orders").unwrap();
    let cases = [
        (Duration::ZERO, 10),
        (Duration::from_nanos(1), 10),
        (Duration::from_millis(10), 10),
        (Duration::from_micros(10_001), 20),
        (Duration::from_millis(15), 20),
    ];
    for (age, milliseconds) in cases {
        orders.set_max_age(Some(age)).wait().unwrap();
        assert_eq!(orders.max_age(), Some(Duration::from_millis(milliseconds)));
    }
    orders.set_max_age(Some(Duration::MAX)).wait().unwrap();
    let _ = orders.add("a").unwrap();
    time.0.set(u64::MAX, u64::MAX);
    assert!(orders.contains("a").unwrap(), "that age is never reached");
    orders.set_max_age(None).wait().unwrap();
    assert_eq!((orders.max_age(), orders.len()), (None, 1));
}

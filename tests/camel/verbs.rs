//! Each verb by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::camel::Repository;
use idjournal::{Cache, Error, MemoryStorage, Options, Owner, State, Store};

use super::route::options;
use super::support::gated::Gated;
use super::support::home::{everywhere, plain};
use super::support::{HandClock, killed, open};

fn repository(orders: &Cache, owner: u64) -> Repository {
    Repository::new(orders.clone(), Owner(owner))
}

#[test]
fn an_add_claims_and_a_confirmation_records() {
    everywhere(&plain(), |home| {
        let (orders, first) = (home.orders(), repository(&home.orders(), 1));
        assert!(first.add("a").unwrap() && !first.add("a").unwrap());
        assert_eq!(orders.state("a"), State::Pending(Owner(1)));
        assert!(!first.contains("a").unwrap() && orders.is_empty());
        assert!(first.confirm("a").unwrap() && first.contains("a").unwrap());
        assert!(!first.add("a").unwrap() && orders.len() == 1);
    });
}

#[test]
fn what_others_have_claimed_is_not_new_and_not_touched() {
    everywhere(&plain(), |home| {
        let (orders, claims) = (home.orders(), home.orders().reserve_as("c", Owner(1), None));
        let [first, second] = [1, 2].map(|owner| repository(&orders, owner));
        assert!(first.add("a").unwrap() && !second.add("a").unwrap());
        assert!(!second.remove("a").unwrap() && !second.confirm("a").unwrap());
        assert_eq!(orders.state("a"), State::Pending(Owner(1)));
        assert!(
            !first.add("c").unwrap() && !first.remove("c").unwrap(),
            "it has a guard"
        );
        drop(claims);
        assert!(
            first.confirm("a").unwrap() && second.confirm("a").unwrap(),
            "it is known"
        );
    });
}

#[test]
fn a_remove_gives_up_a_claim_or_removes_what_is_recorded() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let repository = repository(&orders, 1);
        assert!(!repository.remove("a").unwrap());
        assert!(repository.add("a").unwrap() && repository.remove("a").unwrap());
        assert_eq!(orders.state("a"), State::Absent);
        assert!(
            !repository.confirm("a").unwrap(),
            "it is neither held nor known"
        );
        assert!(repository.add("a").unwrap() && repository.confirm("a").unwrap());
        assert!(repository.remove("a").unwrap() && !repository.remove("a").unwrap());
        assert!(repository.add("a").unwrap());
        let figures = orders.stats();
        assert_eq!(
            (figures.released, figures.confirmed, figures.removed),
            (1, 1, 1)
        );
    });
}

#[test]
fn a_clear_forgets_what_is_recorded_and_leaves_claims() {
    everywhere(&plain(), |home| {
        let repository = repository(&home.orders(), 1);
        for id in ["a", "b", "c"] {
            assert!(repository.add(id).unwrap());
        }
        assert!(repository.confirm("a").unwrap() && repository.confirm("b").unwrap());
        assert_eq!(repository.clear().unwrap(), 2);
        assert!(repository.add("a").unwrap() && !repository.add("c").unwrap());
        assert!(repository.confirm("c").unwrap());
    });
}

#[test]
fn in_camels_own_way_an_add_records_and_a_confirmation_does_nothing() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let repository = repository(&orders, 1).recording_on_add();
        assert!(repository.confirm("a").unwrap() && orders.is_empty());
        assert!(repository.add("a").unwrap() && repository.contains("a").unwrap());
        assert!(!repository.add("a").unwrap());
        assert!(repository.remove("a").unwrap() && !repository.contains("a").unwrap());
        // What others have claimed is no more new than in the other way.
        let other = super::verbs::repository(&orders, 2);
        assert!(other.add("b").unwrap() && !repository.add("b").unwrap());
        assert!(!repository.remove("b").unwrap() && other.confirm("b").unwrap());
    });
}

#[test]
fn a_claim_is_gone_after_a_restart_and_a_record_is_not() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), options()).unwrap();
    let first = repository(&store.cache("orders").unwrap(), 1);
    assert!(first.add("claimed").unwrap() && first.add("confirmed").unwrap());
    assert!(first.confirm("confirmed").unwrap());
    let store = open(killed(&storage), options()).unwrap();
    let again = repository(&store.cache("orders").unwrap(), 1);
    assert!(!again.confirm("claimed").unwrap() && again.confirm("confirmed").unwrap());
    assert!(again.add("claimed").unwrap() && !again.add("confirmed").unwrap());
}

#[test]
fn a_claim_whose_lease_is_over_is_confirmed_unless_others_have_it() {
    let clock = Arc::new(HandClock::default());
    let store = Store::in_memory(Options::default().clock(clock.clone())).unwrap();
    let orders = store.cache("orders").unwrap();
    let lease = Duration::from_millis(100);
    let [first, second] = [1, 2].map(|owner| repository(&orders, owner).with_lease(lease));
    for id in ["alone", "taken"] {
        assert!(first.add(id).unwrap() && !second.add(id).unwrap());
    }
    clock.0.fetch_add(100, Ordering::Relaxed);
    assert!(first.confirm("alone").unwrap());
    assert!(second.add("taken").unwrap() && !first.confirm("taken").unwrap());
    assert!(!first.remove("taken").unwrap() && second.confirm("taken").unwrap());
    assert!(first.confirm("taken").unwrap(), "others have recorded it");
}

#[test]
fn an_error_is_never_an_answer() {
    for records_on_add in [false, true] {
        let disk = Gated::default();
        let store = open(disk.clone(), options()).unwrap();
        let mut repository = repository(&store.cache("orders").unwrap(), 1);
        assert!(repository.add("known").unwrap() && repository.confirm("known").unwrap());
        assert!(repository.add("claimed").unwrap());
        if records_on_add {
            repository = repository.recording_on_add();
        }
        disk.fail_writes();
        let error = match records_on_add {
            true => repository.add("new"),
            false => repository.confirm("claimed"),
        };
        assert!(
            matches!(error, Err(Error::OutcomeUnknown { .. })),
            "{error:?}"
        );
        for answer in [repository.add("known"), repository.contains("known")] {
            assert!(matches!(answer, Err(Error::Poisoned { .. })), "{answer:?}");
        }
        assert!(repository.remove("known").is_err() && repository.clear().is_err());
    }
}

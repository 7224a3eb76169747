//! Promise: the reference model means what the design says.
//!
//! Method: the cases that are easy to get wrong, with answers written down by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::model::Model;
use common::recorded::Answer;

#[test]
fn an_id_is_known_until_capacity_later_adds() {
    let mut model = Model::new(2);
    assert_eq!(model.add(0, 0), Answer::Added);
    assert_eq!(model.add(0, 0), Answer::Duplicate(2));
    assert_eq!(model.add(0, 1), Answer::Added);
    assert_eq!(model.add(0, 0), Answer::Duplicate(1));
    assert_eq!(model.add(0, 2), Answer::Added);
    assert_eq!(model.state(0, 0), Answer::Absent);
    assert_eq!(model.state(2, 1), Answer::Absent);
}

#[test]
fn a_hole_stays_a_hole() {
    let mut model = Model::new(3);
    for id in [0, 1] {
        assert_eq!(model.add(0, id), Answer::Added);
    }
    assert_eq!(model.remove(0, 1), Answer::Truth(true));
    assert_eq!(model.remove(0, 1), Answer::Truth(false));
    assert_eq!(model.add(0, 2), Answer::Added);
    model.reopen(3);
    assert_eq!(model.add(0, 3), Answer::Added);
    assert_eq!(model.contains(0, 0), Answer::Truth(false));
    assert_eq!(model.length(0), 2);
}

#[test]
fn growing_revives_nothing() {
    let mut model = Model::new(3);
    for id in 0..3 {
        assert_eq!(model.add(0, id), Answer::Added);
    }
    model.set_capacity(0, 1);
    model.set_capacity(0, 5);
    assert_eq!(model.state(0, 2), Answer::Duplicate(5));
    assert_eq!(model.contains(0, 1), Answer::Truth(false));
    model.reopen(7);
    assert_eq!((model.capacity(0), model.capacity(1)), (5, 7));
}

#[test]
fn capacity_0_accepts_everything_and_claims_nothing() {
    let mut model = Model::new(0);
    assert_eq!(model.add(0, 0), Answer::Added);
    assert_eq!(model.add(0, 0), Answer::Added);
    assert_eq!(model.reserve(0, 0, 1, None), Answer::Reserved);
    assert_eq!(model.reserve(0, 0, 2, None), Answer::Reserved);
    assert_eq!(model.confirm(0, 0), Answer::Recorded);
    assert_eq!(model.length(0), 0);
    assert_eq!(model.drop_address(0), Answer::Truth(false));
}

#[test]
fn a_claim_is_pending_until_it_is_confirmed_or_released() {
    let mut model = Model::new(3);
    assert_eq!(model.reserve(0, 0, 7, None), Answer::Reserved);
    assert_eq!(model.add(0, 0), Answer::Pending(7));
    assert_eq!(model.remove(0, 0), Answer::Truth(false));
    assert_eq!(model.clear(0), Answer::Count(0));
    assert_eq!(model.confirm(0, 0), Answer::Recorded);
    assert_eq!(model.add(0, 0), Answer::Duplicate(3));
    assert_eq!(model.reserve(0, 1, 7, None), Answer::Reserved);
    assert_eq!(model.release(0), Answer::Done);
    assert_eq!(model.add(0, 1), Answer::Added);
}

#[test]
fn a_transaction_sees_its_own_evictions_and_others_do_not() {
    let mut model = Model::new(2);
    model.add(0, 0);
    model.begin(true, 9);
    for id in [1, 2, 0] {
        assert_eq!(model.transaction_add(0, 0, id), Answer::Added);
    }
    assert_eq!(model.transaction_add(0, 0, 0), Answer::DuplicateInside);
    assert_eq!(model.transaction_add(0, 0, 1), Answer::Added);
    assert_eq!(model.transaction_remove(0, 0, 1), Answer::Truth(true));
    assert_eq!(model.transaction_remove(0, 0, 1), Answer::Truth(false));
    assert_eq!(model.add(0, 0), Answer::Duplicate(2));
    assert_eq!(model.add(0, 2), Answer::Pending(9));
    assert_eq!(model.commit(0), Answer::Done);
    assert_eq!(model.state(0, 0), Answer::Duplicate(1));
    assert_eq!(model.length(0), 1);
}

#[test]
fn a_rejecting_transaction_is_doomed_by_a_duplicate() {
    let mut model = Model::new(2);
    model.add(0, 0);
    model.begin(false, 9);
    assert_eq!(model.transaction_add(0, 0, 1), Answer::Added);
    assert_eq!(model.transaction_add(0, 0, 0), Answer::DuplicateInside);
    assert!(model.is_rejected(0));
    assert_eq!(model.commit(0), Answer::Rejected);
    assert_eq!(model.state(0, 1), Answer::Absent);
    assert_eq!(model.state(0, 0), Answer::Duplicate(2));
}

#[test]
fn a_drop_takes_both_namespaces_and_leaves_claims() {
    let mut model = Model::new(2);
    model.add(0, 0);
    model.set_capacity(1, 5);
    model.add(2, 0);
    assert_eq!(model.reserve(1, 1, 3, None), Answer::Reserved);
    assert_eq!(model.drop_address(0), Answer::Truth(true));
    assert_eq!(model.drop_address(0), Answer::Truth(false));
    assert_eq!(
        (model.length(0), model.capacity(1), model.length(2)),
        (0, 2, 1)
    );
    assert_eq!(model.confirm(0, 0), Answer::Recorded);
    assert_eq!(model.state(1, 1), Answer::Duplicate(2));
}

#[test]
fn a_claim_whose_lease_is_over_is_its_holders_until_somebody_takes_the_id() {
    use common::claims::ClaimCall;

    let mut model = Model::new(3);
    let pass = |model: &mut Model, units| {
        assert_eq!(ClaimCall::Pass { units }.run_on(model), Answer::Done)
    };
    assert_eq!(model.reserve(0, 0, 1, Some(2)), Answer::Reserved);
    pass(&mut model, 1);
    assert_eq!(model.add(0, 0), Answer::Pending(1));
    pass(&mut model, 1);
    assert_eq!(model.state(0, 0), Answer::Absent);
    let renew = ClaimCall::Renew { which: 0, units: 1 };
    assert_eq!(renew.run_on(&mut model), Answer::Truth(true));
    assert_eq!(model.reserve(0, 0, 2, None), Answer::Pending(1));
    pass(&mut model, 1);
    // The second is kept, and taken up by its owner alone; the first has lost it.
    assert_eq!(model.reserve(0, 0, 2, None), Answer::Reserved);
    assert_eq!(renew.run_on(&mut model), Answer::Truth(false));
    assert_eq!(model.keep(1), Answer::Done);
    for (owner, is_held) in [(1, false), (2, true), (2, false)] {
        let (cache, id) = (0, 0);
        let take_up = ClaimCall::TakeUp { cache, id, owner };
        assert_eq!(take_up.run_on(&mut model), Answer::Truth(is_held));
    }
    assert_eq!(model.confirm(0, 0), Answer::LeaseLost);
    assert_eq!(model.confirm(0, 0), Answer::Recorded);
    assert_eq!(model.contains(0, 0), Answer::Truth(true));
}

#[test]
fn a_bookmark_without_name_and_value_shows_in_a_fingerprint() {
    let mut model = Model::new(2);
    let nothing = model.fingerprint();
    model.set_bookmark(1, 0);
    let bookmark = model.fingerprint();
    assert_ne!(nothing, bookmark);
    let _ = model.begin(true, 1);
    assert_eq!(model.prepare(0, 0), Answer::Done);
    assert_ne!(model.fingerprint(), bookmark, "an ID without bytes");
}

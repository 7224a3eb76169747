//! Promise: space is bounded by what lives, and no single call pays for all of it (F54, F60).
//!
//! Method: on the simulated disk, with segments of 1 KiB: an address whose 200 IDs live in many
//! segments beside one whose IDs die at once; and the same with a process that dies after every few
//! adds. Slots and writes of each call are counted.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::passed::holes_of_carrying;
use common::space::{
    DEATHS_SLOTS_OVER, SLOTS_OVER, TRANSACTION_IDS, WRITES, deaths, deaths_while_carrying,
    newest_lost_on_a_full_disk, slow_beside_fast,
};

#[test]
fn f54_no_call_pays_for_all_and_space_is_bounded() {
    let most = slow_beside_fast(5_000).unwrap();
    assert!(most.slots_over <= SLOTS_OVER, "{most:?}");
    assert!(most.writes <= WRITES, "{most:?}");
}

#[test]
fn f60_a_thousand_deaths_leave_space_bounded() {
    let most = deaths(1_000, 4).unwrap();
    assert!(most.slots_over <= DEATHS_SLOTS_OVER, "{most:?}");
}

#[test]
fn f60_a_death_while_carrying_loses_nothing() {
    let (deaths, fewest) = deaths_while_carrying().unwrap();
    assert!(deaths > 200, "{deaths} deaths");
    assert_eq!(fewest, TRANSACTION_IDS);
}

#[test]
fn f26_the_newest_segment_is_missed_also_where_no_next_one_names_it() {
    for is_reopened in [false, true] {
        let (refusals, undone) = newest_lost_on_a_full_disk(is_reopened).unwrap();
        assert!(refusals > 5, "{is_reopened}: {refusals} refusals");
        assert_eq!(undone, 0);
    }
}

#[test]
fn f53_a_death_while_expired_ids_are_passed_over_leaves_the_newest() {
    let (kills, holes) = holes_of_carrying().unwrap();
    assert_eq!(holes, 0, "of {kills}");
    assert!(kills > 200, "{kills}");
}

//! Promise: what the tests of Apache Camel pin about its idempotent repositories and consumers
//! holds here too, but where a row of docs/conformance.md says that it differs on purpose; and what
//! nobody tests there.
//!
//! Method: each row of that page is a test named by its number, run with persistence on and off
//! where it does not say which, mapped and positioned. `every_row_has_a_test_or_a_reason` compares
//! page and tests. Routes are call scripts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of tests are small"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod bounds;
mod deaths;
mod failures;
mod limits;
mod restarts;
mod routes;
mod sets;
mod threads;

/// All rows of the table, and those that have a reason instead of a test.
const ROWS: &str = "\
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 \
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54";
const UNTESTED: &str = "22";

#[test]
fn every_row_has_a_test_or_a_reason() {
    let rows = support::rows::Rows {
        heading: "Camel",
        folder: "conformance_camel",
        rows: ROWS,
        prefix: "r",
        untested: UNTESTED,
    };
    rows.check();
}

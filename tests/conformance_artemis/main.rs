//! Promise: what the tests of Apache Artemis pin about its duplicate-ID caches holds here too, but
//! where a row of docs/conformance.md says that it differs on purpose; and what they do not pin.
//!
//! Method: each row of that page is a test named by its number, run with persistence on and off
//! where it does not say which, mapped and positioned. `every_row_has_a_test_or_a_reason` compares
//! page and tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of tests are small"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod bridges;
mod caches;
mod children;
mod duplicates;
mod management;
mod prepared;
mod unpinned;
mod users;

/// All rows of the table, and those that have a reason instead of a test.
const ROWS: &str = "\
    D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15 D16 D17 D18 D19 D20 D21 D22 D23 \
    D24 D25 D26 D27 D28 D29 D30 D31 D32 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 G1 G2 \
    G4 G6 G8 G9 G10 G11 G13 G14 P1 P2 P3 P8 P9 P10 P11 P13 P14 P15 P16 P17 B1 B2 B3 B4 \
    B7 B8 B9 B11 B12 B14 B15 B16 B17 B18 B19 B20 N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 \
    N13 N14 N15";
const UNTESTED: &str = "D6 D8 G9 B9 B14 B15";

#[test]
fn every_row_has_a_test_or_a_reason() {
    let rows = support::rows::Rows {
        heading: "Artemis",
        folder: "conformance_artemis",
        rows: ROWS,
        prefix: "",
        untested: UNTESTED,
    };
    rows.check();
}

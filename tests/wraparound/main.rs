//! Promise 7: space is bounded, and what a full cache appends per ID is bounded too.
//!
//! Method: run caches full many times over, with and without keeper, in large and in tiny segments,
//! and look at the store's own figures at each step; the most that has lived since the now-oldest
//! segment was begun is kept here, apart from the engine. Figures are printed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod adversary;
mod bound;
mod figures;
mod giving_back;
mod restarts;
mod reuse;
mod threads;

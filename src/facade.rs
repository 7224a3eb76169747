//! The locks and conditions of the shared sync, behind one name each.
//!
//! A model checker replaces them here and nowhere else: under `--cfg loom` the unit tests have its
//! types. parking_lot does not poison on a panic; the engine keeps a flag of its own for that.

#[cfg(not(all(test, loom)))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[cfg(all(test, loom))]
#[path = "facade_loom_tests.rs"]
mod loom_tests;
#[cfg(all(test, loom))]
pub(crate) use loom_tests::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering};

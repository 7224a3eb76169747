//! The locks and conditions of the shared sync, behind one name each.
//!
//! A model checker replaces them here and nowhere else. parking_lot does not poison on a panic; the
//! engine keeps a flag of its own for that.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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

/// The lock and condition of the shared sync: those of the system, whose condition wakes all who
/// wait in one call. parking_lot's has them wake each other one by one.
pub(crate) mod wide {
    use std::sync::PoisonError;

    #[cfg(all(test, loom))]
    use loom::sync as system;
    #[cfg(not(all(test, loom)))]
    use std::sync as system;

    pub(crate) use system::MutexGuard;

    /// A lock that a panic does not poison.
    pub(crate) struct Mutex<T>(system::Mutex<T>);

    /// A condition.
    pub(crate) struct Condvar(system::Condvar);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(system::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Condvar {
            Condvar(system::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

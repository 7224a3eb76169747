//! Promise: in a forked child every call on a store of the parent that would record something, or
//! wait for the disk, is refused by name; nothing on disk changes, and the parent goes on (F32).
//!
//! Method: a program of its own, so that only the threads of the stores run when it forks. The
//! child makes every call and tells by its status which was not refused.

#![cfg_attr(
    target_os = "linux",
    allow(unsafe_code, reason = "there is no safe call that forks")
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "it has no harness that tells")]

#[cfg(target_os = "linux")]
#[path = "support/mod.rs"]
mod support;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use idjournal::{
        Error, OnDuplicate, Options, Outcome, Owner, Receipt, Reserve, Store, SyncPolicy, Writes,
    };

    use crate::support::{assert_same, files_in};

    const PATIENCE: Duration = Duration::from_secs(60);

    pub(crate) fn main() {
        let policies = [
            SyncPolicy::Always,
            SyncPolicy::Interval(Duration::from_secs(3600)),
            SyncPolicy::Manual,
        ];
        let mut refused = 0;
        for policy in policies {
            for writes in [Writes::Mapped, Writes::Positioned] {
                for keeper in [true, false] {
                    let options = Options::default().segment_bytes(64 << 10);
                    let options = options.sync_policy(policy).writes(writes).keeper(keeper);
                    refused += a_forked_child_is_refused(options);
                }
            }
        }
        assert_eq!(refused, 12 * CALLS);
        a_child_that_was_forked_before_a_close_does_not_keep_the_lock();
        println!("{refused} calls of forked children were refused");
    }

    /// Between a fork and what the child does next, it has the lock's file open too.
    fn a_child_that_was_forked_before_a_close_does_not_keep_the_lock() {
        let directory = place();
        let options = || Options::default().segment_bytes(64 << 10).keeper(false);
        let store = Store::open(directory.path(), options()).unwrap();
        // SAFETY: no other thread runs here, and the child makes one call that needs none.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it waits for a signal, which ends it.
            unsafe { libc::pause() };
        }
        store.close().unwrap();
        let reopened = Store::open(directory.path(), options());
        // SAFETY: the child is this process's own, and has not been waited for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        assert!(reopened.is_ok(), "{reopened:?}");
    }

    fn place() -> tempfile::TempDir {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        }
    }

    fn a_forked_child_is_refused(options: Options) -> u64 {
        let directory = place();
        let path = directory.path().join("ids");
        let store = Store::open(&path, options.clone()).unwrap();
        let orders = store.cache("orders").unwrap();
        assert_eq!(orders.add("before").unwrap(), Outcome::Added);
        store.sync().wait_synced().unwrap();
        // The keeper is done with what it was called for.
        store.compact().unwrap();
        let before = files_in(&path);
        let waits = orders.submit("waits");
        let mut batch = store.begin(OnDuplicate::Reject, Owner(1));
        assert_eq!(batch.add(&orders, "of a batch").unwrap(), Outcome::Added);
        let Reserve::Reserved(claim) = orders.reserve("claimed").unwrap() else {
            panic!("it is claimed");
        };
        let during = files_in(&path);
        assert!(during != before, "the add was written");
        // SAFETY: the child makes calls of this library, which are refused before they take a lock,
        // and ends without running anything else. What it allocates goes through an allocator that
        // is made for forks.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "{}", std::io::Error::last_os_error());
        if child == 0 {
            let mut calls = Calls::default();
            calls.result(orders.add("by the child"));
            calls.result(orders.add("before"));
            calls.receipt(orders.submit("by the child"));
            calls.result(orders.reserve("by the child").map(drop));
            calls.result(orders.reserve_as("child", Owner(2), None).map(drop));
            calls.receipt(claim.confirm());
            calls.result(orders.contains("before"));
            calls.receipt(orders.remove("before"));
            calls.receipt(orders.clear());
            calls.receipt(orders.set_capacity(5));
            calls.receipt(store.drop_cache("orders"));
            let mut fresh = store.begin(OnDuplicate::Skip, Owner(3));
            calls.result(fresh.add(&orders, "fresh"));
            calls.result(fresh.remove(&orders, "before"));
            calls.receipt(fresh.commit());
            calls.result(batch.add(&orders, "more"));
            calls.receipt(batch.commit());
            calls.result(store.compact());
            calls.receipt(store.sync());
            calls.result(waits.wait_synced());
            calls.result(store.close());
            // The last handles go too: nothing of it may hang or write.
            drop((orders, store));
            // SAFETY: it ends the child at once.
            unsafe { libc::_exit(calls.status()) };
        }
        let status = wait_for(child);
        assert!(libc::WIFEXITED(status), "the child was ended: {status}");
        let told = libc::WEXITSTATUS(status);
        assert_eq!(told, 0, "call {told} of the child was not refused");
        assert_same(&files_in(&path), &during);
        // The parent goes on: the lock is still its own, the claims too.
        assert!(matches!(
            Store::open(&path, options.clone()),
            Err(Error::Locked { .. })
        ));
        let _ = waits.wait_synced().unwrap();
        batch.commit().wait_synced().unwrap();
        let _ = claim.confirm().wait_synced().unwrap();
        assert_eq!(orders.add("after").unwrap(), Outcome::Added);
        store.close().unwrap();
        drop((orders, store));
        let store = Store::open(&path, options).unwrap();
        let ids: Vec<Vec<u8>> = store.cache("orders").unwrap().ids().collect();
        let expected: [&[u8]; 5] = [b"before", b"waits", b"of a batch", b"claimed", b"after"];
        assert_eq!(ids, expected);
        CALLS
    }

    /// How many calls a child makes.
    const CALLS: u64 = 20;

    /// What came of the calls of a child.
    #[derive(Default)]
    struct Calls {
        made: u64,
        first_bad: Option<u64>,
    }

    impl Calls {
        fn result<T>(&mut self, result: idjournal::Result<T>) {
            self.made += 1;
            if !matches!(result, Err(Error::Forked { .. })) {
                self.first_bad.get_or_insert(self.made);
            }
        }

        fn receipt<T>(&mut self, receipt: Receipt<T>) {
            self.result(receipt.wait());
        }

        fn status(&self) -> i32 {
            let bad = self.first_bad.or((self.made != CALLS).then_some(200));
            i32::try_from(bad.unwrap_or(0)).unwrap()
        }
    }

    /// The status of the child, which is ended if it hangs.
    fn wait_for(child: libc::pid_t) -> libc::c_int {
        let begun = Instant::now();
        let mut status = 0;
        loop {
            // SAFETY: the status is written to a word of this frame.
            let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
            if ended == child {
                return status;
            }
            if begun.elapsed() > PATIENCE {
                // SAFETY: the child is not waited for yet, so the number is still its own.
                unsafe { libc::kill(child, libc::SIGKILL) };
                panic!("the child hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

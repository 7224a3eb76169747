//! Promise: a full disk is an error of the call that met it, never of a confirm or a commit;
//! nothing of that call is known, nothing acknowledged is lost, clearing goes on, and with space
//! the same call succeeds.
//!
//! Method: one script over every kind of change; space runs out at each call for it in turn and
//! comes back after the first refusal; in the end all is as if the disk had never been full. A
//! second disk takes space for writing over, too: there every acknowledged ID is looked for, and no
//! other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use idjournal::{
    Cache, Confirmed, Error, MemoryStorage, Namespace, OnDuplicate, Options, Outcome, Owner,
    Reservation, Reserve, Result, Store, SyncPolicy, Transaction,
};

use support::limited::Limited;
use support::{Answers, answers, open, small, uuid};

const STEPS: u64 = 120;
const VICTIM: &str = "victim";

struct Life {
    store: Store,
    claims: Vec<Reservation>,
    transactions: Vec<Transaction>,
}

impl Life {
    fn new(disk: &Limited, keeper: bool) -> Life {
        let store = open(disk.clone(), small(1024).keeper(keeper)).unwrap();
        Life {
            store,
            claims: Vec::new(),
            transactions: Vec::new(),
        }
    }

    fn cache(&self, number: u64) -> Cache {
        let name = if number.is_multiple_of(3) {
            "orders"
        } else {
            "bills"
        };
        self.store.cache(name).unwrap()
    }

    /// A step that may be refused; it leaves nothing behind then.
    fn ordinary(&mut self, number: u64) -> Result<()> {
        let cache = self.cache(number);
        match number % 10 {
            3 => {
                if let Reserve::Reserved(claim) = cache.reserve(uuid(number))? {
                    self.claims.push(claim);
                }
            }
            5 => cache.set_capacity(5 + number % 7).wait()?,
            6 => {
                let mut transaction = self.store.begin(OnDuplicate::Skip, Owner(1));
                let _ = transaction.add(&cache, uuid(number))?;
                let _ = transaction.add(&self.cache(number + 1), uuid(1_000 + number))?;
                self.transactions.push(transaction);
            }
            8 => drop(cache.remove(uuid(number - 3)).wait()?),
            9 if number % 30 == 29 => drop(cache.clear().wait()?),
            _ => assert!(matches!(cache.add(uuid(number))?, Outcome::Added)),
        }
        Ok(())
    }

    /// A step whose space was set aside.
    fn promised(&mut self, number: u64) {
        if number % 10 == 4 && self.claims.len() > 2 {
            let confirmed = self.claims.remove(0).confirm().wait().unwrap();
            assert_eq!(confirmed, Confirmed::Recorded);
        }
        if number % 10 == 9 && !self.transactions.is_empty() {
            self.transactions.remove(0).commit().wait().unwrap();
        }
    }

    fn known(&self) -> Answers {
        let mut known = answers(&self.store);
        known.remove(&(Namespace::Client, VICTIM.as_bytes().to_vec()));
        known
    }
}

/// Runs the script with so many calls for space before the disk is full; what is known in the end,
/// how often it was full, and how many calls there were.
fn run(calls: Option<u64>, keeper: bool) -> (Answers, u64, u64) {
    let disk = Limited::new(MemoryStorage::new(), false);
    let mut life = Life::new(&disk, keeper);
    let victim = life.store.cache(VICTIM).unwrap();
    let _ = (victim.add("one").unwrap(), victim.add("two").unwrap());
    let begun = disk.calls();
    if let Some(calls) = calls {
        disk.fill_after(calls);
    }
    for number in 0..STEPS {
        life.promised(number);
        let before = life.known();
        match life.ordinary(number) {
            Ok(()) => continue,
            Err(Error::NoSpace { place, .. }) => assert_eq!(place, "a small disk"),
            Err(other) => panic!("step {number}: {other:?}"),
        }
        assert!(
            life.known() == before,
            "step {number} was refused and changed something"
        );
        assert!(
            victim.clear().wait().is_ok(),
            "step {number}: no clear on a full disk"
        );
        disk.free();
        life.ordinary(number).unwrap();
    }
    let known = life.known();
    let after_kill = Life::new(&Limited::new(disk.killed(), false), false);
    assert!(after_kill.known() == known, "other IDs after a kill");
    life.claims.clear();
    life.transactions.clear();
    assert_eq!(life.store.stats().claimed_bytes, 0);
    life.store.close().unwrap();
    drop((life, victim));
    assert!(
        Life::new(&disk, false).known() == known,
        "other IDs after a close"
    );
    (known, disk.full_calls(), disk.calls() - begun)
}

#[test]
fn a_full_disk_at_any_call_costs_only_that_call() {
    let (known, full, calls) = run(None, false);
    assert!(full == 0 && calls > 10, "{calls}");
    let mut ever_full = 0;
    for at in 0..calls {
        let (now, full, _) = run(Some(at), false);
        assert!(now == known, "full at call {at}: another end");
        ever_full += u64::from(full > 0);
        let (now, _, _) = run(Some(at), true);
        assert!(
            now == known,
            "full at call {at}, with the keeper: another end"
        );
    }
    assert!(ever_full * 2 > calls, "{ever_full} of {calls}");
}

/// Adds until something fails; what was acknowledged, and the ID and error of the failure.
fn add_until_full(store: &Store, acknowledged: &mut BTreeSet<Vec<u8>>) -> Option<(Vec<u8>, Error)> {
    let orders = store.cache("orders").unwrap();
    for _ in 0..60 {
        let id = uuid(acknowledged.len() as u64).to_vec();
        match orders.add(&id) {
            Ok(outcome) => {
                assert_eq!(outcome, Outcome::Added);
                acknowledged.insert(id);
            }
            Err(error) => return Some((id, error)),
        }
    }
    None
}

fn ids(store: &Store) -> BTreeSet<Vec<u8>> {
    store.cache("orders").unwrap().ids().collect()
}

#[test]
fn where_writing_over_takes_space_nothing_acknowledged_is_lost_and_nothing_invented() {
    let options = |policy| -> Options { small(1024).sync_policy(policy) };
    for policy in [SyncPolicy::Manual, SyncPolicy::Always] {
        let (mut failed, mut refused) = (0, 0);
        for calls in 0..150 {
            let disk = Limited::new(MemoryStorage::new(), true);
            let store = open(disk.clone(), options(policy)).unwrap();
            disk.fill_after(calls);
            let mut acknowledged = BTreeSet::new();
            let Some((id, error)) = add_until_full(&store, &mut acknowledged) else {
                continue;
            };
            let mut known = ids(&store);
            disk.free();
            match error {
                Error::NoSpace { .. } => {
                    refused += 1;
                    assert!(known == acknowledged, "{calls}");
                    assert!(matches!(
                        store.cache("orders").unwrap().add(&id),
                        Ok(Outcome::Added)
                    ));
                    acknowledged.insert(id.clone());
                }
                // A slot that is not used yet is given up, and nothing has happened.
                Error::Io { ref file, .. } if file.starts_with("slot-") => {
                    panic!("{calls}: {error:?}")
                }
                Error::OutcomeUnknown { .. } | Error::Poisoned { .. } | Error::Io { .. } => {
                    failed += 1;
                    known.remove(&id);
                    assert!(known == acknowledged, "{calls}");
                }
                other => panic!("{calls}: {other:?}"),
            }
            let store = open(disk.killed(), options(policy)).unwrap();
            let mut recovered = ids(&store);
            if !acknowledged.contains(&id) {
                recovered.remove(&id);
            }
            assert!(recovered == acknowledged, "{calls}: other IDs after a kill");
        }
        assert!(
            refused > failed && refused > 50,
            "{refused} refused, {failed} failed"
        );
    }
}

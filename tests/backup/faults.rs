//! Each call of the target's disk fails once; the process or the power ends at each.

use idjournal::{MemoryStorage, Outcome, Storage};

use crate::common::generator::{Choices, Generator};
use crate::common::media::Cut;
use crate::common::simulated::{CallKind, Effect, Fault, SimulatedDisk};
use crate::support::{answers, open, small, uuid};
use crate::{assert_copy, assert_no_copy, is_bare};

/// The calls of the target that are made to fail.
const KINDS: [CallKind; 9] = [
    CallKind::List,
    CallKind::Create,
    CallKind::Rename,
    CallKind::SyncDirectory,
    CallKind::Lock,
    CallKind::Length,
    CallKind::Read,
    CallKind::Write,
    CallKind::Sync,
];

#[test]
fn whatever_call_of_the_target_fails_the_store_goes_on_and_no_half_copy_opens() {
    let store = open(MemoryStorage::new(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..60 {
        assert_eq!(orders.add(uuid(number)).unwrap(), Outcome::Added);
    }
    let known = answers(&store);
    let (mut failed, mut tried) = (0, 0);
    for kind in KINDS {
        for (errno, is_lasting) in [(5, false), (28, false), (5, true)] {
            for nth in 1.. {
                let target = SimulatedDisk::new(512);
                target.fail(Fault {
                    kind,
                    nth,
                    is_lasting,
                    effect: Effect::Fails(errno),
                });
                let done = store.backup_on(target.clone());
                let what = format!("{kind:?} {nth} {errno}: {done:?}");
                let is_hit = target.has_failed() || target.refusals() > 0 || target.has_told();
                assert!(!store.stats().is_poisoned, "{what}");
                tried += 1;
                if done.is_ok() {
                    assert!(!is_hit || nth > 1, "{what}");
                    let mut nothing = Choices::random(nth);
                    let cut = target.media().image(Cut::Nothing, &mut nothing);
                    drop(assert_copy(&SimulatedDisk::holding(cut), &known));
                    break;
                }
                failed += 1;
                assert_no_copy(&target.snapshot(), &what);
                for seed in 0..4 {
                    let left = target.image(&mut Choices::random(nth * 8 + seed));
                    assert_no_copy(&left, &what);
                }
            }
        }
    }
    assert!(failed > 100, "{failed} of {tried} failed");
    assert_eq!(answers(&store), known);
    assert_eq!(orders.add("after").unwrap(), Outcome::Added);
}

#[test]
fn after_a_kill_or_a_power_cut_at_any_call_the_copy_is_whole_or_does_not_open() {
    let source = SimulatedDisk::new(512);
    let store = open(source.clone(), small(1024)).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..60 {
        assert_eq!(orders.add(uuid(number)).unwrap(), Outcome::Added);
    }
    let known = answers(&store);
    let target = SimulatedDisk::new(512);
    target.take_snapshots(100, Generator::new(1));
    store.backup_on(target.clone()).unwrap();
    target.take_snapshot();
    let snapshots = target.snapshots();
    let (mut whole, mut refused) = (0, 0);
    for (seed, snapshot) in (0..).zip(&snapshots) {
        let mut images = vec![snapshot.media.clone()];
        for part in 0..6 {
            let mut choices = Choices::random(seed * 8 + part);
            let cut = Cut::any(&mut choices);
            images.push(snapshot.media.image(cut, &mut choices));
        }
        for media in images {
            let disk = SimulatedDisk::holding(media);
            let names = disk.list().unwrap();
            if names.iter().any(|name| name == "store") {
                drop(assert_copy(&disk, &known));
                whole += 1;
            } else {
                assert_no_copy(&disk, &format!("call {}", snapshot.call));
                refused += usize::from(!is_bare(&disk));
            }
        }
    }
    assert!(
        whole >= 7 && refused > 300,
        "{whole} whole, {refused} refused"
    );
    // What was copied is on the disk of the store itself as well.
    let cut = source.media().image(Cut::Nothing, &mut Choices::random(0));
    let reopened = open(SimulatedDisk::holding(cut), small(1024)).unwrap();
    assert_eq!(answers(&reopened), known);
}

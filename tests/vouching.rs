//! Promise: what a store has shown and closed in order is missed if rot takes it, also if a life
//! before was killed in the middle of its close, or its close failed.
//!
//! Method: a kill at each call of a close, or a sync of it that fails; then an open, a close, a
//! power cut, and each bit of what is in use flipped.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod common;

use std::sync::Arc;

use common::generator::{Choices, Generator};
use common::media::Cut;
use common::recorded::Recorded;
use common::simulated::{CallKind, Effect, Fault, SimulatedDisk};
use common::{CountingClock, SeededEntropy};
use idjournal::{Options, Store};

fn open(disk: &SimulatedDisk) -> idjournal::Result<Store> {
    let options = Options::default()
        .segment_bytes(1024)
        .keeper(false)
        .clock(Arc::new(CountingClock::default()))
        .entropy(Arc::new(SeededEntropy::new(7)));
    Store::open_on(disk.clone(), options, &mut |_| {})
}

/// A store of four IDs on this disk.
fn filled(disk: &SimulatedDisk) -> (Store, Recorded) {
    let store = open(disk).unwrap();
    let cache = store.cache("orders").unwrap();
    for number in 0..4_u64 {
        let _ = cache.add(number.to_le_bytes()).unwrap();
    }
    let recorded = Recorded::of_store(&store);
    (store, recorded)
}

/// Opens what a life left in `disk`, closes it, cuts the power, and flips every bit of its segment.
fn show_close_and_flip(disk: &SimulatedDisk, expected: &Recorded, what: &str) {
    let store = open(disk).unwrap();
    assert_eq!(Recorded::of_store(&store), *expected, "{what}");
    store.close().unwrap();
    let media = disk.media().image(Cut::Nothing, &mut Choices::random(0));
    let mut refused = 0;
    for bit in 0..8 * 512_u32 {
        let (byte, bit) = (bit as usize / 8, bit % 8);
        let mut damaged = media.clone();
        damaged.flip_bit("slot-000000", byte, bit).unwrap();
        match open(&SimulatedDisk::holding(damaged)) {
            Ok(store) => {
                let found = Recorded::of_store(&store);
                assert_eq!(found, *expected, "{what}, bit {bit} of byte {byte}");
            }
            Err(_) => refused += 1,
        }
    }
    assert!(
        refused > 500,
        "{what}: {refused} of 4096 flips were refused"
    );
}

#[test]
fn what_was_shown_after_a_kill_in_a_close_is_missed_when_a_bit_of_it_flips() {
    let disk = SimulatedDisk::new(256);
    let (store, last) = filled(&disk);
    disk.take_snapshots(100, Generator::new(0));
    store.close().unwrap();
    let kills = disk.snapshots();
    assert!(kills.len() > 3, "{} calls in a close", kills.len());
    for kill in kills {
        let what = format!("killed before call {}", kill.call);
        show_close_and_flip(&SimulatedDisk::holding(kill.media), &last, &what);
    }
}

/// After a failed sync the page cache shows a mark that no later sync brings to the disk.
#[test]
fn what_was_shown_after_a_failed_close_is_missed_when_a_bit_of_it_flips() {
    let mut failed = 0;
    for nth in 1..=4 {
        let disk = SimulatedDisk::new(256);
        let (store, last) = filled(&disk);
        disk.fail(Fault {
            kind: CallKind::Sync,
            nth,
            is_lasting: false,
            effect: Effect::Fails(5),
        });
        failed += u64::from(store.close().is_err());
        disk.heal();
        show_close_and_flip(&disk.snapshot(), &last, &format!("sync {nth} failed"));
    }
    assert!(failed >= 2, "{failed} closes failed");
}

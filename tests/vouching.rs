//! Promise: what a store has shown and closed in order is missed if rot takes it, also if a life
//! before was killed in the middle of its close.
//!
//! Method: a kill at each call of a close, an open, a close, a power cut; then every bit of what is
//! in use is flipped.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod common;

use std::sync::Arc;

use common::generator::{Choices, Generator};
use common::media::{Cut, Media};
use common::recorded::Recorded;
use common::simulated::SimulatedDisk;
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

fn after_power_cut(disk: &SimulatedDisk) -> Media {
    disk.media().image(Cut::Nothing, &mut Choices::random(0))
}

#[test]
fn what_was_shown_after_a_kill_in_a_close_is_missed_when_a_bit_of_it_flips() {
    let disk = SimulatedDisk::new(256);
    let store = open(&disk).unwrap();
    let cache = store.cache("orders").unwrap();
    for number in 0..4_u64 {
        let _ = cache.add(number.to_le_bytes()).unwrap();
    }
    let last = Recorded::of_store(&store);
    disk.take_snapshots(100, Generator::new(0));
    drop(cache);
    store.close().unwrap();
    let kills = disk.snapshots();
    assert!(kills.len() > 3, "{} calls in a close", kills.len());
    for kill in kills {
        let disk = SimulatedDisk::holding(kill.media);
        let store = open(&disk).unwrap();
        let shown = Recorded::of_store(&store);
        assert_eq!(shown, last);
        store.close().unwrap();
        let media = after_power_cut(&disk);
        let (mut refused, slot) = (0, "slot-000000");
        for bit in 0..8 * 512 {
            let mut damaged = media.clone();
            damaged.flip_bit(slot, bit / 8, (bit % 8) as u32).unwrap();
            match open(&SimulatedDisk::holding(damaged)) {
                Ok(store) => assert_eq!(
                    Recorded::of_store(&store),
                    shown,
                    "killed before call {}, bit {} of byte {}",
                    kill.call,
                    bit % 8,
                    bit / 8
                ),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 500, "{refused} of 4096 flips were refused");
    }
}

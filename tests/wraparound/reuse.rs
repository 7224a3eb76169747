//! Slots are used again, not deleted and made anew: the making of a slot writes as much as filling
//! it does.
#![allow(
    clippy::print_stdout,
    reason = "the measured figures are part of the result"
)]

use idjournal::{MemoryStorage, Options, SyncPolicy};

use crate::support::limited::Limited;
use crate::support::{open, uuid};

#[test]
fn a_ring_that_goes_round_makes_no_new_slots() {
    for (segment_bytes, ids) in [
        (64 << 10, 20_000),
        (256 << 10, 20_000),
        (1 << 20, 20_000),
        (4 << 20, 20_000),
    ] {
        for keeper in [false, true] {
            let disk = Limited::new(MemoryStorage::new(), false);
            let options = Options::default()
                .keeper(keeper)
                .segment_bytes(segment_bytes)
                .sync_policy(SyncPolicy::Manual);
            let store = open(disk.clone(), options).unwrap();
            let orders = store.cache("orders").unwrap();
            for number in 0..10 * ids {
                let _ = orders.add(uuid(number)).unwrap();
            }
            let before = (store.stats(), disk.calls());
            for number in 10 * ids..30 * ids {
                let _ = orders.add(uuid(number)).unwrap();
            }
            let (after, calls) = (store.stats(), disk.calls() - before.1);
            let begun = after.segments_begun - before.0.segments_begun;
            let made = calls * 4096 / segment_bytes;
            println!(
                "segments of {segment_bytes}, keeper {keeper}: {begun} begun, {made} slots made"
            );
        }
    }
}

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
    const IDS: u64 = 20_000;
    for segment_bytes in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        for keeper in [false, true] {
            let disk = Limited::new(MemoryStorage::new(), false);
            let options = Options::default()
                .keeper(keeper)
                .segment_bytes(segment_bytes)
                .sync_policy(SyncPolicy::Manual);
            let store = open(disk.clone(), options).unwrap();
            let orders = store.cache("orders").unwrap();
            for number in 0..10 * IDS {
                let _ = orders.add(uuid(number)).unwrap();
            }
            let before = (store.stats(), disk.calls());
            for number in 10 * IDS..30 * IDS {
                let _ = orders.add(uuid(number)).unwrap();
            }
            let (after, calls) = (store.stats(), disk.calls() - before.1);
            let begun = after.segments_begun - before.0.segments_begun;
            let made = calls * 4096 / segment_bytes;
            println!(
                "segments of {segment_bytes}, keeper {keeper}: {begun} begun, {made} slots made"
            );
            // What a thousand syncs and headers write is counted as if it were slots, too.
            assert!(made <= begun / 10, "{made} made, {begun} begun");
        }
    }
}

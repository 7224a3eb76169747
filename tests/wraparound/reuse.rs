//! Slots are used again, not deleted and made anew: the making of a slot writes as much as filling
//! it does.
#![allow(
    clippy::print_stdout,
    reason = "the measured figures are part of the result"
)]

use idjournal::{MemoryStorage, Options, Store, SyncPolicy};

use crate::support::limited::Limited;
use crate::support::{open, uuid};

/// A store on a disk that counts its calls, and how many slots were made, each in calls of a page.
struct Counted {
    disk: Limited,
    store: Store,
    segment_bytes: u64,
    next: u64,
}

impl Counted {
    fn new(segment_bytes: u64, ids: u64, keeper: bool) -> Counted {
        let disk = Limited::new(MemoryStorage::new(), false);
        let options = Options::default()
            .keeper(keeper)
            .id_cache_size(ids)
            .segment_bytes(segment_bytes)
            .sync_policy(SyncPolicy::Manual);
        let store = open(disk.clone(), options).unwrap();
        let next = 0;
        Counted {
            disk,
            store,
            segment_bytes,
            next,
        }
    }

    fn add(&mut self, count: u64) {
        let orders = self.store.cache("orders").unwrap();
        for number in self.next..self.next + count {
            let _ = orders.add(uuid(number)).unwrap();
        }
        self.next += count;
    }

    /// Slots made, rounded up by what else was written.
    fn made(&self) -> u64 {
        self.disk.calls() * 4096 / self.segment_bytes
    }

    /// Segments begun and slots made from here to the end of `work`.
    fn over(&mut self, work: impl FnOnce(&mut Counted)) -> (u64, u64) {
        let before = (self.store.stats().segments_begun, self.made());
        work(self);
        let after = (self.store.stats().segments_begun, self.made());
        (after.0 - before.0, after.1 - before.1)
    }
}

#[test]
fn a_ring_that_goes_round_makes_no_new_slots() {
    const IDS: u64 = 20_000;
    for segment_bytes in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        for keeper in [false, true] {
            let mut counted = Counted::new(segment_bytes, IDS, keeper);
            counted.add(10 * IDS);
            let (begun, made) = counted.over(|counted| counted.add(20 * IDS));
            println!(
                "segments of {segment_bytes}, keeper {keeper}: {begun} begun, {made} slots made"
            );
            // What a thousand syncs and headers write is counted as if it were slots, too.
            assert!(made <= begun / 10, "{made} made, {begun} begun");
        }
    }
}

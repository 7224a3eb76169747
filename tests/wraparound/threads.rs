//! Space while many threads find no room at the same moment.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use idjournal::{Options, Store};

const THREADS: u64 = 24;
const ADDS: u64 = 300;
const SEGMENT_BYTES: u64 = 4096;

/// Every thread meets the end of each segment; one of them must make the next one, for all.
#[test]
fn threads_that_find_no_room_together_make_one_segment_not_one_each() {
    for has_keeper in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::default()
            .segment_bytes(SEGMENT_BYTES)
            .id_cache_size(2)
            .keeper(has_keeper);
        let store = Store::open(directory.path().join("ids"), options).unwrap();
        let most_slots = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (store, most_slots) = (&store, &most_slots);
                scope.spawn(move || {
                    let cache = store.cache(format!("address-{thread}")).unwrap();
                    for number in 0..ADDS {
                        let _ = cache.add(format!("{thread}-{number:030}")).unwrap();
                        most_slots.fetch_max(store.stats().slots, Ordering::Relaxed);
                    }
                });
            }
        });
        // A definition and two IDs of each address live at most.
        let most_live = THREADS * (96 + 2 * 64);
        let allowed = 4 + 2 * most_live / SEGMENT_BYTES;
        let slots = most_slots.into_inner();
        assert!(slots <= allowed, "{slots} slots, allowed are {allowed}");
    }
}

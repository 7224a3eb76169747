//! Space while many threads find no room at the same moment, and while the keeper is slow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use idjournal::{Options, Store, SyncPolicy};

use crate::support::gated::Gated;
use crate::support::open;

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

/// The keeper syncs before it releases a segment: for milliseconds, and here until it is let go.
#[test]
fn adds_go_on_while_the_keeper_syncs_as_long_as_there_is_room_ahead() {
    const BYTES: u64 = 64 << 10;
    let storage = Gated::default();
    let options = Options::default()
        .segment_bytes(BYTES)
        .id_cache_size(200)
        .sync_policy(SyncPolicy::Manual);
    let store = open(storage.clone(), options).unwrap();
    let cache = store.cache("orders").unwrap();
    let mut numbers = 0_u64..;
    let mut add = move || {
        cache
            .add(format!("{:036}", numbers.next().unwrap()))
            .unwrap()
    };
    // Until the keeper has just released a segment of a ring that goes round, and is done, early in
    // the active segment: a slow one, whom the adds have outrun, is waited for in the next.
    let (mut released, mut begun, mut adds) = ([0; 2], 0, 0);
    while released[1] < 4 || released[0] == released[1] || adds > 500 {
        let _ = add();
        let stats = store.stats();
        assert!(stats.added < 1_000_000, "{stats:?}");
        adds = if stats.segments_begun == begun {
            adds + 1
        } else {
            0
        };
        (released, begun) = ([released[1], stats.segments_released], stats.segments_begun);
    }
    store.sync().wait().unwrap();
    storage.shut();
    let (sender, progress) = channel();
    let adding = thread::spawn(move || {
        // The rest of the active segment, and most of the next one.
        for number in 0..1_500 {
            let _ = add();
            sender.send(number).unwrap();
        }
    });
    let mut last = None;
    let stopped = loop {
        match progress.recv_timeout(Duration::from_secs(20)) {
            Ok(number) => last = Some(number),
            Err(error) => break error,
        }
    };
    storage.unlatch();
    assert_eq!(
        stopped,
        RecvTimeoutError::Disconnected,
        "stuck after {last:?}"
    );
    adding.join().unwrap();
}

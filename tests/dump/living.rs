//! Beside a writer at full speed: never an error, never damage.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

use idjournal::{Options, SyncPolicy};

use super::*;

const ROUNDS: usize = 60;

/// Adds, removes, clears and drops until `is_done`.
fn write(store: &Store, is_done: &AtomicBool) -> u64 {
    let mut count = 0;
    while !is_done.load(Ordering::Relaxed) {
        for address in ["orders", "bills", "notes"] {
            let cache = store.cache(address).unwrap();
            for _ in 0..7 {
                let _ = cache.add(format!("id-{count}")).unwrap();
                count += 1;
            }
            cache.remove(format!("id-{}", count - 3)).wait().unwrap();
        }
        match count % 50 {
            0 => drop(store.cache("bills").unwrap().clear().wait().unwrap()),
            1 => drop(store.drop_cache("notes").wait().unwrap()),
            _ => {}
        }
    }
    count
}

/// A backup has nothing to remark on: neither damage nor the torn end of a living store.
fn copied(store: &Store, copy: &Path) {
    store.backup(copy).unwrap();
    let before = state(copy);
    for view in all_views() {
        let run = dump(&view, copy);
        assert_eq!((run.status, &*run.errors), (0, ""), "{view:?}: {run:?}");
        assert!(!run.out.contains("note: "), "{view:?}: {run:?}");
    }
    assert_eq!(state(copy), before);
}

fn beside(options: Options) {
    let place = Place::new();
    let store = place.open(options.id_cache_size(30));
    let _ = store.cache("orders").unwrap().add("first").unwrap();
    let is_done = AtomicBool::new(false);
    let count = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&store, &is_done));
        let looked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            for round in 0..ROUNDS {
                for view in all_views() {
                    let run = dump(&view, &place.path());
                    assert_eq!(run.status, 0, "round {round}, {view:?}: {run:?}");
                    assert!(
                        !run.out.contains("damage: "),
                        "round {round}, {view:?}: {run:?}"
                    );
                    let is_moving = |line: &str| line.starts_with("journal-dump: note: ");
                    assert!(
                        run.errors.lines().all(is_moving),
                        "round {round}, {view:?}: {run:?}"
                    );
                    if view.contains(&"--json") {
                        run.json();
                    }
                }
                if round % 10 == 9 {
                    copied(&store, &place.0.path().join(format!("copy-{round}")));
                }
            }
        }));
        is_done.store(true, Ordering::Relaxed);
        looked.unwrap();
        writer.join().unwrap()
    });
    assert!(count > 50, "the writer wrote {count}");
    store.close().unwrap();
    assert_eq!(dump(&["verify"], &place.path()).status, 0);
}

#[test]
fn beside_a_writer_with_tiny_segments_nothing_is_called_damaged() {
    beside(tiny().sync_policy(SyncPolicy::Manual));
}

#[test]
fn beside_a_writer_with_its_keeper_nothing_is_called_damaged() {
    let options = Options::default().segment_bytes(4096).keeper(true);
    beside(options.sync_policy(SyncPolicy::Manual));
}

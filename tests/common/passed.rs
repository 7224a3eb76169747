//! Carrying passes over IDs that have expired, those with higher ordinals first: what is left
//! behind must be a suffix of the window all the same, however early the clock is afterwards.

use std::sync::Arc;
use std::time::Duration;

use idjournal::{Options, Store, SyncPolicy};

use super::generator::Generator;
use super::simulated::SimulatedDisk;
use super::{CountingClock, SeededEntropy};

fn options(clock: &Arc<CountingClock>, seed: u64) -> Options {
    Options::default()
        .segment_bytes(2048)
        .sync_policy(SyncPolicy::Manual)
        .keeper(false)
        .lock_wait(Duration::ZERO)
        .clock(clock.clone())
        .entropy(Arc::new(SeededEntropy::new(seed)))
}

fn id(number: u64) -> Vec<u8> {
    format!("{number:036}").into_bytes()
}

/// Kills within a compaction, each of which leaves IDs of one address, and how often those were no
/// suffix.
pub fn holes_of_carrying() -> idjournal::Result<(u64, u64)> {
    let (mut kills, mut holes) = (0, 0);
    // After some of these numbers of adds the first half was carried behind the second.
    for adds in (4..100).step_by(4) {
        let clock = Arc::new(CountingClock::default());
        let early = Arc::new(CountingClock::early());
        let disk = SimulatedDisk::new(512);
        let store = Store::open_on(disk.clone(), options(&clock, adds), &mut |_| {})?;
        let (old, busy) = (store.cache("old")?, store.cache("busy")?);
        old.set_max_age(Some(CountingClock::age(1))).wait()?;
        busy.set_capacity(3).wait()?;
        let all: Vec<Vec<u8>> = (0..40).map(id).collect();
        for (number, id) in all.iter().enumerate() {
            if number == 20 {
                for other in 0..15 {
                    let _ = busy.add(other.to_string())?;
                }
            }
            let _ = old.add(id)?;
        }
        for number in 0..adds {
            let _ = busy.add(format!("later {number}"))?;
        }
        clock.wait(1);
        disk.take_snapshots(100, Generator::new(adds));
        store.compact()?;
        for snapshot in disk.snapshots() {
            kills += 1;
            let disk = SimulatedDisk::holding(snapshot.media);
            let copy = Store::open_on(disk, options(&early, kills), &mut |_| {})?;
            let found: Vec<Vec<u8>> = copy.cache("old")?.ids().collect();
            holes += u64::from(!all.ends_with(&found));
        }
    }
    Ok((kills, holes))
}

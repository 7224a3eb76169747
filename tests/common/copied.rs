//! Copies of a store, and the power cut behind them: for the seeded bugs of `backup`.

use idjournal::{Error, Options, Result, Store, SyncPolicy};

use super::generator::Choices;
use super::media::{Cut, Media};
use super::simulated::SimulatedDisk;

const IDS: u64 = 60;
const IMAGES: u64 = 32;

/// How many images of a power cut behind a backup were looked at, of the copy and of the store;
/// and how many of them did not have everything.
pub fn copies_undone() -> Result<(u64, u64)> {
    let (source, target) = (SimulatedDisk::new(512), SimulatedDisk::new(512));
    let store = open(&source)?;
    let orders = store.cache("orders")?;
    for number in 0..IDS {
        let _ = orders.add(number.to_string())?;
    }
    store.backup_on(target.clone())?;
    let (mut looked, mut undone) = (0, 0);
    for media in [source.media(), target.media()] {
        for seed in 0..IMAGES {
            looked += 1;
            undone += u64::from(!is_whole(&media, seed));
        }
    }
    Ok((looked, undone))
}

fn is_whole(media: &Media, seed: u64) -> bool {
    let mut choices = Choices::random(seed);
    let cut = Cut::any(&mut choices);
    let left = SimulatedDisk::holding(media.image(cut, &mut choices));
    let length = |store: Store| Ok::<u64, Error>(store.cache("orders")?.len());
    open(&left).and_then(length).is_ok_and(|ids| ids == IDS)
}

fn open(disk: &SimulatedDisk) -> Result<Store> {
    let options = Options::default()
        .segment_bytes(1024)
        .keeper(false)
        .sync_policy(SyncPolicy::Manual);
    Store::open_on(disk.clone(), options, &mut |_| {})
}

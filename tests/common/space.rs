//! Space and pace: how many bytes a store takes, and how much one call pays, when it is made hard.

use std::sync::Arc;
use std::time::Duration;

use idjournal::{OnDuplicate, Options, Owner, Store, SyncPolicy};

use super::generator::{Choices, Generator};
use super::media::{Cut, Media};
use super::simulated::{CallKind, SimulatedDisk};
use super::{CountingClock, SeededEntropy};

pub const SEGMENT_BYTES: u64 = 1024;
/// What of a segment is there for records: all but headers and seal.
const USABLE_BYTES: u64 = SEGMENT_BYTES - 256 - 32;
/// The promise: twice what lived at most, and four segments.
pub const SLOTS_OVER: u64 = 4;
/// Deaths before the first release each leave a segment; the rest of it is owed for.
pub const DEATHS_SLOTS_OVER: u64 = 12;
/// An add carries a record or two; where space is short, one segment at most.
pub const WRITES: u64 = 40;

fn options(clock: &Arc<CountingClock>, seed: u64) -> Options {
    Options::default()
        .id_cache_size(SLOW_IDS)
        .segment_bytes(SEGMENT_BYTES)
        .sync_policy(SyncPolicy::Manual)
        .keeper(false)
        .lock_wait(Duration::ZERO)
        .clock(clock.clone())
        .entropy(Arc::new(SeededEntropy::new(seed)))
}

const SLOW_IDS: u64 = 200;

/// The most that was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// Slots beyond twice what lived at most.
    pub slots_over: u64,
    /// Writes to the disk in one call.
    pub writes: u64,
}

impl Most {
    fn see(&mut self, store: &Store, most_live: &mut u64, writes: u64) {
        let stats = store.stats();
        *most_live = stats.live_bytes.max(*most_live);
        let over = stats
            .slots
            .saturating_sub((2 * *most_live).div_ceil(USABLE_BYTES));
        self.slots_over = self.slots_over.max(over);
        self.writes = self.writes.max(writes);
    }
}

fn fill(store: &Store) -> idjournal::Result<()> {
    let slow = store.cache("slow")?;
    for id in 0..SLOW_IDS {
        let _ = slow.add(id.to_le_bytes())?;
    }
    Ok(())
}

/// An address whose 200 IDs all live, and one whose IDs die at once, for so many adds.
pub fn slow_beside_fast(adds: u64) -> idjournal::Result<Most> {
    let disk = SimulatedDisk::new(512);
    let clock = Arc::new(CountingClock::default());
    let store = Store::open_on(disk.clone(), options(&clock, 1), &mut |_| {})?;
    fill(&store)?;
    let fast = store.cache("fast")?;
    fast.set_capacity(3).wait()?;
    let (mut most, mut most_live) = (Most::default(), 0);
    for id in 0..adds {
        let before = disk.count(CallKind::Write);
        let _ = fast.add(id.to_le_bytes())?;
        most.see(&store, &mut most_live, disk.count(CallKind::Write) - before);
    }
    Ok(most)
}

/// The same addresses, and after each few adds the process dies.
pub fn deaths(restarts: u64, adds: u64) -> idjournal::Result<Most> {
    let clock = Arc::new(CountingClock::default());
    let mut disk = SimulatedDisk::new(512);
    let (mut most, mut most_live) = (Most::default(), 0);
    for life in 0..restarts {
        let store = Store::open_on(disk.clone(), options(&clock, 1 + life), &mut |_| {})?;
        if life == 0 {
            fill(&store)?;
            store.cache("fast")?.set_capacity(3).wait()?;
        }
        let fast = store.cache("fast")?;
        for id in 0..adds {
            let _ = fast.add((life * adds + id).to_le_bytes())?;
        }
        most.see(&store, &mut most_live, 0);
        // A kill: what it left, without what its handles still do.
        disk = disk.snapshot();
    }
    Ok(most)
}

/// A transaction whose IDs all live, carried forward again and again, with a death at each call of
/// the disk; how many deaths there were, and the fewest of its IDs that the next life still knew.
pub fn deaths_while_carrying() -> idjournal::Result<(u64, u64)> {
    let disk = SimulatedDisk::new(512);
    let clock = Arc::new(CountingClock::default());
    let store = Store::open_on(disk.clone(), options(&clock, 1), &mut |_| {})?;
    let slow = store.cache("slow")?;
    let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
    for id in 0..TRANSACTION_IDS {
        let _ = transaction.add(&slow, id.to_le_bytes())?;
    }
    transaction.commit().wait()?;
    disk.take_snapshots(100, Generator::new(0));
    use_up(&store, 0)?;
    let (mut deaths, mut fewest) = (0, TRANSACTION_IDS);
    for snapshot in disk.snapshots() {
        let disk = SimulatedDisk::holding(snapshot.media);
        let store = Store::open_on(disk.clone(), options(&clock, deaths), &mut |_| {})?;
        use_up(&store, 1 << 32)?;
        drop(store);
        // What was carried is told by the journal, not by the memory of that life.
        let store = Store::open_on(disk, options(&clock, 2 + deaths), &mut |_| {})?;
        fewest = fewest.min(store.cache("slow")?.len());
        deaths += 1;
    }
    Ok((deaths, fewest))
}

pub const TRANSACTION_IDS: u64 = 6;

/// Enough adds that die at once to let every segment go.
fn use_up(store: &Store, from: u64) -> idjournal::Result<()> {
    let fast = store.cache("fast")?;
    fast.set_capacity(3).wait()?;
    for id in from..from + 150 {
        let _ = fast.add(id.to_le_bytes())?;
    }
    Ok(())
}

/// On a full disk, removals that go on into a segment which has no next one yet; after each, that
/// segment's file is lost. How often the store was opened all the same, with a removal undone.
pub fn newest_lost_on_a_full_disk(is_reopened: bool) -> idjournal::Result<(u64, u64)> {
    let disk = SimulatedDisk::new(512);
    let clock = Arc::new(CountingClock::default());
    let options = |seed| options(&clock, seed).sync_policy(SyncPolicy::Always);
    let store = Store::open_on(disk.clone(), options(1), &mut |_| {})?;
    let cache = store.cache("slow")?;
    disk.limit_space(Some(10 * SEGMENT_BYTES));
    let mut known = 0_u64;
    while known < SLOW_IDS && cache.add(known.to_le_bytes()).is_ok() {
        known += 1;
    }
    let (mut refusals, mut undone) = (0, 0);
    let mut held = (store, cache);
    if is_reopened {
        // The next one that was prepared becomes the first of the new life.
        drop(held);
        let store = Store::open_on(disk.clone(), options(1_000), &mut |_| {})?;
        held = (store.clone(), store.cache("slow")?);
    }
    let cache = &held.1;
    for id in 0..known {
        if cache.remove(id.to_le_bytes()).wait().is_err() {
            break;
        }
        let mut media = disk.media().image(Cut::Nothing, &mut Choices::random(0));
        if media.lose(&newest_slot(&media)).is_err() {
            break;
        }
        match Store::open_on(SimulatedDisk::holding(media), options(2 + id), &mut |_| {}) {
            Ok(store) => undone += u64::from(store.cache("slow")?.len() > cache.len()),
            Err(_) => refusals += 1,
        }
    }
    Ok((refusals, undone))
}

/// The name of the slot with the highest number.
fn newest_slot(media: &Media) -> String {
    let number = |name: &String| {
        let content = media.content(name).unwrap_or_default();
        let bytes = content.get(48..56).unwrap_or(&[0; 8]);
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    };
    let slots = media
        .names()
        .into_iter()
        .filter(|name| name.starts_with("slot-"));
    slots.max_by_key(number).unwrap_or_default()
}

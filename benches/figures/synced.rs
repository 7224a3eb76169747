//! Adds that wait for the disk, beside the bare sync of a file like a segment.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use idjournal::{Cache, Store, SyncPolicy};

use crate::bare::Writing;
use crate::ids::Source;
use crate::place::{Medium, Run, device_bytes};
use crate::rounds::{Rounds, median};
use crate::row::{Row, Unit};
use crate::waking::{Adding, Sharing, THREADS, wakes};
use crate::work::{How, Work};
use crate::{Result, shown};

/// How many receipts one thread has in flight.
const IN_FLIGHT: usize = 16_384;
/// The share of the bare sync rate.
const LEAST: f64 = 0.9;

/// Rates and device bytes of one side.
type Bytes = RefCell<Vec<f64>>;

/// Runs a turn, and notes how many bytes went to the device for each of its syncs.
fn counted(bytes: &Bytes, turn: impl FnOnce() -> Result<(f64, u32)>) -> Result<f64> {
    let before = device_bytes()?;
    let (rate, count) = turn()?;
    let each = (device_bytes()? - before) / f64::from(count);
    bytes.borrow_mut().push(each);
    Ok(rate)
}

fn always(how: How, window: u64) -> idjournal::Options {
    how.options(window).sync_policy(SyncPolicy::Always)
}

/// One thread, each add waiting for its own sync.
pub(crate) fn lone(run: &Run, window: u64) -> Result<Vec<Row>> {
    let turn = run.turn() / 3;
    let directory = run.directory(Medium::Disk)?;
    let open = |name, how| Work::open(&directory.path().join(name), window, always(how, window));
    let mut bare = Writing::marked(directory.path())?;
    let mut mapped = open("mapped", How::MAPPED)?;
    let mut positioned = open("positioned", How::POSITIONED)?;
    let bytes: [Bytes; 3] = Default::default();
    let mut rounds = Rounds::default();
    let sides = [
        rounds.side(|| counted(&bytes[0], || bare.synced(turn))),
        rounds.side(|| counted(&bytes[1], || mapped.synced(turn))),
        rounds.side(|| counted(&bytes[2], || positioned.synced(turn))),
    ];
    rounds.run(3 * run.rounds())?;
    let rates = sides.map(|side| rounds.median(side));
    let shares = sides.map(|side| rounds.share(side, sides[0]));
    drop(rounds);
    let bytes = bytes.map(|bytes| median(bytes.into_inner()));
    let mut rows = vec![Row::shown(
        "bare fdatasync, 64 bytes",
        Unit::PerSecond,
        rates[0],
    )];
    for (place, how) in [(1, "mapped"), (2, "positioned")] {
        let name = format!("synced adds, one thread, {}, {how}", shown(window));
        let limit = ("bare fdatasync", rates[0]);
        let row = Row::rate(&name, rates[place], limit, LEAST);
        rows.push(row.with_share(shares[place]));
    }
    for (place, how) in [(1, "mapped"), (2, "positioned")] {
        let name = format!("device bytes per lone synced add, {how}");
        let limit = ("bare fdatasync", bytes[0]);
        rows.push(Row::bytes(&name, bytes[place], limit, LEAST));
    }
    Ok(rows)
}

/// 64 threads, each waiting for the sync of its add.
pub(crate) fn threads(run: &Run, window: u64) -> Result<Vec<Row>> {
    let turn = run.turn();
    let directory = run.directory(Medium::Disk)?;
    let path = directory.path().join("store");
    let work = Work::open(&path, window, always(How::MAPPED, window))?;
    let (store, _, _) = work.into_parts();
    let adding = Adding::new(store);
    let sharing = Sharing::new(directory.path())?;
    let bare = directory.path().join("bare");
    std::fs::create_dir(&bare)?;
    let mut writing = Writing::marked(&bare)?;
    let mut rounds = Rounds::default();
    let disk = rounds.side(|| Ok(writing.synced(turn / 2)?.0));
    let waking = rounds.side(|| wakes(turn / 2));
    let shared = rounds.side(|| sharing.rate(turn));
    let ours = rounds.side(|| adding.rate(turn));
    rounds.run(2 * run.rounds())?;
    let rate = |side| rounds.median(side);
    let share = |limit| rounds.share(ours, limit);
    let name = |what: &str| format!("{what}, {THREADS} threads, {}", shown(window));
    let over_disk = Row::shown(
        &name("synced adds over bare fdatasync"),
        Unit::PerSecond,
        rate(ours),
    );
    let limit = ("a bare shared sync", rate(shared));
    Ok(vec![
        Row::shown(
            "threads woken by one condition",
            Unit::PerSecond,
            rate(waking),
        ),
        over_disk.beside("bare fdatasync", rate(disk), share(disk)),
        Row::rate(&name("synced adds"), rate(ours), limit, LEAST).with_share(share(shared)),
    ])
}

/// One thread that waits for the oldest of many receipts.
pub(crate) fn in_flight(run: &Run, window: u64) -> Result<Vec<Row>> {
    let directory = run.directory(Medium::Disk)?;
    let path = directory.path().join("store");
    let work = Work::open(&path, window, always(How::MAPPED, window))?;
    let (store, cache, mut source) = work.into_parts();
    let mut rounds = Rounds::default();
    let side = rounds.side(|| flight(&store, &cache, &mut source, 2 * run.turn()));
    rounds.run(run.rounds())?;
    Ok(vec![Row::at_least(
        &format!("synced adds, receipts in flight, {}", shown(window)),
        Unit::PerSecond,
        rounds.best(side),
        1e6,
    )])
}

fn flight(store: &Store, cache: &Cache, source: &mut Source, turn: Duration) -> Result<f64> {
    let mut receipts = VecDeque::with_capacity(IN_FLIGHT);
    let (mut took, mut count) = (Duration::ZERO, 0_u64);
    while took < turn {
        let ids = source.batch(1_000);
        let began = Instant::now();
        for id in ids {
            if receipts.len() == IN_FLIGHT
                && let Some(receipt) = receipts.pop_front()
            {
                let receipt: idjournal::Receipt<idjournal::Outcome> = receipt;
                let _ = receipt.wait()?;
            }
            receipts.push_back(cache.submit(id));
        }
        took += began.elapsed();
        count += 1_000;
    }
    let began = Instant::now();
    for receipt in receipts {
        let _ = receipt.wait()?;
    }
    took += began.elapsed();
    if store.stats().is_poisoned {
        return Err("the store is poisoned".into());
    }
    Ok(count as f64 / took.as_secs_f64())
}

//! What changes when a window is full: the rate, and the slowest add.

use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use idjournal::{Cache, Store};

use crate::bare::{RECORD_BYTES, Segments};
use crate::ids::{BATCH, Id, Source};
use crate::place::{Medium, Run};
use crate::rounds::{Rounds, median};
use crate::row::{Row, Unit};
use crate::work::{How, Work, add_all};
use crate::{Result, shown};

/// The rate in the window after the capacity is reached, over that in the half window before.
pub(crate) fn capacity(run: &Run, window: u64) -> Result<Vec<Row>> {
    let directory = run.directory(Medium::Memory)?;
    let path = directory.path().join("store");
    let store = Store::open(path, How::MAPPED.options(window))?;
    let addresses = match (window <= 100_000, run.is_quick) {
        (true, false) => 60,
        (true, true) => 30,
        (false, false) => 5,
        (false, true) => 2,
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut source = Source::new(1);
    for address in 0..addresses {
        let cache = store.cache(format!("address-{address}"))?;
        let half = usize::try_from(window / 2)?;
        rate(&cache, &mut source, half)?;
        before.push(rate(&cache, &mut source, half)?);
        after.push(rate(&cache, &mut source, 2 * half)?);
        drop(cache);
        store.drop_cache(format!("address-{address}")).wait()?;
    }
    let name = format!("adds past the capacity, {}, tmpfs", shown(window));
    let limit = ("before it", median(before));
    Ok(vec![Row::rate(&name, median(after), limit, 0.95)])
}

fn rate(cache: &Cache, source: &mut Source, count: usize) -> Result<f64> {
    let (mut left, mut took) = (count, Duration::ZERO);
    while left > 0 {
        let ids = source.batch(left);
        let began = Instant::now();
        add_all(cache, ids)?;
        took += began.elapsed();
        left -= ids.len();
    }
    Ok(count as f64 / took.as_secs_f64())
}

/// The slowest add on the disk, and the slowest step of a bare loop at the same pace, in turn.
pub(crate) fn slowest(run: &Run) -> Result<Vec<Row>> {
    let directory = run.directory(Medium::Disk)?;
    let mut segments = Segments::new(directory.path())?;
    let mut rounds = Rounds::default();
    let disk = rounds.side(|| segments.rate(run.turn()));
    rounds.run(3)?;
    let pace = rounds.best(disk) / 2.0 / RECORD_BYTES as f64;
    let path = directory.path().join("store");
    let work = Work::open(&path, 20_000, How::MAPPED.options(20_000))?;
    let (store, cache, mut source) = work.into_parts();
    let adds = if run.is_quick { 2_000_000 } else { 10_000_000 };
    let step = Duration::from_secs_f64(1.0 / pace);
    let mut segment = vec![0; 4 << 20];
    let (mut ours, mut bare) = (Duration::ZERO, Duration::ZERO);
    let (mut done, mut took) = (0, Duration::ZERO);
    while done < adds {
        let ids = source.batch(BATCH);
        let began = Instant::now();
        ours = ours.max(paced(ids, step, |id| {
            cache.submit(id).detach();
            Ok(())
        })?);
        took += began.elapsed();
        bare = bare.max(paced(ids, step, |id| {
            copy(&mut segment, id);
            Ok(())
        })?);
        done += ids.len();
    }
    store.close()?;
    let rate = done as f64 / took.as_secs_f64();
    let (ours, bare) = (ours.as_secs_f64(), bare.as_secs_f64());
    let name = format!("slowest of {} adds, disk", shown(done as u64));
    Ok(vec![
        Row::shown(
            "pace of the adds below, half the disk's",
            Unit::PerSecond,
            rate,
        )
        .beside("asked for", pace, rate / pace),
        Row::shown(&format!("{name}, as seen"), Unit::Seconds, ours).beside(
            "bare loop",
            bare,
            bare / ours,
        ),
        Row::at_most(&name, Unit::Seconds, (ours - bare).max(0.0), 5e-3),
    ])
}

/// Does `each` at the pace, or as fast as it goes; the longest that one took.
fn paced(ids: &[Id], step: Duration, mut each: impl FnMut(&Id) -> Result<()>) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    let mut due = Instant::now();
    for id in ids {
        let mut now = Instant::now();
        while now < due {
            spin_loop();
            now = Instant::now();
        }
        each(id)?;
        longest = longest.max(now.elapsed());
        due += step;
    }
    Ok(longest)
}

fn copy(segment: &mut [u8], id: &Id) {
    let offset = usize::from(id[0]) * 4096 + usize::from(id[1]) * RECORD_BYTES;
    let checksum = crc32fast::hash(id);
    segment[offset..offset + 4].copy_from_slice(&checksum.to_le_bytes());
    segment[offset + 20..offset + RECORD_BYTES].copy_from_slice(id);
    black_box(segment);
}

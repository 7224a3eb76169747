//! Bytes appended, for one address and for one hot among many slow ones.

use std::time::Duration;

use idjournal::{Cache, Stats, Store};

use crate::ids::{BATCH, Source};
use crate::place::{Medium, Run};
use crate::rounds::Rounds;
use crate::row::{Row, Unit};
use crate::work::{How, Work, add_all};
use crate::{Result, shown};

/// Bytes per add of a full window.
pub(crate) fn appended(run: &Run, window: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for how in [How::MAPPED, How::ALONE] {
        let directory = run.directory(Medium::Memory)?;
        let path = directory.path().join("store");
        let mut work = Work::open(&path, window, how.options(window))?;
        let before = work.store.stats();
        work.fill(2_000_000)?;
        let after = work.store.stats();
        let each = per_add(&before, &after);
        let (window, how) = (shown(window), how.name());
        let name = format!("bytes appended per 36-byte add, {window}, {how}");
        rows.push(Row::at_most(&name, Unit::Bytes, each, 65.0));
    }
    Ok(rows)
}

/// The store with one hot and many slow addresses.
struct Mixed {
    store: Store,
    hot: Cache,
    slow: Vec<Cache>,
    source: Source,
    next: usize,
}

impl Mixed {
    fn open(path: &std::path::Path, window: u64) -> Result<Mixed> {
        let store = Store::open(path, How::MAPPED.options(window))?;
        let slow = (0..999).map(|number| store.cache(format!("slow-{number}")));
        let slow = slow.collect::<idjournal::Result<Vec<_>>>()?;
        let hot = store.cache("hot")?;
        let mut source = Source::new(1);
        for cache in slow.iter().chain([&hot]) {
            let mut left = usize::try_from(window)?;
            while left > 0 {
                let ids = source.batch(left);
                add_all(cache, ids)?;
                left -= ids.len();
            }
        }
        Ok(Mixed {
            store,
            hot,
            slow,
            source,
            next: 0,
        })
    }

    /// One add of each batch goes to a slow address, the others to the hot one.
    fn adds(&mut self, turn: Duration) -> Result<f64> {
        let (mut took, mut count) = (Duration::ZERO, 0);
        while took < turn {
            let ids = self.source.batch(BATCH);
            let began = std::time::Instant::now();
            for part in ids.chunks(1_000) {
                if let Some((first, others)) = part.split_first() {
                    let slow = &self.slow[self.next % self.slow.len()];
                    add_all(slow, std::slice::from_ref(first))?;
                    add_all(&self.hot, others)?;
                    self.next += 1;
                }
            }
            took += began.elapsed();
            count += ids.len();
        }
        Ok(count as f64 / took.as_secs_f64())
    }
}

/// Bytes appended per add between two moments.
fn per_add(before: &Stats, after: &Stats) -> f64 {
    let bytes = after.appended_bytes() - before.appended_bytes();
    bytes as f64 / (after.added - before.added) as f64
}

/// One hot and 999 slow full addresses, beside a store of one address.
pub(crate) fn mixed(run: &Run) -> Result<Vec<Row>> {
    let window = if run.is_quick { 2_000 } else { 20_000 };
    let turn = 3 * run.turn();
    let directory = run.directory(Medium::Memory)?;
    let one = directory.path().join("one");
    let mut one = Work::open(&one, window, How::MAPPED.options(window))?;
    let mut mixed = Mixed::open(&directory.path().join("mixed"), window)?;
    // Up to the pace that carrying then keeps.
    mixed.adds(turn)?;
    let stores = [one.store.clone(), mixed.store.clone()];
    let before = stores.each_ref().map(Store::stats);
    let mut rounds = Rounds::default();
    let one = rounds.side(|| one.adds(turn));
    let ours = rounds.side(|| mixed.adds(turn));
    rounds.run(run.rounds())?;
    let after = stores.each_ref().map(Store::stats);
    let [alone, among] = [0, 1].map(|store| per_add(&before[store], &after[store]));
    let name = format!("one hot, 999 slow addresses of {}", shown(window));
    let bytes = format!("{name}: bytes an add");
    Ok(vec![
        // The limit is twice what one address appends.
        Row::bytes(&bytes, among, ("one address", alone), 0.5),
        Row::rate(
            &format!("{name}: adds, tmpfs"),
            rounds.best(ours),
            ("one address", rounds.best(one)),
            0.6,
        ),
    ])
}

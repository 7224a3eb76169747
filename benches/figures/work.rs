//! Stores that are measured, and adds to them.

use std::path::Path;
use std::time::{Duration, Instant};

use idjournal::{Cache, OnDuplicate, Options, Outcome, Owner, Store, SyncPolicy, Writes};

use crate::Result;
use crate::ids::{BATCH, Id, Source};

pub(crate) fn options(window: u64) -> Options {
    Options::default()
        .id_cache_size(window)
        .sync_policy(SyncPolicy::Manual)
}

/// One address of a store, and IDs for it.
pub(crate) struct Work {
    pub(crate) store: Store,
    pub(crate) cache: Cache,
    source: Source,
}

impl Work {
    /// In a directory; the window is filled, and a fifth of it over.
    pub(crate) fn open(directory: &Path, window: u64, options: Options) -> Result<Work> {
        Work::filled(Store::open(directory, options)?, window)
    }

    /// The bare cache: persistence off.
    pub(crate) fn bare(window: u64) -> Result<Work> {
        let options = options(window).persistence(false);
        Work::filled(Store::in_memory(options)?, window)
    }

    fn filled(store: Store, window: u64) -> Result<Work> {
        let cache = store.cache("orders")?;
        let source = Source::new(1);
        let mut work = Work {
            store,
            cache,
            source,
        };
        work.fill(window + window / 5)?;
        Ok(work)
    }

    /// Adds so many IDs without waiting for the disk; the seconds that it took.
    pub(crate) fn fill(&mut self, count: u64) -> Result<f64> {
        let (mut left, mut took) = (usize::try_from(count)?, Duration::ZERO);
        while left > 0 {
            let batch = self.source.batch(left);
            let began = Instant::now();
            for id in batch {
                self.cache.submit(id).detach();
            }
            took += began.elapsed();
            left -= batch.len();
        }
        Ok(took.as_secs_f64())
    }

    /// Adds per second over a turn, `each` being handed the IDs.
    fn rate_of(
        &mut self,
        turn: Duration,
        batch: usize,
        each: impl Fn(&Store, &Cache, &[Id]) -> Result<()>,
    ) -> Result<f64> {
        let (mut took, mut count) = (Duration::ZERO, 0);
        while took < turn {
            let ids = self.source.batch(batch);
            let began = Instant::now();
            each(&self.store, &self.cache, ids)?;
            took += began.elapsed();
            count += ids.len();
        }
        // What the turn left behind is not to disturb the next one.
        self.store.sync().wait_synced()?;
        std::thread::sleep(Duration::from_millis(10));
        Ok(count as f64 / took.as_secs_f64())
    }

    /// Adds per second.
    pub(crate) fn adds(&mut self, turn: Duration) -> Result<f64> {
        self.rate_of(turn, BATCH, |_, cache, ids| add_all(cache, ids))
    }

    /// Adds per second that each wait for the disk, and how many they were.
    pub(crate) fn synced(&mut self, turn: Duration) -> Result<(f64, u32)> {
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < turn {
            add_all(&self.cache, self.source.batch(1))?;
            count += 1;
        }
        Ok((f64::from(count) / began.elapsed().as_secs_f64(), count))
    }

    /// Adds per second in transactions of `size`.
    pub(crate) fn transactions(&mut self, turn: Duration, size: usize) -> Result<f64> {
        self.rate_of(turn, BATCH, |store, cache, ids| {
            for part in ids.chunks(size) {
                let mut transaction = store.begin(OnDuplicate::Reject, Owner::NOBODY);
                for id in part {
                    let _ = transaction.add(cache, id)?;
                }
                transaction.commit().wait()?;
            }
            Ok(())
        })
    }

    /// Seconds that `state` of an ID that is not there takes.
    pub(crate) fn lookups(&mut self, turn: Duration) -> Result<f64> {
        self.rate_of(turn, BATCH, |_, cache, ids| {
            let is_absent = |id| matches!(cache.state(id), idjournal::State::Absent);
            let is_right = ids.iter().all(is_absent);
            if is_right {
                Ok(())
            } else {
                Err("known".into())
            }
        })
    }

    pub(crate) fn into_parts(self) -> (Store, Cache, Source) {
        (self.store, self.cache, self.source)
    }
}

pub(crate) fn add_all(cache: &Cache, ids: &[Id]) -> Result<()> {
    for id in ids {
        if !matches!(cache.add(id)?, Outcome::Added) {
            return Err("a new ID was not added".into());
        }
    }
    Ok(())
}

/// How a store that is measured writes.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) writes: Writes,
    pub(crate) keeper: bool,
}

impl How {
    pub(crate) const MAPPED: How = How {
        writes: Writes::Mapped,
        keeper: true,
    };
    pub(crate) const ALONE: How = How {
        writes: Writes::Mapped,
        keeper: false,
    };
    pub(crate) const POSITIONED: How = How {
        writes: Writes::Positioned,
        keeper: true,
    };

    pub(crate) fn is_mapped(self) -> bool {
        self.writes == Writes::Mapped
    }

    pub(crate) fn options(self, window: u64) -> Options {
        options(window).writes(self.writes).keeper(self.keeper)
    }

    pub(crate) fn name(self) -> &'static str {
        match (self.is_mapped(), self.keeper) {
            (true, true) => "mapped",
            (true, false) => "mapped, no keeper",
            (false, true) => "positioned",
            (false, false) => "positioned, no keeper",
        }
    }
}

//! Carrying forward, by the share that lives of what is released; and clears, by size.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use idjournal::{Store, SyncPolicy};

use crate::ids::{BATCH, Source};
use crate::{fill, in_memory, options};

/// What is not measured takes far longer than what is, so that few rounds must do.
const SHORT: Duration = Duration::from_millis(10);

/// Compacts a journal of which some percent live: they are spread evenly, and all else is dead.
pub(crate) fn carrying(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compact 200,000 records, by percent that live");
    group.warm_up_time(SHORT).measurement_time(SHORT);
    let records = 200_000_usize;
    group.throughput(Throughput::Elements(records as u64));
    for percent in [0_usize, 25, 50, 75, 100] {
        group.bench_function(BenchmarkId::from_parameter(percent), |bencher| {
            bencher.iter_custom(|count| {
                let mut took = Duration::ZERO;
                for _ in 0..count {
                    let directory = in_memory();
                    let options = options(records as u64, SyncPolicy::Manual).keeper(false);
                    let store = Store::open(directory.path().join("store"), options).unwrap();
                    let live = store.cache("live").unwrap();
                    let dead = store.cache("dead").unwrap();
                    let mut source = Source::new(1);
                    let mut number = 0;
                    while number < records {
                        for id in source.batch(BATCH.min(records - number)) {
                            let lives = number % 100 < percent;
                            let cache = if lives { &live } else { &dead };
                            cache.submit(id).detach();
                            number += 1;
                        }
                    }
                    dead.clear().wait().unwrap();
                    store.sync().wait_synced().unwrap();
                    let began = Instant::now();
                    store.compact().unwrap();
                    took += began.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

pub(crate) fn clear(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("clear, by IDs");
    group.warm_up_time(SHORT).measurement_time(SHORT);
    for ids in [1_000_usize, 20_000, 1_000_000] {
        let directory = in_memory();
        let options = options(ids as u64, SyncPolicy::Manual);
        let store = Store::open(directory.path().join("store"), options).unwrap();
        let cache = store.cache("orders").unwrap();
        let mut source = Source::new(1);
        group.bench_function(BenchmarkId::from_parameter(ids), |bencher| {
            bencher.iter_custom(|count| {
                let mut took = Duration::ZERO;
                for _ in 0..count {
                    fill(&cache, &mut source, ids);
                    let began = Instant::now();
                    cache.clear().wait().unwrap();
                    took += began.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

//! Adds: by sync policy, receipts waited for together, threads, and size of transaction.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use idjournal::{Cache, OnDuplicate, Owner, Store, SyncPolicy};
use tempfile::TempDir;

use crate::ids::{BATCH, Source};
use crate::{fill, in_memory, options};

const WINDOW: u64 = 20_000;
const FULL: usize = 24_000;

pub(crate) fn policies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append by policy");
    group.throughput(Throughput::Elements(1));
    let policies = [
        ("off", None),
        ("manual, tmpfs", Some((SyncPolicy::Manual, true))),
        ("manual", Some((SyncPolicy::Manual, false))),
        (
            "interval of 10 ms",
            Some((SyncPolicy::Interval(Duration::from_millis(10)), false)),
        ),
        ("always", Some((SyncPolicy::Always, false))),
    ];
    for (name, policy) in policies {
        let is_memory = matches!(policy, Some((_, true)));
        let directory = if is_memory {
            in_memory()
        } else {
            tempfile::tempdir().unwrap()
        };
        let store = match policy {
            None => {
                let options = options(WINDOW, SyncPolicy::Manual).persistence(false);
                Store::in_memory(options)
            }
            Some((policy, _)) => {
                Store::open(directory.path().join("store"), options(WINDOW, policy))
            }
        };
        let cache = store.unwrap().cache("orders").unwrap();
        let mut source = Source::new(1);
        fill(&cache, &mut source, FULL);
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                timed(&mut source, count, |id| {
                    let _ = cache.add(id).unwrap();
                })
            });
        });
    }
    group.finish();
}

/// Does `each` with so many new IDs; making them is not in the time.
fn timed(source: &mut Source, count: u64, mut each: impl FnMut(&[u8])) -> Duration {
    let (mut left, mut took) = (usize::try_from(count).unwrap(), Duration::ZERO);
    while left > 0 {
        let ids = source.batch(left.min(BATCH));
        let began = Instant::now();
        ids.iter().for_each(|id| each(id));
        took += began.elapsed();
        left -= ids.len();
    }
    took
}

/// A store with one cache whose window is full, and where new IDs come from.
fn full(directory: &TempDir, policy: SyncPolicy) -> (Store, Cache, Source) {
    let path = directory.path().join("store");
    let store = Store::open(path, options(WINDOW, policy)).unwrap();
    let cache = store.cache("orders").unwrap();
    let mut source = Source::new(1);
    fill(&cache, &mut source, FULL);
    (store, cache, source)
}

/// So many receipts, and one wait for the last.
pub(crate) fn batches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append synced, receipts waited for together");
    for size in [1_u64, 8, 64, 512] {
        group.throughput(Throughput::Elements(size));
        let directory = tempfile::tempdir().unwrap();
        let (_store, cache, mut source) = full(&directory, SyncPolicy::Always);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|count| {
                let mut took = Duration::ZERO;
                for _ in 0..count {
                    let ids = source.batch(usize::try_from(size).unwrap());
                    let began = Instant::now();
                    let receipts: Vec<_> = ids.iter().map(|id| cache.submit(id)).collect();
                    for receipt in receipts {
                        let _ = receipt.wait().unwrap();
                    }
                    took += began.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

pub(crate) fn threads(criterion: &mut Criterion) {
    for (policy, name) in [
        (SyncPolicy::Always, "append synced, by threads"),
        (SyncPolicy::Manual, "append unsynced, by threads, tmpfs"),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        for threads in [1_u64, 2, 4, 8, 16, 32, 64] {
            let directory = if policy == SyncPolicy::Always {
                tempfile::tempdir().unwrap()
            } else {
                in_memory()
            };
            let path = directory.path().join("store");
            let store = Store::open(path, options(WINDOW, policy)).unwrap();
            let sources: Vec<_> = (0..threads).map(|number| Source::new(number + 1)).collect();
            let sources: Vec<_> = sources.into_iter().map(Mutex::new).collect();
            group.bench_function(BenchmarkId::from_parameter(threads), |bencher| {
                bencher.iter_custom(|count| together(&store, &sources, count));
            });
        }
        group.finish();
    }
}

/// Shares `count` adds among a thread for each source.
fn together(store: &Store, sources: &[Mutex<Source>], count: u64) -> Duration {
    let each = count.div_ceil(sources.len() as u64);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for source in sources {
            let cache = store.cache("orders").unwrap();
            scope.spawn(move || {
                timed(&mut source.lock().unwrap(), each, |id| {
                    let _ = cache.add(id).unwrap();
                });
            });
        }
    });
    // What was done is up to a thread's share more than what was asked for.
    let done = each * sources.len() as u64;
    began.elapsed().mul_f64(count as f64 / done as f64)
}

pub(crate) fn transactions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("transactions by size, tmpfs");
    for size in [1_usize, 16, 256, 4_096] {
        group.throughput(Throughput::Elements(size as u64));
        let directory = in_memory();
        let (store, cache, mut source) = full(&directory, SyncPolicy::Manual);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|count| {
                let mut took = Duration::ZERO;
                for _ in 0..count {
                    let ids = source.batch(size);
                    let began = Instant::now();
                    let mut transaction = store.begin(OnDuplicate::Reject, Owner::NOBODY);
                    for id in ids {
                        let _ = transaction.add(&cache, id).unwrap();
                    }
                    transaction.commit().wait().unwrap();
                    took += began.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

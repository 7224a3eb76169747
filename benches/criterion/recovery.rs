//! Opening a million IDs, in one address and in many; the page cache is warm.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use idjournal::{Store, SyncPolicy};

use crate::ids::Source;
use crate::{fill, options};

const IDS: u64 = 1_000_000;

pub(crate) fn million(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recovery of a million IDs, by addresses");
    group.throughput(Throughput::Elements(IDS));
    for addresses in [1, 1_000, 100_000] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let window = IDS / addresses;
        let open = || Store::open(&path, options(window, SyncPolicy::Manual)).unwrap();
        let store = open();
        let mut source = Source::new(1);
        for address in 0..addresses {
            let cache = store.cache(format!("address-{address}")).unwrap();
            fill(&cache, &mut source, usize::try_from(window).unwrap());
        }
        store.close().unwrap();
        drop(store);
        group.bench_function(BenchmarkId::from_parameter(addresses), |bencher| {
            bencher.iter_custom(|count| {
                let mut took = Duration::ZERO;
                for _ in 0..count {
                    let began = Instant::now();
                    let store = open();
                    took += began.elapsed();
                    assert_eq!(store.recovery().ids, IDS);
                    store.close().unwrap();
                }
                took
            });
        });
    }
    group.finish();
}

//! `state` of IDs that are there and of IDs that are not, by size of the window.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use idjournal::{Store, SyncPolicy};

use crate::ids::{Id, Source, id};
use crate::{fill, options};

/// How many different IDs are asked for, spread over the window.
const ASKED: u64 = 8_192;

pub(crate) fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lookup");
    group.throughput(Throughput::Elements(1));
    for window in [1_000_u64, 10_000, 100_000, 1_000_000, 10_000_000] {
        let options = options(window, SyncPolicy::Manual).persistence(false);
        let store = Store::in_memory(options).unwrap();
        let cache = store.cache("orders").unwrap();
        let count = usize::try_from(window).unwrap();
        fill(&cache, &mut Source::new(0), count);
        let place = |number: u64| number * 7_919 * 1_009 % window;
        let hits: Vec<Id> = (0..ASKED).map(|number| id(place(number))).collect();
        let misses: Vec<Id> = (0..ASKED).map(|number| id(window + number)).collect();
        for (name, ids) in [("hit", &hits), ("miss", &misses)] {
            let mut next = ids.iter().cycle();
            group.bench_function(BenchmarkId::new(name, window), |bencher| {
                bencher.iter(|| next.next().map(|id| black_box(cache.state(id))));
            });
        }
    }
    group.finish();
}

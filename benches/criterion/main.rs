//! Where the time of each kind of call goes, by criterion: `cargo bench --bench criterion`.
//!
//! The figures that the engine must reach are `benches/figures`; this is for comparing a change
//! with what was before it. Rates are in adds, lookups or IDs per second.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench stops when it cannot go on, and its groups are made by a macro"
)]

mod append;
#[path = "../figures/ids.rs"]
mod ids;
mod lookup;
mod recovery;
mod upkeep;

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use idjournal::{Cache, Options, SyncPolicy};
use tempfile::TempDir;

use ids::{BATCH, Source};

criterion_group! {
    name = all;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = append::batches, append::threads, append::policies, append::transactions,
        lookup::sizes, recovery::million, upkeep::carrying, upkeep::clear
}
criterion_main!(all);

fn options(window: u64, policy: SyncPolicy) -> Options {
    Options::default().id_cache_size(window).sync_policy(policy)
}

/// A directory on tmpfs where there is one, so that no disk is measured.
fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    directory.unwrap()
}

fn fill(cache: &Cache, source: &mut Source, count: usize) {
    let mut left = count;
    while left > 0 {
        let ids = source.batch(left.min(BATCH));
        for id in ids {
            cache.submit(id).detach();
        }
        left -= ids.len();
    }
}

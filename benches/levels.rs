//! What each sync policy costs, and what a start-up costs: plain figures, a few seconds in all.
//!
//! `cargo bench --bench levels [-- DIRECTORY]` prints them; the directory, a temporary one unless
//! given, decides which disk is measured.

#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use idjournal::{MemoryStorage, Options, Store, SyncPolicy};

type Failure = Box<dyn std::error::Error>;

const WINDOW: u64 = 20_000;

fn main() -> Result<(), Failure> {
    let given = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let parent = given.map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::Builder::new()
        .prefix("idjournal-levels")
        .tempdir_in(parent)?;
    let path = |name: &str| directory.path().join(name);

    bare()?;
    let disk_rate = disk(&path("disk"))?;
    manual("Manual, disk", &path("manual"))?;
    if Path::new("/dev/shm").is_dir() {
        let memory = tempfile::Builder::new()
            .prefix("idjournal-levels")
            .tempdir_in("/dev/shm")?;
        manual("Manual, tmpfs", &memory.path().join("manual"))?;
    }
    always(&path("always"), disk_rate)?;
    in_flight(&path("in-flight"))?;
    threads(&path("threads"), disk_rate)?;
    start_up(&path("start-up"))?;
    Ok(())
}

fn options(policy: SyncPolicy) -> Options {
    Options::default().id_cache_size(WINDOW).sync_policy(policy)
}

/// A 36-byte ID.
fn id(buffer: &mut [u8; 36], number: u64) -> &[u8] {
    let digits = number.to_be_bytes();
    for (place, byte) in buffer.iter_mut().zip(digits.iter().cycle()) {
        *place = *byte;
    }
    buffer
}

fn rate(count: u64, began: Instant) -> f64 {
    count as f64 / began.elapsed().as_secs_f64()
}

fn adds(store: &Store, count: u64) -> Result<f64, Failure> {
    let cache = store.cache("orders")?;
    let mut buffer = [0; 36];
    for number in 0..2 * WINDOW {
        let _ = cache.add(id(&mut buffer, number))?;
    }
    let began = Instant::now();
    for number in 0..count {
        let _ = cache.add(id(&mut buffer, 2 * WINDOW + number))?;
    }
    Ok(rate(count, began))
}

fn bare() -> Result<(), Failure> {
    let store = Store::in_memory(options(SyncPolicy::Manual).persistence(false))?;
    let rate = adds(&store, 5_000_000)?;
    println!("{:<32}{:>12.0} adds/s", "persistence off", rate);
    let storage = MemoryStorage::default();
    let store = Store::open_on(storage, options(SyncPolicy::Manual), &mut |_| {})?;
    let rate = adds(&store, 2_000_000)?;
    println!("{:<32}{:>12.0} adds/s", "storage in memory", rate);
    Ok(())
}

fn disk(path: &Path) -> Result<f64, Failure> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(path)?;
    file.write_all_at(&[0; 1 << 20], 0)?;
    file.sync_all()?;
    let (began, count) = (Instant::now(), 300);
    for number in 0..count {
        file.write_all_at(&[1; 64], number * 64)?;
        file.sync_data()?;
    }
    let rate = rate(count, began);
    println!("{:<32}{:>12.0} syncs/s", "the disk alone, 64 bytes", rate);
    Ok(rate)
}

fn manual(name: &str, path: &Path) -> Result<(), Failure> {
    let store = Store::open(path, options(SyncPolicy::Manual))?;
    let rate = adds(&store, 2_000_000)?;
    let stats = store.stats();
    let bytes = stats.appended_bytes() as f64 / stats.added as f64;
    println!(
        "{name:<32}{rate:>12.0} adds/s, {bytes:.2} bytes each, mapped: {}",
        stats.is_mapped
    );
    Ok(())
}

fn always(path: &Path, disk_rate: f64) -> Result<(), Failure> {
    let store = Store::open(path, options(SyncPolicy::Always))?;
    let cache = store.cache("orders")?;
    let mut buffer = [0; 36];
    let _ = cache.add("first")?;
    let (began, count) = (Instant::now(), 300);
    for number in 0..count {
        let _ = cache.add(id(&mut buffer, number))?;
    }
    let rate = rate(count, began);
    let ratio = rate / disk_rate;
    println!(
        "{:<32}{rate:>12.0} adds/s, {ratio:.2} of the disk",
        "Always, one thread"
    );
    Ok(())
}

fn in_flight(path: &Path) -> Result<(), Failure> {
    let store = Store::open(path, options(SyncPolicy::Always))?;
    let cache = store.cache("orders")?;
    let mut buffer = [0; 36];
    let (began, count) = (Instant::now(), 1_000_000);
    let mut receipts = std::collections::VecDeque::new();
    for number in 0..count {
        receipts.push_back(cache.submit(id(&mut buffer, number)));
        if receipts.len() > 100_000
            && let Some(receipt) = receipts.pop_front()
        {
            let _ = receipt.wait()?;
        }
    }
    for receipt in receipts {
        let _ = receipt.wait()?;
    }
    println!(
        "{:<32}{:>12.0} adds/s",
        "Always, receipts in flight",
        rate(count, began)
    );
    Ok(())
}

fn threads(path: &Path, disk_rate: f64) -> Result<(), Failure> {
    let store = Store::open(path, options(SyncPolicy::Always))?;
    let _ = store.cache("orders")?.add("first")?;
    let (each, threads) = (100, 64);
    let began = Instant::now();
    std::thread::scope(|scope| -> Result<(), Failure> {
        let mut running = Vec::new();
        for thread in 0..threads {
            let cache = store.cache("orders")?;
            running.push(scope.spawn(move || -> idjournal::Result<()> {
                let mut buffer = [0; 36];
                for number in 0..each {
                    let _ = cache.add(id(&mut buffer, thread * each + number))?;
                }
                Ok(())
            }));
        }
        for thread in running {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })?;
    let rate = rate(each * threads, began);
    let ratio = rate / disk_rate;
    println!(
        "{:<32}{rate:>12.0} adds/s, {ratio:.2} of the disk",
        "Always, 64 threads"
    );
    Ok(())
}

fn start_up(path: &Path) -> Result<(), Failure> {
    let options = || options(SyncPolicy::Manual).id_cache_size(1_000_000);
    let store = Store::open(path, options())?;
    let cache = store.cache("orders")?;
    let mut buffer = [0; 36];
    for number in 0..1_000_000 {
        let _ = cache.add(id(&mut buffer, number))?;
    }
    drop((cache, store));
    let began = Instant::now();
    let store = Store::open(path, options())?;
    let seconds = began.elapsed().as_secs_f64();
    let ids = store.recovery().ids;
    println!(
        "{:<32}{seconds:>12.3} s for {ids} IDs, page cache warm",
        "start-up"
    );
    Ok(())
}

//! A consumer on an async runtime: each message is handled once, however often it comes and
//! however many tasks it comes to.
//!
//! No task here holds a thread while it waits: not for the disk, not for the claim of another task.
//! Run it with `cargo run --example async_consumer`; `cargo test --example async_consumer` does the
//! same.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program says what it does"
)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idjournal::{Cache, Confirmed, Error, Options, Owner, Reserve, Store};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};

const TASKS: u64 = 8;
const MESSAGES: u64 = 200;
/// How often each message comes.
const COPIES: u64 = 3;
const LEASE: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How often each message was handled.
#[derive(Default)]
struct Handled(Mutex<HashMap<String, u64>>);

impl Handled {
    /// Handles a message, which takes some time; now and then it fails.
    async fn handle(&self, id: &str, attempt: u64) -> Result<(), &'static str> {
        tokio::time::sleep(Duration::from_micros(50)).await;
        if id.ends_with('7') && attempt.is_multiple_of(2) {
            return Err("the database is busy");
        }
        let mut handled = self.0.lock().unwrap_or_else(|error| error.into_inner());
        *handled.entry(id.to_owned()).or_default() += 1;
        Ok(())
    }
}

/// Handles the message unless that was done; returns when one of the two is safe on disk.
async fn consume(orders: &Cache, task: u64, id: &str, handled: &Handled) -> Result<(), Error> {
    for attempt in 0.. {
        match orders.reserve_as(id, Owner(task), Some(LEASE))? {
            Reserve::Reserved(claim) => match handled.handle(id, attempt).await {
                Ok(()) => {
                    if claim.confirm().await? == Confirmed::LeaseLost {
                        eprintln!("{id}: it took longer than the lease");
                    }
                    return Ok(());
                }
                // Whoever waits for the claim, or comes later, has it now.
                Err(_) => claim.release(),
            },
            // A duplicate is as durable as the first copy once this is awaited.
            Reserve::Duplicate(seen) => return seen.await.map(drop),
            // In the hands of another task: wait until it is confirmed or given up.
            Reserve::Pending(_) => orders.settled(id).await?,
        }
    }
    Ok(())
}

async fn run(path: &Path) -> Result<HashMap<String, u64>, Failure> {
    // Opening and closing read and write files: that is for a thread that may block.
    let directory = path.to_owned();
    let store = spawn_blocking(move || Store::open(directory, Options::default())).await??;
    let handled = Arc::new(Handled::default());
    let mut tasks = JoinSet::new();
    let mut queues = Vec::new();
    for task in 0..TASKS {
        let (sender, mut queue) = mpsc::channel::<String>(16);
        queues.push(sender);
        let (orders, handled) = (store.cache("orders")?, Arc::clone(&handled));
        tasks.spawn(async move {
            while let Some(id) = queue.recv().await {
                consume(&orders, task, &id, &handled).await?;
            }
            Ok::<(), Error>(())
        });
    }
    for number in 0..MESSAGES * COPIES {
        let (message, task) = (number / COPIES, number % TASKS);
        let queue = queues.get(usize::try_from(task)?).ok_or("no such task")?;
        queue.send(format!("order-{message}")).await?;
    }
    drop(queues);
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    spawn_blocking(move || store.close()).await??;
    let handled = handled.0.lock().unwrap_or_else(|error| error.into_inner());
    Ok(handled.clone())
}

fn main() -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    for (round, expected) in [(1, MESSAGES), (2, 0)] {
        let handled = runtime.block_on(run(&directory.path().join("ids")))?;
        let once = handled.values().filter(|times| **times == 1).count() as u64;
        println!("round {round}: {once} of {MESSAGES} messages handled once");
        assert_eq!((handled.len() as u64, once), (expected, expected));
    }
    Ok(())
}

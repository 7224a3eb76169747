//! Promise: whatever moment the process is killed at, everything it acknowledged is there again,
//! nothing is that it did not ask for, and each transaction is there whole or not at all.
//!
//! Method: this program runs itself as a child with many threads, reads what they acknowledge from
//! a pipe, kills it once so much was said, and lets the next child say what it finds. What each
//! thread does is decided by a seed, so that what was in flight is known too. A failure names its
//! seed; chance in the order of threads remains. `IDJOURNAL_KILLS` kills more,
//! `IDJOURNAL_FIRST_SEED` begins elsewhere.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "the rate is a figure to look at")]

mod child;
mod found;
mod model;
mod script;

#[path = "../support/mod.rs"]
mod support;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use found::Found;
use idjournal::Store;
use model::Life;
use support::Random;

const KILLS: u64 = 500;
/// What is acknowledged at most before a kill, in bytes of the pipe.
const SAID_MAX: u64 = 1_600;

/// How a store is used for a number of lives.
#[derive(Clone, Debug)]
struct Course {
    directory: PathBuf,
    seed: u64,
    policy: &'static str,
    writes: &'static str,
}

/// What was looked at.
#[derive(Debug, Default)]
struct Counts {
    kills: AtomicU64,
    /// Kills before a child had told what it found, so within its recovery or around it.
    early: AtomicU64,
    acknowledged: AtomicU64,
    /// Steps in flight at a kill that are found to have happened, and not to have happened.
    happened: AtomicU64,
    did_not: AtomicU64,
    segments: AtomicU64,
    reused: AtomicU64,
}

#[test]
#[ignore = "it is run by the test that kills it"]
fn the_child_that_is_killed() {
    child::run();
}

#[test]
fn everything_acknowledged_is_found_after_each_kill_and_nothing_else() {
    let kills = number_from("IDJOURNAL_KILLS").unwrap_or(KILLS);
    let seed = number_from("IDJOURNAL_FIRST_SEED").unwrap_or(1);
    let on_disk = tempfile::tempdir().unwrap();
    let memory = Path::new("/dev/shm");
    let in_memory = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    };
    let mut courses = Vec::new();
    for policy in ["always", "interval", "manual"] {
        for writes in ["mapped", "positioned"] {
            for (at, place) in [on_disk.path(), in_memory.path()].into_iter().enumerate() {
                courses.push(Course {
                    directory: place.join(format!("{policy}-{writes}")),
                    seed: seed + 100 * at as u64 + courses.len() as u64,
                    policy,
                    writes,
                });
            }
        }
    }
    let each = kills.div_ceil(courses.len() as u64);
    let (counts, next, began) = (Counts::default(), AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        let work = || {
            let take = || usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap();
            while let Some(course) = courses.get(take()) {
                follow(course, each, &counts);
            }
        };
        let threads = [scope.spawn(work), scope.spawn(work)];
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let rate = counts.kills.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    eprintln!("{counts:?}, {rate:.0} kills a second");
    let at_least = |count: &AtomicU64, least| {
        assert!(count.load(Ordering::Relaxed) >= least, "{counts:?}");
    };
    at_least(&counts.kills, kills);
    at_least(&counts.early, kills / 100);
    at_least(&counts.acknowledged, 20 * kills);
    at_least(&counts.happened, kills / 50);
    at_least(&counts.did_not, kills / 50);
    at_least(&counts.segments, kills);
    at_least(&counts.reused, kills / 4);
}

/// Kills children at work on one directory, and compares what each finds with what was said.
fn follow(course: &Course, kills: u64, counts: &Counts) {
    let mut random = Random(course.seed);
    let mut last = Life::first();
    let mut newest = 0;
    let mut killed = 0;
    for life in 1.. {
        if killed == kills {
            break;
        }
        assert!(
            life < 4 * kills + 8,
            "{course:?}: too few kills hit a child"
        );
        // Most are killed at work, some while they recover.
        let limit = match random.below(8) {
            0 => Limit::InAll(random.below(400)),
            _ => Limit::AtWork(random.below(SAID_MAX)),
        };
        let (said, is_killed) = run_child(course, life, &limit);
        let place = |text: String| format!("life {life} of {course:?}, {limit:?}: {text}");
        if is_killed {
            killed += 1;
            counts.kills.fetch_add(1, Ordering::Relaxed);
        }
        let Some((found, rest)) = Found::read(&said) else {
            assert!(
                is_killed,
                "{}",
                place(String::from_utf8_lossy(&said).into_owned())
            );
            counts.early.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        counts
            .segments
            .fetch_add(found.newest.saturating_sub(newest), Ordering::Relaxed);
        counts
            .reused
            .fetch_add(u64::from(found.newest > found.slots), Ordering::Relaxed);
        newest = found.newest;
        let settled = last
            .check(&found)
            .unwrap_or_else(|text| panic!("{}", place(text)));
        counts
            .happened
            .fetch_add(settled.happened, Ordering::Relaxed);
        counts.did_not.fetch_add(settled.did_not, Ordering::Relaxed);
        last = Life::next(settled, &found, (course.seed, life));
        let count = last
            .hear(rest)
            .unwrap_or_else(|text| panic!("{}", place(text)));
        counts.acknowledged.fetch_add(count, Ordering::Relaxed);
    }
    let options = child::options(course.policy, course.writes, 4096, false);
    let store = Store::open(&course.directory, options).unwrap();
    let said = child::tell(&store);
    let (found, _) = Found::read(&said).unwrap();
    last.check(&found)
        .unwrap_or_else(|text| panic!("at the end of {course:?}: {text}"));
}

/// When a child is killed, by how many bytes it said.
#[derive(Debug)]
enum Limit {
    InAll(u64),
    /// Behind what it found.
    AtWork(u64),
}

/// Runs a child until it has said enough, or to its end; all that it said, and whether it was
/// killed.
fn run_child(course: &Course, life: u64, limit: &Limit) -> (Vec<u8>, bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "the_child_that_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(child::DIRECTORY, &course.directory)
        .env(
            child::COURSE,
            format!("{} {life} {} {}", course.seed, course.policy, course.writes),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut said = Vec::new();
    let mut chunk = [0; 512];
    let is_enough = |said: &[u8]| match limit {
        Limit::InAll(bytes) => found::begin(said).is_some_and(|said| said.len() as u64 >= *bytes),
        Limit::AtWork(bytes) => found::work(said).is_some_and(|said| said.len() as u64 >= *bytes),
    };
    while !is_enough(&said) {
        match pipe.read(&mut chunk).unwrap() {
            0 => break,
            count => said.extend_from_slice(&chunk[..count]),
        }
    }
    child.kill().unwrap();
    pipe.read_to_end(&mut said).unwrap();
    let status = child.wait().unwrap();
    let is_killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    assert!(
        is_killed || status.success(),
        "{course:?}, life {life}: {status}"
    );
    (said, is_killed)
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    )
}

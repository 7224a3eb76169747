//! Promise: whatever a power cut or a kill leaves, the store is in a state that it passed through,
//! with everything acknowledged in it, and a state once shown is never taken back.
//!
//! Method: lives of a store on a simulated disk; at its calls of the disk, copies of it; of each
//! copy, images of what a power cut may leave, recovered and compared with the model after each
//! number of calls; the power cut again within that recovery and after it; failing syncs. Of short
//! lives, every image. Beside that rot, short writes, no space, and a watch over the order of
//! calls: see docs/testing.md. A failure prints its seed and the shortest script that fails.
//! `IDJOURNAL_STATES` looks at more states, `IDJOURNAL_FIRST_SEED` begins elsewhere,
//! `IDJOURNAL_SEED` runs one seed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(clippy::print_stderr, reason = "the rate is a figure to look at")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use common::crash::Run;
use common::crash_geometry::{Counts, Geometry};
use common::number_from;

const STATES: u64 = 2_000_000;
const THREADS: usize = 2;

fn run(seed: u64, limit: usize) -> Result<Counts, (u64, String)> {
    let mut run = Run::new(seed, limit);
    let result = catch_unwind(AssertUnwindSafe(|| run.run()));
    match result.unwrap_or_else(|_| Err("panicked".to_owned())) {
        Ok(()) => Ok(run.counts),
        Err(text) => Err((run.counts.operations, text)),
    }
}

/// The run with the fewest calls that still fails.
fn check(seed: u64) -> Result<Counts, String> {
    let (operations, mut text) = match run(seed, usize::MAX) {
        Ok(counts) => return Ok(counts),
        Err(failure) => failure,
    };
    let operations = usize::try_from(operations).unwrap_or(usize::MAX);
    let mut limit = operations;
    for shorter in (0..operations).rev() {
        match run(seed, shorter) {
            Err((_, shorter_text)) => (limit, text) = (shorter, shorter_text),
            Ok(_) if limit - shorter > SHRINK_GAP => break,
            Ok(_) => {}
        }
    }
    if let Err(traced) = Run::new(seed, limit).traced().run() {
        text = traced;
    }
    let geometry = Geometry::of(seed);
    Err(format!(
        "IDJOURNAL_SEED={seed}, {limit} calls in all, {geometry:?}\n{text}"
    ))
}

/// How many numbers of calls in a row may not fail before the search for fewer ends.
const SHRINK_GAP: usize = 40;

#[test]
fn a_power_cut_leaves_a_state_that_was_passed_through() {
    if let Some(seed) = number_from("IDJOURNAL_SEED") {
        check(seed).unwrap_or_else(|text| panic!("{text}"));
        return;
    }
    let states = number_from("IDJOURNAL_STATES").unwrap_or(STATES);
    let first = number_from("IDJOURNAL_FIRST_SEED").unwrap_or(0);
    let (seen, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let work = |thread: usize| {
        let mut counts = Counts::default();
        // Each thread has seeds of its own, so that what is looked at does not depend on speed.
        for seed in (first + thread as u64..).step_by(THREADS) {
            if seen.load(Ordering::Relaxed) >= states || is_over.load(Ordering::Relaxed) {
                break;
            }
            match check(seed) {
                Ok(more) => {
                    seen.fetch_add(more.states, Ordering::Relaxed);
                    counts.add(&more);
                }
                Err(text) => {
                    is_over.store(true, Ordering::Relaxed);
                    return Err(text);
                }
            }
        }
        Ok(counts)
    };
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        for thread in threads {
            let result: Result<Counts, String> = thread.join().expect("panics are caught");
            counts.add(&result.unwrap_or_else(|text| panic!("{text}")));
        }
    });
    let rate = counts.states as f64 / began.elapsed().as_secs_f64() / THREADS as f64;
    eprintln!("{counts:?}, {rate:.0} states a second and thread");
    assert!(counts.states >= states);
    assert!(
        counts.reuses * 1_000 >= states,
        "slots are hardly reused: {counts:?}"
    );
    for (count, share) in [
        (counts.nested, 10),
        (counts.kills, 1_000),
        (counts.between, 100),
        (counts.rots, 100),
        (counts.refusals, 1_000),
        (counts.left_out, 100),
        (counts.torn, 100),
        (counts.gaps, 1_000),
        (counts.segments, 1_000),
        (counts.firsts, 10_000),
        (counts.failures, 20_000),
        (counts.closes, 10_000),
        (counts.refused_calls, 50_000),
        (counts.short_writes, 50_000),
    ] {
        assert!(
            count * share >= states,
            "something is hardly looked at: {counts:?}"
        );
    }
}

#[test]
fn every_image_of_a_short_life_is_a_state_that_was_passed_through() {
    let (mut states, mut listed) = (0, 0);
    for seed in 0..SHORT_LIVES {
        let mut run = Run::new(seed, usize::MAX);
        listed += run.run_listed(6, 4_096).unwrap_or_else(|text| {
            panic!("short life {seed}, {:?}\n{text}", run.geometry);
        });
        states += run.counts.states;
    }
    eprintln!("{states} images of {listed} snapshots in full");
    assert!(
        listed > SHORT_LIVES * 10,
        "hardly any snapshot is small enough: {listed}"
    );
}

const SHORT_LIVES: u64 = 24;

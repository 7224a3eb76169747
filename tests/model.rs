//! Promise: every call answers as a plain list of places would, over any sequence of calls.
//!
//! Method: random scripts on three addresses in two namespaces, capacities 0 to 7, segments of
//! 1 KiB; each answer and, after each call, the whole recorded state are compared with the model.
//! A failure prints its seed and the shortest script found. `IDJOURNAL_SEQUENCES` runs more,
//! `IDJOURNAL_SEED` one seed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::generator::Generator;
use common::model::Model;
use common::operation::{Operation, Profile, print};
use common::recorded::{Answer, Recorded, pending};
use common::runner::{Opener, Runner, chain};
use common::simulated::SimulatedDisk;
use common::{CountingClock, SeededEntropy, number_from};
use idjournal::{Options, Store, SyncPolicy};

const SEQUENCES: u64 = 10_000;
const OPERATIONS: usize = 200;
const SETTINGS: u64 = 3;

/// How often scripts met what they are meant to meet.
#[derive(Default)]
struct Coverage {
    answers: [AtomicU64; ANSWERS.len()],
    reopens: AtomicU64,
}

const ANSWERS: [&str; 16] = [
    "added",
    "duplicate",
    "duplicate inside",
    "pending",
    "reserved",
    "recorded",
    "rejected",
    "too large",
    "true",
    "ended by a clear",
    "lease lost",
    "resolved",
    "resolved already",
    "prepared already",
    "refused",
    "copied",
];

impl Coverage {
    fn count(&self, answer: &Answer) {
        let at = match answer {
            Answer::Added => 0,
            Answer::Duplicate(_) => 1,
            Answer::DuplicateInside => 2,
            Answer::Pending(_) => 3,
            Answer::Reserved => 4,
            Answer::Recorded => 5,
            Answer::Rejected => 6,
            Answer::TooLarge => 7,
            Answer::Truth(true) => 8,
            Answer::Count(1..) => 9,
            Answer::LeaseLost => 10,
            Answer::Resolved(true) => 11,
            Answer::Resolved(false) => 12,
            Answer::Exists => 13,
            Answer::Refused => 14,
            Answer::Copied(_) => 15,
            _ => return,
        };
        self.answers[at].fetch_add(1, Ordering::Relaxed);
    }
}

fn opener(seed: u64, clock: Arc<CountingClock>) -> Opener {
    let disk = SimulatedDisk::new(512);
    let entropy = Arc::new(SeededEntropy::new(seed));
    Box::new(move |settings, copy| {
        let policy = if seed.is_multiple_of(2) {
            SyncPolicy::Manual
        } else {
            SyncPolicy::Always
        };
        let options = Options::default()
            .segment_bytes(1024)
            .sync_policy(policy)
            .keeper(has_keeper(seed))
            .lock_wait(Duration::from_secs(10))
            .clock(clock.clone())
            .entropy(entropy.clone());
        let options = settings.options(options);
        match copy {
            Some(copy) => Store::open_on(copy, options, &mut |_| {}),
            None => Store::open_on(disk.clone(), options, &mut |_| {}),
        }
    })
}

fn has_keeper(seed: u64) -> bool {
    seed % 8 >= 6
}

/// Runs a script; the number of the call that is answered wrong, and how.
fn run(seed: u64, script: &[Operation], coverage: &Coverage) -> Result<(), (usize, String)> {
    let mut model = Model::new(SETTINGS);
    let clock = Arc::new(CountingClock::default());
    let mut runner = Runner::open(opener(seed, Arc::clone(&clock)), clock, SETTINGS)
        .map_err(|error| (0, chain(&error)))?;
    for (at, operation) in script.iter().enumerate() {
        let answer = runner.run(operation);
        coverage.count(&answer);
        operation
            .agree(&mut model, &answer)
            .and_then(|()| runner.check_space(&model))
            .map_err(|text| (at, text))?;
        if matches!(operation, Operation::Reopen { .. }) {
            coverage.reopens.fetch_add(1, Ordering::Relaxed);
            let (from_store, from_model) = (pending(runner.store()), model.pending());
            if from_store != from_model {
                let text = format!("pending {from_store:?}, in the model {from_model:?}");
                return Err((at, text));
            }
            let opened = Recorded::of_opened(runner.store());
            let expected = model.recorded_with_values();
            if opened.fingerprint() != expected.fingerprint() {
                let text = format!("the store has opened with\n{opened}  the model\n{expected}");
                return Err((at, text));
            }
        }
        let store = Recorded::of_store(runner.store());
        if store.fingerprint() != model.fingerprint() {
            let text = format!("the store holds\n{store}  the model\n{}", model.recorded());
            return Err((at, text));
        }
        for cache in 0..common::recorded::CACHES.len() {
            let from_store = (runner.length(cache), runner.capacity(cache));
            let from_model = (model.length(cache), model.capacity(cache));
            if from_store != from_model {
                let text = format!("cache {cache}: {from_store:?}, the model {from_model:?}");
                return Err((at, text));
            }
        }
        if at % 16 == 15 {
            runner
                .settle(at % 32 == 31)
                .or_else(only_rejected)
                .map_err(|text| (at, text))?;
        }
    }
    runner
        .close()
        .map_err(|error| (script.len(), chain(&error)))
}

/// The receipt of a rejected commit says so again.
fn only_rejected(error: idjournal::Error) -> Result<(), String> {
    match error {
        idjournal::Error::Rejected { .. } => Ok(()),
        other => Err(chain(&other)),
    }
}

fn run_caught(seed: u64, script: &[Operation], coverage: &Coverage) -> Result<(), (usize, String)> {
    let run = AssertUnwindSafe(|| run(seed, script, coverage));
    catch_unwind(run).unwrap_or_else(|_| Err((script.len().saturating_sub(1), "panicked".into())))
}

/// Leaves out calls as long as the rest still fails.
fn shrink(seed: u64, script: &mut Vec<Operation>) -> String {
    let coverage = Coverage::default();
    let (at, mut text) = run_caught(seed, script, &coverage).expect_err("it failed before");
    script.truncate(at + 1);
    let mut next = script.len();
    while next > 0 {
        next -= 1;
        let mut shorter = script.clone();
        shorter.remove(next);
        if let Err((at, new_text)) = run_caught(seed, &shorter, &coverage) {
            shorter.truncate(at + 1);
            *script = shorter;
            text = new_text;
            next = next.min(script.len());
        }
    }
    text
}

fn check(seed: u64, coverage: &Coverage) -> Result<(), String> {
    let mut generator = Generator::of_part(seed, 1);
    let changes_settings = generator.per_cent(30);
    let ids = [3, 5, 8, 14][generator.below(4)];
    let caches = [1, 2, 6][generator.below(3)];
    let profile = Profile {
        caches,
        ids,
        settings: SETTINGS.into(),
        changes_settings,
        reopens: true,
        drops: true,
        configures: true,
        leases: true,
        claims: 20 * generator.below(2),
        prepares: Generator::of_part(seed, 4).per_cent(60),
        ages: Generator::of_part(seed, 6).per_cent(40),
        patterns: Generator::of_part(seed, 8).per_cent(40),
        copies: Generator::of_part(seed, 9).per_cent(40),
    };
    let mut script: Vec<_> = (0..OPERATIONS)
        .map(|_| Operation::generate(&mut generator, &profile))
        .collect();
    if run_caught(seed, &script, coverage).is_err() {
        let text = shrink(seed, &mut script);
        let keeper = has_keeper(seed);
        return Err(format!(
            "IDJOURNAL_SEED={seed} (keeper {keeper})\n{}{text}",
            print(&script)
        ));
    }
    Ok(())
}

#[test]
fn every_answer_is_that_of_a_plain_list() {
    let coverage = Coverage::default();
    if let Some(seed) = number_from("IDJOURNAL_SEED") {
        check(seed, &coverage).unwrap_or_else(|text| panic!("{text}"));
        return;
    }
    let sequences = number_from("IDJOURNAL_SEQUENCES").unwrap_or(SEQUENCES);
    let next = AtomicU64::new(0);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= sequences {
                return Ok(());
            }
            // The first failure ends both threads.
            check(seed, &coverage).inspect_err(|_| next.store(sequences, Ordering::Relaxed))?;
        }
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        for thread in threads {
            let result: Result<(), String> = thread.join().expect("panics are caught");
            result.unwrap_or_else(|text| panic!("{text}"));
        }
    });
    for (name, count) in ANSWERS.iter().zip(&coverage.answers) {
        let count = count.load(Ordering::Relaxed);
        assert!(
            count * 100 >= sequences,
            "too few answers \"{name}\": {count}"
        );
    }
    assert!(coverage.reopens.load(Ordering::Relaxed) >= sequences);
}

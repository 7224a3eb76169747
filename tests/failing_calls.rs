//! Promise: whatever call of the system fails, the caller is told, nothing hangs, and after
//! reopening the store is in a state that it passed through, with everything acknowledged in it.
//!
//! Method: scripts on the simulated disk; in each run one call fails, at each position in turn, in
//! each way that it can. Afterwards the process is killed or the power is cut, and what is left is
//! recovered. The same for the calls of a recovery. `IDJOURNAL_SCRIPTS` looks at more scripts.

#![allow(
    clippy::print_stderr,
    reason = "what was looked at is a figure to look at"
)]

mod common;

use common::crash::Run;
use common::generator::Choices;
use common::media::Cut;
use common::number_from;
use common::simulated::{CallKind, Effect, Fault};

const EINTR: i32 = 4;
const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
const SCRIPTS: u64 = 8;
const OPERATIONS: usize = 50;

const WAYS: &[(CallKind, &[Effect])] = &[
    (CallKind::List, &[Effect::Fails(EIO), Effect::Fails(EMFILE)]),
    (
        CallKind::Create,
        &[
            Effect::Fails(EIO),
            Effect::Fails(ENOSPC),
            Effect::Fails(EMFILE),
        ],
    ),
    (CallKind::Open, &[Effect::Fails(EIO), Effect::Fails(EMFILE)]),
    (
        CallKind::Rename,
        &[Effect::Fails(EIO), Effect::Fails(ENOSPC)],
    ),
    (CallKind::Remove, &[Effect::Fails(EIO)]),
    (
        CallKind::SyncDirectory,
        &[Effect::Fails(EIO), Effect::Fails(ENOSPC)],
    ),
    (CallKind::Lock, &[Effect::Fails(EIO)]),
    (CallKind::Length, &[Effect::Fails(EIO)]),
    (
        CallKind::Read,
        &[Effect::Fails(EIO), Effect::Fails(EINTR), Effect::Short(1)],
    ),
    (
        CallKind::Write,
        &[
            Effect::Fails(EIO),
            Effect::Fails(ENOSPC),
            Effect::Fails(EINTR),
            Effect::Short(1),
        ],
    ),
    (CallKind::Sync, &[Effect::Fails(EIO), Effect::Fails(ENOSPC)]),
];

/// Whether the store must go on as if nothing had been.
fn is_harmless(kind: CallKind, effect: Effect) -> bool {
    let is_moved = matches!(kind, CallKind::Read | CallKind::Write);
    is_moved && matches!(effect, Effect::Fails(EINTR) | Effect::Short(_))
}

/// Whether the store must stop, and say so at the latest when it is closed.
fn is_final(kind: CallKind, effect: Effect) -> bool {
    let is_syncing = matches!(kind, CallKind::Sync | CallKind::SyncDirectory);
    is_syncing || kind == CallKind::Write && effect == Effect::Fails(EIO)
}

fn fault(kind: CallKind, effect: Effect, nth: u64) -> Fault {
    Fault {
        kind,
        nth,
        is_lasting: false,
        effect,
    }
}

#[test]
fn a_failing_call_is_told_and_loses_nothing() {
    let (mut lives, mut told, mut states) = (0, 0, 0);
    for seed in 0..number_from("IDJOURNAL_SCRIPTS").unwrap_or(SCRIPTS) {
        for &(kind, effects) in WAYS {
            let mut whole = Run::new(seed, usize::MAX);
            let ending = whole.run_failing(OPERATIONS, kind, None);
            let calls = ending
                .unwrap_or_else(|text| panic!("script {seed}: {text}"))
                .calls;
            for &effect in effects {
                for nth in 1..=calls {
                    let mut run = Run::new(seed, usize::MAX);
                    let planned = fault(kind, effect, nth);
                    let ending = run.run_failing(OPERATIONS, kind, Some(planned));
                    let place = format!("script {seed}, {planned:?}");
                    let ending = ending.unwrap_or_else(|text| panic!("{place}: {text}"));
                    assert!(
                        !(is_harmless(kind, effect) && ending.is_told),
                        "{place}: told of what is harmless"
                    );
                    assert!(
                        ending.is_told || !ending.is_hit || !is_final(kind, effect),
                        "{place}: nobody was told"
                    );
                    lives += 1;
                    told += u64::from(ending.is_told);
                    states += run.counts.states;
                }
            }
        }
    }
    eprintln!("{lives} lives, {told} told of an error, {states} states recovered");
    assert!(lives > 1_000 && told > 300, "{lives} lives, {told} told");
}

#[test]
fn a_failing_call_of_a_recovery_is_told_and_changes_nothing() {
    let (mut recoveries, mut failed) = (0, 0);
    for seed in 0..number_from("IDJOURNAL_SCRIPTS").unwrap_or(SCRIPTS) {
        let mut run = Run::new(seed, usize::MAX);
        let ending = run.run_failing(OPERATIONS, CallKind::Sync, None);
        let media = ending
            .unwrap_or_else(|text| panic!("script {seed}: {text}"))
            .media;
        // The mark of the close is gone, so that there is something to do.
        let mut media = media.image(Cut::Nothing, &mut Choices::random(0));
        for version in [0, 0] {
            let _ = media.revert_sector("store", version);
        }
        for &(kind, effects) in WAYS {
            let calls = run.recover_failing(&media, kind, None);
            let (calls, _) = calls.unwrap_or_else(|text| panic!("script {seed}: {text}"));
            for &effect in effects {
                for nth in 1..=calls {
                    let planned = fault(kind, effect, nth);
                    let result = run.recover_failing(&media, kind, Some(planned));
                    let place = format!("script {seed}, {planned:?}");
                    let (_, is_failed) = result.unwrap_or_else(|text| panic!("{place}: {text}"));
                    assert_eq!(is_failed, !is_harmless(kind, effect), "{place}");
                    recoveries += 1;
                    failed += u64::from(is_failed);
                }
            }
        }
    }
    eprintln!("{recoveries} recoveries, {failed} failed");
    assert!(
        recoveries > 300 && failed > 200,
        "{recoveries} recoveries, {failed} failed"
    );
}

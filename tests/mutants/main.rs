//! Promise: the tests would see a bug: each of these, seeded in the engine, is found.
//!
//! Method: only under `--cfg idjournal_mutants` (see docs/testing.md). With one seeded bug after
//! the other, the crash loop, the space adversary and the scenarios run in this process until they
//! fail; each must fail within so many states. Without a bug all of them pass.
//! `IDJOURNAL_MUTANT` runs one.

#![cfg(idjournal_mutants)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stderr,
    reason = "when each was caught is a figure to look at"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod claiming;
mod hunting;
mod turning;
mod waking;

use std::sync::atomic::{AtomicUsize, Ordering};

use Mutant::*;
use common::number_from;
use hunting::By::{
    self, Aging, Beside, Carrying, Copied, Deaths, Failing, Leasing, Loop, Lost, Moment, Pace,
    Passed, Reuse, Rot, Takers, Tick, Turning, Woken,
};
use hunting::hunt;
use idjournal::mutant::Mutant;

const MUTANTS: &[(Mutant, By)] = &[
    (AcknowledgeBeforeSync, Loop(60_000)),
    (NoDirectorySync, Loop(60_000)),
    (NewOrdinalOnCopy, Loop(60_000)),
    (ClearNotSynced, Loop(60_000)),
    (NeitherSaltNorNumber, Loop(60_000)),
    (AppendInPlace, Loop(60_000)),
    (AppendAtZeros, Loop(60_000)),
    (AppendInPlaceZeroed, Loop(60_000)),
    (SyncErrorIgnored, Failing(30_000)),
    (SyncRetried, Failing(30_000)),
    (SyncInsteadOfRewrite, Failing(60_000)),
    (RewriteNewestOnly, Failing(300_000)),
    (RewriteRecordsOnly, Failing(700_000)),
    (RewriteWithoutSync, Loop(60_000)),
    (ReplayFreed, Reuse(500_000)),
    (NoSyncAtRotation, Loop(60_000)),
    (SealNotSynced, Loop(60_000)),
    (AcknowledgedBeforeSeal, Loop(60_000)),
    (HeaderNotSynced, Loop(60_000)),
    (NextBeforeSealSynced, Loop(60_000)),
    (NoDirectorySyncOnOpen, Loop(60_000)),
    (NamesNotRenewed, Failing(400_000)),
    (NoDirectorySyncAtCreation, Loop(60_000)),
    (MarkZero, Rot(60_000)),
    (MarkAhead, Loop(60_000)),
    (ValidBehindIsDamage, Loop(60_000)),
    (SealBehindIsDamage, Loop(60_000)),
    (EveryTailTorn, Rot(60_000)),
    (SealNamesNobody, Lost(false)),
    (ReleaseNotSynced, Loop(60_000)),
    (ReleaseNotSyncedWithoutCopies, Loop(60_000)),
    (SyncOnlyTheCopies, Loop(60_000)),
    (DurableBySequence, Loop(200_000)),
    (MissingNotSeen, Lost(true)),
    (NumberReused, Loop(60_000)),
    (LiveIfTheIdIsHeld, Loop(400_000)),
    (CountSurvivors, Loop(60_000)),
    (DefinitionNotCarried, Loop(60_000)),
    (DefinitionStale, Loop(60_000)),
    (LastOrdinalNotCarried, Loop(60_000)),
    (DropIsNoBarrier, Loop(60_000)),
    (UnbegunReplayed, Loop(60_000)),
    (NoMarkAfterRecovery, Rot(60_000)),
    (CopyFromTheStart, Deaths),
    (CursorBehindTheLastCopy, Carrying),
    (EvictAtReserve, Loop(60_000)),
    (DuplicateAtOnce, Loop(400_000)),
    (LazyCarrying, Pace),
    (FirstNotNamed, Rot(60_000)),
    (ReachTooShort, Loop(60_000)),
    (SettingsNotCarried, Loop(60_000)),
    (SettingBeatsCall, Loop(60_000)),
    (SettingsNotRecorded, Loop(60_000)),
    (CommitWithWrongOrdinals, Beside(60_000)),
    (PreparedNotCarried, Beside(60_000)),
    (CommittedNotCarried, Beside(60_000)),
    (PreparedRemoveNotCarried, Beside(1_500_000)),
    (BookmarkOutOfOrder, Beside(60_000)),
    (EndedNameNotCarried, Beside(200_000)),
    (FloorNotCarried, Passed),
    (AgeRevives, Aging(60_000)),
    (RenewIsNoBase, Aging(60_000)),
    (ValueNotCarried, Aging(60_000)),
    (ExpiresATickLate, Tick),
    (BackupNotSynced, Copied),
    (BackupAhead, Copied),
    (AddLeavesClaim, Leasing(60_000)),
    (LostLeaseConfirmed, Leasing(60_000)),
    (TakenInTwoSteps, Takers),
    (LeaseEndsLate, Moment),
    (LeaseInTicks, Moment),
    (RenewalNotKept, Leasing(60_000)),
    (KeptTakenTwice, Leasing(60_000)),
    (TakeOverKeepsSpace, Leasing(60_000)),
    (EndNotRecorded, Turning(24_000)),
    (StoredFromForgotten, Turning(24_000)),
    (WrittenWhileOff, Turning(24_000)),
    (OnForgotten, Turning(24_000)),
    (OnHalfDone, Turning(24_000)),
    (LateNotRecorded, Turning(24_000)),
    (LateHoleTakesNoPlace, Turning(24_000)),
    (UnwrittenKeepsSpace, Turning(24_000)),
    (EndWakesNobody, Woken),
    (ReleaseWakesNobody, Woken),
    (RenewalWakesNobody, Woken),
    (LeaseEndNotNoted, Woken),
    (CloseWakesNobody, Woken),
    (PoisonWakesNobody, Woken),
    (BookmarkNotCarried, Beside(60_000)),
    (PreparedNotPending, Beside(60_000)),
];

/// Without a bug nothing is caught, or what catches bugs would be worth nothing.
#[test]
fn no_bug_no_catch() {
    let mut is_clean = true;
    for by in [
        Failing(CONTROL),
        Rot(CONTROL),
        Reuse(CONTROL),
        Beside(CONTROL),
        Aging(CONTROL),
        Pace,
        Deaths,
        Lost(false),
        Lost(true),
        Carrying,
        Tick,
        Passed,
        Copied,
        Leasing(CONTROL),
        Moment,
        Takers,
        Woken,
        Turning(CONTROL_STEPS),
    ] {
        if let Ok((states, why)) = hunt(0, by) {
            // The hook of the other test would swallow the text of a panic.
            eprintln!("no bug, {by:?}, {states} states: {why}");
            is_clean = false;
        }
    }
    assert!(is_clean);
}

const CONTROL: u64 = 30_000;
const CONTROL_STEPS: u64 = 4_800;

#[test]
fn every_seeded_bug_is_caught() {
    let only = number_from("IDJOURNAL_MUTANT");
    let next = AtomicUsize::new(0);
    std::panic::set_hook(Box::new(|_| {}));
    let work = || {
        let mut missed = Vec::new();
        while let Some((mutant, by)) = MUTANTS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if only.is_some_and(|only| only != u64::from(*mutant as u32)) {
                continue;
            }
            match hunt(*mutant as u32, *by) {
                Ok((states, why)) => {
                    let first = why.lines().next().unwrap_or_default();
                    let why: String = first.chars().take(150).collect();
                    eprintln!("{:2} {mutant:?}: {states} states: {why}", *mutant as u32);
                }
                Err(states) => {
                    eprintln!("{:2} {mutant:?}: NOT in {states} states", *mutant as u32);
                    missed.push(*mutant);
                }
            }
        }
        missed
    };
    let missed: Vec<Mutant> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    drop(std::panic::take_hook());
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

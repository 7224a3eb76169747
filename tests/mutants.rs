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

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::copied::copies_undone;
use common::crash::Run;
use common::crash_geometry::Geometry;
use common::number_from;
use common::passed::holes_of_carrying;
use common::space::{
    DEATHS_SLOTS_OVER, Most, SLOTS_OVER, TRANSACTION_IDS, WRITES, deaths, deaths_while_carrying,
    newest_lost_on_a_full_disk, slow_beside_fast,
};
use common::time::ticks_too_long;
use idjournal::mutant::{Mutant, choose};

/// What catches a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The crash loop, within so many states.
    Loop(u64),
    /// The same with a fault in each life, looked at where it struck.
    Failing(u64),
    /// The same with every image damaged as well.
    Rot(u64),
    /// The same with the smallest segments and many addresses, so that slots are reused soon.
    Reuse(u64),
    /// The crash loop with prepared transactions and bookmarks in every life.
    Beside(u64),
    /// The crash loop with ages, renewals, values and a clock that jumps in every life.
    Aging(u64),
    /// The adversary of space and pace.
    Pace,
    /// The thousand deaths.
    Deaths,
    /// The newest segment lost on a full disk; in the life that filled it, or in the next.
    Lost(bool),
    /// The deaths while a transaction is carried forward.
    Carrying,
    /// An ID looked at to the tick.
    Tick,
    /// Kills while carrying passes over what has expired.
    Passed,
    /// The power cut behind a backup.
    Copied,
}

use By::{
    Aging, Beside, Carrying, Copied, Deaths, Failing, Loop, Lost, Pace, Passed, Reuse, Rot, Tick,
};
use Mutant::*;

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
    (DuplicateAtOnce, Loop(150_000)),
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
];

/// How many states it took until the bug was caught, and by what words.
fn hunt(number: u32, by: By) -> Result<(u64, String), u64> {
    choose(number);
    let most = match by {
        Loop(most) | Failing(most) | Rot(most) | Reuse(most) | Beside(most) | Aging(most) => most,
        Pace => return space(5_000, || slow_beside_fast(5_000), (SLOTS_OVER, WRITES)),
        Carrying => return carrying(),
        Tick => return tick(),
        Passed => return passed(),
        Copied => return copied(),
        Lost(is_reopened) => return lost(is_reopened),
        Deaths => return space(1_000, || deaths(1_000, 4), (DEATHS_SLOTS_OVER, u64::MAX)),
    };
    let mut states = 0;
    for seed in 0.. {
        let mut run = Run::new(seed, usize::MAX).on(geometry(seed, by));
        let result = catch_unwind(AssertUnwindSafe(|| run.run()));
        states += run.counts.states;
        let why = match result {
            Ok(Ok(())) if states > most => break,
            Ok(Ok(())) => continue,
            Ok(Err(why)) => why,
            Err(panic) => panicked(&*panic),
        };
        return Ok((states, why));
    }
    Err(states)
}

/// What the bug does to space, against what is allowed.
fn space(
    calls: u64,
    measure: impl FnOnce() -> idjournal::Result<Most>,
    (slots, writes): (u64, u64),
) -> Result<(u64, String), u64> {
    match catch_unwind(AssertUnwindSafe(measure)) {
        Ok(Ok(most)) if most.slots_over <= slots && most.writes <= writes => Err(calls),
        other => Ok((calls, format!("{:?}", other.map_err(|_| "panicked")))),
    }
}

/// What the bug does to a store whose newest segment is gone.
fn lost(is_reopened: bool) -> Result<(u64, String), u64> {
    match catch_unwind(AssertUnwindSafe(|| newest_lost_on_a_full_disk(is_reopened))) {
        Ok(Ok((refusals, 0))) => Err(refusals),
        Ok(Ok((refusals, undone))) => Ok((refusals + undone, format!("{undone} undone"))),
        other => Ok((0, format!("{:?}", other.map_err(|_| "panicked")))),
    }
}

/// What the bug does to a transaction that is carried.
fn carrying() -> Result<(u64, String), u64> {
    match catch_unwind(AssertUnwindSafe(deaths_while_carrying)) {
        Ok(Ok((deaths, TRANSACTION_IDS))) => Err(deaths),
        Ok(Ok((deaths, fewest))) => Ok((deaths, format!("{fewest} of {TRANSACTION_IDS} IDs"))),
        other => Ok((0, format!("{:?}", other.map_err(|_| "panicked")))),
    }
}

/// What the bug does to an ID that has just reached its age.
fn tick() -> Result<(u64, String), u64> {
    match ticks_too_long() {
        Ok(0) => Err(10),
        other => Ok((10, format!("{other:?} ticks too long"))),
    }
}

/// What the bug does to what carrying passes over.
fn passed() -> Result<(u64, String), u64> {
    match catch_unwind(AssertUnwindSafe(holes_of_carrying)) {
        Ok(Ok((kills, 0))) => Err(kills),
        Ok(Ok((kills, holes))) => Ok((kills, format!("{holes} times no suffix"))),
        other => Ok((0, format!("{:?}", other.map_err(|_| "panicked")))),
    }
}

/// What the bug does to a copy, or to the store that was copied.
fn copied() -> Result<(u64, String), u64> {
    match catch_unwind(AssertUnwindSafe(copies_undone)) {
        Ok(Ok((looked, 0))) => Err(looked),
        Ok(Ok((looked, undone))) => Ok((looked, format!("{undone} images undone"))),
        other => Ok((0, format!("{:?}", other.map_err(|_| "panicked")))),
    }
}

/// The geometry that catches it.
fn geometry(seed: u64, by: By) -> Geometry {
    let mut any = Geometry::of(seed);
    any.profile.prepares = matches!(by, Beside(_));
    any.profile.ages = matches!(by, Aging(_));
    match by {
        Failing(_) => Geometry {
            faults: 100,
            rots: 0,
            snapshots: [1; 4],
            ..any
        },
        Rot(_) => Geometry { rots: 100, ..any },
        Reuse(_) => {
            let mut reuse = Geometry {
                segment_bytes: 1024,
                faults: 0,
                rots: 0,
                ..any
            };
            reuse.profile.caches = 6;
            reuse
        }
        // The smallest segments, so that what is prepared is carried soon.
        Beside(_) => Geometry {
            segment_bytes: 1024,
            ..any
        },
        _ => any,
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!("panicked: {}", text.unwrap_or_default())
}

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

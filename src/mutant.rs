//! Seeded bugs, for the proof that the tests would see them: there only under
//! `--cfg idjournal_mutants`, chosen by number at run time, for one thread.
//!
//! In every other build [`is`] is false for the compiler, and nothing is left of them. What each is
//! and what catches it stands in docs/testing.md.

/// A seeded bug, by its number in docs/testing.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    idjournal_mutants,
    allow(missing_docs, reason = "docs/testing.md has a table of them")
)]
#[cfg_attr(
    not(idjournal_mutants),
    allow(dead_code, unreachable_pub, reason = "some are of that build only")
)]
#[repr(u32)]
pub enum Mutant {
    AcknowledgeBeforeSync = 1,
    NoDirectorySync = 2,
    NewOrdinalOnCopy = 3,
    ClearNotSynced = 4,
    NeitherSaltNorNumber = 5,
    AppendInPlace = 6,
    AppendAtZeros = 7,
    AppendInPlaceZeroed = 8,
    SyncErrorIgnored = 9,
    SyncRetried = 10,
    SyncInsteadOfRewrite = 11,
    RewriteNewestOnly = 12,
    RewriteRecordsOnly = 13,
    RewriteWithoutSync = 14,
    ReplayFreed = 15,
    NoSyncAtRotation = 16,
    SealNotSynced = 17,
    AcknowledgedBeforeSeal = 18,
    HeaderNotSynced = 19,
    NextBeforeSealSynced = 20,
    NoDirectorySyncOnOpen = 21,
    NamesNotRenewed = 22,
    NoDirectorySyncAtCreation = 23,
    MarkZero = 24,
    MarkAhead = 25,
    ValidBehindIsDamage = 26,
    SealBehindIsDamage = 27,
    EveryTailTorn = 28,
    SealNamesNobody = 29,
    ReleaseNotSynced = 30,
    ReleaseNotSyncedWithoutCopies = 31,
    SyncOnlyTheCopies = 32,
    DurableBySequence = 33,
    MissingNotSeen = 34,
    NumberReused = 35,
    LiveIfTheIdIsHeld = 36,
    CountSurvivors = 37,
    DefinitionNotCarried = 38,
    DefinitionStale = 39,
    LastOrdinalNotCarried = 40,
    DropIsNoBarrier = 42,
    UnbegunReplayed = 43,
    NoMarkAfterRecovery = 44,
    CopyFromTheStart = 45,
    CursorBehindTheLastCopy = 46,
    EvictAtReserve = 48,
    DuplicateAtOnce = 49,
    LazyCarrying = 50,
    FirstNotNamed = 51,
    ReachTooShort = 52,
    FloorNotCarried = 53,
    AgeRevives = 54,
    RenewIsNoBase = 55,
    ValueNotCarried = 56,
    ExpiresATickLate = 57,
    CommitWithWrongOrdinals = 58,
    PreparedNotCarried = 59,
    CommittedNotCarried = 60,
    PreparedRemoveNotCarried = 61,
    BookmarkOutOfOrder = 62,
    EndedNameNotCarried = 63,
    BackupNotSynced = 64,
    BackupAhead = 65,
    SettingsNotCarried = 70,
    SettingBeatsCall = 71,
    SettingsNotRecorded = 72,
    AddLeavesClaim = 73,
    LostLeaseConfirmed = 74,
    TakenInTwoSteps = 75,
    LeaseEndsLate = 76,
    LeaseInTicks = 77,
    RenewalNotKept = 78,
    KeptTakenTwice = 79,
    TakeOverKeepsSpace = 80,
    EndNotRecorded = 81,
    StoredFromForgotten = 82,
    WrittenWhileOff = 83,
    OnForgotten = 84,
    OnHalfDone = 85,
    LateNotRecorded = 86,
    EndWakesNobody = 87,
    ReleaseWakesNobody = 88,
    RenewalWakesNobody = 89,
    LeaseEndNotNoted = 90,
    CloseWakesNobody = 91,
    PoisonWakesNobody = 92,
    BookmarkNotCarried = 93,
    PreparedNotPending = 94,
    LateHoleTakesNoPlace = 95,
    UnwrittenKeepsSpace = 96,
}

#[cfg(idjournal_mutants)]
pub use chosen::{choose, is, last, note};

#[cfg(idjournal_mutants)]
mod chosen {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static CHOSEN: Cell<u32> = const { Cell::new(0) };
        /// The ends of the last record that was no copy, and of the last copy.
        static LAST: [Cell<u64>; 2] = const { [const { Cell::new(0) }; 2] };
    }

    /// Chooses a bug for the calls of this thread; 0 for none.
    pub fn choose(number: u32) {
        CHOSEN.set(number);
    }

    /// Whether it is the chosen one.
    pub fn is(mutant: Mutant) -> bool {
        CHOSEN.get() == mutant as u32
    }

    /// Notes the end of a record.
    pub fn note(end: u64, is_copy: bool) {
        LAST.with(|last| last[usize::from(is_copy)].set(end));
    }

    /// The end of the last record that was noted.
    pub fn last(is_copy: bool) -> u64 {
        LAST.with(|last| last[usize::from(is_copy)].get())
    }
}

/// Whether a seeded bug is chosen: never, in this build.
#[cfg(not(idjournal_mutants))]
#[inline(always)]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}

/// Notes the end of a record: nothing to do in this build.
#[cfg(not(idjournal_mutants))]
#[inline(always)]
pub(crate) const fn note(_: u64, _: bool) {}

/// What was noted: nothing, in this build.
#[cfg(not(idjournal_mutants))]
#[inline(always)]
pub(crate) const fn last(_: bool) -> u64 {
    0
}

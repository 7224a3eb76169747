//! How each seeded bug is hunted.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use idjournal::mutant::choose;

use super::claiming::{moments_wrong, taken_by_both};
use super::common::copied::copies_undone;
use super::common::crash::Run;
use super::common::crash_geometry::Geometry;
use super::common::passed::holes_of_carrying;
use super::common::space::{
    DEATHS_SLOTS_OVER, Most, SLOTS_OVER, TRANSACTION_IDS, WRITES, deaths, deaths_while_carrying,
    newest_lost_on_a_full_disk, slow_beside_fast,
};
use super::common::time::ticks_too_long;
use super::turning::{STEPS, run};
use super::waking::left_asleep;
use By::{
    Aging, Beside, Carrying, Copied, Deaths, Failing, Leasing, Loop, Lost, Moment, Pace, Passed,
    Reuse, Rot, Takers, Tick, Turning, Woken,
};

/// What catches a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
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
    /// The crash loop with leases in every life.
    Leasing(u64),
    /// A lease looked at by the millisecond.
    Moment,
    /// Two threads that go for IDs whose leases are over.
    Takers,
    /// Who waits for the end of a claim, at each of its ends.
    Woken,
    /// Calls to an address that is turned off and on, in any order, in so many steps.
    Turning(u64),
    /// Kills while carrying passes over what has expired.
    Passed,
    /// The power cut behind a backup.
    Copied,
}

/// How many states it took until the bug was caught, and by what words; or that so many did not.
pub(crate) type Caught = Result<(u64, String), u64>;

/// Hunts the bug of this number.
pub(crate) fn hunt(number: u32, by: By) -> Caught {
    choose(number);
    match by {
        Loop(most) | Failing(most) | Rot(most) | Reuse(most) | Beside(most) | Aging(most)
        | Leasing(most) => crashes(most, by),
        Turning(most) => steps(most),
        Pace => space(5_000, || slow_beside_fast(5_000), (SLOTS_OVER, WRITES)),
        Deaths => space(1_000, || deaths(1_000, 4), (DEATHS_SLOTS_OVER, u64::MAX)),
        Lost(is_reopened) => counted("undone", || {
            let (refusals, undone) = newest_lost_on_a_full_disk(is_reopened)?;
            Ok((refusals + undone, undone))
        }),
        Carrying => counted("IDs lost", || {
            let (deaths, fewest) = deaths_while_carrying()?;
            Ok((deaths, TRANSACTION_IDS - fewest))
        }),
        Tick => counted("ticks too long", || Ok((10, ticks_too_long()?))),
        Passed => counted("times no suffix", holes_of_carrying),
        Copied => counted("images undone", copies_undone),
        Moment => counted("moments wrong", moments_wrong),
        Takers => counted("IDs not given to one", || taken_by_both(number)),
        Woken => counted("left asleep", left_asleep),
    }
}

/// The crash loop.
fn crashes(most: u64, by: By) -> Caught {
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

/// Calls to an address that is turned off and on.
fn steps(most: u64) -> Caught {
    let mut steps = 0;
    for seed in 0.. {
        steps += STEPS;
        match catch_unwind(|| run(seed)) {
            Ok(()) if steps >= most => break,
            Ok(()) => {}
            Err(panic) => return Ok((steps, panicked(&*panic))),
        }
    }
    Err(steps)
}

/// A scenario that tells at how much it looked, and how much of that was wrong.
fn counted(what: &str, look: impl FnOnce() -> idjournal::Result<(u64, u64)>) -> Caught {
    match catch_unwind(AssertUnwindSafe(look)) {
        Ok(Ok((looked, 0))) => Err(looked),
        Ok(Ok((looked, wrong))) => Ok((looked, format!("{wrong} {what}"))),
        Ok(Err(error)) => Ok((0, error.to_string())),
        Err(panic) => Ok((0, panicked(&*panic))),
    }
}

/// What the bug does to space, against what is allowed.
fn space(
    calls: u64,
    measure: impl FnOnce() -> idjournal::Result<Most>,
    (slots, writes): (u64, u64),
) -> Caught {
    match catch_unwind(AssertUnwindSafe(measure)) {
        Ok(Ok(most)) if most.slots_over <= slots && most.writes <= writes => Err(calls),
        other => Ok((calls, format!("{:?}", other.map_err(|_| "panicked")))),
    }
}

/// The geometry that catches it.
fn geometry(seed: u64, by: By) -> Geometry {
    let mut any = Geometry::of(seed);
    any.profile.prepares = matches!(by, Beside(_));
    any.profile.ages = matches!(by, Aging(_));
    any.profile.leases = matches!(by, Leasing(_));
    any.profile.claims = if any.profile.leases { 50 } else { 0 };
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
        // Few images: it is the answers that tell.
        Leasing(_) => Geometry {
            faults: 0,
            rots: 0,
            snapshots: [1; 4],
            ..any
        },
        // The smallest segments, so that what is prepared is carried soon.
        Beside(_) => Geometry {
            segment_bytes: 1024,
            ..any
        },
        _ => any,
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!("panicked: {}", text.unwrap_or_default())
}

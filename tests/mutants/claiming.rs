//! Leases by the millisecond, and two who go for the same ID when its lease is over.

use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use idjournal::mutant::choose;
use idjournal::{Cache, MemoryStorage, Owner, Reservation, Reserve, Result, State};

use super::support::home::reserved_as;
use super::support::{hand_clocked, open};

const IDS: u64 = 10_000;
/// Neither begin nor end is a whole tick.
const BEGIN: u64 = 3;
const LEASE: u64 = 105;

/// At how many moments a lease was looked at, and at how many of them it was over too early or
/// too late, for others or for one who waits.
pub(crate) fn moments_wrong() -> Result<(u64, u64)> {
    let (options, clock) = hand_clocked();
    let store = open(MemoryStorage::new(), options.keeper(false))?;
    let orders = store.cache("orders")?;
    clock.0.store(BEGIN, Ordering::Relaxed);
    let claim = reserved_as(&orders, "a", 7, Some(Duration::from_millis(LEASE)));
    let (mut looked, mut wrong) = (0, 0);
    for at in BEGIN..BEGIN + 2 * LEASE {
        clock.0.store(at, Ordering::Relaxed);
        let is_over = at >= BEGIN + LEASE;
        let is_free = orders.state("a") == State::Absent;
        let has_ended = orders.settled("a").wait(Duration::ZERO)?;
        looked += 1;
        wrong += u64::from((is_free, has_ended) != (is_over, is_over));
    }
    drop(claim);
    Ok((looked, wrong))
}

/// For how many IDs two threads went at once, each of them with a lease that was over, and how
/// many of them were not given to exactly one.
pub(crate) fn taken_by_both(bug: u32) -> Result<(u64, u64)> {
    let (options, clock) = hand_clocked();
    let store = open(MemoryStorage::new(), options.keeper(false))?;
    let orders = store.cache("orders")?;
    for number in 0..IDS {
        reserved_as(
            &orders,
            &number.to_string(),
            7,
            Some(Duration::from_millis(1)),
        )
        .keep();
    }
    clock.0.fetch_add(1, Ordering::Relaxed);
    let start = Barrier::new(2);
    let take = |owner: u64| {
        choose(bug);
        let take = |number: u64| {
            start.wait();
            take_one(&orders, &number.to_string(), owner)
        };
        let taken: Vec<Option<Reservation>> = (0..IDS).map(take).collect();
        taken
    };
    let taken = thread::scope(|scope| {
        let threads = [8, 9].map(|owner| scope.spawn(move || take(owner)));
        threads.map(|thread| thread.join().unwrap())
    });
    let [one, other] = &taken;
    let pairs = one.iter().zip(other);
    let wrong = pairs.filter(|(one, other)| one.is_some() == other.is_some());
    Ok((IDS, wrong.count() as u64))
}

fn take_one(orders: &Cache, id: &str, owner: u64) -> Option<Reservation> {
    let lease = Some(Duration::from_secs(30));
    match orders.reserve_as(id, Owner(owner), lease).unwrap() {
        Reserve::Reserved(claim) => Some(claim),
        Reserve::Duplicate(_) | Reserve::Pending(_) => None,
    }
}

//! Rows 23 to 26 and 53: many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use idjournal::{Confirmed, OnDuplicate, Outcome, Owner, Reserve};

use super::support::home::{
    OWNER, assert_added, assert_duplicate, everywhere, fill, numbers, plain, reserved, seen, window,
};
use super::support::{HandClock, Random};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn r23_of_ten_threads_with_a_hundred_ids_each_id_is_accepted_once() {
    everywhere(&plain(), |home| {
        let (start, accepted) = (Barrier::new(10), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..10_u64 {
                let (start, accepted, orders) = (&start, &accepted, home.orders());
                scope.spawn(move || {
                    start.wait();
                    for number in 0..100 {
                        let id = ((number + 10 * thread) % 100).to_string();
                        let is_new = orders.add(id).unwrap() == Outcome::Added;
                        accepted.fetch_add(u64::from(is_new), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(accepted.into_inner(), 100);
        let mut known = numbers(&home.orders());
        known.sort_unstable();
        assert_eq!(known, Vec::from_iter(0..100));
        assert_eq!(home.orders().stats().duplicates, 900);
    });
}

#[test]
fn r24_who_loses_a_race_is_told_so_and_meets_no_error() {
    everywhere(&plain(), |home| {
        let start = Barrier::new(2);
        for number in 0..100_u64 {
            let race = |is_claiming: bool| {
                let (orders, id) = (home.orders(), number.to_string());
                start.wait();
                match is_claiming {
                    false => matches!(orders.add(id).unwrap(), Outcome::Added),
                    true => match orders.reserve(id).unwrap() {
                        Reserve::Reserved(claim) => {
                            assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
                            true
                        }
                        Reserve::Duplicate(_) | Reserve::Pending(_) => false,
                    },
                }
            };
            let won = std::thread::scope(|scope| {
                let threads = [
                    scope.spawn(|| race(number % 2 == 0)),
                    scope.spawn(|| race(true)),
                ];
                threads.map(|thread| thread.join().unwrap())
            });
            assert_ne!(won[0], won[1], "{number}");
            assert_duplicate(&home.orders(), number.to_string());
        }
    });
}

#[test]
fn r25_of_two_who_take_a_claim_whose_lease_is_over_one_gets_it() {
    let clock = Arc::new(HandClock::default());
    let lease = Duration::from_millis(100);
    everywhere(&plain().clock(clock.clone()), |home| {
        let start = Barrier::new(2);
        for number in 0..50_u64 {
            let (orders, id) = (home.orders(), number.to_string());
            let first = orders.reserve_as(&id, Owner(1), Some(lease)).unwrap();
            let Reserve::Reserved(stale) = first else {
                panic!("it is free")
            };
            clock.0.fetch_add(100, Ordering::Relaxed);
            let take = |owner| {
                start.wait();
                home.orders()
                    .reserve_as(&id, Owner(owner), Some(lease))
                    .unwrap()
            };
            let taken = std::thread::scope(|scope| {
                let threads = [scope.spawn(|| take(2)), scope.spawn(|| take(3))];
                threads.map(|thread| thread.join().unwrap())
            });
            let winner = match &taken {
                [Reserve::Reserved(_), Reserve::Pending(Owner(2))] => 0,
                [Reserve::Pending(Owner(3)), Reserve::Reserved(_)] => 1,
                other => panic!("{other:?}"),
            };
            assert_eq!(stale.confirm().wait().unwrap(), Confirmed::LeaseLost);
            let Some(Reserve::Reserved(claim)) = taken.into_iter().nth(winner) else {
                panic!("it won")
            };
            assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
            assert_duplicate(&orders, &id);
        }
    });
}

#[test]
fn r26_an_add_behind_a_remove_or_a_clear_is_never_lost_to_it() {
    const ROUNDS: u64 = 100;
    everywhere(&plain(), |home| {
        std::thread::scope(|scope| {
            let (clearing, other) = (home.orders(), home.orders());
            let clearer = scope.spawn(move || {
                for round in 0..ROUNDS {
                    clearing.clear().wait().map(drop).unwrap();
                    assert_added(&clearing, format!("mark-{round}"));
                    assert!(clearing.contains(format!("mark-{round}")).unwrap());
                }
            });
            for round in 0..ROUNDS {
                let id = format!("other-{round}");
                assert_added(&other, &id);
                other.remove(&id).wait().map(drop).unwrap();
                assert!(!other.contains(&id).unwrap());
            }
            clearer.join().unwrap();
        });
        assert_duplicate(&home.orders(), format!("mark-{}", ROUNDS - 1));
        // One removes the ID that is there, the other adds it until it is told that it is new.
        for round in 0..ROUNDS {
            let id = format!("both-{round}");
            assert_added(&home.orders(), &id);
            std::thread::scope(|scope| {
                let (orders, id) = (home.orders(), &id);
                let remover = scope.spawn(move || assert!(orders.remove(id).wait().unwrap()));
                while home.orders().add(id).unwrap() != Outcome::Added {}
                remover.join().unwrap();
            });
            assert_duplicate(&home.orders(), &id);
            assert!(seen(&home.orders(), &id).adds_left > 0);
        }
    });
}

#[test]
fn r53_clear_remove_add_and_the_rest_from_many_threads_come_to_an_end() {
    const THREADS: usize = 8;
    for keeper in [false, true] {
        everywhere(&window(50).keeper(keeper).segment_bytes(4096), |home| {
            let (done, all_done) = mpsc::channel();
            let mut threads = Vec::new();
            for thread in 0..THREADS {
                let (store, done) = (home.store().clone(), done.clone());
                threads.push(std::thread::spawn(move || {
                    let mut random = Random(thread as u64);
                    for _ in 0..300 {
                        let address = ["a", "b", "c"][random.below(3) as usize];
                        let cache = store.cache(address).unwrap();
                        let id = random.below(60).to_string();
                        match random.below(12) {
                            0 => drop(cache.clear().wait().unwrap()),
                            1 | 2 => drop(cache.remove(id).wait().unwrap()),
                            3 => drop(store.drop_cache(address).wait().unwrap()),
                            4 => cache.set_capacity(30 + random.below(30)).wait().unwrap(),
                            5 => store.compact().unwrap(),
                            6 => drop(cache.renew(id).wait().unwrap()),
                            7 => {
                                let mut all = store.begin(OnDuplicate::Skip, OWNER);
                                for address in ["c", "a", "b"] {
                                    let cache = store.cache(address).unwrap();
                                    let _ = all.add(&cache, &id).unwrap();
                                }
                                all.commit().wait().unwrap();
                            }
                            8 => drop((cache.ids().count(), store.stats())),
                            _ => drop(cache.add(id).unwrap()),
                        }
                    }
                    done.send(()).unwrap();
                }));
            }
            for _ in 0..THREADS {
                let ended = all_done.recv_timeout(PATIENCE);
                assert!(ended.is_ok(), "a thread hangs or has met an error");
            }
            for thread in threads {
                thread.join().unwrap();
            }
            let orders = home.orders();
            fill(&orders, 0..3);
            drop(reserved(&orders, "3"));
            assert_eq!(numbers(&orders), [0, 1, 2]);
        });
    }
}

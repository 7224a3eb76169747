//! Tiny segments and many restarts: what each life leaves half empty is owed for.
#![allow(
    clippy::print_stdout,
    reason = "the measured figures are part of the result"
)]

use idjournal::{MemoryStorage, Outcome};

use crate::bound::Bound;
use crate::support::{answers, killed, open, small, uuid};

/// Restarts often, adding a few IDs in each life, to one hot address among quiet ones.
fn restart(segment_bytes: u64, lives: u64, adds: u64, kill_every: u64) -> u64 {
    let mut storage = MemoryStorage::new();
    let mut bound = Bound::new(segment_bytes);
    let mut next = 0;
    let (mut most_slots, mut known) = (0, None);
    for life in 0..lives {
        let store = open(storage.clone(), small(segment_bytes)).unwrap();
        bound.reopened(&store, life > 0 && kill_every > 0 && life % kill_every == 0);
        if let Some(known) = &known {
            assert!(
                answers(&store) == *known,
                "life {life} begins with other IDs"
            );
        }
        let (quiet, hot) = (store.cache("quiet").unwrap(), store.cache("hot").unwrap());
        if life == 0 {
            hot.set_capacity(50).wait().unwrap();
            for number in 0..150 {
                let _ = quiet.add(uuid(1_000_000 + number)).unwrap();
                bound.check(&store.stats(), "filling");
            }
        }
        for _ in 0..adds {
            next += 1;
            assert!(matches!(hot.add(uuid(next)), Ok(Outcome::Added)));
            bound.check(&store.stats(), format!("life {life}, add {next}"));
        }
        most_slots = most_slots.max(store.stats().slots);
        assert_eq!(quiet.len(), 150);
        known = Some(answers(&store));
        if kill_every > 0 && (life + 1) % kill_every == 0 {
            storage = killed(&storage);
        } else {
            store.close().unwrap();
        }
    }
    println!(
        "{lives} lives of {adds} adds in segments of {segment_bytes}, kill every {kill_every}: \
         {most_slots} slots, {}% of the bound at most",
        bound.worst
    );
    most_slots
}

#[test]
fn a_thousand_restarts_with_a_few_adds_each_stay_bounded() {
    for (segment_bytes, adds) in [(1024, 1), (1024, 5), (4096, 3), (4096, 40)] {
        restart(segment_bytes, 1000, adds, 0);
    }
}

#[test]
fn a_thousand_restarts_after_kills_stay_bounded() {
    for (segment_bytes, adds, kill_every) in
        [(1024, 1, 1), (1024, 5, 2), (4096, 3, 1), (4096, 40, 3)]
    {
        restart(segment_bytes, 1000, adds, kill_every);
    }
}

#[test]
fn tiny_segments_go_round_with_reopening_in_between() {
    for segment_bytes in [1024, 4096] {
        let storage = MemoryStorage::new();
        let mut bound = Bound::new(segment_bytes);
        let mut next = 0;
        for life in 0..30 {
            let store = open(storage.clone(), small(segment_bytes).id_cache_size(100)).unwrap();
            bound.reopened(&store, false);
            let orders = store.cache("orders").unwrap();
            for _ in 0..500 {
                next += 1;
                assert!(matches!(orders.add(uuid(next)), Ok(Outcome::Added)));
                bound.check(&store.stats(), format!("life {life}, add {next}"));
            }
            let expected = (next - 99..=next).map(|number| uuid(number).to_vec());
            assert!(orders.ids().eq(expected));
            store.close().unwrap();
        }
    }
}

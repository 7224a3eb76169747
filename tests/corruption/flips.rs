//! Every bit of a store of many segments.
//!
//! Each flip goes through `Store::open`; the threads share nothing but the list of files.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idjournal::inspect::Inspection;
use idjournal::{DamageReason, Error, MemoryStorage, Storage, StorageFile, Store};

use crate::every_kind::{self, Made, SEGMENT_BYTES};
use crate::support::{Answers, Files, answers, files, open, small, storage_of};

/// What a byte of a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Byte {
    /// Of a record that begins there, below a place that was durable.
    Durable { segment: u64, record: usize },
    /// Of a record behind the last sync.
    Unsynced { segment: u64, record: usize },
    /// Of what there are two copies of, or of what nothing needs.
    Spare,
}

/// How often what came of a flip.
#[derive(Default, Debug)]
struct Outcomes {
    flips: u64,
    refused: u64,
    same: u64,
    shorter: u64,
}

impl Outcomes {
    fn add(&mut self, other: &Outcomes) {
        self.flips += other.flips;
        self.refused += other.refused;
        self.same += other.same;
        self.shorter += other.shorter;
    }
}

/// What each byte of each file is; `synced` is where the last sync ended, if the store was killed.
pub(crate) fn map(made: &Files, synced: Option<&(String, usize)>) -> BTreeMap<String, Vec<Byte>> {
    let spare = made.iter();
    let spare = spare.map(|(name, bytes)| (name.clone(), vec![Byte::Spare; bytes.len()]));
    let mut map: BTreeMap<_, _> = spare.collect();
    let inspection = Inspection::on(storage_of(made)).unwrap();
    inspection
        .records(&mut |item| {
            let name = format!("slot-{:06}", item.slot.0);
            let record = usize::try_from(item.offset).unwrap();
            let end = record + usize::try_from(item.decoded.bytes).unwrap();
            let segment = item.segment.0;
            let is_unsynced = synced.is_some_and(|(slot, end)| *slot == name && record >= *end);
            map.get_mut(&name).unwrap()[record..end].fill(if is_unsynced {
                Byte::Unsynced { segment, record }
            } else {
                Byte::Durable { segment, record }
            });
            ControlFlow::Continue(())
        })
        .unwrap();
    map
}

/// Files in memory of which bits are flipped and put back.
struct Bench<'a> {
    made: &'a Files,
    storage: MemoryStorage,
    handles: BTreeMap<&'a str, Arc<dyn StorageFile>>,
}

impl<'a> Bench<'a> {
    fn new(made: &'a Files) -> Bench<'a> {
        let storage = storage_of(made);
        let handles = made
            .keys()
            .map(|name| (name.as_str(), storage.open(name).unwrap()));
        Bench {
            made,
            handles: handles.collect(),
            storage,
        }
    }

    fn write(&self, name: &str, at: usize, bytes: &[u8]) {
        assert_eq!(
            self.handles[name].write_at(at as u64, bytes).unwrap(),
            bytes.len()
        );
    }

    fn is_restored(&self) -> bool {
        files(&self.storage) == *self.made
    }

    fn restore(&self) {
        for (name, bytes) in self.made {
            self.write(name, 0, bytes);
        }
    }

    fn flip(
        &self,
        place: (&str, usize),
        bit: u32,
        byte: Byte,
        expected: &Expected<'_>,
    ) -> Outcomes {
        let (name, at) = place;
        let right = self.made[name][at];
        self.write(name, at, &[right ^ 1 << bit]);
        let mut outcomes = Outcomes {
            flips: 1,
            ..Outcomes::default()
        };
        match open(self.storage.clone(), small(SEGMENT_BYTES)) {
            Ok(store) => {
                let which = expected.check(&store, byte, &format!("{name} byte {at} bit {bit}"));
                drop(store);
                outcomes.same = u64::from(which);
                outcomes.shorter = u64::from(!which);
                if !expected.is_closed {
                    self.restore();
                }
                // An open of a closed store writes nothing.
                self.write(name, at, &[right]);
            }
            Err(error) => {
                outcomes.refused = 1;
                assert_refused(&error, byte, &format!("{name} byte {at} bit {bit}"));
                self.write(name, at, &[right]);
            }
        }
        outcomes
    }
}

/// What a store may answer.
struct Expected<'a> {
    is_closed: bool,
    /// The states from the last sync on.
    legal: &'a [Answers],
}

impl Expected<'_> {
    /// Whether the answers are those of the whole store; fails if they are none that may be.
    fn check(&self, store: &Store, byte: Byte, place: &str) -> bool {
        let known = self.legal.last().unwrap();
        if let Byte::Spare = byte {
            assert!(has_same_ids(store, known), "{place}: other answers");
            return true;
        }
        let now = answers(store);
        match byte {
            Byte::Durable { .. } | Byte::Spare => {
                panic!("{place}: a wrong record was taken for right")
            }
            Byte::Unsynced { .. } => {
                assert!(now != *known, "{place}: a wrong record was taken for right");
                assert!(
                    self.legal.contains(&now),
                    "{place}: not a state since the sync"
                );
            }
        }
        false
    }
}

/// The same caches with the same IDs in the same order: [`answers`] in a fraction of the time.
fn has_same_ids(store: &Store, known: &Answers) -> bool {
    let infos = store.caches(None, usize::MAX);
    infos.len() == known.len()
        && infos
            .iter()
            .zip(known)
            .all(|(info, ((namespace, address), (capacity, ids)))| {
                let cache = store.cache_in(*namespace, address).unwrap();
                (info.namespace, &*info.address.0) == (*namespace, &address[..])
                    && (info.capacity, info.len) == (*capacity, ids.len() as u64)
                    && cache.ids().eq(ids.iter().map(|(_, id)| id.as_slice()))
            })
}

/// The error says which segment, where and why; for a byte of a record exactly the record.
fn assert_refused(error: &Error, byte: Byte, place: &str) {
    let Error::Damaged {
        segment,
        offset,
        reason,
        ..
    } = error
    else {
        panic!("{place}: {error:?}");
    };
    match byte {
        Byte::Durable {
            segment: number,
            record,
        } => {
            assert_eq!(
                (segment.0, *offset),
                (number, record as u64),
                "{place}: {error}"
            );
            assert_eq!(*reason, DamageReason::Checksum, "{place}: {error}");
        }
        Byte::Unsynced { .. } | Byte::Spare => panic!("{place}: refused: {error}"),
    }
}

/// Flips every bit of every file in turn.
fn flip_all(made: &Files, map: &BTreeMap<String, Vec<Byte>>, expected: &Expected<'_>) -> Outcomes {
    let places = map.iter().flat_map(|(name, bytes)| {
        let bytes = bytes.iter().copied().enumerate();
        bytes.map(|(at, byte)| (name.as_str(), at, byte))
    });
    let places: Vec<_> = places.collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let bench = Bench::new(made);
        let mut outcomes = Outcomes::default();
        while let Some(&(name, at, byte)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            for bit in 0..8 {
                outcomes.add(&bench.flip((name, at), bit, byte, expected));
            }
        }
        assert!(bench.is_restored(), "something else was written to");
        outcomes
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Outcomes::default();
        for thread in running {
            all.add(&thread.join().unwrap());
        }
        all
    })
}

fn bytes_of(made: &Files) -> u64 {
    made.values().map(|bytes| bytes.len() as u64).sum()
}

#[test]
fn every_bit_of_a_store_of_many_segments_is_refused_or_changes_nothing() {
    let Made { closed, legal, .. } = every_kind::make();
    let expected = Expected {
        is_closed: true,
        legal: &legal[legal.len() - 1..],
    };
    let outcomes = flip_all(&closed, &map(&closed, None), &expected);
    println!("closed: {outcomes:?}");
    assert_eq!(outcomes.flips, 8 * bytes_of(&closed));
    assert!(outcomes.flips >= 8 * (64 << 10), "{outcomes:?}");
    assert!(
        outcomes.refused > 200_000 && outcomes.shorter == 0,
        "{outcomes:?}"
    );
}

#[test]
fn every_bit_of_a_killed_store_of_many_segments_costs_its_unsynced_end_at_most() {
    let made = every_kind::make();
    let expected = Expected {
        is_closed: false,
        legal: &made.legal,
    };
    let map = map(&made.killed, Some(&made.synced));
    let outcomes = flip_all(&made.killed, &map, &expected);
    println!("killed: {outcomes:?}");
    assert_eq!(outcomes.flips, 8 * bytes_of(&made.killed));
    assert!(outcomes.flips >= 8 * (64 << 10), "{outcomes:?}");
    assert!(
        outcomes.refused > 200_000 && outcomes.shorter > 4_000,
        "{outcomes:?}"
    );
}

//! Promise: an inspection accepts what `open` accepts and refuses what it refuses, changes nothing,
//! and takes no change made during the reading for damage.
//!
//! Method: stores are harmed in every way and given to both; storage changes between two readings.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod moving;

use std::ops::ControlFlow;

use idjournal::inspect::{
    Inspection, Record, RecordPlace, SegmentEnd, Severity, Stop, decode_record, record_checksum,
    walk_segment,
};
use idjournal::{Error, MemoryStorage, Options, Result, SegmentNumber, Storage, Store, Ticks};

fn options() -> Options {
    Options::default().segment_bytes(1024).keeper(false)
}

fn open(storage: &MemoryStorage, options: Options) -> Result<Store> {
    Store::open_on(storage.clone(), options, &mut |_| {})
}

/// A store whose journal wrapped, as a kill leaves it.
fn killed() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let store = open(&storage, options().id_cache_size(30)).unwrap();
    for number in 0..150 {
        let cache = store.cache(format!("address-{}", number % 3)).unwrap();
        let _ = cache.add(format!("id-{number}")).unwrap();
    }
    copy(&storage)
}

fn copy(storage: &MemoryStorage) -> MemoryStorage {
    let to = MemoryStorage::new();
    for name in storage.list().unwrap() {
        write(&to, &name, &read(storage, &name));
    }
    to
}

fn read(storage: &MemoryStorage, name: &str) -> Vec<u8> {
    let file = storage.open(name).unwrap();
    let mut bytes = vec![0; usize::try_from(file.bytes().unwrap()).unwrap()];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn write(storage: &MemoryStorage, name: &str, bytes: &[u8]) {
    let _ = storage.remove(name);
    storage.create(name).unwrap().write_at(0, bytes).unwrap();
}

/// A generator that gives the same numbers for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from((self.0 >> 33) % limit as u64).unwrap()
    }
}

/// Harms one file in one of several ways.
fn harm(storage: &MemoryStorage, chance: &mut Chance) {
    let names = storage.list().unwrap();
    let names: Vec<&String> = names.iter().filter(|name| *name != "lock").collect();
    let name = names[chance.below(names.len())];
    let mut bytes = read(storage, name);
    let at = chance.below(bytes.len());
    match chance.below(8) {
        0 => storage.remove(name).unwrap(),
        1 => write(storage, name, &bytes[..at]),
        2 => write(storage, &format!("{name}.away"), &bytes),
        3 => storage.rename(name, &format!("{name}.away")).unwrap(),
        4 => {
            let other = names[chance.below(names.len())];
            write(storage, name, &read(storage, other));
        }
        5 => {
            bytes[at..].fill(0);
            write(storage, name, &bytes);
        }
        _ => {
            bytes[at] ^= 1 << chance.below(8);
            write(storage, name, &bytes);
        }
    }
}

#[test]
fn it_accepts_what_open_accepts_and_the_other_way_round() {
    let whole = killed();
    let closed = copy(&whole);
    open(&closed, options()).unwrap().close().unwrap();
    let mut refused = 0;
    for seed in 0..600 {
        let storage = copy(if seed % 2 == 0 { &whole } else { &closed });
        let mut chance = Chance(seed);
        for _ in 0..=chance.below(3) {
            harm(&storage, &mut chance);
        }
        let names = storage.list().unwrap();
        let looked = Inspection::on(storage.clone()).and_then(|mut inspection| {
            let statistics = inspection.statistics()?;
            let mut all = inspection.findings().iter().chain(&statistics.findings);
            let damage = all.find(|finding| finding.severity() == Severity::Damage);
            Ok((damage.cloned(), statistics))
        });
        assert_eq!(storage.list().unwrap(), names, "seed {seed}");
        match (open(&storage, options()), looked) {
            (Ok(store), Ok((None, statistics))) => {
                let live: u64 = statistics
                    .addresses
                    .iter()
                    .map(|address| address.live)
                    .sum();
                assert_eq!(live, store.recovery().ids, "seed {seed}");
                assert_eq!(statistics.records, store.recovery().records, "seed {seed}");
            }
            (Err(Error::Damaged { .. }), Ok((Some(_), _))) => refused += 1,
            (Err(Error::NewerFormat { .. }), Err(Error::NewerFormat { .. }))
            | (Err(Error::NotAStore { .. }), Err(Error::NotAStore { .. })) => refused += 1,
            // Without a file of it `open` makes a new store.
            (Ok(store), Err(Error::NotAStore { .. })) => assert!(store.recovery().is_new),
            (opened, looked) => {
                let opened = opened.map(|store| store.recovery().clone());
                panic!("seed {seed}: {opened:?} but {looked:?}");
            }
        }
    }
    assert!((100..500).contains(&refused), "{refused}");
}

/// The slot of the second segment of the chain, by name.
fn second(storage: &MemoryStorage) -> String {
    let inspection = Inspection::on(storage.clone()).unwrap();
    let second = inspection.segments().nth(1).unwrap();
    format!("slot-{:06}", second.slot.0)
}

#[test]
fn any_bytes_have_a_named_outcome() {
    let storage = killed();
    let name = second(&storage);
    let whole = read(&storage, &name);
    let count = |bytes: &[u8]| {
        let mut count = 0;
        let end = walk_segment(bytes, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        (count, end)
    };
    let (records, end) = count(&whole);
    assert!(
        records > 3 && matches!(end, SegmentEnd::Sealed { .. }),
        "{records} {end:?}"
    );
    assert_eq!(count(b""), (0, SegmentEnd::NoHeader));
    let mut chance = Chance(1);
    for _ in 0..2_000 {
        let mut bytes = whole.clone();
        let at = chance.below(bytes.len());
        bytes[at] ^= 1 << chance.below(8);
        let (fewer, _) = count(&bytes);
        assert!(fewer <= records);
        count(&whole[..at]);
    }
    let place = RecordPlace {
        identity: [1; 16],
        salt: 2,
        number: SegmentNumber(3),
        offset: 1024,
        segment_bytes: 8192,
        base_ordinal: None,
        base_time: Ticks(0),
    };
    // A mark of itself: kind 14, marked and the end of a group, two units.
    let mut bytes = [0, 0, 0, 0, 14, 0x88, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(decode_record(&bytes, &place), Err(Stop::Checksum));
    let checksum = record_checksum(&bytes[4..], &place);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(
        decode_record(&bytes, &place).map(|decoded| decoded.record),
        Ok(Record::Mark)
    );
}

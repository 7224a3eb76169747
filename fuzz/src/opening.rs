//! The check of `recover`: a directory is looked at, opened, used, closed, opened again.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idjournal::inspect::{Inspection, Severity, Statistics};
use idjournal::{
    Clock, Entropy, Error, MemoryStorage, Namespace, Options, Outcome, Result, State, Storage,
    Store, SyncPolicy,
};

use crate::bases::Files;

type Answers = BTreeMap<(Namespace, Vec<u8>), (u64, Vec<(u64, Vec<u8>)>)>;

/// Time and chance that are the same in every run.
#[derive(Default)]
struct Fixed(AtomicU64);

impl Clock for Fixed {
    fn wall(&self) -> Duration {
        Duration::from_secs(1_700_000_000)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.0.fetch_add(1, Ordering::Relaxed);
            let word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x0bad_5eed;
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

fn options(choice: u8) -> Options {
    Options::default()
        .segment_bytes([1024, 4096][usize::from(choice & 1)])
        .keeper(false)
        .sync_policy(SyncPolicy::Manual)
        .clock(Arc::new(Fixed::default()))
        .entropy(Arc::new(Fixed(AtomicU64::new(1_000 * u64::from(choice)))))
}

fn storage_of(files: &Files) -> MemoryStorage {
    let storage = MemoryStorage::new();
    for (name, bytes) in files {
        let file = storage.create(name).expect("the names are plain");
        file.write_at(0, bytes).expect("memory can be written");
    }
    storage
}

fn files_of(storage: &MemoryStorage) -> Files {
    let read = |name: String| {
        let file = storage.open(&name).expect("it is listed");
        let bytes = file.bytes().expect("memory has a length");
        let mut bytes = vec![0; usize::try_from(bytes).expect("it is in memory")];
        file.read_at(0, &mut bytes).expect("memory can be read");
        (name, bytes)
    };
    let names = storage.list().expect("memory can be listed").into_iter();
    names.filter(|name| name != "lock").map(read).collect()
}

fn answers(store: &Store) -> Answers {
    let mut all = Answers::new();
    for info in store.caches(None, usize::MAX) {
        let cache = store
            .cache_in(info.namespace, &info.address.0)
            .expect("it is listed");
        let ids: Vec<_> = cache
            .ids()
            .map(|id| match cache.state(&id) {
                State::Known(seen) | State::Unsynced(seen) => (seen.ordinal.0, id),
                other => panic!("a listed ID is {other:?}"),
            })
            .collect();
        assert_eq!(info.len, ids.len() as u64);
        assert!(info.len <= info.capacity);
        all.insert(
            (info.namespace, info.address.0.to_vec()),
            (info.capacity, ids),
        );
    }
    all
}

fn open(storage: &MemoryStorage, choice: u8) -> Result<Store> {
    Store::open_on(storage.clone(), options(choice), &mut |progress| {
        assert!(progress.done_bytes <= progress.total_bytes);
    })
}

/// Whether it is damaged, and what lives in it.
fn look(storage: &MemoryStorage) -> Result<(bool, Statistics)> {
    let mut inspection = Inspection::on(storage.clone())?;
    let statistics = inspection.statistics()?;
    let all = inspection.findings().iter().chain(&statistics.findings);
    let is_damage = |severity| severity == Severity::Damage;
    let damaged = all.filter(|finding| is_damage(finding.severity()));
    let count = damaged
        .map(|finding| {
            let shown = finding.to_string();
            assert!(
                shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
                "{shown:?}"
            );
        })
        .count();
    Ok((count > 0, statistics))
}

pub fn check(files: &Files, choice: u8) {
    let storage = storage_of(files);
    let looked = look(&storage);
    assert_eq!(
        &files_of(&storage),
        &without_lock(files),
        "looking changed something"
    );
    let opened = open(&storage, choice);
    if let Err(Error::Options { .. }) = opened {
        // What is stored needs larger segments than these.
        return;
    }
    match (&opened, &looked) {
        (Ok(store), Ok((false, statistics))) => {
            let lives = statistics.addresses.iter().map(|address| address.live);
            assert_eq!(lives.sum::<u64>(), store.recovery().ids);
            assert_eq!(statistics.records, store.recovery().records);
        }
        (Err(Error::Damaged { .. }), Ok((true, _)))
        | (Err(Error::NewerFormat { .. }), Err(Error::NewerFormat { .. }))
        | (Err(Error::NotAStore { .. }), Err(Error::NotAStore { .. })) => {}
        (Ok(store), Err(Error::NotAStore { .. })) => assert!(store.recovery().is_new),
        (opened, looked) => {
            let opened = opened.as_ref().map(|store| store.recovery().clone());
            let looked = looked.as_ref().map(|(is_damaged, _)| is_damaged);
            panic!("opened: {opened:?}; looked: damaged {looked:?}");
        }
    }
    match opened {
        Ok(store) => use_store(storage, store, choice),
        Err(error) => {
            let shown = error.to_string();
            assert!(
                shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
                "{shown:?}"
            );
            let has_leftovers = files.keys().any(|name| name.contains('.'));
            if !has_leftovers {
                assert_eq!(
                    &files_of(&storage),
                    &without_lock(files),
                    "a refusal changed bytes"
                );
            }
        }
    }
}

fn without_lock(files: &Files) -> Files {
    let mut files = files.clone();
    files.remove("lock");
    files
}

/// What was opened once opens again with the same answers: after a kill, after a close, after use.
fn use_store(storage: MemoryStorage, store: Store, choice: u8) {
    let known = answers(&store);
    let killed = storage_of(&files_of(&storage));
    store.close().expect("memory cannot fail");
    drop(store);
    for storage in [&killed, &storage] {
        let again = match open(storage, choice ^ 1) {
            Err(Error::Options { .. }) => open(storage, choice),
            other => other,
        };
        let again = again.expect("what was recovered opens again");
        assert_eq!(answers(&again), known);
        assert_eq!(again.recovery().rewritten_bytes, 0, "recovered twice");
        again.close().expect("memory cannot fail");
    }
    let store = open(&storage, choice).expect("what was closed opens again");
    for (namespace, address) in known
        .keys()
        .cloned()
        .chain([(Namespace::Client, b"new".to_vec())])
    {
        let cache = store
            .cache_in(namespace, &address)
            .expect("the address is within the limits");
        for number in 0..3_u64 {
            let id = number.to_be_bytes();
            match cache.add(id) {
                Ok(Outcome::Added | Outcome::Duplicate(_)) => {}
                Ok(Outcome::Pending(_)) | Err(Error::Limit { .. } | Error::NoSpace { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        let ended = cache.clear().wait();
        assert!(
            ended.is_ok() || matches!(ended, Err(Error::Limit { .. })),
            "{ended:?}"
        );
        let _ = cache.add(b"last");
    }
    store.compact().expect("memory cannot fail");
    let known = answers(&store);
    let killed = storage_of(&files_of(&storage));
    store.close().expect("memory cannot fail");
    drop(store);
    for storage in [&killed, &storage] {
        let again = open(storage, choice).expect("what was used opens again");
        assert_eq!(answers(&again), known);
        let (is_damaged, _) = look(storage).expect("it is a store");
        assert!(!is_damaged);
    }
}

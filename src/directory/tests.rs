//! Names round trip and nothing else is taken for one; a slot is made whole or not at all.

#![allow(clippy::unwrap_used, reason = "a test may end by a panic")]

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::storage::{MemoryStorage, Writes};

const SEGMENT_BYTES: u64 = 9 * 1024;

#[test]
fn names_are_parsed_as_they_are_written() {
    assert_eq!(slot_name(Slot(1)), "slot-000001");
    assert_eq!(slot_name(Slot(1_234_567)), "slot-1234567");
    for slot in [0, 1, 999_999, 1_000_000, u32::MAX].map(Slot) {
        assert_eq!(parse(&slot_name(slot)), Name::Slot(slot));
        assert_eq!(parse(&slot_new_name(slot)), Name::SlotNew(slot));
        assert_eq!(parse(&slot_away_name(slot)), Name::SlotAway(slot));
    }
    assert_eq!(parse("lock"), Name::Lock);
    assert_eq!(parse("store"), Name::Store);
    assert_eq!(parse("store.new"), Name::StoreNew);
    assert_eq!(parse("slot-000001.new"), Name::SlotNew(Slot(1)));
}

#[test]
fn other_names_are_unknown() {
    let others = "slot-0000001 slot-4294967296 slot-00001 slot-000001.old slot-000001.new.new \
        slot-000001.new.away slot- slot-+00001 slot--00001 slot-00000a Slot-000001 slot-000001. \
        .new store.away lock.new stores slot-99999999999999999999 slot-\u{661}\u{661}\u{661}";
    for name in others
        .split_ascii_whitespace()
        .chain(["", " slot-000001", "slot-000001 "])
    {
        assert_eq!(parse(name), Name::Unknown, "{name:?}");
    }
}

#[test]
fn survey_sorts_names_by_kind() {
    let storage = MemoryStorage::new();
    let names = "slot-000010 slot-000002 slot-000003.new slot-000004.away store store.new notes";
    for name in names.split_ascii_whitespace() {
        storage.create(name).unwrap();
    }
    let directory = Directory::new(Arc::new(storage));
    let _lock = directory.lock().unwrap();
    let expected = Survey {
        has_lock: true,
        has_store: true,
        has_store_new: true,
        slots: vec![Slot(2), Slot(10)],
        slots_new: vec![Slot(3)],
        slots_away: vec![Slot(4)],
        unknown: vec![String::from("notes")],
    };
    assert_eq!(directory.survey().unwrap(), expected);
}

#[test]
fn second_lock_is_refused_with_the_holder_shown() {
    let storage = MemoryStorage::new();
    let directory = Directory::new(Arc::new(storage.clone()));
    let lock = directory.lock().unwrap();
    let holder = |result: Result<Box<dyn StorageLock>>| match result {
        Err(Error::Locked { place, holder }) => (place, holder),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("locked twice"),
    };
    let expected = (String::from("memory"), process::id().to_string());
    assert_eq!(holder(directory.lock()), expected);
    storage
        .open("lock")
        .unwrap()
        .write_at(0, b"\x1b[2J")
        .unwrap();
    assert!(holder(directory.lock()).1.starts_with("0x1b5b324a"));
    storage.remove("lock").unwrap();
    assert_eq!(holder(directory.lock()).1, "unknown");
    drop(lock);
    directory.lock().unwrap();
}

#[test]
fn made_slot_is_full_of_zeros_and_replaces_a_stale_attempt() {
    let storage = MemoryStorage::new();
    storage
        .create("slot-000007.new")
        .unwrap()
        .write_at(0, &[9; 20_000])
        .unwrap();
    let directory = Directory::new(Arc::new(storage.clone()));
    let file = directory.make_slot(Slot(7), SEGMENT_BYTES).unwrap();
    let mut content = vec![1; 20_000];
    let bytes = read_full(&*file, 0, &mut content).unwrap();
    assert_eq!(bytes as u64, SEGMENT_BYTES);
    assert!(content[..bytes].iter().all(|byte| *byte == 0));
    assert_eq!(storage.list().unwrap(), ["slot-000007"]);
    directory.remove_slot(Slot(7)).unwrap();
    directory.remove_slot(Slot(7)).unwrap();
    assert_eq!(storage.list().unwrap(), [""; 0]);
}

#[test]
fn slot_that_is_there_is_not_replaced() {
    let storage = MemoryStorage::new();
    storage
        .create("slot-000007")
        .unwrap()
        .write_at(0, b"segment")
        .unwrap();
    let directory = Directory::new(Arc::new(storage.clone()));
    let made = directory.make_slot(Slot(7), SEGMENT_BYTES);
    assert!(matches!(made, Err(MakeSlotError::Failed(Error::Io { .. }))));
    assert_eq!(storage.open("slot-000007").unwrap().bytes().unwrap(), 7);
}

#[test]
fn no_call_can_fail_without_its_right_answer_and_a_clean_directory() {
    use io::ErrorKind::{Other, QuotaExceeded, StorageFull};
    // What is called, in order: open, remove, create, three writes, sync, rename, sync directory.
    let calls = 9;
    for kind in [StorageFull, QuotaExceeded, Other] {
        for call in 1..=calls {
            let inner = MemoryStorage::new();
            let failing = Failing::new(inner.clone(), call, kind);
            let made = Directory::new(Arc::new(failing)).make_slot(Slot(3), SEGMENT_BYTES);
            let names = inner.list().unwrap();
            let is_no_space = matches!(made, Err(MakeSlotError::Failed(Error::NoSpace { .. })));
            let is_io = matches!(made, Err(MakeSlotError::Failed(Error::Io { .. })));
            let is_fatal = matches!(made, Err(MakeSlotError::Fatal(Error::Io { .. })));
            let is_last = call == calls;
            assert_eq!(
                names,
                if is_last { vec!["slot-000003"] } else { vec![] },
                "call {call}"
            );
            let takes_space = matches!(call, 3..=6 | 8);
            let is_final = kind == Other && matches!(call, 4..=6 | 8);
            assert_eq!(
                is_fatal,
                call == 7 || is_last || is_final,
                "call {call}, {kind}"
            );
            assert_eq!(
                is_no_space,
                takes_space && kind != Other,
                "call {call}, {kind}"
            );
            assert_eq!(is_io, !is_fatal && !is_no_space, "call {call}, {kind}");
        }
    }
    let inner = MemoryStorage::new();
    let failing = Failing::new(inner, calls + 1, Other);
    assert!(
        Directory::new(Arc::new(failing))
            .make_slot(Slot(3), SEGMENT_BYTES)
            .is_ok()
    );
}

/// Fails the call of the number given; a write that fails leaves half of its bytes all the same.
struct Failing {
    inner: MemoryStorage,
    countdown: Arc<Countdown>,
}

struct Countdown {
    left: AtomicU64,
    kind: io::ErrorKind,
}

impl Failing {
    fn new(inner: MemoryStorage, call: u64, kind: io::ErrorKind) -> Failing {
        let countdown = Countdown {
            left: AtomicU64::new(call),
            kind,
        };
        Failing {
            inner,
            countdown: Arc::new(countdown),
        }
    }

    fn file(&self, inner: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        Arc::new(FailingFile {
            inner,
            countdown: Arc::clone(&self.countdown),
        })
    }
}

impl Countdown {
    fn count(&self) -> io::Result<()> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Err(self.kind.into());
        }
        Ok(())
    }
}

impl Storage for Failing {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.countdown.count()?;
        Ok(self.file(self.inner.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.countdown.count()?;
        Ok(self.file(self.inner.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.countdown.count()?;
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.countdown.count()?;
        self.inner.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.countdown.count()?;
        self.inner.sync_directory()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        self.inner.try_lock(name, holder)
    }
}

struct FailingFile {
    inner: Arc<dyn StorageFile>,
    countdown: Arc<Countdown>,
}

impl StorageFile for FailingFile {
    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        assert!(bytes.len() <= 4096, "larger writes make larger pages");
        if let Err(error) = self.countdown.count() {
            self.inner.write_at(offset, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.inner.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.countdown.count()?;
        self.inner.sync()
    }

    fn prepare(&self, writes: Writes) -> io::Result<()> {
        self.inner.prepare(writes)
    }
}

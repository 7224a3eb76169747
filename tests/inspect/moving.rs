//! Storage that changes while it is read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use idjournal::inspect::{Finding, Inspection, Reason, Severity};
use idjournal::{MemoryStorage, Storage, StorageFile, StorageLock};

use super::*;

/// What happens to the directory while it is read, given the number of the call.
type Change = Box<dyn Fn(&MemoryStorage, u32) + Send + Sync>;

/// Storage in which something else happens with every list of names.
struct Restless {
    inner: MemoryStorage,
    lists: AtomicU32,
    change: Change,
}

impl Restless {
    fn new(
        inner: &MemoryStorage,
        change: impl Fn(&MemoryStorage, u32) + Send + Sync + 'static,
    ) -> Restless {
        Restless {
            inner: inner.clone(),
            lists: AtomicU32::new(0),
            change: Box::new(change),
        }
    }
}

impl Storage for Restless {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.inner.list();
        (self.change)(&self.inner, self.lists.fetch_add(1, Ordering::Relaxed));
        names
    }

    fn create(&self, _: &str) -> io::Result<Arc<dyn StorageFile>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.inner.open(name)
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn try_lock(&self, _: &str, _: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

#[test]
fn what_is_wrong_in_one_reading_only_is_no_damage() {
    let whole = killed();
    let (name, harmed) = (second(&whole), copy(&whole));
    let bytes = read(&whole, &name);
    let mut wrong = bytes.clone();
    wrong[300] ^= 1;
    write(&harmed, &name, &wrong);
    let mended = Restless::new(&harmed, move |storage, list| {
        if list == 1 {
            write(storage, &name, &bytes);
        }
    });
    let inspection = Inspection::on(mended).unwrap();
    assert!(!inspection.is_damaged(), "{:?}", inspection.findings());
    // The same damage twice is damage, however much else changes.
    let name = second(&whole);
    write(&harmed, &name, &wrong);
    let busy = Restless::new(&harmed, |storage, list| {
        write(storage, &format!("note-{list}"), b"x");
    });
    assert!(Inspection::on(busy).unwrap().is_damaged());
}

#[test]
fn a_store_that_never_stands_still_is_moving() {
    let whole = killed();
    let name = second(&whole);
    // The segment is never there when it is looked for, and the directory is never the same.
    let bytes = read(&whole, &name);
    let gone = copy(&whole);
    gone.remove(&name).unwrap();
    let vanishing = Restless::new(&gone, move |storage, list| {
        write(storage, &format!("note-{list}"), &bytes);
    });
    let inspection = Inspection::on(vanishing).unwrap();
    assert!(!inspection.is_damaged(), "{:?}", inspection.findings());
    let is_moving = |finding: &Finding| finding.reason == Reason::Moving;
    assert!(inspection.findings().iter().any(is_moving));
    // A name that was listed and is gone when it is opened is read again.
    let flickering = Restless::new(&copy(&whole), move |storage, list| {
        if list == 0 {
            storage.rename(&name, "elsewhere").unwrap();
        } else if list == 1 {
            storage.rename("elsewhere", &name).unwrap();
        }
    });
    assert!(!Inspection::on(flickering).unwrap().is_damaged());
}

#[test]
fn a_large_segment_that_is_written_over_meanwhile_is_told_and_read_again() {
    let storage = MemoryStorage::new();
    let large = options().segment_bytes(128 << 10).id_cache_size(2_000);
    let store = open(&storage, large).unwrap();
    let cache = store.cache("orders").unwrap();
    for id in 0..3_000 {
        let _ = cache.add(format!("id-{id}")).unwrap();
    }
    let file = storage.open("slot-000000").unwrap();
    let mut bytes = [0; 64];
    file.read_at(60_000, &mut bytes).unwrap();
    let restored = Arc::clone(&file);
    let restless = Restless::new(&storage, move |_, list| {
        if list == 1 {
            restored.write_at(60_000, &bytes).unwrap();
        }
    });
    let mut inspection = Inspection::on(restless).unwrap();
    file.write_at(60_000, &[7; 64]).unwrap();
    let found = inspection
        .records(&mut |_| ControlFlow::Continue(()))
        .unwrap();
    let reasons: Vec<_> = found.iter().map(|finding| &finding.reason).collect();
    assert_eq!(reasons, [&Reason::Overtaken]);
    assert_eq!(found[0].severity(), Severity::Note);
    let statistics = inspection.statistics().unwrap();
    assert_eq!(statistics.findings, []);
    assert_eq!(statistics.addresses[0].live, 2_000);
}

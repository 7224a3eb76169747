//! Files of a terabyte that take no space: told by their length, not read (F36).

use std::fs::File;
use std::path::Path;

use idjournal::inspect::Inspection;
use idjournal::{DamageReason, Error, FileStorage, Store};

use crate::support::watched::{Call, Watched};
use crate::support::{open, small, uuid};

const TERABYTE: u64 = 1 << 40;
const SEGMENT_BYTES: u64 = 8192;
/// What is read of a file at most, and in one call.
const READ_MAX: usize = 1 << 20;

fn make(directory: &Path) {
    let store = Store::open(directory, small(SEGMENT_BYTES)).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..300 {
        let _ = orders.add(uuid(number)).unwrap();
    }
    store.close().unwrap();
}

fn stretch(file: &Path, bytes: u64) {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(file)
        .unwrap();
    file.set_len(bytes).unwrap();
}

/// Bytes read by these calls, of which none may be large.
fn read_bytes(storage: &Watched<FileStorage>) -> usize {
    let calls = storage.calls();
    let reads = calls.iter().filter_map(|call| match call {
        Call::Read(_, _, bytes) => Some(*bytes),
        _ => None,
    });
    let all: Vec<usize> = reads.collect();
    assert!(
        all.iter().all(|bytes| *bytes <= READ_MAX),
        "{:?}",
        all.iter().max()
    );
    all.iter().sum()
}

/// Opens the directory, then looks at it; what came of the open, and of the look.
fn look(directory: &Path) -> (Option<Error>, Result<usize, Error>) {
    let storage = Watched::new(FileStorage::new(directory).unwrap());
    let opened = open(storage.clone(), small(SEGMENT_BYTES)).map(drop).err();
    assert!(
        read_bytes(&storage) < READ_MAX,
        "open reads {}",
        read_bytes(&storage)
    );
    let storage = Watched::new(FileStorage::new(directory).unwrap());
    let found = Inspection::on(storage.clone()).and_then(|mut inspection| {
        let statistics = inspection.statistics()?;
        let findings = inspection.findings().iter().chain(&statistics.findings);
        let damages =
            findings.filter(|finding| finding.severity() == idjournal::inspect::Severity::Damage);
        Ok(damages.count())
    });
    // Two readings of everything, and one for the statistics.
    assert!(
        read_bytes(&storage) < 2 * READ_MAX,
        "a look reads {}",
        read_bytes(&storage)
    );
    (opened, found)
}

#[test]
fn f36_a_segment_of_a_terabyte_is_refused_by_its_length() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let inspection = Inspection::open(directory.path()).unwrap();
    let segments: Vec<_> = inspection.segments().collect();
    assert!(segments.len() > 2);
    for segment in segments {
        let slot = directory.path().join(format!("slot-{:06}", segment.slot.0));
        for bytes in [TERABYTE, SEGMENT_BYTES + 1, 512 << 20, (512 << 20) + 1024] {
            stretch(&slot, bytes);
            let (opened, found) = look(directory.path());
            let Some(error @ Error::Damaged { .. }) = &opened else {
                panic!("{opened:?}");
            };
            assert!(
                matches!(error, Error::Damaged { segment: number, offset, reason, .. }
                if *number == segment.number && *offset == SEGMENT_BYTES
                    && *reason == DamageReason::Length),
                "{error:?}"
            );
            assert!(matches!(found, Ok(1..)), "{found:?}");
        }
        stretch(&slot, SEGMENT_BYTES);
    }
    let (opened, found) = look(directory.path());
    assert!(
        opened.is_none() && matches!(found, Ok(0)),
        "{opened:?} {found:?}"
    );
}

#[test]
fn f36_what_nothing_needs_may_have_a_terabyte() {
    for name in [
        "slot-000099",
        "slot-000099.new",
        "store.new",
        "lock",
        "foreign",
        "store",
    ] {
        let directory = tempfile::tempdir().unwrap();
        make(directory.path());
        stretch(&directory.path().join(name), TERABYTE);
        let (opened, found) = look(directory.path());
        assert!(opened.is_none(), "{name}: {opened:?}");
        assert!(matches!(found, Ok(0)), "{name}: {found:?}");
        let store = Store::open(directory.path(), small(SEGMENT_BYTES)).unwrap();
        assert_eq!(store.cache("orders").unwrap().len(), 300, "{name}");
        // The store goes on, and is no larger for it.
        let orders = store.cache("orders").unwrap();
        for number in 1_000..1_300 {
            let _ = orders.add(uuid(number)).unwrap();
        }
        store.close().unwrap();
        assert_eq!(orders.len(), 600, "{name}");
    }
}

#[test]
fn f36_a_terabyte_of_zeros_is_no_store() {
    let directory = tempfile::tempdir().unwrap();
    stretch(&directory.path().join("store"), TERABYTE);
    stretch(&directory.path().join("slot-000000"), TERABYTE);
    let (opened, found) = look(directory.path());
    assert!(matches!(opened, Some(Error::Damaged { .. })), "{opened:?}");
    assert!(matches!(found, Ok(1..)), "{found:?}");
}

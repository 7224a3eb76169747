//! The directory itself: missing, no directory, not writable, somebody else's, newer, with foreign
//! files.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use idjournal::{Error, FileStorage, Options, Result, SegmentNumber, Store};

use crate::support::{
    Files, assert_same, files, files_in, open, refusal, repeatable, small, storage_of,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn io_kind(result: Result<Store>) -> ErrorKind {
    match result {
        Err(Error::Io { source, .. }) => source.io_kind().unwrap(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("opened"),
    }
}

/// A closed store with one ID.
fn one_id() -> Files {
    let storage = idjournal::MemoryStorage::new();
    let (options, _) = repeatable(1024, 7);
    let store = open(storage.clone(), options).unwrap();
    let _ = store.cache("orders").unwrap().add("order-1").unwrap();
    store.close().unwrap();
    files(&storage)
}

#[test]
fn a_missing_directory_is_made_for_its_owner_only() {
    let above = tempfile::tempdir().unwrap();
    let path = above.path().join("data").join("ids");
    let store = Store::open(&path, small(4096)).unwrap();
    let _ = store.cache("orders").unwrap().add("order-1").unwrap();
    store.close().unwrap();
    assert_eq!(mode(&path), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(&names[..2], ["lock", "slot-000000"]);
    assert_eq!(names.last().unwrap(), "store");
}

#[test]
fn what_is_no_directory_is_refused() {
    let above = tempfile::tempdir().unwrap();
    let path = above.path().join("ids");
    fs::write(&path, b"a file").unwrap();
    let kind = io_kind(Store::open(&path, Options::default()));
    assert_eq!(kind, ErrorKind::NotADirectory);
    let below = path.join("deeper");
    let kind = io_kind(Store::open(&below, Options::default()));
    assert_eq!(kind, ErrorKind::NotADirectory);
    assert_eq!(fs::read(&path).unwrap(), b"a file");
}

#[test]
fn what_cannot_be_written_is_refused_with_the_cause_of_the_system() {
    let above = tempfile::tempdir().unwrap();
    let path = above.path().join("ids");
    Store::open(&path, small(1024)).unwrap().close().unwrap();
    let storage = FileStorage::read_only(&path).unwrap();
    let kind = io_kind(open(storage, small(1024)));
    assert_eq!(kind, ErrorKind::ReadOnlyFilesystem);
    // Nobody can make a directory there, not even root.
    let kind = io_kind(Store::open("/proc/self/fd/ids", small(1024)));
    assert!(
        matches!(
            kind,
            ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::ReadOnlyFilesystem
        ),
        "{kind:?}"
    );
    // Modes mean nothing to root; where they are obeyed they are reported.
    let closed = above.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(closed.join("probe"), b"").is_err() {
        let kind = io_kind(Store::open(&closed, small(1024)));
        assert_eq!(kind, ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_store_file_of_a_newer_format_is_named() {
    let mut newer = one_id();
    let bytes = newer.get_mut("store").unwrap();
    for copy in [0, 4096] {
        set_u32(&mut bytes[copy..copy + 128], 8, 2);
    }
    match refusal(&newer, small(1024)) {
        Error::NewerFormat { file, what, found } => {
            assert!(file.ends_with("/store") && what.contains("version") && found == 2);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_segment_of_a_newer_format_is_named() {
    for (offset, value) in [(8, 2), (20, 1), (40, 1), (112, 2)] {
        let mut newer = one_id();
        let bytes = newer.get_mut("slot-000000").unwrap();
        for copy in [0, 128] {
            set_u32(&mut bytes[copy..copy + 128], offset, value);
        }
        match refusal(&newer, small(1024)) {
            Error::NewerFormat { file, found, .. } => {
                assert_eq!((&*file, found), ("memory/slot-000000", u64::from(value)));
            }
            other => panic!("{offset}: {other:?}"),
        }
    }
}

#[test]
fn something_else_entirely_is_no_store() {
    let mut noise = Files::new();
    let mut random = crate::support::Random(3);
    let bytes = (0..8192).map(|_| random.next().to_le_bytes()[0]).collect();
    noise.insert(String::from("store"), bytes);
    let error = refusal(&noise, small(1024));
    let is_store = |segment| segment == SegmentNumber(0);
    assert!(
        matches!(error, Error::Damaged { segment, .. } if is_store(segment)),
        "{error:?}"
    );
    let empty = Files::from([(String::from("store"), Vec::new())]);
    let error = refusal(&empty, small(1024));
    assert!(
        matches!(error, Error::Damaged { segment, .. } if is_store(segment)),
        "{error:?}"
    );
    let mut headless = one_id();
    headless.remove("store");
    let error = refusal(&headless, small(1024));
    assert!(
        matches!(&error, Error::NotAStore { place, .. } if place == "memory"),
        "{error:?}"
    );
    // The two copies of the store file may be torn one at a time, not both.
    for copy in [0, 4096] {
        let mut torn = one_id();
        torn.get_mut("store").unwrap()[copy + 60] ^= 1;
        let store = open(storage_of(&torn), small(1024)).unwrap();
        assert!(store.cache("orders").unwrap().contains("order-1").unwrap());
    }
}

#[test]
fn foreign_files_are_left_alone_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let names = [
        "slot-1",
        "slot-0000007",
        "slot-000001.bak",
        "Store",
        "notes.new",
        "slot-000000~",
    ];
    for name in names {
        fs::write(directory.path().join(name), name).unwrap();
    }
    fs::create_dir(directory.path().join("subdirectory")).unwrap();
    symlink("/nowhere", directory.path().join("dangling")).unwrap();
    for life in 0..3 {
        let store = Store::open(directory.path(), small(1024)).unwrap();
        let orders = store.cache("orders").unwrap();
        orders.set_capacity(4).wait().unwrap();
        for number in 0..100 {
            let _ = orders.add(format!("order-{life}-{number}")).unwrap();
        }
        store.compact().unwrap();
        store.close().unwrap();
    }
    for name in names {
        let bytes = fs::read(directory.path().join(name)).unwrap();
        assert_eq!(bytes, name.as_bytes());
    }
    assert!(directory.path().join("subdirectory").is_dir());
    let link = fs::read_link(directory.path().join("dangling")).unwrap();
    assert_eq!(link, Path::new("/nowhere"));
}

#[test]
fn a_fifo_or_a_link_in_the_place_of_a_file_is_refused_without_waiting() {
    for name in ["lock", "store", "slot-000000", "slot-000009"] {
        for kind in ["fifo", "link", "directory"] {
            let above = tempfile::tempdir().unwrap();
            let path = above.path().join("ids");
            let store = Store::open(&path, small(1024)).unwrap();
            let _ = store.cache("orders").unwrap().add("order-1").unwrap();
            store.close().unwrap();
            let (place, aside) = (path.join(name), above.path().join("aside"));
            if place.exists() {
                fs::rename(&place, &aside).unwrap();
            } else {
                fs::write(&aside, b"elsewhere").unwrap();
            }
            let before = fs::read(&aside).unwrap();
            match kind {
                "fifo" => make_fifo(&place),
                "link" => symlink(&aside, &place).unwrap(),
                _ => fs::create_dir(&place).unwrap(),
            }
            let error = match Store::open(&path, small(1024)) {
                Err(error @ Error::Io { .. }) => error,
                Err(other) => panic!("{name} {kind}: {other:?}"),
                Ok(_) => panic!("{name} {kind}: opened"),
            };
            assert!(error.to_string().contains(name), "{name} {kind}: {error}");
            assert_eq!(fs::read(&aside).unwrap(), before, "{name} {kind}");
        }
    }
}

#[test]
fn a_refused_directory_keeps_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    let mut damaged = one_id();
    damaged.get_mut("slot-000000").unwrap()[300] ^= 4;
    for (name, bytes) in &damaged {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let error = Store::open(directory.path(), small(1024)).err().unwrap();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    let after = files_in(directory.path());
    assert_same(&after, &damaged);
}

/// Sets a field of a header copy and makes its checksum right again.
pub(crate) fn set_u32(copy: &mut [u8], offset: usize, value: u32) {
    copy[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    let checksum = crc32fast::hash(&copy[..124]);
    copy[124..128].copy_from_slice(&checksum.to_le_bytes());
}

fn make_fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status();
    assert!(status.unwrap().success());
}

/// Changes one number of eight bytes in both copies of the store file, with right checksums.
fn with_store_field(mut files: Files, offset: usize, number: u64) -> Files {
    let store = files.get_mut("store").unwrap();
    for copy in [0, 4096] {
        let header = &mut store[copy..copy + 128];
        header[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        let checksum = crc32fast::hash(&header[..124]);
        header[124..].copy_from_slice(&checksum.to_le_bytes());
    }
    files
}

/// A store without a segment has nothing that could be durable. Opened, it would refuse itself
/// after the first add and a kill, since that add ends before the mark.
#[test]
fn a_store_file_that_marks_a_segment_but_names_no_first_is_refused() {
    let storage = idjournal::MemoryStorage::new();
    let (options, _) = repeatable(1024, 7);
    open(storage.clone(), options).unwrap().close().unwrap();
    let (mark_number, first_number) = (56, 80);
    for files in [
        with_store_field(files(&storage), mark_number, 9),
        with_store_field(one_id(), first_number, 0),
    ] {
        let error = refusal(&files, small(1024));
        assert!(
            matches!(
                error,
                Error::Damaged {
                    segment: SegmentNumber(0),
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

/// The next write of the store file would count on from there.
#[test]
fn a_store_file_with_the_last_generation_is_refused() {
    let generation = 48;
    for number in [u64::MAX, 1 << 63] {
        let error = refusal(&with_store_field(one_id(), generation, number), small(1024));
        assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    }
    let files = with_store_field(one_id(), generation, (1 << 63) - 1);
    let storage = storage_of(&files);
    let store = open(storage, small(1024)).unwrap();
    let _ = store.cache("orders").unwrap().add("order-2").unwrap();
    store.close().unwrap();
}

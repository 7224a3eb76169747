//! The real storage keeps to its directory, to its modes and to what it was opened for; bytes come
//! back the same however they were written.

#![allow(clippy::unwrap_used, reason = "a test may end by a panic")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::time::Duration;
use std::{sync::mpsc, thread};

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use super::*;

const FILE_BYTES: usize = 64 * 1024;

fn temporary() -> (TempDir, FileStorage) {
    let directory = tempfile::tempdir().unwrap();
    let storage = FileStorage::new(directory.path()).unwrap();
    (directory, storage)
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    result.err().unwrap().kind()
}

#[test]
fn new_makes_nothing_and_create_makes_all_for_the_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/c");
    assert_eq!(kind(FileStorage::new(&path)), io::ErrorKind::NotFound);
    assert_eq!(kind(FileStorage::read_only(&path)), io::ErrorKind::NotFound);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let storage = FileStorage::create(&path).unwrap();
    for made in ["a", "a/b", "a/b/c"] {
        assert_eq!(mode(directory.path().join(made)), 0o700);
    }
    storage.create("store").unwrap();
    let _lock = storage.try_lock("lock", "1").unwrap().unwrap();
    assert_eq!(
        (mode(path.join("store")), mode(path.join("lock"))),
        (0o600, 0o600)
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(
        FileStorage::create(path.join("."))
            .unwrap()
            .list()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        mode(&path),
        0o750,
        "a directory that is there keeps its mode"
    );
}

#[test]
fn what_is_not_a_directory_is_refused() {
    let (directory, storage) = temporary();
    storage.create("file").unwrap();
    let path = directory.path().join("file");
    assert_eq!(kind(FileStorage::new(&path)), io::ErrorKind::NotADirectory);
    assert_eq!(
        kind(FileStorage::create(&path)),
        io::ErrorKind::NotADirectory
    );
    assert_eq!(
        kind(FileStorage::create(path.join("below"))),
        io::ErrorKind::NotADirectory
    );
    assert_eq!(kind(FileStorage::create("")), io::ErrorKind::NotFound);
}

#[test]
fn only_regular_files_are_opened_and_nothing_blocks() {
    let (directory, storage) = temporary();
    let path = |name: &str| directory.path().join(name);
    storage.create("target").unwrap();
    mkfifoat(CWD, path("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    symlink(path("target"), path("link")).unwrap();
    symlink(path("missing"), path("dangling")).unwrap();
    fs::create_dir(path("directory")).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    let looking = FileStorage::read_only(directory.path()).unwrap();
    let (done, wait) = mpsc::channel();
    let worker = thread::spawn(move || {
        for name in ["fifo", "link", "dangling", "directory", "socket"] {
            assert_eq!(
                kind(storage.open(name)),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
            assert_eq!(
                kind(looking.open(name)),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
            assert_eq!(
                kind(storage.try_lock(name, "1")),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
            assert_eq!(
                kind(storage.create(name)),
                io::ErrorKind::AlreadyExists,
                "{name}"
            );
        }
        done.send(()).unwrap();
    });
    // Long only if an open blocks.
    assert_ne!(
        wait.recv_timeout(Duration::from_secs(30)),
        Err(mpsc::RecvTimeoutError::Timeout)
    );
    worker.join().unwrap();
    assert!(!path("missing").exists());
}

#[test]
fn names_stay_in_the_directory() {
    let (directory, storage) = temporary();
    fs::create_dir(directory.path().join("inner")).unwrap();
    for name in [
        "",
        ".",
        "..",
        "../out",
        "inner/file",
        "/etc/passwd",
        "nul\0",
    ] {
        assert_eq!(
            kind(storage.create(name)),
            io::ErrorKind::InvalidInput,
            "{name:?}"
        );
        assert_eq!(
            kind(storage.open(name)),
            io::ErrorKind::InvalidInput,
            "{name:?}"
        );
        assert_eq!(
            kind(storage.remove(name)),
            io::ErrorKind::InvalidInput,
            "{name:?}"
        );
        assert_eq!(
            kind(storage.rename("inner", name)),
            io::ErrorKind::InvalidInput,
            "{name:?}"
        );
    }
    assert_eq!(storage.list().unwrap(), ["inner"]);
}

#[test]
fn a_moved_directory_is_still_the_one_that_was_opened() {
    let outer = tempfile::tempdir().unwrap();
    let storage = FileStorage::create(outer.path().join("ids")).unwrap();
    fs::rename(outer.path().join("ids"), outer.path().join("moved")).unwrap();
    storage.create("a").unwrap().write_at(0, b"one").unwrap();
    storage.rename("a", "b").unwrap();
    storage.sync_directory().unwrap();
    assert_eq!(fs::read(outer.path().join("moved/b")).unwrap(), b"one");
    storage.remove("b").unwrap();
    assert_eq!(kind(storage.remove("b")), io::ErrorKind::NotFound);
    assert_eq!(storage.list().unwrap(), [""; 0]);
}

#[test]
fn second_lock_is_refused_until_the_first_is_dropped() {
    let (directory, storage) = temporary();
    fs::write(directory.path().join("lock"), "a longer text than the next").unwrap();
    let lock = storage.try_lock("lock", "17").unwrap();
    assert!(lock.is_some());
    let other = FileStorage::new(directory.path()).unwrap();
    assert!(storage.try_lock("lock", "18").unwrap().is_none());
    assert!(other.try_lock("lock", "18").unwrap().is_none());
    assert_eq!(fs::read(directory.path().join("lock")).unwrap(), b"17");
    drop(lock);
    assert!(other.try_lock("lock", "18").unwrap().is_some());
    assert_eq!(fs::read(directory.path().join("lock")).unwrap(), b"18");
}

/// Writes at all alignments and lengths around a word, over a file of `0xa5`.
fn written(writes: Writes, directory: &Path) -> (Vec<u8>, bool) {
    let storage = FileStorage::create(directory.join(format!("{writes:?}"))).unwrap();
    let file = storage.create("slot-000000").unwrap();
    assert_eq!(
        file.write_at(0, &vec![0xa5; FILE_BYTES]).unwrap(),
        FILE_BYTES
    );
    file.prepare(writes).unwrap();
    let text = (1..=200).collect::<Vec<u8>>();
    let mut offset = 0;
    for within in 0..8 {
        // Every other round begins as after a sync: by call, beside what goes through the map.
        file.expect_writes();
        for count in (0..27).chain([56, 64, 199]) {
            let at = offset + within;
            let done = match within % 2 == 1 && count % 4 == 1 {
                true => file.write_first_at(at, &text[..count]),
                false => file.write_at(at, &text[..count]),
            };
            assert_eq!(done.unwrap(), count);
            offset += 256;
        }
    }
    let end = FILE_BYTES as u64;
    assert_eq!(file.write_at(end - 3, b"end").unwrap(), 3);
    assert!(offset < end);
    file.sync().unwrap();
    let mut content = vec![0; FILE_BYTES + 1];
    assert_eq!(file.read_at(0, &mut content).unwrap(), FILE_BYTES);
    content.truncate(FILE_BYTES);
    assert_eq!(
        fs::read(directory.join(format!("{writes:?}/slot-000000"))).unwrap(),
        content
    );
    (content, file.is_mapped())
}

#[test]
fn mapped_and_positioned_writes_leave_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (positioned, is_mapped) = written(Writes::Positioned, directory.path());
    assert!(!is_mapped);
    assert_eq!(written(Writes::Auto, directory.path()).0, positioned);
    if cfg!(target_os = "linux") {
        let (mapped, is_mapped) = written(Writes::Mapped, directory.path());
        assert!(is_mapped);
        assert!(mapped == positioned);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn mapped_write_outside_of_the_file_is_refused() {
    let (_directory, storage) = temporary();
    let file = storage.create("a").unwrap();
    file.write_at(0, &[7; 1024]).unwrap();
    file.prepare(Writes::Mapped).unwrap();
    for offset in [1017, 1024, 4088, u64::MAX, u64::MAX - 8] {
        assert_eq!(
            kind(file.write_at(offset, &[1; 8])),
            io::ErrorKind::InvalidInput
        );
    }
    assert_eq!(file.write_at(1024, &[]).unwrap(), 0);
    let mut content = [0; 1024];
    assert_eq!(file.read_at(0, &mut content).unwrap(), 1024);
    assert_eq!((content, file.bytes().unwrap()), ([7; 1024], 1024));
}

#[cfg(target_os = "linux")]
#[test]
fn a_map_is_given_up_and_taken_again() {
    let (_directory, storage) = temporary();
    let file = storage.create("a").unwrap();
    assert_eq!(
        kind(file.prepare(Writes::Mapped)),
        io::ErrorKind::InvalidInput,
        "empty"
    );
    file.prepare(Writes::Auto).unwrap();
    assert!(!file.is_mapped());
    file.write_at(0, &[0; 8192]).unwrap();
    for (writes, is_mapped) in [
        (Writes::Mapped, true),
        (Writes::Positioned, false),
        (Writes::Mapped, true),
        (Writes::Mapped, true),
        (Writes::Positioned, false),
    ] {
        file.prepare(writes).unwrap();
        assert_eq!(file.is_mapped(), is_mapped);
        let mut content = [0; 2];
        file.read_at(4095, &mut content).unwrap();
        let next = content.map(|byte| byte + 1);
        file.write_at(4095, &next).unwrap();
        file.read_at(4095, &mut content).unwrap();
        assert_eq!(content, next);
    }
    let mut content = [0; 2];
    file.read_at(4095, &mut content).unwrap();
    assert_eq!(content, [5, 5]);
    file.write_at(8192, &[1; 8]).unwrap();
    assert_eq!(
        kind(file.prepare(Writes::Mapped)),
        io::ErrorKind::InvalidInput,
        "it has grown"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn threads_write_side_by_side_through_the_map_while_it_is_synced() {
    let (_directory, storage) = temporary();
    let file = storage.create("a").unwrap();
    file.write_at(0, &vec![0; FILE_BYTES]).unwrap();
    file.prepare(Writes::Mapped).unwrap();
    thread::scope(|scope| {
        // Neighbours share words: lengths of 5 begin and end within them.
        let writers = [1_u8, 2, 3].map(|number| {
            let file = &file;
            scope.spawn(move || {
                for index in (u64::from(number) - 1..FILE_BYTES as u64 / 5).step_by(3) {
                    assert_eq!(file.write_at(index * 5, &[number; 5]).unwrap(), 5);
                }
            })
        });
        while !writers.iter().all(|writer| writer.is_finished()) {
            file.sync().unwrap();
        }
    });
    file.prepare(Writes::Positioned).unwrap();
    let mut content = vec![0; FILE_BYTES / 5 * 5];
    file.read_at(0, &mut content).unwrap();
    for (index, bytes) in content.chunks(5).enumerate() {
        let number = u8::try_from(index % 3 + 1).unwrap();
        assert_eq!(bytes, [number; 5], "at {}", index * 5);
    }
}

#[test]
fn read_only_changes_nothing() {
    let (directory, storage) = temporary();
    storage
        .create("a")
        .unwrap()
        .write_at(0, b"content")
        .unwrap();
    let state = || {
        let metadata = fs::metadata(directory.path()).unwrap();
        let file = fs::metadata(directory.path().join("a")).unwrap();
        let times = (
            metadata.mtime_nsec(),
            file.mtime_nsec(),
            metadata.ctime_nsec(),
        );
        (
            times,
            fs::read(directory.path().join("a")).unwrap(),
            storage.list().unwrap(),
        )
    };
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    fs::set_permissions(
        directory.path().join("a"),
        fs::Permissions::from_mode(0o400),
    )
    .unwrap();
    let before = state();
    let looking = FileStorage::read_only(directory.path()).unwrap();
    let file = looking.open("a").unwrap();
    let refused = [
        kind(looking.create("b")),
        kind(looking.rename("a", "b")),
        kind(looking.remove("a")),
        kind(looking.sync_directory()),
        kind(looking.try_lock("lock", "1")),
        kind(file.write_at(0, b"x")),
        kind(file.sync()),
        kind(file.prepare(Writes::Auto)),
        kind(file.prepare(Writes::Mapped)),
    ];
    assert_eq!(refused, [io::ErrorKind::ReadOnlyFilesystem; 9]);
    let mut content = [0; 8];
    assert_eq!(file.read_at(0, &mut content).unwrap(), 7);
    assert_eq!((file.bytes().unwrap(), &content[..7]), (7, &b"content"[..]));
    assert_eq!(looking.list().unwrap(), ["a"]);
    assert_eq!(state(), before);
    // So that the directory can be removed by others than root.
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn place_is_shown_without_what_a_terminal_acts_on() {
    assert_eq!(
        shown(Path::new("data/ids 'x' \u{e9}")),
        "data/ids 'x' \u{e9}"
    );
    assert_eq!(
        shown(Path::new("a\u{1b}[2J\u{202e}\n")),
        "a\\u{1b}[2J\\u{202e}\\n"
    );
}

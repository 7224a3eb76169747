//! Promise: what format 1 has ever written can be read, and the writer still writes it.
//!
//! Method: the directories of `tests/fixtures/v1`, made by `docs/examples/make_fixtures.rs`, are
//! opened in a copy and tell what stands beside them; made anew, with the same time and chance,
//! they have the same bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../docs/examples/make_fixtures.rs"]
mod make_fixtures;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use idjournal::{Error, Store};

use make_fixtures::support::{Files, assert_same, files_in};
use make_fixtures::{fixtures, options, tell};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v1");

/// The names of all fixtures.
fn names() -> BTreeSet<String> {
    let entries = fs::read_dir(FIXTURES).unwrap().map(Result::unwrap);
    let directories = entries.filter(|entry| entry.path().is_dir());
    directories
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

fn fixture(name: &str) -> (PathBuf, String) {
    let words = fs::read_to_string(Path::new(FIXTURES).join(format!("{name}.txt")));
    (Path::new(FIXTURES).join(name), words.unwrap())
}

/// A copy of a directory of plain files, and its bytes.
fn copy(from: &Path) -> (tempfile::TempDir, Files) {
    let to = tempfile::tempdir().unwrap();
    let mut files = Files::new();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (name, bytes) = (entry.file_name(), fs::read(entry.path()).unwrap());
        fs::write(to.path().join(&name), &bytes).unwrap();
        files.insert(name.into_string().unwrap(), bytes);
    }
    (to, files)
}

#[test]
fn every_fixture_tells_what_it_told_when_it_was_made() {
    assert_eq!(names().len(), 9);
    for name in names() {
        let (path, words) = fixture(&name);
        let (directory, before) = copy(&path);
        let told = tell(Store::open(directory.path(), options().0));
        assert_eq!(told, words, "{name}");
        // What was recovered once is not recovered again; what was refused stays as it is.
        let after = files_in(directory.path());
        match Store::open(directory.path(), options().0) {
            Ok(store) => {
                let rewritten = store.recovery().rewritten_bytes;
                assert_eq!(rewritten, 0, "{name}");
                store.close().unwrap();
                assert_same(&files_in(directory.path()), &after);
            }
            Err(error) => {
                assert!(matches!(error, Error::Damaged { .. }), "{name}: {error:?}");
                assert_same(&after, &before);
            }
        }
    }
}

#[test]
fn the_writer_still_writes_the_same_bytes() {
    let made = fixtures();
    let made_names: BTreeSet<String> = made.keys().map(ToString::to_string).collect();
    assert_eq!(made_names, names());
    for (name, fixture_made) in made {
        let (path, words) = fixture(name);
        let (_directory, files) = copy(&path);
        assert_same(&fixture_made.files, &files);
        assert_eq!(fixture_made.told, words, "{name}");
    }
}

#[test]
fn the_fixtures_are_what_their_names_say() {
    let words = |name| fixture(name).1;
    assert!(words("empty").starts_with("records 0, IDs 0"));
    assert_eq!(words("one_segment").matches(" in slot ").count(), 1);
    assert!(!words("wrapped").contains("segment 1 in"));
    assert!(words("stale").contains("tail of ") && words("torn").contains("tail of "));
    assert!(words("torn").contains("IDs 5"), "the sixth is torn");
    assert!(words("damaged").contains("is damaged at byte"));
    assert!(words("cleared").contains("IDs 2"));
    // Kinds of records by their numbers in docs/format.md, at any place in the slots.
    let (_directory, files) = copy(&fixture("every_kind").0);
    let mut kinds = BTreeSet::new();
    for (_, bytes) in files.iter().filter(|(name, _)| *name != "store") {
        let mut at = bytes.len() / 4;
        while let Some(frame) = bytes.get(at..at + 8) {
            let units = usize::from(u16::from_le_bytes([frame[6], frame[7]]));
            if units == 0 {
                break;
            }
            kinds.insert(frame[4]);
            at += 8 * units;
        }
    }
    for kind in [1, 3, 4, 6, 7, 8, 9, 15, 16] {
        assert!(kinds.contains(&kind), "no record of kind {kind}: {kinds:?}");
    }
    assert!(words("settings").contains("Client orders.eu.all, capacity 5"));
    assert!(!words("settings").contains("tmp.1"), "not stored");
}

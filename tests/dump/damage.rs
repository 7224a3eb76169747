//! What is damaged is named with its place; what is no store is refused; both as `open` does.

use idjournal::{Error, Options};

use super::*;

/// A closed store of several tiny segments; the segments as `stats` shows them.
fn closed(place: &Place) -> Vec<Value> {
    let store = place.open(tiny().id_cache_size(40));
    fill(&store, 200);
    store.close().unwrap();
    let stats = dump(&["stats", "--json"], &place.path()).json();
    let segments: Vec<Value> = stats
        .into_iter()
        .filter(|line| line["type"] == "segment")
        .collect();
    assert!(segments.len() >= 4, "{segments:?}");
    segments
}

fn flip(path: &Path, offset: u64) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[usize::try_from(offset).unwrap()] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// What `open` says of a copy of the directory.
fn opened(directory: &Path) -> Result<(), Error> {
    let place = Place::new();
    copy(directory, &place.path());
    Store::open(place.path(), Options::default()).map(drop)
}

#[test]
fn a_changed_byte_is_named_with_segment_offset_and_reason() {
    let place = Place::new();
    let segments = closed(&place);
    let records = dump(&["--json"], &place.path()).json();
    // Two damages in two segments: both are named.
    let mut expected = Vec::new();
    for segment in [&segments[1], &segments[2]] {
        let of = records
            .iter()
            .filter(|record| record["segment"] == segment["segment"]);
        let record = of.clone().nth(2).unwrap();
        let offset = record["offset"].as_u64().unwrap();
        flip(&slot(&place.path(), &segment["slot"]), offset + 12);
        expected.push(format!(
            "damage: segment {} slot {} offset {offset}: \
             a record below a durable mark does not match its checksum",
            segment["segment"], segment["slot"],
        ));
    }
    let run = dump(&["verify"], &place.path());
    assert_eq!(run.status, 1, "{run:?}");
    for line in &expected {
        assert!(
            run.out.lines().any(|one| one == line),
            "{line}\n{}",
            run.out
        );
    }
    assert!(
        run.out
            .lines()
            .last()
            .unwrap()
            .starts_with("damaged: damages 2, "),
        "{}",
        run.out
    );
    let found = dump(&["verify", "--json"], &place.path()).json();
    assert_eq!(found[0]["severity"], "damage");
    // The others are shown all the same, with what is wrong on standard error.
    for view in ["records", "stats"] {
        let run = dump(&[view], &place.path());
        assert_eq!(run.status, 1, "{run:?}");
        assert_eq!(run.errors.lines().count(), 2, "{run:?}");
    }
    let left = dump(&["--json"], &place.path()).json();
    let last = segments.last().unwrap();
    assert!(
        left.iter()
            .any(|record| record["segment"] == last["segment"])
    );
    assert!(matches!(opened(&place.path()), Err(Error::Damaged { .. })));
}

#[test]
fn every_damaged_byte_is_judged_as_open_judges_it() {
    let place = Place::new();
    let segments = closed(&place);
    let files = [
        (place.path().join("store"), 200),
        (slot(&place.path(), &segments[0]["slot"]), 1024),
        (slot(&place.path(), &segments.last().unwrap()["slot"]), 1024),
    ];
    for (file, bytes) in files {
        for offset in (0..bytes).step_by(17) {
            flip(&file, offset);
            let run = dump(&["verify"], &place.path());
            let is_refused = opened(&place.path()).is_err();
            let place = format!("{} byte {offset}: {run:?}", file.display());
            assert_eq!(run.status != 0, is_refused, "{place}");
            flip(&file, offset);
        }
    }
    assert_eq!(dump(&["verify"], &place.path()).status, 0);
}

#[test]
fn a_missing_segment_is_named_and_the_others_are_shown() {
    for index in [0, 1, 3] {
        let place = Place::new();
        let segments = closed(&place);
        let gone = if index == 3 {
            segments.last().unwrap()
        } else {
            &segments[index]
        };
        std::fs::remove_file(slot(&place.path(), &gone["slot"])).unwrap();
        let run = dump(&["verify"], &place.path());
        assert_eq!(run.status, 1, "{run:?}");
        // A spare slot without a header may be what is left of it: then that is the reason.
        if index < 3 {
            let place = format!("damage: segment {} offset 0: ", gone["segment"]);
            let reasons = ["the segment is missing", "no copy of the header is valid"];
            let found: Vec<&str> = run
                .out
                .lines()
                .filter_map(|one| one.strip_prefix(&place))
                .collect();
            assert!(found.len() == 1 && reasons.contains(&found[0]), "{run:?}");
        }
        assert!(matches!(opened(&place.path()), Err(Error::Damaged { .. })));
        let left = dump(&["--json"], &place.path());
        let others = segments.iter().filter(|segment| *segment != gone);
        for other in others.filter(|_| index < 3) {
            let is_shown = left
                .json()
                .iter()
                .any(|one| one["segment"] == other["segment"]);
            assert!(is_shown, "{other} beside {gone}");
        }
    }
}

#[test]
fn a_lost_store_file_hides_no_record() {
    let place = Place::new();
    closed(&place);
    let before = dump(&["--json"], &place.path());
    let store = place.path().join("store");
    flip(&store, 30);
    let run = dump(&["verify"], &place.path());
    assert_eq!(run.status, 0, "one copy is enough: {run:?}");
    assert!(
        run.out
            .contains("note: store file offset 0: copy 0 of the header"),
        "{run:?}"
    );
    flip(&store, 4096 + 30);
    let run = dump(&["--json"], &place.path());
    assert_eq!((run.status, run.out), (1, before.out));
    let run = dump(&["verify"], &place.path());
    assert!(
        run.out.starts_with("damage: store file offset 0: no copy"),
        "{run:?}"
    );
    std::fs::remove_file(&store).unwrap();
    let run = dump(&["verify"], &place.path());
    assert_eq!(run.status, 2, "{run:?}");
    assert!(
        run.errors
            .contains("is not a store: it has slots but no store file"),
        "{run:?}"
    );
}

#[test]
fn a_torn_tail_is_a_note() {
    let place = Place::new();
    let store = place.open(tiny());
    fill(&store, 200);
    let killed = place.path().with_extension("killed");
    copy(&place.path(), &killed);
    store.close().unwrap();
    let records = dump(&["--json"], &killed).json();
    let run = dump(&["verify"], &killed);
    assert_eq!(run.status, 0, "{run:?}");
    let last = records.last().unwrap();
    // Half of the last record, as a power cut may leave it.
    let (offset, bytes) = (
        last["offset"].as_u64().unwrap(),
        last["bytes"].as_u64().unwrap(),
    );
    flip(&slot(&killed, &last["slot"]), offset + bytes - 9);
    let run = dump(&["verify"], &killed);
    assert_eq!(run.status, 0, "{run:?}");
    let note = format!(
        "note: segment {} slot {} offset {offset}: the records end before ",
        last["segment"], last["slot"]
    );
    assert!(
        run.out.lines().any(|line| line.starts_with(&note)),
        "{note}\n{run:?}"
    );
    assert_eq!(dump(&["--json"], &killed).json().len(), records.len() - 1);
    assert!(opened(&killed).is_ok());
}

#[test]
fn what_is_no_store_of_this_version_is_refused() {
    let place = Place::new();
    let failed = |arguments: &[&str], path: &Path, what: &str| {
        let run = dump(arguments, path);
        assert_eq!((run.status, &*run.out), (2, ""), "{run:?}");
        assert!(run.errors.starts_with("journal-dump: "), "{run:?}");
        assert!(run.errors.contains(what), "{what}: {run:?}");
    };
    let missing = place.path().with_extension("\x1b[2J\u{202e}");
    let file = place.path().with_extension("file");
    std::fs::write(&file, b"x").unwrap();
    for view in VIEWS {
        failed(&[view], &missing, "No such file");
        failed(&[view], &file, "Not a directory");
        failed(
            &[view],
            place.0.path(),
            "is not a store: it has no store file",
        );
    }
    closed(&place);
    let store = place.path().join("store");
    let mut bytes = std::fs::read(&store).unwrap();
    bytes[8] = 2;
    let checksum = crc32fast::hash(&bytes[..124]);
    bytes[124..128].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&store, bytes).unwrap();
    for view in VIEWS {
        failed(&[view], &place.path(), "is of a newer format: version is 2");
    }
    assert!(matches!(
        opened(&place.path()),
        Err(Error::NewerFormat { .. })
    ));
}

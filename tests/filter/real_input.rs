//! The real stream: what comes out, for three sizes of cache and any size of batch.

use crate::{Place, lines, real_input};

const FIELDS: [&str; 4] = ["--address-field", "1", "--id-field", "2"];
/// Size of the ID cache, and the lines written with it.
const TABLE: [(&str, usize); 3] = [("20000", 27_789), ("1000", 27_794), ("10", 28_199)];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&FIELDS, more].concat()
}

#[test]
fn lines_written_are_those_of_the_table_for_any_size_of_batch() {
    let input = real_input();
    for (size, written) in TABLE {
        let options = with(&["--id-cache-size", size, "--sync", "manual"]);
        let whole = Place::new().run(&options, &input);
        let summary = format!(
            "33187 lines read, {written} written, {} duplicates dropped, 0 bad",
            33_187 - written
        );
        assert!(whole.stderr.contains(&summary), "{}", whole.stderr);
        let whole = whole.good();
        assert_eq!(lines(&whole).len(), written, "size {size}");
        for batch in ["1", "7", "4096"] {
            let options = [&options[..], &["--batch-lines", batch]].concat();
            let cut = Place::new().run(&options, &input).good();
            assert!(
                cut == whole,
                "size {size}, batches of {batch}: another output"
            );
        }
    }
}

#[test]
fn second_run_writes_nothing() {
    let place = Place::new();
    let input = real_input();
    let first = place
        .run(&with(&["--id-cache-size", "20000"]), &input)
        .good();
    assert_eq!(lines(&first).len(), 27_789);
    assert_eq!(
        place
            .run(&with(&["--id-cache-size", "20000"]), &input)
            .good(),
        b""
    );
}

#[test]
fn marked_and_parted_lines_are_all_lines() {
    let input = real_input();
    let marked = Place::new().run(&with(&["--mark"]), &input);
    let summary = "33187 lines read, 33187 written, 5398 duplicates marked, 0 bad";
    assert!(marked.stderr.contains(summary), "{}", marked.stderr);
    let marked = marked.good();

    let place = Place::new();
    let file = place.path("duplicates");
    let written = place
        .run(&with(&["--duplicates", file.to_str().unwrap()]), &input)
        .good();
    let duplicates = std::fs::read(&file).unwrap();
    assert_eq!(
        (lines(&written).len(), lines(&duplicates).len()),
        (27_789, 5_398)
    );

    let (mut written, mut duplicates) =
        (lines(&written).into_iter(), lines(&duplicates).into_iter());
    for (line, marked) in lines(&input).into_iter().zip(lines(&marked)) {
        let (mark, rest) = marked.split_at(4);
        assert_eq!(rest, line);
        match mark {
            b"NEW\t" => assert_eq!(written.next(), Some(line)),
            b"DUP\t" => assert_eq!(duplicates.next(), Some(line)),
            other => panic!("mark {other:?}"),
        }
    }
    assert_eq!((written.next(), duplicates.next()), (None, None));
}

#[test]
fn duplicates_are_appended_to_what_the_file_holds() {
    let place = Place::new();
    let file = place.path("duplicates");
    std::fs::write(&file, "before\n").unwrap();
    let options = ["--duplicates", file.to_str().unwrap()];
    assert_eq!(place.run(&options, b"a\nb\na\n").good(), b"a\nb\n");
    assert_eq!(place.run(&options, b"b\nc\n").good(), b"c\n");
    assert_eq!(std::fs::read(&file).unwrap(), b"before\na\nb\n");
}

#[test]
fn quiet_says_nothing_and_a_summary_ends_a_run_that_is_not() {
    let place = Place::new();
    let quiet = place.run(&["--quiet"], b"a\n");
    assert_eq!((quiet.stderr.as_str(), quiet.status), ("", Some(0)));
    let loud = place.run(&[], b"a\nb\n").stderr;
    let summary = "journal-filter: 2 lines read, 1 written, 1 duplicates dropped, 0 bad, ";
    assert!(
        loud.starts_with(summary) && loud.ends_with(" lines/s\n"),
        "{loud}"
    );
    assert_eq!(
        loud.lines().count(),
        1,
        "no progress where there is no terminal: {loud}"
    );
}

#[test]
fn every_sync_policy_gives_the_same_lines() {
    for policy in ["always", "manual", "5"] {
        let place = Place::new();
        assert_eq!(
            place.run(&["--sync", policy], b"a\nb\na\n").good(),
            b"a\nb\n",
            "{policy}"
        );
        assert_eq!(
            place.run(&["--sync", policy], b"b\nc\n").good(),
            b"c\n",
            "{policy}"
        );
    }
}

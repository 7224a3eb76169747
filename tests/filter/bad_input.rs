//! Bad lines: what each is called, and what stop, pass and skip do with it.

use std::process::Command;

use crate::{Done, Place, piped, run};

const MIB: usize = 1 << 20;

#[track_caller]
fn stops(options: &[&str], bad: &[u8], message: &str) {
    let place = Place::new();
    let good: &[u8] = match options.iter().any(|option| option.starts_with("--json")) {
        true => b"{\"id\":\"a\",\"at\":\"q\"}\n",
        false => b"q\ta\n",
    };
    let input = [good, bad, b"\n", good].concat();
    let done = place.run(options, &input);
    assert!(
        done.stderr
            .contains("1 lines read, 1 written, 0 duplicates"),
        "{}",
        done.stderr
    );
    assert_eq!(
        done.stopped(&format!("journal-filter: line 2: {message}")),
        good,
        "{message}"
    );
    // The batch before it counts.
    assert_eq!(place.run(options, good).good(), b"", "{message}");
}

#[test]
fn each_bad_line_stops_the_run_with_its_number_and_why() {
    let fields = ["--address-field", "1", "--id-field", "2"];
    stops(&fields, b"q", "there is no field 2 for the ID");
    stops(&fields, b"", "there is no field 2 for the ID");
    stops(
        &["--address-field", "2"],
        b"q",
        "there is no field 2 for the address",
    );
    let json = ["--json-id", "/id"];
    stops(&json, b"", "not JSON: ");
    stops(&json, b"{\"id\":1", "not JSON: ");
    stops(&json, b"{\"id\":1} x", "not JSON: trailing characters");
    stops(&json, b"{\"id\":\"\\ud800\"}", "not JSON: ");
    stops(&json, b"{\"id\":1,\"x\":\"\xff\"}", "not JSON: not UTF-8");
    stops(&json, b"{}", "there is nothing at /id for the ID");
    stops(
        &json,
        b"{\"id\":1,\"id\":null}",
        "what stands at /id for the ID is neither a string nor",
    );
    stops(
        &json,
        b"{\"id\":{\"id\":1}}",
        "what stands at /id for the ID is neither a string nor",
    );
    let both = ["--json-id", "/id", "--json-address", "/at"];
    stops(
        &both,
        b"{\"id\":1}",
        "there is nothing at /at for the address",
    );
    stops(
        &both,
        b"{\"id\":1,\"at\":[]}",
        "what stands at /at for the address is neither",
    );
    let within = ["--json-id", "/id/x", "--json-address", "/id"];
    let done = Place::new().run(&within, b"{\"id\":\"a\"}\n");
    done.stopped("line 1: there is nothing at /id/x for the ID");
    let nested = b"[".repeat(200);
    stops(&["--json-id", "/id"], &nested, "not JSON: ");
}

#[test]
fn an_id_or_address_over_the_limit_is_a_bad_line_that_names_it() {
    let long = [b"q\t", &b"x".repeat(65_537)[..]].concat();
    stops(&["--id-field", "2"], &long, "the store does not take it: ");
    let limit = [b"q\t", &b"x".repeat(65_536)[..], b"\n"].concat();
    assert_eq!(Place::new().run(&["--id-field", "2"], &limit).good(), limit);
    let long = [&b"x".repeat(65_537)[..], b"\tq"].concat();
    stops(
        &["--address-field", "1"],
        &long,
        "the store does not take it: ",
    );
    let done = Place::new().run(&["--address-field", "1"], &long);
    done.stopped("at most 65536, this is 65537");
}

#[test]
fn bad_lines_are_passed_or_skipped_when_told_so() {
    let input = b"q\ta\nbad 1\nq\ta\nq\tb\nbad 1\nbad 2";
    let with = |more: &[&'static str]| [&["--id-field", "2"], more].concat();
    let place = Place::new();
    let done = place.run(&with(&["--bad-lines", "pass"]), input);
    let counts = "6 lines read, 5 written, 1 duplicates dropped, 3 bad";
    assert!(done.stderr.contains(counts), "{}", done.stderr);
    assert_eq!(done.good(), b"q\ta\nbad 1\nq\tb\nbad 1\nbad 2");
    // What is passed is not remembered.
    let again = place.run(&with(&["--bad-lines", "pass"]), input).good();
    assert_eq!(again, b"bad 1\nbad 1\nbad 2");

    let done = Place::new().run(&with(&["--bad-lines", "skip"]), input);
    let counts = "6 lines read, 2 written, 1 duplicates dropped, 3 bad";
    assert!(done.stderr.contains(counts), "{}", done.stderr);
    assert_eq!(done.good(), b"q\ta\nq\tb\n");

    let marked = Place::new()
        .run(&with(&["--bad-lines", "pass", "--mark"]), input)
        .good();
    let expected = b"NEW\tq\ta\nBAD\tbad 1\nDUP\tq\ta\nNEW\tq\tb\nBAD\tbad 1\nBAD\tbad 2";
    assert_eq!(marked, expected);
    let marked = Place::new()
        .run(&with(&["--bad-lines", "skip", "--mark"]), input)
        .good();
    assert_eq!(marked, b"NEW\tq\ta\nDUP\tq\ta\nNEW\tq\tb\n");
}

#[test]
fn a_line_of_16_mib_is_a_line_and_one_byte_more_is_not() {
    let options = ["--id-field", "1"];
    let mut line = b"id\t".to_vec();
    line.resize(16 * MIB, b'x');
    line.extend(b"\nnext\n");
    assert!(
        Place::new().run(&options, &line).good() == line,
        "the line is not as it came"
    );
    line.insert(3, b'x');
    Place::new()
        .run(&options, &line)
        .stopped("line 1: over 16 MiB");
    let skip = [&options[..], &["--bad-lines", "skip"]].concat();
    assert_eq!(Place::new().run(&skip, &line).good(), b"next\n");
    let pass = [&options[..], &["--bad-lines", "pass"]].concat();
    assert!(
        Place::new().run(&pass, &line).good() == line,
        "the line is not as it came"
    );
}

/// Feeds two lines, one of 100 MiB, and two more, to a program that may hold 64 MiB.
fn run_over_100_mib(options: &[&str]) -> Done {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -d 65536; exec \"$@\"", "sh"]);
    command
        .arg(env!("CARGO_BIN_EXE_journal-filter"))
        .arg("--dir")
        .arg(place.path("ids"));
    command.args(options);
    piped(&mut command);
    run(command, |stdin| {
        let mut feed = |bytes: &[u8]| stdin.write_all(bytes).is_ok();
        // Feeding fails when the program has stopped.
        let piece = vec![b'x'; MIB];
        if feed(b"a\nb\n") && (0..100).all(|_| feed(&piece)) {
            feed(b"\na\nc\n");
        }
    })
}

#[test]
fn a_line_of_100_mib_is_never_held_whole() {
    let stopped = run_over_100_mib(&[]).stopped("line 3: over 16 MiB");
    assert_eq!(stopped, b"a\nb\n");
    assert_eq!(
        run_over_100_mib(&["--bad-lines", "skip"]).good(),
        b"a\nb\nc\n"
    );
    let passed = run_over_100_mib(&["--bad-lines", "pass"]).good();
    assert_eq!(passed.len(), 100 * MIB + "a\nb\n\nc\n".len());
    assert!(passed.starts_with(b"a\nb\nxxx") && passed.ends_with(b"xxx\nc\n"));
    let marked = run_over_100_mib(&["--bad-lines", "pass", "--mark"]).good();
    assert!(marked.starts_with(b"NEW\ta\nNEW\tb\nBAD\txxx"));
    assert!(marked.ends_with(b"xxx\nDUP\ta\nNEW\tc\n"));
}

//! Outputs that end, fill up or cannot be opened, and stores that cannot be.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::Command;

use crate::{Place, Random, finish, lines, run};

/// Lines that are all different, of about 40 bytes.
fn distinct(count: usize) -> Vec<u8> {
    let mut random = Random(7);
    let line = |number| format!("{number:08}-{:031}\n", random.below(usize::MAX)).into_bytes();
    (0..count).flat_map(line).collect()
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_what_it_missed_comes_again() {
    let place = Place::new();
    let input = distinct(20_000);
    let mut child = place.command(&[]).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = vec![0; 100_000];
    let done = std::thread::scope(|scope| {
        // Fails once the program is gone.
        scope.spawn(|| { stdin }.write_all(&input).unwrap_or_default());
        stdout.read_exact(&mut seen).unwrap();
        drop(stdout);
        finish(child)
    });
    assert_eq!(
        (done.status, done.signal),
        (Some(0), None),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains("pipe"), "{}", done.stderr);
    let again = place.run(&[], &input).good();
    let missing = input.len() - again.len();
    assert!(
        input.ends_with(&again),
        "what comes again is not the end of the input"
    );
    // What the pipe held when its reader went was written; no more than that may be missing.
    assert!(
        missing <= seen.len() + (64 << 10),
        "{missing} bytes count as written"
    );
}

#[test]
fn a_full_output_stops_the_run_and_nothing_is_remembered() {
    let place = Place::new();
    let mut command = place.command(&[]);
    command.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let done = run(command, |stdin| {
        stdin.write_all(b"a\nb\n").unwrap_or_default()
    });
    done.stopped(
        "cannot write standard output (the last 2 lines are not remembered; run again): No",
    );
    assert_eq!(place.run(&[], b"a\nb\n").good(), b"a\nb\n");
}

#[test]
fn a_full_file_of_duplicates_stops_the_run_and_nothing_is_remembered() {
    let place = Place::new();
    let full = ["--duplicates", "/dev/full"];
    place
        .run(&full, b"a\na\n")
        .stopped("cannot write /dev/full: No space left");
    assert_eq!(place.run(&[], b"a\n").good(), b"a\n");
    // Without a duplicate there is nothing to write.
    assert_eq!(place.run(&full, b"b\n").good(), b"b\n");
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_loses_nothing() {
    let place = Place::new();
    let input = distinct(200_000);
    let limited = |blocks: usize, output: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh"]);
        command.arg(env!("CARGO_BIN_EXE_journal-filter")).args([
            "--sync",
            "manual",
            "--id-cache-size",
            "200000",
            "--dir",
        ]);
        command.arg(place.path("ids"));
        crate::piped(&mut command);
        command.stdout(File::create(place.path(output)).unwrap());
        run(command, |stdin| stdin.write_all(&input).unwrap_or_default())
    };
    // 512 bytes each: 6 MiB, more than a segment and less than the output.
    limited(12_288, "first").stopped("cannot write standard output");
    let first = std::fs::read(place.path("first")).unwrap();
    assert_eq!(first.len(), 6 << 20);
    // As large as it need be.
    limited(1 << 20, "second").good();
    let second = std::fs::read(place.path("second")).unwrap();
    assert!(input.ends_with(&second) && first.len() + second.len() >= input.len());
    assert!(
        lines(&second).len() < 200_000,
        "the first run counts for nothing"
    );
    // Where even the store finds no room.
    let other = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]);
    command
        .arg(env!("CARGO_BIN_EXE_journal-filter"))
        .arg("--dir")
        .arg(other.path("ids"));
    crate::piped(&mut command);
    run(command, |stdin| stdin.write_all(b"a\n").unwrap_or_default()).stopped("");
}

#[test]
fn what_cannot_be_opened_or_read_is_named() {
    let place = Place::new();
    std::fs::write(place.path("ids"), "a file").unwrap();
    let path = place.path("ids");
    let message = format!("cannot open the store in {}: ", path.display());
    place.run(&[], b"a\n").stopped(&message);
    let place = Place::new();
    let missing = place.path("no\x1b/where");
    let done = place.run(&["--duplicates", missing.to_str().unwrap()], b"a\n");
    assert!(
        !done.stderr.contains('\x1b'),
        "a control character is shown"
    );
    done.stopped("cannot open 0x");
    let mut command = place.command(&[]);
    command.stdin(File::open(place.0.path()).unwrap());
    finish(command.spawn().unwrap()).stopped("cannot read standard input: Is a directory");
}

#[test]
fn two_runs_on_one_store_are_refused() {
    let place = Place::new();
    let mut child = place.command(&[]).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"a\n").unwrap();
    // When the line has come, the store is open.
    let mut line = [0; 2];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    place.run(&[], b"b\n").stopped("is locked by process");
    child.stdin.take();
    assert_eq!(finish(child).status, Some(0));
    assert_eq!(place.run(&[], b"a\nb\n").good(), b"b\n");
}

#[test]
fn capacities_beyond_the_limit_are_refused_and_0_remembers_nothing() {
    let size = |size: &'static str| ["--id-cache-size", size];
    let done = Place::new().run(&size("2147483649"), b"a\n");
    done.stopped("cannot open the store in ");
    assert_eq!(
        Place::new().run(&size("2147483648"), b"a\na\n").good(),
        b"a\n"
    );
    assert_eq!(Place::new().run(&size("0"), b"a\na\n").good(), b"a\na\n");
    assert_eq!(
        Place::new().run(&size("1"), b"a\na\nb\na\n").good(),
        b"a\nb\na\n"
    );
}

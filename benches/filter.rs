//! Lines per second of `journal-filter --sync manual` on the real input, repeated.
//!
//! Twice: repeated as it is, so that nearly all lines are duplicates; and with the number of the
//! repetition behind each ID, so that each repetition adds as many as the first. The store is in
//! the directory for temporary files, and then on tmpfs where there is one, since what a disk takes
//! bounds the first. Without `--bench` (as under `cargo test --benches`) one repetition shows that
//! it runs.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops when it cannot"
)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: usize = 3;

fn main() {
    let repetitions = if std::env::args().any(|argument| argument == "--bench") {
        60
    } else {
        1
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/change-stream.tsv");
    let stream = std::fs::read(path).unwrap();
    let place = tempfile::tempdir().unwrap();
    for (name, is_distinct) in [("as it is", false), ("with new IDs", true)] {
        let path = place.path().join(name);
        let mut file = BufWriter::new(File::create(&path).unwrap());
        let mut lines = 0;
        for repetition in 0..repetitions {
            for line in stream
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                file.write_all(line).unwrap();
                let end = if is_distinct {
                    format!(".{repetition}\n")
                } else {
                    "\n".to_owned()
                };
                file.write_all(end.as_bytes()).unwrap();
                lines += 1;
            }
        }
        file.into_inner().unwrap().sync_all().unwrap();
        for (medium, parent) in [
            ("disk", std::env::temp_dir()),
            ("memory", "/dev/shm".into()),
        ] {
            for _ in 0..if parent.is_dir() { RUNS } else { 0 } {
                let store = tempfile::tempdir_in(&parent).unwrap();
                let seconds = seconds(&path, store.path());
                let rate = f64::from(lines) / seconds / 1e6;
                println!(
                    "{name:<13}{medium:<7}{lines} lines {seconds:>7.3} s {rate:>6.2} M lines/s"
                );
            }
        }
    }
}

fn seconds(input: &Path, dir: &Path) -> f64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journal-filter"));
    command.args([
        "--quiet",
        "--sync",
        "manual",
        "--address-field",
        "1",
        "--id-field",
        "2",
        "--dir",
    ]);
    command
        .arg(dir)
        .stdin(File::open(input).unwrap())
        .stdout(Stdio::null());
    let begun = Instant::now();
    assert!(command.status().unwrap().success());
    begun.elapsed().as_secs_f64()
}

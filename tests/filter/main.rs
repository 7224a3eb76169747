//! Promise: `journal-filter` writes each line that was not seen before, once, whatever the cut into
//! batches; it never loses a line, and after a kill repeats at most the batch that was in flight.
//!
//! Method: the built program is run on the real input and on bad input, killed, and starved.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod bad_input;
mod config;
mod faults;
mod kills;
mod layout;
mod real_input;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A directory for a store, and other files of a test.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program on the store of this place, with all three streams piped.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journal-filter"));
        command.arg("--dir").arg(self.path("ids")).args(arguments);
        piped(&mut command);
        command
    }

    /// Runs the program over `input` to its end.
    fn run(&self, arguments: &[&str], input: &[u8]) -> Done {
        run(self.command(arguments), |stdin| {
            stdin.write_all(input).unwrap_or_default()
        })
    }
}

/// What a run came to.
struct Done {
    status: Option<i32>,
    signal: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Done {
    #[track_caller]
    fn good(self) -> Vec<u8> {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self.stdout
    }

    #[track_caller]
    fn stopped(self, message: &str) -> Vec<u8> {
        assert_eq!(
            (self.status, self.signal),
            (Some(2), None),
            "{}",
            self.stderr
        );
        assert!(
            self.stderr.contains(message),
            "{message:?} is not in {:?}",
            self.stderr
        );
        assert!(
            self.stderr.starts_with("journal-filter: "),
            "{}",
            self.stderr
        );
        self.stdout
    }
}

fn piped(command: &mut Command) {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// Runs `command` while `feed` writes to its standard input, until all its streams have ended.
fn run(mut command: Command, feed: impl FnOnce(&mut dyn Write) + Send) -> Done {
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("is piped");
    std::thread::scope(|scope| {
        // The program may end before it has read all; that is for the test to judge by the output.
        scope.spawn(move || feed(&mut stdin));
        finish(child)
    })
}

/// Reads what the child has yet to say (where it is piped) and waits for its end.
fn finish(mut child: Child) -> Done {
    let (mut stdout, mut stderr) = (Vec::new(), String::new());
    std::thread::scope(|scope| {
        if let Some(pipe) = child.stderr.take() {
            let stderr = &mut stderr;
            scope.spawn(move || {
                let mut pipe = pipe;
                pipe.read_to_string(stderr).expect("messages are text")
            });
        }
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_end(&mut stdout).expect("a pipe can be read");
        }
    });
    let status = child.wait().expect("a child can be waited for");
    Done {
        status: status.code(),
        signal: status.signal(),
        stdout,
        stderr,
    }
}

fn real_input() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/change-stream.tsv");
    std::fs::read(path).expect("the real input is in the repository")
}

/// Whole lines with their newlines.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A generator of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("is below a usize")
    }
}

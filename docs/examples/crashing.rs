//! What the examples share that crash: a child process that dies at a named point, and the rows of
//! docs/embedding.md that say what comes of it.

#![allow(dead_code, reason = "each example takes what it needs")]

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIRECTORY: &str = "IDJOURNAL_EXAMPLE_DIRECTORY";
const WAY: &str = "IDJOURNAL_EXAMPLE_WAY";
const POINT: &str = "IDJOURNAL_EXAMPLE_POINT";

/// The exit status of a child that died where it should.
const DIED: i32 = 9;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What a child does, and where it dies.
pub(crate) struct Course {
    pub(crate) directory: PathBuf,
    pub(crate) way: String,
    point: String,
}

impl Course {
    /// That of this process; none if it is not a child.
    pub(crate) fn of_child() -> Option<Course> {
        Some(Course {
            directory: std::env::var_os(DIRECTORY)?.into(),
            way: std::env::var(WAY).ok()?,
            point: std::env::var(POINT).ok()?,
        })
    }

    /// Ends the process if it is to die here: nothing is closed, written back or released.
    pub(crate) fn passed(&self, point: &str) {
        if self.point == point {
            std::process::exit(DIED);
        }
    }

    pub(crate) fn is_to(&self, point: &str) -> bool {
        self.point == point
    }
}

/// Runs a child until it dies at `point` or ends well; whether it ended well.
fn run(directory: &Path, way: &str, point: &str) -> Outcome<bool> {
    let status = Command::new(std::env::current_exe()?)
        .env(DIRECTORY, directory)
        .env(WAY, way)
        .env(POINT, point)
        .status()?;
    match status.code() {
        Some(0) => Ok(true),
        Some(DIED) => Ok(false),
        _ => Err(format!("{way}, {point}: {status}").into()),
    }
}

/// Has a child go each way and die at each of its points, comes again until it ends well, and looks
/// up in the page how often the effect is in the file `effects` then.
pub(crate) fn assert_ways(page: &str, ways: &[(&str, &[&str])], effects: &str) -> Outcome<()> {
    for (way, points) in ways {
        for point in *points {
            let directory = tempfile::tempdir()?;
            let count = count(directory.path(), way, point, effects)?;
            assert_row(page, &[way, point, times(count)]);
        }
        assert_rows(page, way, points.len());
    }
    Ok(())
}

/// How often there is an effect in all.
fn count(directory: &Path, way: &str, point: &str, effects: &str) -> Outcome<usize> {
    let mut point = point;
    while !run(directory, way, point)? {
        // Nobody has an answer, so that the message comes again; now nothing happens.
        point = "nothing";
    }
    assert!(run(directory, way, "nothing")?, "a copy that comes later");
    let found = std::fs::read_to_string(directory.join(effects)).unwrap_or_default();
    Ok(found.lines().count())
}

/// Appends `bytes` to a file and syncs it: an effect outside of the store.
pub(crate) fn append_synced(path: &Path, bytes: &[u8]) -> Outcome<()> {
    let mut file: File = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(bytes)?;
    Ok(file.sync_data()?)
}

/// Checks that the page has a row of these cells, and prints it.
fn assert_row(page: &str, cells: &[&str]) {
    let row = format!("| {} |", cells.join(" | "));
    println!("{row}");
    assert!(
        page.lines().any(|line| line == row),
        "docs/embedding.md does not say so"
    );
}

/// Checks that the page says no more of this way than was tried.
fn assert_rows(page: &str, way: &str, count: usize) {
    let begin = format!("| {way} |");
    let rows = page.lines().filter(|line| line.starts_with(&begin));
    assert_eq!(rows.count(), count, "{way}");
}

/// How often, in a word.
fn times(count: usize) -> &'static str {
    match count {
        0 => "never",
        1 => "once",
        _ => "twice",
    }
}

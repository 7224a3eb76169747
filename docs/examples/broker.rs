//! A broker that may die at any point: how often it stores a message, in three ways of keeping its
//! message file and the IDs in step.
//!
//! A child process takes the message from a client, and dies where it is told. Then it is started
//! again, and the client, who had no answer, sends the message again; and once more, as a client
//! does whose answer got lost. What comes out is a table of docs/embedding.md, which is checked.

#![allow(clippy::print_stdout, reason = "a program says what it does")]

#[path = "crashing.rs"]
mod crashing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crashing::{Course, Outcome, append_synced, assert_row, assert_rows, run, times};
use idjournal::{Cache, Options, Reserve, Store};

const PAGE: &str = include_str!("../embedding.md");
const ID: &str = "order-1842";

/// The ways, and after what the process dies.
const WAYS: [(&str, &[&str]); 3] = [
    (
        "reserve, store, confirm",
        &["the claim", "storing", "the confirmation", "the answer"],
    ),
    (
        "record, then store",
        &["recording", "storing", "the answer"],
    ),
    (
        "store, then record",
        &["storing", "recording", "the answer"],
    ),
];

/// The broker's own store: here a file with one line per message, the ID first.
fn messages(course: &Course) -> PathBuf {
    course.directory.join("messages")
}

fn store_message(course: &Course) -> Outcome<()> {
    append_synced(&messages(course), b"order-1842 two chairs\n")
}

/// Reads the message file behind what is known to be recorded, and adds its IDs: an ID whose
/// message is stored is then known, whatever was lost.
fn catch_up(orders: &Cache, course: &Course) -> Outcome<()> {
    let messages = std::fs::read_to_string(messages(course)).unwrap_or_default();
    let ids = messages.lines().filter_map(|line| line.split(' ').next());
    let receipts: Vec<_> = ids.map(|id| orders.submit(id)).collect();
    for receipt in receipts {
        let _ = receipt.wait()?;
    }
    Ok(())
}

fn reserve_store_confirm(orders: &Cache, course: &Course) -> Outcome<()> {
    loop {
        match orders.reserve(ID)? {
            Reserve::Reserved(claim) => {
                course.passed("the claim");
                store_message(course)?;
                course.passed("storing");
                // Not waited for: if it is lost, the message file has the ID.
                claim.confirm().detach();
                course.passed("the confirmation");
                return Ok(());
            }
            Reserve::Duplicate(seen) => return Ok(seen.wait().map(drop)?),
            Reserve::Pending(_) => drop(orders.settled(ID).wait(Duration::from_secs(60))?),
        }
    }
}

fn record_then_store(orders: &Cache, course: &Course) -> Outcome<()> {
    if orders.add(ID)? == idjournal::Outcome::Added {
        course.passed("recording");
        store_message(course)?;
        course.passed("storing");
    }
    Ok(())
}

fn store_then_record(orders: &Cache, course: &Course) -> Outcome<()> {
    if !orders.contains(ID)? {
        store_message(course)?;
        course.passed("storing");
        let _ = orders.add(ID)?;
        course.passed("recording");
    }
    Ok(())
}

/// Takes the message once, and answers the client.
fn child(course: &Course) -> Outcome<()> {
    let store = Store::open(course.directory.join("ids"), Options::default())?;
    let orders = store.cache("orders")?;
    match &*course.way {
        "reserve, store, confirm" => {
            catch_up(&orders, course)?;
            reserve_store_confirm(&orders, course)?;
        }
        "record, then store" => record_then_store(&orders, course)?,
        _ => store_then_record(&orders, course)?,
    }
    course.passed("the answer");
    Ok(())
}

/// How often the message is stored in all.
fn count(directory: &Path, way: &str, point: &str) -> Outcome<usize> {
    let mut point = point;
    while !run(directory, way, point)? {
        // The client has no answer; now nothing happens.
        point = "nothing";
    }
    assert!(run(directory, way, "nothing")?, "a copy that comes later");
    let stored = std::fs::read_to_string(directory.join("messages")).unwrap_or_default();
    Ok(stored.lines().count())
}

fn main() -> Outcome<()> {
    if let Some(course) = Course::of_child() {
        return child(&course);
    }
    for (way, points) in WAYS {
        for point in points {
            let directory = tempfile::tempdir()?;
            let count = count(directory.path(), way, point)?;
            assert_row(PAGE, &[way, point, times(count)]);
        }
        assert_rows(PAGE, way, points.len());
    }
    Ok(())
}

//! A broker that may die at any point: how often it stores a message, in four ways of keeping its
//! message file and the IDs in step.
//!
//! A child process takes the message from a client, and dies where it is told. Then it is started
//! again, and the client, who had no answer, sends the message again; and once more, as a client
//! does whose answer got lost. What comes out is a table of docs/embedding.md, which is checked.

#![allow(clippy::print_stdout, reason = "a program says what it does")]

#[path = "crashing.rs"]
mod crashing;

use std::path::PathBuf;
use std::time::Duration;

use crashing::{Course, Outcome, append_synced, assert_ways};
use idjournal::{Cache, Decision, OnDuplicate, Options, Owner, Reserve, Store};

const PAGE: &str = include_str!("../embedding.md");
const ID: &str = "order-1842";

/// The ways, and after what the process dies.
const WAYS: [(&str, &[&str]); 4] = [
    (
        "reserve, store, confirm",
        &[
            "the claim",
            "storing",
            "the confirmation",
            "the bookmark",
            "the answer",
        ],
    ),
    (
        "prepare, store, commit",
        &["preparing", "storing", "the commit", "the answer"],
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

/// Up to where the message file is known to have all of its IDs recorded.
const BOOKMARK: &str = "message file";

/// Reads the message file from the bookmark on, and adds its IDs: an ID whose message is stored is
/// then known, whatever was lost.
fn catch_up(store: &Store, orders: &Cache, course: &Course) -> Outcome<()> {
    let messages = std::fs::read_to_string(messages(course)).unwrap_or_default();
    let begin = match store.bookmark(BOOKMARK) {
        Some(value) => usize::try_from(u64::from_le_bytes(value.as_slice().try_into()?))?,
        None => 0,
    };
    let behind = messages
        .get(begin..)
        .ok_or("the bookmark is ahead of its file")?;
    let ids = behind.lines().filter_map(|line| line.split(' ').next());
    let receipts: Vec<_> = ids.map(|id| orders.submit(id)).collect();
    for receipt in receipts {
        let _ = receipt.wait()?;
    }
    Ok(())
}

fn reserve_store_confirm(store: &Store, orders: &Cache, course: &Course) -> Outcome<()> {
    loop {
        match orders.reserve(ID)? {
            Reserve::Reserved(claim) => {
                course.passed("the claim");
                store_message(course)?;
                course.passed("storing");
                // Not waited for: if it is lost, the message file has the ID.
                claim.confirm().detach();
                course.passed("the confirmation");
                // Now and then, and never beyond a message whose ID is not confirmed yet. It is in
                // the journal behind that ID, so that it is never on disk without it.
                let end = std::fs::metadata(messages(course))?.len();
                store.set_bookmark(BOOKMARK, end.to_le_bytes()).detach();
                course.passed("the bookmark");
                return Ok(());
            }
            Reserve::Duplicate(seen) => return Ok(seen.wait().map(drop)?),
            Reserve::Pending(_) => drop(orders.settled(ID).wait(Duration::from_secs(60))?),
        }
    }
}

/// For a store that cannot be read by position, but can be asked whether it has committed a
/// transaction: a database. Here the message file stands for it.
fn prepare_store_commit(store: &Store, orders: &Cache, course: &Course) -> Outcome<()> {
    loop {
        let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
        match transaction.add(orders, ID)? {
            idjournal::Outcome::Added => {
                let prepared = transaction.prepare("transaction of order-1842").wait()?;
                course.passed("preparing");
                store_message(course)?;
                course.passed("storing");
                // Not waited for: if it is lost, the transaction is in doubt again.
                prepared.commit().detach();
                course.passed("the commit");
                return Ok(());
            }
            // An empty commit waits for what makes the duplicate durable.
            idjournal::Outcome::Duplicate(_) => return Ok(transaction.commit().wait()?),
            idjournal::Outcome::Pending(_) => {
                orders.settled(ID).wait(Duration::from_secs(60))?;
            }
        }
    }
}

/// At the start, before the first message: what the other store has committed is committed.
fn resolve(store: &Store, course: &Course) -> Outcome<()> {
    let stored = std::fs::read_to_string(messages(course)).unwrap_or_default();
    let resolved = store.resolve(|prepared| match prepared.id() {
        b"transaction of order-1842" if stored.contains(ID) => Decision::Commit,
        _ => Decision::RollBack,
    });
    Ok(resolved.wait().map(drop)?)
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
            catch_up(&store, &orders, course)?;
            reserve_store_confirm(&store, &orders, course)?;
        }
        "prepare, store, commit" => {
            resolve(&store, course)?;
            prepare_store_commit(&store, &orders, course)?;
        }
        "record, then store" => record_then_store(&orders, course)?,
        _ => store_then_record(&orders, course)?,
    }
    course.passed("the answer");
    Ok(())
}

fn main() -> Outcome<()> {
    match Course::of_child() {
        Some(course) => child(&course),
        None => assert_ways(PAGE, &WAYS, "messages"),
    }
}

//! A consumer that may die at any point: how often it handles a message, in three ways.
//!
//! A child process takes the message, and dies where it is told. Then it is started again, and the
//! message comes again, until it is acknowledged; and once more, since a broker may send a copy.
//! What comes out is a table of docs/embedding.md, which is checked.

#![allow(clippy::print_stdout, reason = "a program says what it does")]

#[path = "crashing.rs"]
mod crashing;

use std::sync::Barrier;
use std::time::Duration;

use crashing::{Course, Outcome, append_synced, assert_ways};
use idjournal::{Cache, Options, Reserve, Store};

const PAGE: &str = include_str!("../embedding.md");
const ID: &str = "order-1842";

/// Two copies come to two threads at once; the process does not die.
const TWO_COPIES: &str = "not at all; two copies come at once";

/// The ways, and after what the process dies.
const WAYS: [(&str, &[&str]); 3] = [
    (
        "reserve, handle, confirm",
        &["the claim", "handling", "the confirmation", TWO_COPIES],
    ),
    ("mark, then handle", &["the mark", "handling", TWO_COPIES]),
    ("handle, then mark", &["handling", "the mark", TWO_COPIES]),
];

/// What must happen for the message: a line in a file here, a row in a database elsewhere.
fn handle(course: &Course) -> Outcome<()> {
    append_synced(&course.directory.join("handled"), b"order-1842\n")
}

fn reserve_handle_confirm(orders: &Cache, course: &Course) -> Outcome<()> {
    loop {
        match orders.reserve(ID)? {
            Reserve::Reserved(claim) => {
                course.passed("the claim");
                // An error here would drop the claim, and the message could come again.
                handle(course)?;
                course.passed("handling");
                let _ = claim.confirm().wait()?;
                course.passed("the confirmation");
                return Ok(());
            }
            Reserve::Duplicate(seen) => return Ok(seen.wait().map(drop)?),
            Reserve::Pending(_) => drop(orders.settled(ID).wait(Duration::from_secs(60))?),
        }
    }
}

fn mark_then_handle(orders: &Cache, course: &Course) -> Outcome<()> {
    if orders.add(ID)? == idjournal::Outcome::Added {
        course.passed("the mark");
        handle(course)?;
        course.passed("handling");
    }
    Ok(())
}

fn handle_then_mark(orders: &Cache, course: &Course, both_looked: &Barrier) -> Outcome<()> {
    if !orders.contains(ID)? {
        if course.is_to(TWO_COPIES) {
            both_looked.wait();
        }
        handle(course)?;
        course.passed("handling");
        let _ = orders.add(ID)?;
        course.passed("the mark");
    }
    Ok(())
}

fn consume(orders: &Cache, course: &Course, both_looked: &Barrier) -> Outcome<()> {
    match &*course.way {
        "reserve, handle, confirm" => reserve_handle_confirm(orders, course),
        "mark, then handle" => mark_then_handle(orders, course),
        _ => handle_then_mark(orders, course, both_looked),
    }
}

fn child(course: &Course) -> Outcome<()> {
    let store = Store::open(course.directory.join("ids"), Options::default())?;
    let orders = store.cache("orders")?;
    let both_looked = Barrier::new(2);
    let copies = 1 + usize::from(course.is_to(TWO_COPIES));
    std::thread::scope(|scope| {
        let one = || consume(&orders, course, &both_looked);
        let threads: Vec<_> = (0..copies).map(|_| scope.spawn(one)).collect();
        let mut ends = threads.into_iter().map(|one| one.join());
        ends.try_for_each(|end| end.unwrap_or_else(|_| Err("a consumer panicked".into())))
    })
}

fn main() -> Outcome<()> {
    match Course::of_child() {
        Some(course) => child(&course),
        None => assert_ways(PAGE, &WAYS, "handled"),
    }
}

//! What the rigs of real file systems run: children that work on a store, and what compares a store
//! with what they said.
//!
//! The scripts beside this file make the file systems, break and heal them, and call this program;
//! `tests/rigs/run` calls the scripts. The steps of a child and the model of what may be found are
//! those of the test that kills (`tests/crash`). Status 0: all as promised; 1: not, with the
//! reason.

#![allow(clippy::unwrap_used, reason = "a rig fails by panicking")]
#![allow(clippy::print_stdout, reason = "its words are read by scripts")]
#![allow(clippy::print_stderr, reason = "its words are read by scripts")]

#[path = "../crash/child.rs"]
#[allow(dead_code, reason = "the test that kills has a child of its own")]
mod child;
mod filling;
#[path = "../crash/found.rs"]
mod found;
mod lives;
#[path = "../crash/model.rs"]
mod model;
#[path = "../crash/script.rs"]
mod script;
mod small;
#[path = "../support/mod.rs"]
mod support;
mod working;

use std::process::ExitCode;

const USAGE: &str = "\
rig work DIR SEED LIFE POLICY WRITES [LOG]   take the steps of a life; tell them on standard output
rig check DIR SEED POLICY WRITES SAID [POSITION]   compare with the first life that SAID tells
rig lives DIR SEED POLICY WRITES CYCLES CUT HEAL   lives, each cut by one command, healed by another
rig fill DIR NAME WRITES SEED BALLAST HOW   add until the disk is full, again and again;
    HOW: alone; holes, the slots have holes; shared, others take space too
rig filled DIR WRITES SAID...   compare with what filling children said
rig open DIR   open and close
rig cost DIR WRITES COUNT STAT   bytes that synced adds send to the device of that STAT
rig maps DIR   make a store with an ID and say whether it is written through a map";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["work", directory, seed, life, policy, writes] => working::run(
            directory,
            (number(seed), number(life)),
            policy,
            writes,
            None,
        ),
        ["work", directory, seed, life, policy, writes, log] => {
            let life = (number(seed), number(life));
            working::run(directory, life, policy, writes, Some(log))
        }
        ["check", directory, seed, policy, writes, said] => {
            working::check(directory, number(seed), (policy, writes), said, u64::MAX)
        }
        ["check", directory, seed, policy, writes, said, position] => {
            let position = number(position);
            working::check(directory, number(seed), (policy, writes), said, position)
        }
        ["lives", directory, seed, policy, writes, cycles, cut, heal] => {
            let course = lives::Course {
                directory,
                seed: number(seed),
                policy,
                writes,
                cut,
                heal,
            };
            lives::follow(&course, number(cycles))
        }
        ["fill", directory, name, writes, seed, ballast, how] => {
            let place = filling::Place {
                directory,
                name,
                writes,
                seed: number(seed),
                ballast,
                is_alone: how != "shared",
                is_whole: how == "alone",
            };
            filling::run(&place)
        }
        ["filled", directory, writes, ref said @ ..] => filling::check(directory, writes, said),
        ["open", directory] => small::open(directory),
        ["maps", directory] => small::maps(directory),
        ["cost", directory, writes, count, stat] => {
            small::cost(directory, writes, number(count), stat)
        }
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn number(word: &str) -> u64 {
    word.parse()
        .unwrap_or_else(|_| panic!("{word} is not a number"))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

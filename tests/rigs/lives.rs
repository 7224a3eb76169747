//! Lives that are cut: a child works, a command takes its disk away, another brings the disk back,
//! and the next child tells what it finds.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::child::options;
use crate::found::{self, Found};
use crate::model::Life;
use crate::support::Random;
use crate::working::look;

/// What a child says at most before its disk goes, in bytes.
const SAID_MAX: u64 = 1_600;
/// How long a child may go on once its disk has gone.
const PATIENCE: Duration = Duration::from_secs(60);
const SIGBUS: i32 = 7;

pub(crate) struct Course<'a> {
    pub(crate) directory: &'a str,
    pub(crate) seed: u64,
    pub(crate) policy: &'a str,
    pub(crate) writes: &'a str,
    /// A command that takes the disk away.
    pub(crate) cut: &'a str,
    /// A command that brings it back.
    pub(crate) heal: &'a str,
}

#[derive(Default)]
struct Counts {
    acknowledged: u64,
    /// Lives that were cut before a child had told what it found.
    early: u64,
    /// Children that saw an error; that ended by SIGBUS under a map; that were done before.
    errors: u64,
    signals: u64,
    whole: u64,
    happened: u64,
    did_not: u64,
    ids: u64,
}

pub(crate) fn follow(course: &Course, cycles: u64) -> Result<String, String> {
    let mut random = Random(course.seed);
    let mut counts = Counts::default();
    let mut last = Life::first();
    for life in 1..=cycles {
        let is_early = random.below(8) == 0;
        let limit = random.below(if is_early { 400 } else { SAID_MAX });
        let place = |text: String| format!("life {life}, {limit} bytes: {text}");
        let said = run_child(course, life, (is_early, limit), &mut counts).map_err(place)?;
        let Some((found, rest)) = Found::read(&said) else {
            counts.early += 1;
            continue;
        };
        let settled = last.check(&found).map_err(place)?;
        counts.happened += settled.happened;
        counts.did_not += settled.did_not;
        last = Life::next(settled, &found, (course.seed, life));
        counts.acknowledged += last.hear(rest).map_err(place)?;
        let ids = found.caches.values().map(|cache| cache.ids.len() as u64);
        counts.ids += ids.sum::<u64>();
    }
    let options = options(course.policy, course.writes, 4096, false);
    let (found, ids) = look(course.directory, options)?;
    let settled = last.check(&found)?;
    counts.happened += settled.happened;
    counts.did_not += settled.did_not;
    counts.ids += ids;
    if counts.acknowledged < 10 * cycles {
        return Err(format!("only {} steps", counts.acknowledged));
    }
    if counts.errors + counts.signals < cycles / 2 {
        return Err(format!("only {} cuts hit a child", counts.errors));
    }
    Ok(format!(
        "cycles {cycles} acknowledged {} ids {} errors {} sigbus {} early {} whole {} \
         happened {} did-not {}",
        counts.acknowledged,
        counts.ids,
        counts.errors,
        counts.signals,
        counts.early,
        counts.whole,
        counts.happened,
        counts.did_not
    ))
}

/// Runs a child until it has said enough, takes its disk away, waits for its end, brings the disk
/// back; all that it said.
fn run_child(
    course: &Course,
    life: u64,
    (is_early, limit): (bool, u64),
    counts: &mut Counts,
) -> Result<Vec<u8>, String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["work", course.directory, &course.seed.to_string()])
        .args([&life.to_string(), course.policy, course.writes])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let words = listen(child.stdout.take().unwrap());
    let mut said = Vec::new();
    let is_enough = |said: &[u8]| {
        let behind = match is_early {
            true => found::begin(said),
            false => found::work(said),
        };
        behind.is_some_and(|behind| behind.len() as u64 >= limit)
    };
    let heard = hear(&words, &mut said, is_enough)
        .and_then(|()| shell(course.cut))
        .and_then(|()| hear(&words, &mut said, |_| false));
    if heard.is_err() {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    heard?;
    shell(course.heal)?;
    if status.signal() == Some(SIGBUS) && course.writes == "mapped" {
        counts.signals += 1;
    } else if !status.success() {
        let said = String::from_utf8_lossy(&said);
        let tail: Vec<&str> = said.lines().rev().take(12).collect();
        return Err(format!("the child ended with {status}: {tail:?}"));
    } else if said.windows(6).any(|window| window == b"@error") {
        counts.errors += 1;
    } else {
        counts.whole += 1;
    }
    Ok(said)
}

/// Reads a pipe to its end, so that waiting for it can be bounded.
fn listen(mut pipe: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut chunk = [0; 512];
        while let Ok(count @ 1..) = pipe.read(&mut chunk) {
            if sender.send(chunk[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Hears words until they are enough or the pipe ends; a child may not be silent for too long.
fn hear(
    words: &Receiver<Vec<u8>>,
    said: &mut Vec<u8>,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<(), String> {
    while !is_enough(said) {
        match words.recv_timeout(PATIENCE) {
            Ok(word) => said.extend_from_slice(&word),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => return Err("the child hangs".to_owned()),
        }
    }
    Ok(())
}

fn shell(command: &str) -> Result<(), String> {
    let status = Command::new("sh").args(["-c", command]).status();
    let status = status.map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command}: {status}")),
    }
}

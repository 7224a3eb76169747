//! Rows P11 and B12: many producers in a process that is killed, and that send again what they got
//! no answer for.
//!
//! A child tells of each answer through a pipe, and is told where each producer had come to. That
//! each ID was added once is seen from the ordinal of the last add.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use idjournal::{Cache, Error, OnDuplicate, Options, Outcome, Store, SyncPolicy, Writes};

use super::support::Random;
use super::support::home::{OWNER, assert_duplicate, scratch};

const DIRECTORY: &str = "IDJOURNAL_CONFORMANCE_DIRECTORY";
const COURSE: &str = "IDJOURNAL_CONFORMANCE_COURSE";
const KILLS: usize = 8;
/// IDs of one transaction.
const TOGETHER: usize = 3;

/// Who sends what, and how.
#[derive(Clone, Copy, Debug)]
struct Course {
    producers: usize,
    /// Messages, or transactions, of each.
    each: usize,
    writes: Writes,
    policy: SyncPolicy,
    is_transacted: bool,
}

impl Course {
    fn options(&self) -> Options {
        Options::default()
            .segment_bytes(64 << 10)
            .writes(self.writes)
            .sync_policy(self.policy)
    }

    fn ids_of_a_step(&self) -> usize {
        if self.is_transacted { TOGETHER } else { 1 }
    }
}

fn id(producer: usize, number: usize, part: usize) -> String {
    format!("{producer}-{number}-{part}")
}

#[test]
#[ignore = "it is run by the tests that kill it"]
fn the_child_that_is_killed() {
    let words = std::env::var(COURSE).unwrap();
    let mut words = words.split(' ');
    let mut word = || words.next().unwrap();
    let course = Course {
        each: word().parse().unwrap(),
        writes: if word() == "Mapped" {
            Writes::Mapped
        } else {
            Writes::Positioned
        },
        policy: if word() == "Always" {
            SyncPolicy::Always
        } else {
            SyncPolicy::Manual
        },
        is_transacted: word() == "true",
        producers: 0,
    };
    let words_left: usize = word().parse().unwrap();
    let next: Vec<usize> = words.map(|word| word.parse().unwrap()).collect();
    let directory = std::env::var_os(DIRECTORY).unwrap();
    let store = Store::open(directory, course.options()).unwrap();
    let orders = store.cache("orders").unwrap();
    // A word in one write, whole or not there. Behind the last one nobody says anything.
    let left = Mutex::new(words_left);
    let say = |words: String| {
        let mut left = left.lock().unwrap();
        std::io::stdout().write_all(words.as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
        *left -= 1;
        if *left == 0 {
            loop {
                std::thread::park();
            }
        }
    };
    std::thread::scope(|scope| {
        for (producer, next) in next.into_iter().enumerate() {
            let (store, orders, say) = (&store, &orders, &say);
            scope.spawn(move || {
                for number in next..course.each {
                    let answer = send(store, orders, &course, (producer, number));
                    say(format!("\n@{producer} {number} {answer}\n"));
                }
            });
        }
    });
    store.close().unwrap();
}

/// Sends one message or transaction; whether it was new.
fn send(store: &Store, orders: &Cache, course: &Course, step: (usize, usize)) -> char {
    let (producer, number) = step;
    if !course.is_transacted {
        return match orders.add(id(producer, number, 0)).unwrap() {
            Outcome::Added => 'a',
            Outcome::Duplicate(_) => 'd',
            Outcome::Pending(owner) => panic!("pending for {owner}"),
        };
    }
    let mut transaction = store.begin(OnDuplicate::Reject, OWNER);
    let added = (0..TOGETHER).filter(|part| {
        let outcome = transaction
            .add(orders, id(producer, number, *part))
            .unwrap();
        outcome == Outcome::Added
    });
    match added.count() {
        TOGETHER => transaction.commit().wait().map(|()| 'a').unwrap(),
        0 => {
            let refused = transaction.commit().wait();
            assert!(
                matches!(refused, Err(Error::Rejected { .. })),
                "{refused:?}"
            );
            'd'
        }
        some => panic!("{some} of {TOGETHER} are there"),
    }
}

/// Runs a child until it has said so many words, or to its end; what it said.
fn run_child(directory: &Path, course: &Course, next: &[usize], limit: usize) -> String {
    let policy = match course.policy {
        SyncPolicy::Always => "Always",
        _ => "Manual",
    };
    let mut words = format!(
        "{} {:?} {policy} {} {limit}",
        course.each, course.writes, course.is_transacted
    );
    for number in next {
        words.push_str(&format!(" {number}"));
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "children::the_child_that_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .env(COURSE, words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = BufReader::new(child.stdout.take().unwrap());
    let (mut said, mut words) = (String::new(), 0);
    while words < limit {
        let before = said.len();
        if pipe.read_line(&mut said).unwrap() == 0 {
            break;
        }
        words += usize::from(said[before..].starts_with('@'));
    }
    if words == limit {
        child.kill().unwrap();
    }
    pipe.read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    let is_killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    assert!(is_killed || status.success(), "{course:?}: {status}");
    said
}

/// Kills children at work until all was sent; what was acknowledged is there, each ID once.
fn kill_and_send_again(course: &Course) {
    let directory = scratch();
    let path = directory.path();
    let mut next = vec![0; course.producers];
    let mut random = Random(course.each as u64);
    let (mut resent, mut lives) = (0, 0);
    while next.iter().any(|number| *number < course.each) {
        lives += 1;
        let is_last = lives > KILLS;
        let part = 2 * course.producers * course.each / KILLS;
        let limit = match is_last {
            true => usize::MAX,
            false => 1 + random.below(part as u64) as usize,
        };
        let said = run_child(path, course, &next, limit);
        let first = next.clone();
        for line in said.lines().filter_map(|line| line.strip_prefix('@')) {
            let words: Vec<&str> = line.split(' ').collect();
            let [producer, number, answer] = words[..] else {
                continue;
            };
            let (producer, number): (usize, usize) =
                (producer.parse().unwrap(), number.parse().unwrap());
            assert_eq!(number, next[producer], "{course:?}, producer {producer}");
            if answer == "d" {
                assert_eq!(number, first[producer], "only what was in flight is there");
                resent += 1;
            }
            next[producer] += 1;
        }
        let store = Store::open(path, course.options()).unwrap();
        let orders = store.cache("orders").unwrap();
        for (producer, next) in next.iter().enumerate() {
            for number in 0..*next {
                for part in 0..course.ids_of_a_step() {
                    assert_duplicate(&orders, id(producer, number, part));
                }
            }
        }
        store.close().unwrap();
        assert!(!is_last || next.iter().all(|number| *number == course.each));
    }
    let store = Store::open(path, course.options()).unwrap();
    let stats = store.cache("orders").unwrap().stats();
    let sent = (course.producers * course.each * course.ids_of_a_step()) as u64;
    assert_eq!((stats.len, stats.last_ordinal), (sent, sent), "{course:?}");
    assert!(
        lives > 2 && resent > 0,
        "{lives} lives, {resent} sent again"
    );
}

fn assert_each_is_there_once(producers: usize, each: usize, is_transacted: bool) {
    for writes in [Writes::Mapped, Writes::Positioned] {
        for policy in [SyncPolicy::Always, SyncPolicy::Manual] {
            kill_and_send_again(&Course {
                producers,
                each,
                writes,
                policy,
                is_transacted,
            });
        }
    }
}

#[test]
fn p11_of_50_producers_that_are_killed_no_message_is_lost_and_none_is_there_twice() {
    assert_each_is_there_once(50, 200, false);
}

#[test]
fn b12_a_transaction_that_is_sent_again_until_it_is_known_is_there_once() {
    assert_each_is_there_once(50, 60, true);
}

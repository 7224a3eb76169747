//! A child that adds until the disk is full, with a ballast file taking the rest, and goes on when
//! there is space again; and the comparison of a store with what such children said.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use idjournal::{Cache, Error, Options, Outcome, State, Store, SyncPolicy, Writes};

use crate::chain;
use crate::child::say;
use crate::support::Random;

const THREADS: u64 = 3;
/// How often the disk is full; at the last time the child stays until it is killed.
const STAGES: u64 = 4;
const BATCH: u64 = 16;
/// Adds that must go through once there is space.
const ENOUGH: u64 = 200;
/// Adds of a thread after which a disk that is not full is a failure.
const ADDS_MAX: u64 = 100_000;
const CAPACITY: u64 = 1 << 20;
const BTRFS_MAGIC: u64 = 0x9123_683e;

pub(crate) struct Place<'a> {
    pub(crate) directory: &'a str,
    /// A part of each ID, so that two copies of a store add different ones.
    pub(crate) name: &'a str,
    pub(crate) writes: &'a str,
    pub(crate) seed: u64,
    /// A directory of the same file system.
    pub(crate) ballast: &'a str,
    /// Nobody else takes space.
    pub(crate) is_alone: bool,
    /// The slots have their space, and keep it when they are written over.
    pub(crate) is_whole: bool,
}

fn options(seed: u64, writes: &str) -> Options {
    let mut random = Random(seed);
    Options::default()
        .id_cache_size(CAPACITY)
        .segment_bytes([4, 16, 64, 256][usize::try_from(random.below(4)).unwrap()] << 10)
        .keeper(random.below(2) == 0)
        .sync_policy(match random.below(2) {
            0 => SyncPolicy::Always,
            _ => SyncPolicy::Manual,
        })
        .writes(way(writes))
}

pub(crate) fn way(writes: &str) -> Writes {
    match writes {
        "mapped" => Writes::Mapped,
        "positioned" => Writes::Positioned,
        _ => Writes::Auto,
    }
}

struct Filler<'a> {
    place: &'a Place<'a>,
    store: Store,
    pipe: File,
    ballast: PathBuf,
    /// The ballast takes no more space.
    is_filled: AtomicBool,
    /// What is written over has its space, so that nothing but a new slot is ever refused.
    is_strict: bool,
}

/// What begins the reason for which a store stopped that may.
const STOPPED: &str = "stopped: ";

/// What one thread has done: how many IDs it has named, and which of them are known.
#[derive(Default)]
struct Done {
    next: u64,
    known: Vec<u64>,
}

fn id(name: &str, thread: u64, number: u64) -> String {
    format!("{name}-{thread}-{number:026}")
}

fn cache_of(store: &Store, thread: u64) -> Result<Cache, String> {
    store
        .cache(format!("fill-{thread}"))
        .map_err(|error| chain(&error))
}

pub(crate) fn run(place: &Place) -> Result<String, String> {
    let pipe = File::from(stdout().as_fd().try_clone_to_owned().unwrap());
    let store = Store::open(place.directory, options(place.seed, place.writes));
    let store = store.map_err(|error| format!("open: {}", chain(&error)))?;
    let filler = Filler {
        place,
        store,
        pipe,
        ballast: Path::new(place.ballast).to_path_buf(),
        is_filled: AtomicBool::new(false),
        is_strict: place.is_whole && !is_btrfs(place.ballast)?,
    };
    match filler.stages() {
        Ok(()) => {}
        // No space in the middle of an append: the rest of a record is missing, and that is final.
        Err(error) if error.starts_with(STOPPED) && !filler.is_strict => {
            say(&filler.pipe, format!("@{error}\n").as_bytes());
        }
        result => result?,
    }
    say(&filler.pipe, b"@full\n");
    let mut rest = Vec::new();
    let _ = stdin().read_to_end(&mut rest);
    Err("nobody killed the child".to_owned())
}

fn is_btrfs(directory: &str) -> Result<bool, String> {
    let system = rustix::fs::statfs(directory).map_err(|error| error.to_string())?;
    Ok(u64::try_from(system.f_type) == Ok(BTRFS_MAGIC))
}

/// Why a call failed that was not merely refused.
fn failure(doing: &str, error: &Error) -> String {
    let is_stop = matches!(error, Error::OutcomeUnknown { .. } | Error::Poisoned { .. });
    let text = chain(error);
    match is_stop && text.contains("No space left on device") {
        true => format!("{STOPPED}{doing}: {text}"),
        false => format!("{doing}: {text}"),
    }
}

impl Filler<'_> {
    fn stages(&self) -> Result<(), String> {
        let victim = self.store.cache(format!("victim-{}", self.place.name));
        let victim = victim.map_err(|error| chain(&error))?;
        let mut done: Vec<Done> = (0..THREADS).map(|_| Done::default()).collect();
        self.all(&mut done, Filler::go_on)?;
        for stage in 0..STAGES {
            for number in 0..20 {
                match victim.submit(format!("victim {stage} {number}")).wait() {
                    Ok(added) => assert_eq!(added, Outcome::Added),
                    Err(Error::NoSpace { .. }) if !self.place.is_alone => {}
                    Err(error) => return Err(failure("victim", &error)),
                }
            }
            // Either the disk is full before the adds, or it gets full while they go on.
            self.is_filled.store(false, Ordering::SeqCst);
            if stage % 2 == 0 {
                self.fill();
                self.all(&mut done, Filler::until_full)?;
            } else {
                std::thread::scope(|scope| {
                    scope.spawn(|| self.fill());
                    self.all(&mut done, Filler::until_full)
                })?;
            }
            self.look(&done)?;
            self.make_room(&victim)?;
            say(&self.pipe, format!("@stage {stage}\n").as_bytes());
            if stage + 1 < STAGES {
                self.free()?;
                self.all(&mut done, Filler::go_on)?;
            }
        }
        Ok(())
    }

    fn all(
        &self,
        done: &mut [Done],
        work: fn(&Self, u64, &mut Done) -> Result<(), String>,
    ) -> Result<(), String> {
        std::thread::scope(|scope| {
            let threads = done.iter_mut().zip(0..);
            let threads = threads.map(|(done, at)| scope.spawn(move || work(self, at, done)));
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap())
        })
    }

    /// Takes all the space that is left.
    fn fill(&self) {
        let bytes = vec![0x5a; 1 << 20];
        for pass in 0.. {
            let name = self.ballast.join(format!("ballast-{}", self.place.name));
            let file = File::options().create(true).append(true).open(name);
            // Without space for a name there is none at all.
            let Ok(mut file) = file else { break };
            let mut taken = 0;
            for size in [1 << 20, 1 << 16, 1 << 12, 1 << 9] {
                while let Ok(count @ 1..) = file.write(&bytes[..size]) {
                    taken += count;
                }
            }
            // What was set aside for later is given back by a sync.
            let _ = file.sync_all();
            if taken == 0 || pass == 20 {
                break;
            }
        }
        self.is_filled.store(true, Ordering::SeqCst);
    }

    fn free(&self) -> Result<(), String> {
        let name = self.ballast.join(format!("ballast-{}", self.place.name));
        match std::fs::remove_file(name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("ballast: {error}"));
            }
            _ => {}
        }
        let directory = File::open(&self.ballast).unwrap();
        rustix::fs::syncfs(directory).map_err(|error| format!("syncfs: {error}"))
    }

    /// Adds a batch; how many were refused for want of space.
    fn batch(&self, thread: u64, cache: &Cache, done: &mut Done) -> Result<u64, String> {
        let first = done.next;
        done.next += BATCH;
        say(
            &self.pipe,
            format!("@batch {thread} {first} {BATCH}\n").as_bytes(),
        );
        let numbers = first..done.next;
        let submit = |number| (number, cache.submit(id(self.place.name, thread, number)));
        let receipts: Vec<_> = numbers.map(submit).collect();
        let (mut refused, mut words) = (0, String::new());
        for (number, receipt) in receipts {
            match receipt.wait() {
                Ok(Outcome::Added) => {
                    words.push_str(&format!("@known {thread} {number}\n"));
                    done.known.push(number);
                }
                Ok(other) => return Err(format!("{number}: {other:?}")),
                Err(Error::NoSpace { .. }) => {
                    words.push_str(&format!("@refused {thread} {number}\n"));
                    refused += 1;
                }
                Err(error) => return Err(failure("add", &error)),
            }
        }
        say(&self.pipe, words.as_bytes());
        Ok(refused)
    }

    /// Adds until the disk is full and all is refused.
    fn until_full(&self, thread: u64, done: &mut Done) -> Result<(), String> {
        let cache = cache_of(&self.store, thread)?;
        let (first, mut refusals) = (done.next, 0);
        while refusals < 3 {
            if done.next > first + ADDS_MAX {
                return Err("the disk does not get full".to_owned());
            }
            let is_filled = self.is_filled.load(Ordering::SeqCst);
            let refused = self.batch(thread, &cache, done)?;
            refusals += u64::from(is_filled && refused == BATCH);
        }
        Ok(())
    }

    /// Adds, and nothing may be refused.
    fn go_on(&self, thread: u64, done: &mut Done) -> Result<(), String> {
        let cache = cache_of(&self.store, thread)?;
        let first = done.next;
        while done.next < first + ENOUGH {
            let refused = self.batch(thread, &cache, done)?;
            if refused > 0 && self.place.is_alone {
                return Err(format!("{refused} adds refused although there is space"));
            }
        }
        Ok(())
    }

    /// Everything acknowledged is known on the full disk.
    fn look(&self, done: &[Done]) -> Result<(), String> {
        for (done, thread) in done.iter().zip(0..) {
            let cache = cache_of(&self.store, thread)?;
            for number in &done.known {
                let id = id(self.place.name, thread, *number);
                if !matches!(cache.state(&id), State::Known(_) | State::Unsynced(_)) {
                    return Err(format!("{id} is not known on the full disk"));
                }
            }
        }
        Ok(())
    }

    /// Removing and clearing go on, where writing over what is there takes no space.
    fn make_room(&self, victim: &Cache) -> Result<(), String> {
        let first = victim.ids().next();
        let removed = first.map_or(Ok(true), |first| victim.remove(first).wait());
        for result in [removed.map(drop), victim.clear().wait().map(drop)] {
            match result {
                Err(Error::NoSpace { .. }) if !self.is_strict => {}
                result => result.map_err(|error| failure("make room", &error))?,
            }
        }
        Ok(())
    }
}

/// What children said of one thread's IDs: named, acknowledged, refused.
#[derive(Default)]
struct Said {
    named: BTreeSet<String>,
    known: BTreeSet<String>,
    refused: BTreeSet<String>,
}

/// Opens the store and compares it with what children said; each word is "NAME=FILE".
pub(crate) fn check(directory: &str, writes: &str, files: &[&str]) -> Result<String, String> {
    let mut said: BTreeMap<String, Said> = BTreeMap::new();
    for file in files {
        let (name, file) = file.split_once('=').ok_or("NAME=FILE is expected")?;
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        for line in text.lines() {
            hear(&mut said, name, line);
        }
    }
    let store = Store::open(directory, options(1, writes));
    let store = store.map_err(|error| format!("open: {}", chain(&error)))?;
    let (mut known, mut refused, mut found) = (0, 0, 0);
    for (cache, said) in &said {
        let cache = store.cache(cache).map_err(|error| chain(&error))?;
        let ids = cache.ids().map(|id| String::from_utf8(id).unwrap());
        let ids: BTreeSet<String> = ids.collect();
        if let Some(lost) = said.known.difference(&ids).next() {
            return Err(format!("{lost} was acknowledged and is lost"));
        }
        if let Some(invented) = ids.difference(&said.named).next() {
            return Err(format!("{invented} was never added here"));
        }
        if let Some(refused) = ids.intersection(&said.refused).next() {
            return Err(format!("{refused} was refused and is there"));
        }
        known += said.known.len();
        refused += said.refused.len();
        found += ids.len();
    }
    Ok(format!(
        "acknowledged {known} refused {refused} ids {found}"
    ))
}

fn hear(said: &mut BTreeMap<String, Said>, name: &str, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let [
        word @ ("@batch" | "@known" | "@refused"),
        thread,
        number,
        ref rest @ ..,
    ] = words[..]
    else {
        return;
    };
    let (thread, number) = (thread.parse().unwrap(), number.parse().unwrap());
    let said = said.entry(format!("fill-{thread}")).or_default();
    let one = id(name, thread, number);
    match word {
        "@batch" => {
            let count: u64 = rest[0].parse().unwrap();
            let numbers = number..number + count;
            said.named
                .extend(numbers.map(|number| id(name, thread, number)));
        }
        "@known" => drop(said.known.insert(one)),
        _ => drop(said.refused.insert(one)),
    }
}

//! A child whose disk is taken away: it tells each step that is durable, and the errors that end
//! it; and the comparison of a store with what such a child said.

use std::fs::File;
use std::io::stdout;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use idjournal::{Cache, Error, Options, Store};

use crate::chain;
use crate::child::{options, own_name, say, take, tell};
use crate::found::Found;
use crate::model::Life;
use crate::script::{SHARED, SHARED_CAPACITY, STEPS, Script, THREADS};
use crate::support::Random;

/// What the threads of a child share.
struct Child<'a> {
    store: &'a Store,
    pipe: &'a File,
    life: (u64, u64),
    is_always: bool,
    /// The log of block writes, whose length is the time.
    log: Option<&'a str>,
    /// A thread has seen that a write or a sync failed.
    has_failed: AtomicBool,
    /// Steps that began after that and were acknowledged all the same.
    late: AtomicU64,
}

/// The options of a life; the store of a check has those of the first.
fn geometry((seed, life): (u64, u64), policy: &str, writes: &str) -> Options {
    let mut random = Random(seed << 32 ^ life);
    let segment_bytes = [1, 1, 2, 4, 16, 64][usize::try_from(random.below(6)).unwrap()] << 10;
    let has_keeper = random.below(2) == 0;
    options(policy, writes, segment_bytes, has_keeper)
}

pub(crate) fn run(
    directory: &str,
    life: (u64, u64),
    policy: &str,
    writes: &str,
    log: Option<&str>,
) -> Result<String, String> {
    // The pipe itself: each word is one write, whole or not there, and none waits in a buffer.
    let pipe = File::from(stdout().as_fd().try_clone_to_owned().unwrap());
    say(&pipe, b"\n@begin\n");
    let store = match Store::open(directory, geometry(life, policy, writes)) {
        Ok(store) => store,
        Err(error) => {
            say(&pipe, format!("@error open {}\n", kind(&error)).as_bytes());
            return Ok(format!("@end {}", chain(&error)));
        }
    };
    say(&pipe, &tell(&store));
    let child = Child {
        store: &store,
        pipe: &pipe,
        life,
        is_always: policy == "always",
        log,
        has_failed: AtomicBool::new(false),
        late: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let child = &child;
            scope.spawn(move || child.work(thread));
        }
    });
    match child.late.into_inner() {
        0 => Ok(format!(
            "@end {:?}",
            store.close().map_err(|error| chain(&error))
        )),
        late => Err(format!("{late} steps were acknowledged after a failure")),
    }
}

impl Child<'_> {
    fn work(&self, thread: usize) {
        let Err(error) = self.steps(thread) else {
            return;
        };
        let text = format!("@error {thread} {}: {}\n", kind(&error), chain(&error));
        if !is_final(&error) {
            say(self.pipe, text.as_bytes());
            return;
        }
        self.has_failed.store(true, Ordering::SeqCst);
        say(self.pipe, text.as_bytes());
        // Once more: a failure is not over with the call that met it.
        let again = self.store.cache(own_name(thread, 0));
        let again = again.and_then(|cache| cache.submit("9999999999999999").wait_synced());
        if again.is_ok() {
            self.late.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn steps(&self, thread: usize) -> idjournal::Result<()> {
        let own = [
            self.store.cache(own_name(thread, 0))?,
            self.store.cache(own_name(thread, 1))?,
        ];
        let shared = self.store.cache(SHARED)?;
        if shared.capacity() != SHARED_CAPACITY {
            shared.set_capacity(SHARED_CAPACITY).wait_synced()?;
        }
        let mut script = Script::new(self.life, thread);
        for _ in 0..STEPS {
            let had_failed = self.has_failed.load(Ordering::SeqCst);
            let answer = self.step(&own, &shared, &mut script)?;
            if had_failed {
                self.late.fetch_add(1, Ordering::SeqCst);
            }
            let mut word = format!("@{thread}{answer}\n");
            if let Some(log) = self.log {
                let bytes = std::fs::metadata(log).map_or(u64::MAX, |log| log.len());
                word.push_str(&format!("@at {thread} {bytes}\n"));
            }
            say(self.pipe, word.as_bytes());
        }
        Ok(())
    }

    /// A step, and the sync that makes it safe from more than a kill.
    fn step(
        &self,
        own: &[Cache; 2],
        shared: &Cache,
        script: &mut Script,
    ) -> idjournal::Result<char> {
        let answer = take(self.store, own, shared, &script.step())?;
        if !self.is_always {
            self.store.sync().wait_synced()?;
        }
        Ok(answer)
    }
}

/// Whether nothing may be acknowledged any more.
fn is_final(error: &Error) -> bool {
    matches!(error, Error::OutcomeUnknown { .. } | Error::Poisoned { .. })
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::OutcomeUnknown { .. } => "unknown",
        Error::Poisoned { .. } => "poisoned",
        Error::NoSpace { .. } => "no-space",
        Error::Io { .. } => "io",
        Error::Damaged { .. } => "DAMAGED",
        _ => "other",
    }
}

/// Opens the store as it is and compares it with what the first life on it said, as far as that was
/// said up to `position` of the log of block writes.
pub(crate) fn check(
    directory: &str,
    seed: u64,
    (policy, writes): (&str, &str),
    said: &str,
    position: u64,
) -> Result<String, String> {
    let said = std::fs::read(said).map_err(|error| format!("{said}: {error}"))?;
    let (first, rest) = Found::read(&said).ok_or("the child did not begin to work")?;
    let settled = Life::first().check(&first)?;
    let mut life = Life::next(settled, &first, (seed, 1));
    let acknowledged = life.hear(&up_to(rest, position))?;
    let (found, ids) = look(directory, geometry((seed, 1), policy, writes))?;
    let settled = life.check(&found)?;
    Ok(format!(
        "acknowledged {acknowledged} happened {} did-not {} ids {ids}",
        settled.happened, settled.did_not
    ))
}

/// What a store holds, and how many IDs that is.
pub(crate) fn look(directory: &str, options: Options) -> Result<(Found, u64), String> {
    let store = Store::open(Path::new(directory), options).map_err(|error| chain(&error))?;
    let (found, _) = Found::read(&tell(&store)).ok_or("nothing was told")?;
    let ids = found.caches.values().map(|cache| cache.ids.len() as u64);
    let ids = ids.sum();
    Ok((found, ids))
}

/// The acknowledgements that were known when the log was not longer than `position`.
fn up_to(said: &[u8], position: u64) -> Vec<u8> {
    if position == u64::MAX {
        return said.to_vec();
    }
    let mut kept = Vec::new();
    let mut lines = said.split_inclusive(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        if !matches!(line, [b'@', b'0'..=b'9', _, b'\n']) {
            continue;
        }
        let at = std::str::from_utf8(lines.next().unwrap_or_default()).unwrap();
        let at = at.strip_prefix("@at ").unwrap().trim_end();
        let (_, bytes) = at.split_once(' ').unwrap();
        if bytes.parse::<u64>().unwrap() <= position {
            kept.extend_from_slice(line);
        }
    }
    kept
}

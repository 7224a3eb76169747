//! The child: opens the store, tells what it finds, works with many threads, and tells of each step
//! that was acknowledged, until it is killed.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Write as _, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use idjournal::{
    Cache, FileStorage, OnDuplicate, Options, Outcome, Owner, State, Store, SyncPolicy, Writes,
};

use crate::script::{SETTINGS, SHARED, SHARED_CAPACITY, STEPS, Script, Step, THREADS};
use crate::support::Random;

/// The variables that tell a child what to do: where, and "seed life policy writes".
pub(crate) const DIRECTORY: &str = "IDJOURNAL_CRASH_DIRECTORY";
pub(crate) const COURSE: &str = "IDJOURNAL_CRASH_COURSE";

pub(crate) fn run() {
    let course = std::env::var(COURSE).unwrap();
    let words: Vec<&str> = course.split(' ').collect();
    let [seed, life, policy, writes] = words[..] else {
        panic!("{course}");
    };
    let (seed, life): (u64, u64) = (seed.parse().unwrap(), life.parse().unwrap());
    let directory = std::env::var_os(DIRECTORY).unwrap();
    // The pipe itself: each word is one write, whole or not there, and none waits in a buffer.
    let pipe = File::from(stdout().as_fd().try_clone_to_owned().unwrap());
    say(&pipe, b"\n@begin\n");
    let mut random = Random(seed << 32 ^ life);
    let segment_bytes = [1, 1, 2, 4, 16, 64][usize::try_from(random.below(6)).unwrap()] << 10;
    let has_keeper = random.below(2) == 0;
    let directory = Path::new(&directory);
    let progress = &mut |_| say(&pipe, b"@progress\n");
    let options = options(policy, writes, segment_bytes, has_keeper);
    let storage = FileStorage::create(directory).unwrap();
    let store = Store::open_on(storage, options, progress).unwrap();
    say(&pipe, &tell(&store));
    std::thread::scope(|scope| {
        let work = |thread| {
            let (store, pipe) = (&store, &pipe);
            scope.spawn(move || work(store, pipe, (seed, life), thread))
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    store.close().unwrap();
}

pub(crate) fn options(policy: &str, writes: &str, segment_bytes: u64, has_keeper: bool) -> Options {
    let policy = match policy {
        "always" => SyncPolicy::Always,
        "interval" => SyncPolicy::Interval(Duration::from_millis(2)),
        _ => SyncPolicy::Manual,
    };
    let writes = match writes {
        "mapped" => Writes::Mapped,
        _ => Writes::Positioned,
    };
    Options::default()
        .id_cache_size(SETTINGS)
        .segment_bytes(segment_bytes)
        .sync_policy(policy)
        .writes(writes)
        .keeper(has_keeper)
}

pub(crate) fn say(mut pipe: &File, words: &[u8]) {
    pipe.write_all(words).unwrap();
}

/// What a store holds: newest segment and number of slots, and a line for each cache.
pub(crate) fn tell(store: &Store) -> Vec<u8> {
    let segments = &store.recovery().segments;
    let newest = segments.last().map_or(0, |segment| segment.number.0);
    let mut text = format!("@begin\n@segments {newest} {}\n", store.stats().slots);
    for info in store.caches(None, usize::MAX) {
        let cache = store.cache_in(info.namespace, &info.address.0).unwrap();
        let name = std::str::from_utf8(&info.address.0).unwrap();
        write!(text, "@cache {name} {}", info.capacity).unwrap();
        for id in cache.ids() {
            let (State::Known(seen) | State::Unsynced(seen)) = cache.state(&id) else {
                panic!("a listed ID is not known");
            };
            let number = std::str::from_utf8(&id).unwrap().trim_end_matches('.');
            write!(text, " {number}:{}", seen.adds_left).unwrap();
        }
        text.push('\n');
    }
    text.push_str("@work\n");
    text.into_bytes()
}

/// IDs of 16 to 36 bytes.
fn bytes(id: u64) -> Vec<u8> {
    let mut bytes = format!("{id:016}").into_bytes();
    bytes.resize(16 + usize::try_from(id % 21).unwrap(), b'.');
    bytes
}

pub(crate) fn own_name(thread: usize, which: usize) -> String {
    format!("own-{thread}-{which}")
}

fn work(store: &Store, pipe: &File, life: (u64, u64), thread: usize) {
    let own = [0, 1].map(|which| store.cache(own_name(thread, which)).unwrap());
    let shared = store.cache(SHARED).unwrap();
    if shared.capacity() != SHARED_CAPACITY {
        shared.set_capacity(SHARED_CAPACITY).wait().unwrap();
    }
    let mut script = Script::new(life, thread);
    for _ in 0..STEPS {
        let answer = take(store, &own, &shared, &script.step()).unwrap();
        say(pipe, format!("@{thread}{answer}\n").as_bytes());
    }
}

/// Takes a step and waits until it is acknowledged; what the store answers.
pub(crate) fn take(
    store: &Store,
    own: &[Cache; 2],
    shared: &Cache,
    step: &Step,
) -> idjournal::Result<char> {
    Ok(match step {
        Step::Add(which, id) => match own[*which].add(bytes(*id))? {
            Outcome::Added => 'a',
            Outcome::Duplicate(_) => 'd',
            Outcome::Pending(_) => 'p',
        },
        Step::Commit(ids) => {
            let mut transaction = store.begin(OnDuplicate::Reject, Owner(1));
            for (which, id) in ids {
                assert_eq!(transaction.add(&own[*which], bytes(*id))?, Outcome::Added);
            }
            transaction.commit().wait()?;
            'c'
        }
        Step::Remove(which, id) => match own[*which].remove(bytes(*id)).wait()? {
            true => 'r',
            false => 'n',
        },
        Step::Clear(which) => {
            own[*which].clear().wait()?;
            'c'
        }
        Step::Drop(which) => {
            store.drop_cache(own[*which].address()).wait()?;
            'c'
        }
        Step::Resize(which, capacity) => {
            own[*which].set_capacity(*capacity).wait()?;
            'c'
        }
        Step::Share(id) => {
            assert_eq!(shared.submit(bytes(*id)).wait()?, Outcome::Added);
            'c'
        }
        Step::ClearShared => {
            shared.clear().wait()?;
            'c'
        }
        Step::Sync => {
            store.sync().wait_synced()?;
            'c'
        }
        Step::Compact => {
            store.compact()?;
            'c'
        }
    })
}

//! What stores and models are compared by: answers of calls and recorded states.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use idjournal::{AddressSettings, Cache, Namespace, Origin, State, Store};

use super::generator::mix;
use super::time::step_at;

/// The caches that tests use: three addresses in two namespaces.
pub const CACHES: [(Namespace, &[u8]); 6] = [
    (Namespace::Client, b"a"),
    (Namespace::Bridge, b"a"),
    (Namespace::Client, b"orders.\xff\x00"),
    (Namespace::Bridge, b"orders.\xff\x00"),
    (Namespace::Client, b"z"),
    (Namespace::Bridge, b"z"),
];

/// The patterns that tests use, the most specific first, with the caches that each matches.
pub const PATTERNS: [(&[u8], &[usize]); 3] = [
    (b"a", &[0, 1]),
    (b"orders.*", &[2, 3]),
    (b"#", &[0, 1, 2, 3, 4, 5]),
];

/// The IDs that tests use, 0 to 40 bytes long.
pub fn pool() -> &'static [Vec<u8>] {
    static POOL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let lengths = [0, 1, 2, 3, 7, 8, 9, 16, 21, 31, 36, 36, 39, 40];
        let ids = lengths.iter().enumerate();
        ids.map(|(at, length)| vec![b'A' + at as u8; *length])
            .collect()
    });
    &POOL
}

/// The names of the bookmarks that tests set.
pub const BOOKMARKS: u8 = 3;

pub fn bookmark_name(number: u8) -> &'static [u8] {
    [&b"place"[..], b"", b"other"][usize::from(number) % 3]
}

/// A value of 0 to 12 bytes.
pub fn bookmark_value(number: u8) -> Vec<u8> {
    vec![number; usize::from(number % 13)]
}

/// The IDs that tests prepare transactions under.
pub const XIDS: u8 = 4;

pub fn xid(number: u8) -> Vec<u8> {
    vec![b'a' + number; usize::from(number) * 6]
}

/// What a call answers, for comparing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Added,
    /// Known, with so many adds left.
    Duplicate(u64),
    /// Known within a transaction, whose places are not yet decided.
    DuplicateInside,
    Pending(u64),
    Reserved,
    Recorded,
    /// The lease was over, and others have the ID.
    LeaseLost,
    Absent,
    Truth(bool),
    Count(u64),
    Done,
    /// Whether there was a prepared transaction to be resolved.
    Resolved(bool),
    /// One with this ID is prepared already.
    Exists,
    /// It is open again, at this step of time.
    Reopened(u64),
    Rejected,
    /// There was no space for it; nothing was done.
    NoSpace,
    /// Over a limit; nothing was done.
    TooLarge,
    /// Stored IDs would have ended, and nobody said that they may; nothing was done.
    Refused,
    /// There is a copy, in which this was found.
    Copied(Box<Copied>),
    Failed(String),
}

/// An opened copy of a store: at which step of time it stands, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub now: u64,
    pub recorded: Recorded,
    pub pending: Vec<(usize, u8, u64)>,
}

/// What sets the parts of a fingerprint apart.
const BOOKMARK: u64 = 0xb00c_3a2c;
const IN_DOUBT: u64 = 0x1d0b_7000;

/// What holds for a cache: its capacity and its age, each with whether a call has set it, which
/// decides what later settings change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    pub capacity: u64,
    pub is_by_call: bool,
    pub age: Option<Duration>,
    pub is_age_by_call: bool,
    pub is_stored: bool,
}

/// An ID, with the adds that it has left, the step of its time, if that is looked at, and its
/// value. A renewal of the newest ID changes its time only.
type RecordedId = (Vec<u8>, u64, Option<u64>, Vec<u8>);
/// Its name, what holds for it, and its IDs.
type RecordedCache = ((Vec<u8>, Namespace), InForce, Vec<RecordedId>);

/// A recorded state that stores and models can be compared by: every cache that exists, and every
/// pattern that was set, with what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded(Vec<RecordedCache>, Vec<(Vec<u8>, AddressSettings)>, Beside);

/// What is recorded beside IDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    pub bookmarks: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Transactions in doubt with their owners. Their order is that of their times, which a model
    /// does not know.
    pub in_doubt: BTreeMap<Vec<u8>, u64>,
}

impl Beside {
    fn of_store(store: &Store) -> Beside {
        let names = (0..BOOKMARKS).map(bookmark_name);
        let value = |name: &'static [u8]| Some((name.to_vec(), store.bookmark(name)?));
        let in_doubt = store.prepared();
        let in_doubt = in_doubt
            .iter()
            .map(|one| (one.id().to_vec(), one.owner().0));
        Beside {
            bookmarks: names.filter_map(value).collect(),
            in_doubt: in_doubt.collect(),
        }
    }
}

/// What is pending in a store in which no claims were made since it was opened: cache, ID and
/// owner.
pub fn pending(store: &Store) -> Vec<(usize, u8, u64)> {
    let mut pending = Vec::new();
    for (at, (namespace, address)) in CACHES.iter().enumerate() {
        let Ok(cache) = store.cache_in(*namespace, address) else {
            continue;
        };
        for (id, bytes) in (0..).zip(pool()) {
            if let State::Pending(owner) = cache.state(bytes) {
                pending.push((at, id, owner.0));
            }
        }
    }
    pending
}

impl Recorded {
    pub fn new(
        caches: impl Iterator<Item = RecordedCache>,
        patterns: impl Iterator<Item = (Vec<u8>, AddressSettings)>,
        beside: Beside,
    ) -> Recorded {
        let mut caches: Vec<_> = caches.collect();
        caches.sort_by(|one, other| one.0.cmp(&other.0));
        let mut patterns: Vec<_> = patterns.collect();
        patterns.sort_by(|one, other| one.0.cmp(&other.0));
        Recorded(caches, patterns, beside)
    }

    /// The recorded state of a store but for values, which would wait for the disk: all of it must
    /// be reachable through `caches`.
    pub fn of_store(store: &Store) -> Recorded {
        Recorded::look(store, false)
    }

    /// The same of a store that was just opened, with values.
    pub fn of_opened(store: &Store) -> Recorded {
        Recorded::look(store, true)
    }

    fn look(store: &Store, has_values: bool) -> Recorded {
        let infos = store.caches(None, usize::MAX);
        let caches = infos.into_iter().map(|info| {
            let address = info.address.0.to_vec();
            let mut in_force = InForce {
                capacity: info.capacity,
                is_by_call: false,
                age: None,
                is_age_by_call: false,
                is_stored: false,
            };
            let live = match store.cache_in(info.namespace, &address) {
                Ok(cache) => {
                    let stats = cache.stats();
                    in_force.is_by_call = stats.capacity_origin == Origin::Call;
                    in_force.age = cache.max_age();
                    in_force.is_age_by_call = stats.max_age_origin == Origin::Call;
                    in_force.is_stored = stats.is_stored;
                    let ids = cache.ids();
                    ids.map(|id| seen(&cache, id, has_values)).collect()
                }
                Err(error) => vec![(error.to_string().into_bytes(), 0, None, Vec::new())],
            };
            ((address, info.namespace), in_force, live)
        });
        let patterns = store.configured().into_iter();
        let patterns = patterns.map(|(text, settings)| (text.0.to_vec(), settings));
        Recorded::new(caches, patterns, Beside::of_store(store))
    }

    pub fn fingerprint(&self) -> u64 {
        let hash_bytes = |hash: u64, bytes: &[u8]| {
            bytes
                .iter()
                .fold(mix(hash ^ bytes.len() as u64), |hash, byte| {
                    (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
                })
        };
        let mut hash = 0;
        for ((address, namespace), in_force, ids) in &self.0 {
            hash = hash_bytes(mix(hash ^ *namespace as u64), address);
            let age = in_force.age.map_or(0, |age| age.as_secs());
            let by_call = u64::from(in_force.is_by_call) | u64::from(in_force.is_age_by_call) << 1;
            let by_call = by_call | u64::from(in_force.is_stored) << 2;
            hash = mix(mix(mix(hash ^ in_force.capacity) ^ age) ^ by_call) ^ ids.len() as u64;
            for (id, adds_left, time, value) in ids {
                let time = time.unwrap_or(0) << 32;
                hash = mix(hash_bytes(hash_bytes(hash, id), value) ^ adds_left ^ time);
            }
        }
        for (text, settings) in &self.1 {
            // Each apart from what leaves it unset.
            let capacity = settings.id_cache_size.map_or(u64::MAX, mix);
            let age = settings.max_age.map_or(1, |age| age.as_secs() << 1);
            let persistence = settings.persistence.map_or(0, |is_on| 1 + u64::from(is_on));
            let persistence = persistence | u64::from(settings.end_stored_ids) << 2;
            hash = mix(mix(hash_bytes(hash, text) ^ capacity) ^ age << 3 ^ persistence);
        }
        let Beside {
            bookmarks,
            in_doubt,
        } = &self.2;
        for (name, value) in bookmarks {
            // Not 0 for names and values without bytes where nothing else is.
            hash = mix(hash_bytes(hash_bytes(hash ^ BOOKMARK, name), value));
        }
        for (xid, owner) in in_doubt {
            hash = mix(hash_bytes(hash ^ IN_DOUBT, xid) ^ owner);
        }
        mix(hash)
    }
}

fn seen(cache: &Cache, id: Vec<u8>, has_values: bool) -> RecordedId {
    let (adds_left, time) = match cache.state(&id) {
        State::Known(seen) | State::Unsynced(seen) => (seen.adds_left, step_at(seen.time)),
        State::Absent | State::Pending(_) => (u64::MAX, 0),
    };
    let mut value = Vec::new();
    if has_values {
        match cache.value(&id, &mut value) {
            Ok(true) => {}
            other => value = format!("{other:?}").into_bytes(),
        }
    }
    (id, adds_left, has_values.then_some(time), value)
}

/// The value that tests keep by this number; 0 is none.
pub fn value_of(number: u8) -> Vec<u8> {
    vec![number; usize::from(number)]
}

/// Numbers of values: the longest fits the smallest record with the longest ID.
pub const VALUES: usize = 60;

impl fmt::Display for Recorded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((address, namespace), in_force, ids) in &self.0 {
            let origin = |by_call| if by_call { " by call" } else { "" };
            write!(
                formatter,
                "    {} {namespace:?} capacity {}{}, age {:?}{}:",
                address.escape_ascii(),
                in_force.capacity,
                origin(in_force.is_by_call),
                in_force.age,
                origin(in_force.is_age_by_call),
            )?;
            if !in_force.is_stored {
                write!(formatter, " not stored")?;
            }
            for (id, adds_left, time, value) in ids {
                write!(formatter, " {}({adds_left}", name_of(id))?;
                if let Some(time) = time {
                    write!(formatter, " at {time}")?;
                }
                match value[..] {
                    [] => write!(formatter, ")")?,
                    _ => write!(formatter, " {})", value.len())?,
                }
            }
            writeln!(formatter)?;
        }
        for (text, settings) in &self.1 {
            writeln!(formatter, "    {} is {settings:?}", text.escape_ascii())?;
        }
        for (name, value) in &self.2.bookmarks {
            let (name, value) = (name.escape_ascii(), value.escape_ascii());
            writeln!(formatter, "    bookmark \"{name}\" = \"{value}\"")?;
        }
        for (xid, owner) in &self.2.in_doubt {
            let xid = xid.escape_ascii();
            writeln!(formatter, "    in doubt \"{xid}\" of {owner}")?;
        }
        Ok(())
    }
}

/// A short name for an ID of the pool.
pub fn name_of(id: &[u8]) -> String {
    match pool().iter().position(|other| other == id) {
        Some(at) => format!("i{at}"),
        None => format!("?{}", id.escape_ascii()),
    }
}

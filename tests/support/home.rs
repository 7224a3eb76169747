//! A store at home: in a directory, mapped or positioned, or with persistence off; with the words
//! that rows of behaviour are said in.
//!
//! A row is a closure that is run in each way that is asked for; between its parts it closes or
//! kills the store and goes on with what is left.

use std::fs;
use std::path::Path;
use std::time::Duration;

use idjournal::inspect::Inspection;
use idjournal::{
    Cache, Confirmed, Error, Namespace, OnDuplicate, Options, Outcome, Owner, Reservation, Reserve,
    Seen, State, Store, Transaction, Writes,
};
use tempfile::TempDir;

use super::kept::Kept;
use super::small;

/// The owner of transactions.
pub(crate) const OWNER: Owner = Owner(7);

/// The address that rows use where any will do.
pub(crate) const ADDRESS: &str = "orders";

/// A store, and where it lives.
pub(crate) struct Home {
    kept: Kept,
    is_stored: bool,
    options: Options,
    store: Option<Store>,
}

/// Options of a small store that begin every row.
pub(crate) fn plain() -> Options {
    small(16 << 10)
}

/// The same with windows of this size.
pub(crate) fn window(ids: u64) -> Options {
    plain().id_cache_size(ids)
}

/// Runs a row with persistence on and off, mapped and positioned.
pub(crate) fn everywhere(options: &Options, row: impl Fn(&mut Home)) {
    where_stored(options, &row);
    without_persistence(options, row);
}

/// Runs a row with persistence on, mapped and positioned.
pub(crate) fn where_stored(options: &Options, row: impl Fn(&mut Home)) {
    for writes in [Writes::Mapped, Writes::Positioned] {
        row(&mut Home::new(writes, true, options));
    }
}

/// Runs a row with persistence off.
pub(crate) fn without_persistence(options: &Options, row: impl Fn(&mut Home)) {
    for writes in [Writes::Mapped, Writes::Positioned] {
        row(&mut Home::new(writes, false, options));
    }
}

/// A directory in memory where there is such a place.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

impl Home {
    fn new(writes: Writes, is_stored: bool, options: &Options) -> Home {
        let mut home = Home {
            kept: Kept::Directory(scratch(), writes),
            is_stored,
            options: options.clone(),
            store: None,
        };
        home.open();
        home
    }

    fn open(&mut self) {
        let options = self.options.clone().persistence(self.is_stored);
        self.store = Some(self.kept.open(options));
    }

    /// Whether IDs outlive the store.
    pub(crate) fn is_stored(&self) -> bool {
        self.is_stored
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        match &self.kept {
            Kept::Directory(directory, _) => directory.path(),
            Kept::Memory(_) => panic!("a home is a directory"),
        }
    }

    pub(crate) fn orders(&self) -> Cache {
        self.cache(ADDRESS)
    }

    pub(crate) fn cache(&self, address: &str) -> Cache {
        self.store().cache(address).unwrap()
    }

    pub(crate) fn bridge(&self, address: &str) -> Cache {
        self.store().cache_in(Namespace::Bridge, address).unwrap()
    }

    /// A transaction that is rejected for a duplicate.
    pub(crate) fn begin(&self) -> Transaction {
        self.store().begin(OnDuplicate::Reject, OWNER)
    }

    /// Closes the store and opens it again.
    pub(crate) fn reopen(&mut self) {
        let store = self.store.take().unwrap();
        store.close().unwrap();
        drop(store);
        self.open();
    }

    /// The same, and from now on with these options.
    pub(crate) fn reopen_with(&mut self, options: Options) {
        self.options = options;
        self.reopen();
    }

    /// Closes the store and opens it without persistence, which ends what is stored.
    pub(crate) fn reopen_without_persistence(&mut self) {
        self.is_stored = false;
        let options = self.options.clone().end_stored_ids(true);
        self.reopen_with(options);
    }

    /// Goes on with what a kill at this moment leaves.
    pub(crate) fn kill(&mut self) {
        let left = self.kept.killed();
        self.store = None;
        self.kept = left;
        self.open();
    }

    /// The records of live IDs, as an inspection of the directory counts them.
    pub(crate) fn live_records(&self) -> u64 {
        match Inspection::open(self.path()) {
            Ok(mut inspection) => {
                let addresses = inspection.statistics().unwrap().addresses;
                addresses.iter().map(|address| address.live).sum()
            }
            Err(Error::NotAStore { .. }) if !self.is_stored => 0,
            Err(other) => panic!("{other}"),
        }
    }

    /// The addresses that an inspection of the directory shows.
    pub(crate) fn stored_addresses(&self) -> usize {
        let mut inspection = Inspection::open(self.path()).unwrap();
        inspection.statistics().unwrap().addresses.len()
    }

    /// Names, bytes and times of change of all files.
    pub(crate) fn directory(&self) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
        let mut files = Vec::new();
        for file in fs::read_dir(self.path()).unwrap() {
            let file = file.unwrap();
            let changed = file.metadata().unwrap().modified().unwrap();
            let name = file.file_name().into_string().unwrap();
            files.push((name, fs::read(file.path()).unwrap(), changed));
        }
        files.sort();
        files
    }
}

#[track_caller]
pub(crate) fn assert_added(cache: &Cache, id: impl AsRef<[u8]>) {
    assert_eq!(cache.add(id).unwrap(), Outcome::Added);
}

#[track_caller]
pub(crate) fn assert_duplicate(cache: &Cache, id: impl AsRef<[u8]>) -> Seen {
    match cache.add(id).unwrap() {
        Outcome::Duplicate(seen) => seen,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_absent(cache: &Cache, id: impl AsRef<[u8]>) {
    assert!(!cache.contains(&id).unwrap());
    assert_eq!(cache.state(id), State::Absent);
}

/// The claim on an ID that is free.
#[track_caller]
pub(crate) fn reserved(cache: &Cache, id: impl AsRef<[u8]>) -> Reservation {
    match cache.reserve(id).unwrap() {
        Reserve::Reserved(claim) => claim,
        other => panic!("{other:?}"),
    }
}

/// The claim of an owner on an ID that is free.
#[track_caller]
pub(crate) fn reserved_as(
    cache: &Cache,
    id: &str,
    owner: u64,
    lease: Option<Duration>,
) -> Reservation {
    match cache.reserve_as(id, Owner(owner), lease).unwrap() {
        Reserve::Reserved(claim) => claim,
        Reserve::Duplicate(_) | Reserve::Pending(_) => panic!("{id} is not free"),
    }
}

/// Confirms a claim that must still hold.
#[track_caller]
pub(crate) fn confirm(claim: Reservation) {
    assert_eq!(claim.confirm().wait().unwrap(), Confirmed::Recorded);
}

/// What is known of an ID that must be.
#[track_caller]
pub(crate) fn seen(cache: &Cache, id: impl AsRef<[u8]>) -> Seen {
    match cache.state(id) {
        State::Known(seen) | State::Unsynced(seen) => seen,
        other => panic!("{other:?}"),
    }
}

/// Adds the numbers as IDs, all of them new.
#[track_caller]
pub(crate) fn fill(cache: &Cache, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        assert_added(cache, number.to_string());
    }
}

/// The IDs of a cache, oldest first; their number is its length.
#[track_caller]
pub(crate) fn ids(cache: &Cache) -> Vec<String> {
    let text = |id: Vec<u8>| String::from_utf8(id).unwrap();
    let ids: Vec<String> = cache.ids().map(text).collect();
    assert_eq!(cache.len(), ids.len() as u64);
    ids
}

/// The same, of IDs that are numbers.
#[track_caller]
pub(crate) fn numbers(cache: &Cache) -> Vec<u64> {
    let ids = ids(cache).into_iter();
    ids.map(|id| id.parse().unwrap()).collect()
}

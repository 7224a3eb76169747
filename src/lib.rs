//! An append-only journal storage engine for persisted duplicate-ID caches.
//!
//! A broker embeds it to remember, across restarts and crashes, which message IDs it has already
//! accepted: per address a circular cache of the last n IDs, each change one record in a segmented,
//! memory-mapped journal. When the journal wraps, what still lives is carried forward and the
//! segment is used again, so that no file is ever rewritten whole; on start-up the journal is
//! replayed.
//!
//! It is not a message store, not a general key-value store, and not shared between processes: one
//! process has a store open at a time.
//!
//! # Durability
//!
//! An add, remove or clear that returned success under [`SyncPolicy::Always`] survives the death of
//! the process, a crash of the operating system and loss of power, on a device that honours
//! flushes, until it is pushed out by newer adds, removed or cleared. After reopening, the whole
//! store is in a state that it passed through, with nothing acknowledged missing. An error of the
//! storage other than a clean "no space" stops all writing until the store is reopened. Damage to
//! acknowledged data is reported, never skipped.
//!
//! # Waiting
//!
//! [`Receipt`] and [`Settled`] are futures for any runtime, and both have a blocking form. With
//! them nothing has to wait with a thread: [`submit`](Cache::submit) and
//! [`reserve`](Cache::reserve) instead of [`add`](Cache::add), [`state`](Cache::state) and then an
//! awaited [`sync`](Store::sync) instead of [`contains`](Cache::contains).
//!
//! A call that records does so itself: it takes a lock that is held for as long as a record is
//! copied, and never over a wait for the disk, but in two cases. The first record of a life begins
//! a segment, which waits for some syncs; and where records come faster than the background thread
//! makes segments, a call waits until there is one, or makes it, or carries forward: for about as
//! long as the disk takes for writing and syncing a segment or two. Where that is too long for an
//! executor, make the calls where blocking is allowed. `open`, `close`, `compact` and `backup`
//! always belong there.
//!
//! # Examples
//!
//! ```
//! use idjournal::{Options, Reserve, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("ids");
//! let store = Store::open(&path, Options::default())?;
//! let orders = store.cache("orders")?;
//! match orders.reserve("order-1842")? {
//!     Reserve::Reserved(claim) => {
//!         // handle the message, then:
//!         claim.confirm().wait()?;
//!     }
//!     Reserve::Duplicate(seen) => println!("seen before, as add {}", seen.wait()?.ordinal),
//!     Reserve::Pending(owner) => println!("in the hands of {owner}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The bytes on disk are written down in docs/format.md of the repository.
//!
//! # Features
//!
//! `cli`, the one that is on unless it is turned off, is for the programs, and turns on `artemis`
//! and `serde`, which are for settings from files. `metrics`, for [figures](Store::stats) under
//! names that stay, and `tracing`, for events, are for who asks for them; docs/operations.md says
//! what both tell, and how a file of settings looks.

mod address_settings;
#[cfg(feature = "artemis")]
pub mod artemis;
mod cache;
pub mod camel;
mod claim;
mod clock;
mod commit;
mod compaction;
mod directory;
mod error;
mod events;
mod facade;
mod format;
mod hash;
mod ids;
pub mod inspect;
mod journal;
mod keeper;
#[cfg(feature = "metrics")]
pub mod meter;
#[cfg(not(idjournal_mutants))]
mod mutant;
#[cfg(idjournal_mutants)]
#[doc(hidden)]
pub mod mutant;
mod options;
mod receipt;
mod record;
mod recovery;
mod ring;
mod segment;
mod stats;
mod storage;
mod store;
mod store_file;
mod sync_policy;
mod transaction;
#[cfg(any(feature = "serde", feature = "artemis"))]
mod units;
mod waits;

pub use address_settings::{AddressSettings, Origin, Wildcards};
pub use clock::{Clock, Entropy, SystemClock, SystemEntropy};
pub use error::{Bytes, Cause, DamageReason, Error, RejectedBecause, Result, write_escaped};
pub use format::{
    ADDRESS_BYTES_MAX, ADDRESSES_MAX, BOOKMARK_NAME_BYTES_MAX, CAPACITY_MAX, ID_BYTES_MAX,
    SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, TRANSACTION_ID_BYTES_MAX, VALUE_BYTES_MAX,
};
pub use ids::{Namespace, Ordinal, Owner, Position, SegmentNumber, Slot, Ticks};
#[cfg(any(feature = "serde", feature = "artemis"))]
pub use options::FileSettings;
pub use options::{ID_CACHE_SIZE, Options};
pub use receipt::Receipt;
pub use recovery::{
    AgeChange, CapacityChange, EndedCache, Progress, RecoveryReport, SegmentReport, TailReport,
};
pub use stats::{CacheStats, Stats};
pub use storage::{FileStorage, MemoryStorage, Storage, StorageFile, StorageLock, Writes};
pub use store::{
    Cache, CacheInfo, Confirmed, Decision, Ids, OnDuplicate, Outcome, Prepared, Reservation,
    Reserve, Resolved, Seen, Settled, State, Store, Transaction,
};
pub use sync_policy::SyncPolicy;

/// The examples of the README are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// So are those of docs/embedding.md.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
pub struct Embedding;

/// And those of docs/artemis.md, which has one that needs a feature.
#[cfg(all(doctest, feature = "artemis"))]
#[doc = include_str!("../docs/artemis.md")]
pub struct FromArtemis;

/// And those of docs/camel.md.
#[cfg(doctest)]
#[doc = include_str!("../docs/camel.md")]
pub struct FromCamel;

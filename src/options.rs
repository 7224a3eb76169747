//! What a store is opened with: settings, their defaults, and the one step that checks them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::address_settings::{AddressSettings, Effective, Origin, Patterns, SetBy, Wildcards};
use crate::clock::{Clock, Entropy, SystemClock, SystemEntropy, ticks};
use crate::error::{Error, Result};
use crate::format;
use crate::ids::Ticks;
use crate::storage::Writes;
use crate::sync_policy::SyncPolicy;

#[cfg(any(feature = "serde", feature = "artemis"))]
mod file_settings;
#[cfg(feature = "serde")]
mod written;

#[cfg(any(feature = "serde", feature = "artemis"))]
pub use file_settings::FileSettings;

/// The capacity of an address for which nothing else is said; Artemis's `id-cache-size` has the
/// same.
pub const ID_CACHE_SIZE: u64 = 20_000;

/// How a store is opened. Each method sets one option and returns the whole.
///
/// # Examples
///
/// ```
/// use idjournal::{Options, Store, SyncPolicy};
///
/// # fn main() -> idjournal::Result<()> {
/// let options = Options::default().id_cache_size(1_000).sync_policy(SyncPolicy::Manual);
/// let store = Store::in_memory(options)?;
/// assert_eq!(store.cache("orders")?.capacity(), 1_000);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) id_cache_size: Option<u64>,
    /// In ticks; 0 is none.
    pub(crate) max_age: Option<u64>,
    pub(crate) persistence: bool,
    pub(crate) end_stored_ids: bool,
    address_settings: Vec<(Box<[u8]>, AddressSettings)>,
    wildcards: Wildcards,
    pub(crate) sync_policy: SyncPolicy,
    pub(crate) segment_bytes: u64,
    pub(crate) writes: Writes,
    pub(crate) keeper: bool,
    pub(crate) lock_wait: Duration,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// The limits of a store; a call beyond one fails and names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) id_bytes: usize,
    pub(crate) address_bytes: usize,
    pub(crate) addresses: u32,
}

/// The settings of an address for which no call has said anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fresh {
    pub(crate) capacity: u64,
    /// In ticks; 0 is none.
    pub(crate) max_age: u64,
    /// Whether its IDs are written to the journal, if there is one.
    pub(crate) is_stored: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            id_cache_size: None,
            max_age: None,
            persistence: true,
            end_stored_ids: false,
            address_settings: Vec::new(),
            wildcards: Wildcards::default(),
            sync_policy: SyncPolicy::Always,
            segment_bytes: 4 << 20,
            writes: Writes::Auto,
            keeper: true,
            lock_wait: Duration::ZERO,
            limits: Limits {
                id_bytes: format::ID_BYTES_MAX,
                address_bytes: format::ADDRESS_BYTES_MAX,
                addresses: format::ADDRESSES_MAX,
            },
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }
}

impl Options {
    /// How many of its newest IDs an address remembers, where no call has set it: 0 to 2^31.
    ///
    /// Left unset, stored capacities stay and new addresses get 20,000. Set, it also changes stored
    /// capacities that came from settings; each shrink stands in the recovery report. 0 accepts
    /// every ID and stores nothing.
    #[must_use]
    pub fn id_cache_size(mut self, ids: u64) -> Options {
        self.id_cache_size = Some(ids);
        self
    }

    /// From which age on IDs are as if they were gone, where no call has set it; none does so by
    /// `None`.
    ///
    /// Left unset, stored ages stay and new addresses get none. Set, it also changes stored ages
    /// that came from settings; each change stands in the recovery report. Ages count in steps of
    /// 10 milliseconds, rounded up, and from one step on.
    #[must_use]
    pub fn max_age(mut self, age: Option<Duration>) -> Options {
        self.max_age = Some(age_ticks(age));
        self
    }

    /// Whether IDs are written to the journal; `true` unless set.
    ///
    /// Without persistence the same calls work in memory alone. For a directory that holds IDs,
    /// [`end_stored_ids`](Options::end_stored_ids) must be set too.
    #[must_use]
    pub fn persistence(mut self, is_on: bool) -> Options {
        self.persistence = is_on;
        self
    }

    /// With persistence off: whether IDs that the directory holds are forgotten for good.
    #[must_use]
    pub fn end_stored_ids(mut self, is_on: bool) -> Options {
        self.end_stored_ids = is_on;
        self
    }

    /// Settings for the addresses that `pattern` matches; given again, they replace those before.
    ///
    /// Words are separated by `.`; `*` stands for one word, and `#` at the end for any number of
    /// them, also none. Of all patterns that match an address the most specific one decides, and
    /// what it leaves unset is inherited from the next one, at last from these options: see
    /// [`AddressSettings`]. What a call has set is not changed by settings, and a pattern that
    /// [`configure`](crate::Store::configure) has set decides before the same one here.
    #[must_use]
    pub fn address_settings(
        mut self,
        pattern: impl AsRef<[u8]>,
        settings: AddressSettings,
    ) -> Options {
        let pattern = Box::from(pattern.as_ref());
        self.address_settings.push((pattern, settings));
        self
    }

    /// The characters that have a meaning in patterns; `.`, `#` and `*` unless set.
    #[must_use]
    pub fn wildcards(mut self, wildcards: Wildcards) -> Options {
        self.wildcards = wildcards;
        self
    }

    /// What an acknowledgement waits for; [`SyncPolicy::Always`] unless set.
    #[must_use]
    pub fn sync_policy(mut self, policy: SyncPolicy) -> Options {
        self.sync_policy = policy;
        self
    }

    /// The bytes of a new segment: a multiple of 1,024 from 1,024 to 512 MiB; 4 MiB unless set.
    ///
    /// It holds for new segments; those on disk keep theirs. A record may have a quarter of a
    /// segment, so small segments are for tests.
    #[must_use]
    pub fn segment_bytes(mut self, bytes: u64) -> Options {
        self.segment_bytes = bytes;
        self
    }

    /// How segments are written; [`Writes::Auto`] unless set.
    #[must_use]
    pub fn writes(mut self, writes: Writes) -> Options {
        self.writes = writes;
        self
    }

    /// Whether a background thread makes segments ahead, carries forward and syncs; `true` unless
    /// set.
    ///
    /// Without it the calls do this work themselves.
    #[must_use]
    pub fn keeper(mut self, is_on: bool) -> Options {
        self.keeper = is_on;
        self
    }

    /// How long `open` waits for another holder of the directory to close; not at all unless set.
    #[must_use]
    pub fn lock_wait(mut self, time: Duration) -> Options {
        self.lock_wait = time;
        self
    }

    /// The most bytes an ID may have, up to 65,536.
    #[must_use]
    pub fn id_bytes_max(mut self, bytes: usize) -> Options {
        self.limits.id_bytes = bytes;
        self
    }

    /// The most bytes an address may have, up to 65,536.
    #[must_use]
    pub fn address_bytes_max(mut self, bytes: usize) -> Options {
        self.limits.address_bytes = bytes;
        self
    }

    /// The most addresses a store may have, up to 1,000,000; each namespace counts.
    #[must_use]
    pub fn addresses_max(mut self, count: u32) -> Options {
        self.limits.addresses = count;
        self
    }

    /// Where time comes from; the system unless set.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Options {
        self.clock = clock;
        self
    }

    /// Where the store's identity and the salts of its segments come from; the system unless set.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Options {
        self.entropy = entropy;
        self
    }

    /// The patterns of these options.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] if one means nothing, [`Error::Limit`] if a capacity is too high.
    pub(crate) fn patterns(&self) -> Result<Patterns> {
        let wrong = |option, why| Error::Options { option, why };
        if let Some(why) = self.wildcards.fault() {
            return Err(wrong("wildcards", why));
        }
        let mut patterns = Patterns::new(self.wildcards);
        for (text, settings) in &self.address_settings {
            check_settings(settings)?;
            let pattern = patterns.parse(text);
            let pattern = pattern.map_err(|why| wrong("address_settings", why))?;
            patterns.set(SetBy::Options, pattern, *settings);
        }
        Ok(patterns)
    }

    /// Adds what these options say of every address.
    pub(crate) fn inherit(&self, mut effective: Effective) -> Effective {
        let for_all = AddressSettings {
            id_cache_size: self.id_cache_size,
            max_age: self.max_age.map(|ticks| age_of(ticks).unwrap_or_default()),
            ..AddressSettings::default()
        };
        effective.inherit(for_all, Origin::Options);
        effective
    }

    /// What a new address begins with, for which that holds.
    pub(crate) fn fresh(effective: &Effective) -> Fresh {
        let capacity = effective.id_cache_size;
        Fresh {
            capacity: capacity.map_or(ID_CACHE_SIZE, |(ids, _)| ids),
            max_age: effective.max_age.map_or(0, |(age, _)| ticks_of(age)),
            is_stored: effective.is_stored(),
        }
    }

    /// Whether a store can be opened with these options; `open` asks it first.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] for what means nothing, [`Error::Limit`] for what is too high.
    ///
    /// # Examples
    ///
    /// ```
    /// let options = idjournal::Options::default().segment_bytes(1_000);
    /// let error = options.validate().unwrap_err().to_string();
    /// assert_eq!(error, "option segment_bytes: must be a multiple of 1024 from 1024 to 512 MiB");
    /// ```
    pub fn validate(&self) -> Result<()> {
        let wrong = |option, why| Err(Error::Options { option, why });
        let bytes = self.segment_bytes;
        let range = format::SEGMENT_BYTES_MIN..=format::SEGMENT_BYTES_MAX;
        if !range.contains(&bytes) || !bytes.is_multiple_of(format::SEGMENT_BYTES_STEP) {
            return wrong(
                "segment_bytes",
                "must be a multiple of 1024 from 1024 to 512 MiB",
            );
        }
        check_settings(&AddressSettings {
            id_cache_size: self.id_cache_size,
            ..AddressSettings::default()
        })?;
        self.patterns()?;
        if self.end_stored_ids && self.persistence {
            return wrong("end_stored_ids", "needs persistence to be off");
        }
        if self.sync_policy == SyncPolicy::Interval(Duration::ZERO) {
            return wrong("sync_policy", "an interval of zero is what Always does");
        }
        let caps = [
            (
                "id_bytes_max",
                self.limits.id_bytes as u64,
                format::ID_BYTES_MAX as u64,
            ),
            (
                "address_bytes_max",
                self.limits.address_bytes as u64,
                format::ADDRESS_BYTES_MAX as u64,
            ),
            (
                "addresses_max",
                u64::from(self.limits.addresses),
                u64::from(format::ADDRESSES_MAX),
            ),
        ];
        match caps.into_iter().find(|(_, actual, max)| actual > max) {
            Some((limit, actual, max)) => Err(Error::Limit { limit, max, actual }),
            None => Ok(()),
        }
    }
}

/// A capacity beyond its limit is refused.
pub(crate) fn check_settings(settings: &AddressSettings) -> Result<()> {
    let (limit, max) = ("capacity", format::CAPACITY_MAX);
    match settings.id_cache_size.filter(|ids| *ids > max) {
        Some(actual) => Err(Error::Limit { limit, max, actual }),
        None => Ok(()),
    }
}

/// The age of a setting in ticks: zero is none there too.
pub(crate) fn ticks_of(age: Duration) -> u64 {
    age_ticks((!age.is_zero()).then_some(age))
}

/// An age in ticks, rounded up and at least one, so that it differs from none, which is 0.
pub(crate) fn age_ticks(age: Option<Duration>) -> u64 {
    let rounded_up = |age: Duration| {
        let down = ticks(age).0;
        let is_more = Duration::from_millis(down.saturating_mul(Ticks::MILLISECONDS)) < age;
        down.saturating_add(u64::from(is_more)).max(1)
    };
    age.map_or(0, rounded_up)
}

/// An age as its user knows it.
pub(crate) fn age_of(ticks: u64) -> Option<Duration> {
    let milliseconds = ticks.saturating_mul(Ticks::MILLISECONDS);
    (ticks > 0).then(|| Duration::from_millis(milliseconds))
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("id_cache_size", &self.id_cache_size)
            .field("max_age", &self.max_age.map(age_of))
            .field("persistence", &self.persistence)
            .field("end_stored_ids", &self.end_stored_ids)
            .field("address_settings", &self.address_settings.len())
            .field("wildcards", &self.wildcards)
            .field("sync_policy", &self.sync_policy)
            .field("segment_bytes", &self.segment_bytes)
            .field("writes", &self.writes)
            .field("keeper", &self.keeper)
            .field("lock_wait", &self.lock_wait)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

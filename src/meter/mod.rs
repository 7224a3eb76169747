//! The figures of a store for the `metrics` facade: every one that [`Stats`] and
//! [`CacheStats`] have, under names that stay. Behind the feature `metrics`.
//!
//! They are recorded by a call, on a scrape or a timer, not by each add. The engine counts anyway,
//! under locks that it holds anyway; an add takes a quarter of a microsecond, and a metric that is
//! looked up by name and labels, and written by all threads in one place, would be much of that.
//! Nobody sees a figure between two scrapes.

mod address_table;
mod table;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Weak;

use ::metrics::{Key, Label, Level, Metadata, Recorder, Unit, with_recorder};

use crate::{Cache, CacheStats, Namespace, Stats, Store};

pub use address_table::ADDRESS_METRICS;
pub use table::STORE_METRICS;
use table::Value;

/// What a figure is: its name in every exporter, and what it means.
pub struct Metric {
    /// The name, which ends in the unit where that is not a number of things, and in `_total` where
    /// it only rises.
    pub name: &'static str,
    /// `bytes`, `seconds`, or what is counted.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
    value: Value,
}

/// Records the figures of one store, as often as it is asked to.
///
/// Figures of the store have the label `store`, a name that the caller chooses; those of an address
/// also `namespace` (`client` or `bridge`) and `address`, shown as [`Bytes`](crate::Bytes) are.
/// What only rises is a counter: what was counted since the call before is added to it, so that it
/// rises on over a store that is opened anew and an address that is dropped and used again. The
/// rest are gauges; those of an address that is gone are set to 0 once.
///
/// # Examples
///
/// ```
/// use idjournal::meter::Meter;
/// use idjournal::{Options, Store};
///
/// # fn main() -> idjournal::Result<()> {
/// let store = Store::in_memory(Options::default())?;
/// let _ = store.cache("orders")?.add("order-1842")?;
/// let mut meter = Meter::new("ids"); // one for each store, kept
/// meter.record(&store); // on each scrape, or every ten seconds
/// # Ok(())
/// # }
/// ```
pub struct Meter {
    labels: Vec<Label>,
    addresses_max: usize,
    /// What the counters of the store had come to, in which life.
    store: Vec<u64>,
    life: Option<Life>,
    /// And those of each address, by namespace and name.
    addresses: BTreeMap<(Namespace, Box<[u8]>), Metered>,
}

/// Tells what one store, or one address, counts from what its successor of that name does.
type Life = Weak<dyn Any + Send + Sync>;

/// An address whose figures were recorded.
struct Metered {
    labels: Vec<Label>,
    counts: Vec<u64>,
    life: Option<Life>,
    /// Whether it is there in this round, and was in the one before.
    is_there: bool,
    was_there: bool,
}

/// How many addresses have figures of their own unless it is said.
const ADDRESSES_MAX: usize = 1_000;

/// How many caches are asked for at once.
const BATCH: usize = 256;

impl Meter {
    /// A meter for the store of this name.
    pub fn new(store: impl Into<String>) -> Meter {
        Meter {
            labels: vec![Label::new("store", store.into())],
            addresses_max: ADDRESSES_MAX,
            store: Vec::new(),
            life: None,
            addresses: BTreeMap::new(),
        }
    }

    /// The same with figures of their own for so many addresses, the first ones in the order of
    /// [`Store::caches`]; 1,000 unless set. All others are in the sums of the store, and counted by
    /// `idjournal_caches_unmetered`. An exporter keeps each series for ever.
    #[must_use]
    pub fn addresses_max(mut self, addresses: usize) -> Meter {
        self.addresses_max = addresses;
        self
    }

    /// Records all figures with the recorder that is installed; without one it is for nothing.
    ///
    /// It takes the lock of each address for a moment, one after the other, and never waits for
    /// the disk. Of a closed store it records the figures of the store only.
    pub fn record(&mut self, store: &Store) {
        with_recorder(|recorder| {
            describe(recorder);
            let life = store.life();
            let is_anew = !is_same(self.life.as_ref(), &life);
            if is_anew {
                self.store.clear();
                self.life = Some(life);
            }
            self.record_addresses(recorder, store, is_anew);
            let stats = store.stats();
            self.record_store(recorder, &stats);
        });
    }

    fn record_store(&mut self, recorder: &dyn Recorder, stats: &Stats) {
        let metered = self.addresses.values().filter(|one| one.is_there).count() as u64;
        let mut counts = std::mem::take(&mut self.store).into_iter();
        for metric in STORE_METRICS {
            match metric.value {
                Value::Count(value) => {
                    let count = value(stats);
                    self.store.push(count);
                    increment(recorder, metric, &self.labels, count, counts.next());
                }
                Value::Level(value) => set(recorder, metric, &self.labels, value(stats)),
                Value::Unmetered => {
                    let rest = stats.caches.saturating_sub(metered);
                    set(recorder, metric, &self.labels, table::level(rest));
                }
                _ => {}
            }
        }
    }

    fn record_addresses(&mut self, recorder: &dyn Recorder, store: &Store, is_anew: bool) {
        for metered in self.addresses.values_mut() {
            metered.was_there = std::mem::replace(&mut metered.is_there, false);
        }
        let mut last: Option<(Namespace, Box<[u8]>)> = None;
        let mut left = self.addresses_max;
        while left > 0 {
            let after = last.as_ref().map(|(namespace, name)| (*namespace, &**name));
            let found = store.caches(after, left.min(BATCH));
            for info in &found {
                let key = (info.namespace, Box::from(&*info.address.0));
                // An error here is that of a closed store: nothing is gone, and nothing told.
                let Ok(cache) = store.cache_in(key.0, &key.1) else {
                    self.nothing_is_gone();
                    return;
                };
                self.metered(key, &cache, is_anew)
                    .record(recorder, &cache.stats(), true);
            }
            left -= found.len();
            match found.last() {
                Some(info) => last = Some((info.namespace, Box::from(&*info.address.0))),
                None => break,
            }
        }
        self.forget_gone(recorder);
    }

    fn nothing_is_gone(&mut self) {
        for metered in self.addresses.values_mut() {
            metered.is_there |= metered.was_there;
        }
    }

    /// The levels of an address that is gone are 0 from now on. Its counts are kept, for it may
    /// come back and count on; but not those of ever more addresses.
    fn forget_gone(&mut self, recorder: &dyn Recorder) {
        let (mut gone, max) = (0, self.addresses_max);
        self.addresses.retain(|_, metered| {
            if metered.is_there {
                return true;
            }
            if metered.was_there {
                metered.record(recorder, &CacheStats::default(), false);
            }
            gone += 1;
            gone <= max
        });
    }

    /// The address of `cache`, which is there; `is_anew` if the store was opened since the last
    /// time.
    fn metered(
        &mut self,
        key: (Namespace, Box<[u8]>),
        cache: &Cache,
        is_anew: bool,
    ) -> &mut Metered {
        let (namespace, name) = (key.0, crate::Bytes::from(&*key.1));
        let own = &self.labels;
        let metered = self.addresses.entry(key).or_insert_with(|| Metered {
            labels: labels(own, namespace, &name),
            counts: Vec::new(),
            life: None,
            is_there: false,
            was_there: false,
        });
        let life = cache.life();
        if !is_same(metered.life.as_ref(), &life) {
            metered.begin_anew(is_anew);
            metered.life = Some(life);
        }
        metered.is_there = true;
        metered
    }
}

fn is_same(before: Option<&Life>, life: &Life) -> bool {
    before.is_some_and(|before| before.ptr_eq(life))
}

impl Metered {
    /// Another life counts from 0; but one of the same address in a store that was opened anew
    /// keeps what the journal tells.
    fn begin_anew(&mut self, keeps_stored: bool) {
        let counts = ADDRESS_METRICS.iter().filter(|one| one.is_counter());
        for (count, metric) in self.counts.iter_mut().zip(counts) {
            if !(keeps_stored && metric.is_stored()) {
                *count = 0;
            }
        }
    }

    /// Records the levels, and where the address is there the counts.
    fn record(&mut self, recorder: &dyn Recorder, stats: &CacheStats, is_there: bool) {
        let mut counts = std::mem::take(&mut self.counts).into_iter();
        for metric in ADDRESS_METRICS {
            match metric.value {
                Value::AddressCount(value) | Value::AddressCountEver(value) => {
                    let before = counts.next();
                    let count = if is_there {
                        value(stats)
                    } else {
                        before.unwrap_or(0)
                    };
                    self.counts.push(count);
                    increment(recorder, metric, &self.labels, count, before);
                }
                Value::AddressLevel(value) => set(recorder, metric, &self.labels, value(stats)),
                _ => {}
            }
        }
    }
}

fn labels(store: &[Label], namespace: Namespace, name: &crate::Bytes) -> Vec<Label> {
    let mut labels = store.to_vec();
    labels.push(Label::from_static_parts("namespace", namespace.word()));
    labels.push(Label::new("address", name.to_string()));
    labels
}

/// Tells the recorder what each name means; one that was installed later learns it too.
fn describe(recorder: &dyn Recorder) {
    for metric in STORE_METRICS.iter().chain(ADDRESS_METRICS) {
        let (name, meaning) = (metric.name.into(), metric.meaning.into());
        let unit = Some(match metric.unit {
            "bytes" => Unit::Bytes,
            "seconds" => Unit::Seconds,
            _ => Unit::Count,
        });
        match metric.is_counter() {
            true => recorder.describe_counter(name, unit, meaning),
            false => recorder.describe_gauge(name, unit, meaning),
        }
    }
}

const METADATA: Metadata<'static> = Metadata::new("idjournal", Level::INFO, Some("idjournal"));

fn key(metric: &Metric, labels: &[Label]) -> Key {
    Key::from_parts(metric.name, labels.to_vec())
}

/// Adds what has come to `count` since it was `before`; where it is less, it began anew.
fn increment(
    recorder: &dyn Recorder,
    metric: &Metric,
    labels: &[Label],
    count: u64,
    before: Option<u64>,
) {
    let risen = count.checked_sub(before.unwrap_or(0)).unwrap_or(count);
    let counter = recorder.register_counter(&key(metric, labels), &METADATA);
    counter.increment(risen);
}

fn set(recorder: &dyn Recorder, metric: &Metric, labels: &[Label], level: f64) {
    let gauge = recorder.register_gauge(&key(metric, labels), &METADATA);
    gauge.set(level);
}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Meter")
            .field("labels", &self.labels)
            .field("addresses", &self.addresses.len())
            .finish_non_exhaustive()
    }
}

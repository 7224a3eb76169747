//! Promise: every figure is recorded under the name, kind and meaning that docs/operations.md says,
//! with the value that the store tells.
//!
//! Method: a recorder that shows all it was told as text; the page's table, and the calls that tell
//! figures, beside it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../docs/examples/prometheus_text.rs"]
mod prometheus_text;
#[path = "support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idjournal::meter::{ADDRESS_METRICS, Meter, Metric, STORE_METRICS};
use idjournal::{
    Cache, MemoryStorage, Namespace, Options, Outcome, Owner, Reserve, Store, SyncPolicy,
};

use prometheus_text::Text;
use support::{HandClock, killed, open, small};

const PAGE: &str = include_str!("../docs/operations.md");

fn record(meter: &mut Meter, text: &Text, store: &Store) {
    metrics::with_local_recorder(text, || meter.record(store));
}

/// What the text says of a series; none if it has no such line.
fn value(text: &Text, series: &str) -> Option<f64> {
    let shown = text.show();
    let mut lines = shown.lines().filter(|line| !line.starts_with('#'));
    let line = lines.find(|line| {
        line.strip_prefix(series)
            .is_some_and(|end| end.starts_with(' '))
    });
    line.map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
}

fn of_store(text: &Text, name: &str) -> f64 {
    value(text, &format!("idjournal_{name}{{store=\"ids\"}}")).unwrap()
}

fn of_address(text: &Text, name: &str, address: &str) -> Option<f64> {
    let labels = format!("{{store=\"ids\",namespace=\"client\",address=\"{address}\"}}");
    value(text, &format!("idjournal_address_{name}{labels}"))
}

fn add(cache: &Cache, id: &str) {
    assert_eq!(cache.add(id).unwrap(), Outcome::Added);
}

/// The cells of the page's rows of figures, which have four each.
fn rows() -> Vec<Vec<&'static str>> {
    let rows = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("| `idjournal_"));
    let cells = rows.map(|row| row.trim_end_matches(" |").split(" | ").collect::<Vec<_>>());
    cells.filter(|cells| cells.len() == 4).collect()
}

#[test]
fn the_page_names_every_figure_with_kind_unit_and_meaning() {
    let all = STORE_METRICS.iter().chain(ADDRESS_METRICS);
    let told = |metric: &Metric| {
        let kind = if metric.is_counter() {
            "counter"
        } else {
            "gauge"
        };
        let name = metric.name.strip_prefix("idjournal_").unwrap();
        vec![
            format!("{name}`"),
            kind.into(),
            metric.unit.into(),
            metric.meaning.into(),
        ]
    };
    let told: Vec<Vec<String>> = all.map(told).collect();
    let lines: Vec<String> = told
        .iter()
        .map(|cells| format!("| `idjournal_{} |", cells.join(" | ")))
        .collect();
    assert_eq!(rows(), told, "the page should say\n{}\n", lines.join("\n"));
}

#[test]
fn names_say_unit_and_kind() {
    for metric in STORE_METRICS.iter().chain(ADDRESS_METRICS) {
        let stem = metric.name.trim_end_matches("_total");
        assert_eq!(stem != metric.name, metric.is_counter(), "{}", metric.name);
        for unit in ["bytes", "seconds"] {
            assert_eq!(stem.ends_with(unit), metric.unit == unit, "{}", metric.name);
        }
    }
    let names = |metrics: &'static [Metric]| metrics.iter().map(|metric| metric.name);
    let mut all: Vec<&str> = names(STORE_METRICS).chain(names(ADDRESS_METRICS)).collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(names(ADDRESS_METRICS).all(|name| name.starts_with("idjournal_address_")));
}

/// A store in which every figure of an address has a value of its own.
fn used(clock: &HandClock, store: &Store) -> Cache {
    let orders = store.cache("orders").unwrap();
    let pass = |milliseconds| clock.0.fetch_add(milliseconds, Ordering::Relaxed);
    for id in ["a", "b", "c", "d"] {
        add(&orders, id);
        pass(1_000);
    }
    for id in ["e", "f", "g"] {
        add(&orders, id);
    }
    let _ = (orders.add("g").unwrap(), orders.add("f").unwrap());
    assert!(orders.renew("f").wait().unwrap());
    assert!(orders.remove("g").wait().unwrap());
    let lease = Some(Duration::from_millis(10));
    let reserve = |id, lease| match orders.reserve_as(id, Owner(1), lease).unwrap() {
        Reserve::Reserved(claim) => claim,
        other => panic!("{other:?}"),
    };
    let (late, held) = (reserve("late", lease), reserve("held", None));
    for _ in 0..4 {
        assert!(matches!(orders.add("held").unwrap(), Outcome::Pending(_)));
    }
    reserve("h", None).release();
    let _ = reserve("i", None).confirm().wait().unwrap();
    pass(20);
    add(&orders, "late");
    let _ = late.confirm().wait().unwrap();
    held.keep();
    pass(500);
    orders
}

#[test]
fn every_figure_has_the_value_that_the_store_tells() {
    let clock = Arc::new(HandClock::default());
    let options = small(4096)
        .id_cache_size(5)
        .max_age(Some(Duration::from_secs(60)))
        .sync_policy(SyncPolicy::Always)
        .clock(clock.clone());
    let store = open(MemoryStorage::new(), options).unwrap();
    let orders = used(&clock, &store);
    let (mut meter, text) = (Meter::new("ids"), Text::default());
    record(&mut meter, &text, &store);
    let (of, stats) = (
        |name: &str| of_address(&text, name, "orders").unwrap(),
        orders.stats(),
    );
    let counts = [
        ("added", stats.added),
        ("duplicates", stats.duplicates),
        ("pending", stats.pending),
        ("confirmed", stats.confirmed),
        ("released", stats.released),
        ("leases_lost", stats.leases_lost),
        ("evicted", stats.evicted),
        ("removed", stats.removed),
        ("cleared", stats.cleared),
        ("shrunk", stats.shrunk),
        ("expired", stats.expired),
        ("renewed", stats.renewed),
    ];
    for (name, count) in counts {
        assert_eq!(of(&format!("{name}_total")), count as f64, "{name}");
        assert_eq!(
            of_store(&text, &format!("{name}_total")),
            count as f64,
            "{name}"
        );
    }
    let seconds = |time: Option<Duration>| time.unwrap().as_secs_f64();
    let levels = [
        ("ids", stats.len as f64),
        ("capacity", 5.0),
        ("claims", 1.0),
        ("live_bytes", stats.live_bytes as f64),
        ("oldest_age_seconds", seconds(stats.oldest_age)),
        (
            "last_eviction_age_seconds",
            seconds(stats.age_at_last_eviction),
        ),
        ("max_age_seconds", 60.0),
        ("is_stored", 1.0),
    ];
    for (name, level) in levels {
        assert_eq!(of(name), level, "{name}");
    }
    assert!(stats.evicted > 0 && of("last_eviction_age_seconds") > 0.0);
    let stats = store.stats();
    let of_store = |name| of_store(&text, name);
    assert_eq!(of_store("claimed_bytes"), stats.claimed_bytes as f64);
    assert!(
        text.show()
            .contains("# TYPE idjournal_address_added_total counter\n")
    );
    assert!(text.show().contains("# TYPE idjournal_address_ids gauge\n"));
}

#[test]
fn counters_rise_on_over_a_restart_a_drop_and_a_recorder_that_comes_later() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    add(&orders, "a");
    let _ = (orders.add("a").unwrap(), orders.add("a").unwrap());
    let (mut meter, text) = (Meter::new("ids"), Text::default());
    record(&mut meter, &text, &store);
    record(&mut meter, &text, &store);
    let duplicates = |text: &Text| {
        let of_address = of_address(text, "duplicates_total", "orders");
        (of_address.unwrap(), of_store(text, "duplicates_total"))
    };
    assert_eq!(duplicates(&text), (2.0, 2.0));
    let store = open(killed(&storage), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    let _ = orders.add("a").unwrap();
    record(&mut meter, &text, &store);
    assert_eq!(duplicates(&text), (3.0, 3.0), "one in each life, and one");
    assert!(store.drop_cache("orders").wait().unwrap());
    drop(orders);
    record(&mut meter, &text, &store);
    assert_eq!(
        of_address(&text, "capacity", "orders"),
        Some(0.0),
        "it is gone"
    );
    let orders = store.cache("orders").unwrap();
    add(&orders, "a");
    let _ = orders.add("a").unwrap();
    record(&mut meter, &text, &store);
    assert_eq!(duplicates(&text), (4.0, 4.0));
    let later = Text::default();
    let _ = orders.add("a").unwrap();
    record(&mut meter, &later, &store);
    assert_eq!(duplicates(&later), (1.0, 1.0), "what was counted since");
}

/// A store of many segments in which copies are carried, after a kill on a clock that went on.
fn opened_after_a_kill(clock: &Arc<HandClock>) -> Store {
    let options = || small(4096).id_cache_size(40).clock(clock.clone());
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), options()).unwrap();
    add(&store.cache("seldom").unwrap(), "a");
    add(&store.cache("orders").unwrap(), "0");
    clock.0.fetch_add(2_500, Ordering::Relaxed);
    let store = open(killed(&storage), options()).unwrap();
    let orders = store.cache("orders").unwrap();
    (1..1_000).for_each(|id| add(&orders, &id.to_string()));
    // What lives grows, so that more segments are begun than released.
    orders.set_capacity(500).wait().unwrap();
    (1_000..1_400).for_each(|id| add(&orders, &id.to_string()));
    store
}

#[test]
fn every_figure_of_the_journal_has_the_value_that_the_store_tells() {
    let clock = Arc::new(HandClock::default());
    let store = opened_after_a_kill(&clock);
    let (mut meter, text) = (Meter::new("ids"), Text::default());
    record(&mut meter, &text, &store);
    let stats = store.stats();
    let truth = |is_so| if is_so { 1.0 } else { 0.0 };
    let told = [
        ("records_total", stats.records as f64),
        ("record_bytes_total", stats.record_bytes as f64),
        ("header_bytes_total", stats.header_bytes as f64),
        ("carried_records_total", stats.carried_records as f64),
        ("carried_bytes_total", stats.carried_bytes as f64),
        ("segments_begun_total", stats.segments_begun as f64),
        ("segments_released_total", stats.segments_released as f64),
        ("syncs_total", stats.syncs as f64),
        ("records_per_sync", stats.records_per_sync().unwrap()),
        ("slots", stats.slots as f64),
        ("segments", stats.segments as f64),
        ("disk_bytes", stats.disk_bytes as f64),
        ("used_bytes", stats.used_bytes as f64),
        ("live_bytes", stats.live_bytes as f64),
        ("caches", 2.0),
        ("caches_unmetered", 0.0),
        ("is_mapped", truth(stats.is_mapped)),
        ("is_poisoned", 0.0),
        ("recovery_seconds", 0.0),
        (
            "recovery_rewritten_bytes",
            stats.recovery_rewritten_bytes as f64,
        ),
        ("recovery_found_tail", truth(stats.recovery_found_tail)),
        ("clock_ahead_seconds", 2.5),
    ];
    for (name, value) in told {
        assert_eq!(of_store(&text, name), value, "{name}");
    }
    let figures = &told[..14];
    for (at, (name, value)) in figures.iter().enumerate() {
        assert!(*value > 0.0, "{name}");
        let same = figures[..at].iter().find(|(_, other)| other == value);
        assert!(same.is_none(), "{name} and {same:?}");
    }
    assert!(stats.recovery_rewritten_bytes > 0);
}

#[test]
fn what_a_later_life_has_counted_is_added_in_full_even_where_it_is_more() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let (mut meter, text) = (Meter::new("ids"), Text::default());
    let fill = |store: &Store, adds: u32, copies: u32| {
        let orders = store.cache("orders").unwrap();
        for number in 0..adds {
            add(&orders, &format!("{}-{number}", orders.stats().added));
        }
        add(&orders, &format!("last-{adds}"));
        for _ in 0..copies {
            let _ = orders.add(format!("last-{adds}")).unwrap();
        }
    };
    let counters = |text: &Text| {
        ["added_total", "duplicates_total"].map(|name| {
            let of_address = of_address(text, name, "orders").unwrap();
            (of_address, of_store(text, name))
        })
    };
    fill(&store, 1, 2);
    record(&mut meter, &text, &store);
    assert_eq!(counters(&text), [(2.0, 2.0), (2.0, 2.0)]);
    let store = open(killed(&storage), small(4096)).unwrap();
    fill(&store, 4, 5);
    record(&mut meter, &text, &store);
    assert_eq!(counters(&text), [(7.0, 7.0), (7.0, 7.0)], "opened anew");
    assert!(store.drop_cache("orders").wait().unwrap());
    fill(&store, 9, 10);
    record(&mut meter, &text, &store);
    assert_eq!(counters(&text), [(17.0, 17.0), (17.0, 17.0)], "dropped");
    record(&mut meter, &text, &store);
    assert_eq!(counters(&text), [(17.0, 17.0), (17.0, 17.0)], "nothing new");
}

#[test]
fn addresses_beyond_the_limit_are_counted_and_in_the_sums() {
    let store = Store::in_memory(Options::default()).unwrap();
    for number in 0..600 {
        add(&store.cache(format!("address-{number:03}")).unwrap(), "a");
    }
    let bridge = store.cache_in(Namespace::Bridge, "\"quoted\"\n").unwrap();
    add(&bridge, "a");
    let (mut meter, text) = (Meter::new("ids").addresses_max(300), Text::default());
    record(&mut meter, &text, &store);
    assert_eq!(of_address(&text, "ids", "address-299"), Some(1.0));
    assert_eq!(of_address(&text, "ids", "address-300"), None);
    assert_eq!(of_store(&text, "caches_unmetered"), 301.0);
    assert_eq!(of_store(&text, "added_total"), 601.0);
    let (mut meter, text) = (Meter::new("all"), Text::default());
    record(&mut meter, &text, &store);
    let shown = "{store=\"all\",namespace=\"bridge\",address=\"0x2271756f746564220a\"}";
    assert_eq!(
        value(&text, &format!("idjournal_address_ids{shown}")),
        Some(1.0)
    );
}

#[test]
fn a_closed_store_tells_its_sums_and_its_addresses_stay_as_they_were() {
    let store = open(MemoryStorage::new(), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    add(&orders, "a");
    let (mut meter, text) = (Meter::new("ids"), Text::default());
    record(&mut meter, &text, &store);
    store.close().unwrap();
    record(&mut meter, &text, &store);
    assert_eq!(of_address(&text, "ids", "orders"), Some(1.0));
    assert_eq!(of_store(&text, "added_total"), 1.0);
}

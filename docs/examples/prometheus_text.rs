//! A recorder that keeps every series in memory and shows all of them as Prometheus text.

#![allow(dead_code, reason = "a test takes a part of it")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Text {
    all: Mutex<BTreeMap<String, Family>>,
}

/// All series of one name.
#[derive(Default)]
struct Family {
    kind: &'static str,
    meaning: String,
    /// By labels, as they are shown.
    series: BTreeMap<String, Arc<Series>>,
}

/// A number: whole for a counter, the bits of a float for a gauge.
#[derive(Default)]
struct Series(AtomicU64);

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        self.set(f64::from_bits(self.0.load(Ordering::Relaxed)) + value);
    }

    fn decrement(&self, value: f64) {
        GaugeFn::increment(self, -value);
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

impl Text {
    /// All of it, as a scrape gets it.
    pub(crate) fn show(&self) -> String {
        let mut text = String::new();
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, family) in &*all {
            let _ = writeln!(text, "# HELP {name} {}", family.meaning);
            let _ = writeln!(text, "# TYPE {name} {}", family.kind);
            for (labels, series) in &family.series {
                let bits = series.0.load(Ordering::Relaxed);
                let _ = match family.kind {
                    "counter" => writeln!(text, "{name}{labels} {bits}"),
                    _ => writeln!(text, "{name}{labels} {}", f64::from_bits(bits)),
                };
            }
        }
        text
    }

    fn describe(&self, name: &KeyName, kind: &'static str, meaning: &SharedString) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let family = all.entry(name.as_str().to_owned()).or_default();
        family.kind = kind;
        family.meaning = meaning.to_string();
    }

    fn series(&self, key: &Key, kind: &'static str) -> Arc<Series> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let family = all.entry(key.name().to_owned()).or_default();
        family.kind = kind;
        Arc::clone(family.series.entry(shown(key)).or_default())
    }
}

/// The labels of a series; what ends a value is escaped in it.
fn shown(key: &Key) -> String {
    let one = |label: &metrics::Label| {
        let value = label.value().replace('\\', "\\\\").replace('"', "\\\"");
        format!("{}=\"{}\"", label.key(), value.replace('\n', "\\n"))
    };
    let labels: Vec<String> = key.labels().map(one).collect();
    match labels.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", labels.join(",")),
    }
}

impl Recorder for Text {
    fn describe_counter(&self, key: KeyName, _: Option<Unit>, description: SharedString) {
        self.describe(&key, "counter", &description);
    }

    fn describe_gauge(&self, key: KeyName, _: Option<Unit>, description: SharedString) {
        self.describe(&key, "gauge", &description);
    }

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key, "counter"))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key, "gauge"))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

//! A subscriber that keeps the events of the engine, with their fields as text.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// An event that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) level: Level,
    /// What it is: its message, which is never a sentence.
    pub(crate) name: String,
    fields: BTreeMap<&'static str, String>,
}

impl Told {
    pub(crate) fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    pub(crate) fn number(&self, field: &str) -> u64 {
        self.get(field).parse().unwrap()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.fields.keys().copied().collect()
    }
}

/// All that was told so far.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Told>>>);

impl Heard {
    /// What was told since the last time this was asked.
    pub(crate) fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The same, of this name only.
    pub(crate) fn named(&self, name: &str) -> Vec<Told> {
        let mut told = self.take();
        told.retain(|one| one.name == name);
        told
    }
}

/// What is done at each event, beside keeping it.
type Then = Box<dyn Fn(&Told) + Send + Sync>;

struct Listener {
    heard: Heard,
    level: LevelFilter,
    then: Then,
}

/// Runs `run` while somebody listens on this thread up to `level`.
pub(crate) fn listening(level: LevelFilter, run: impl FnOnce(&Heard)) {
    listening_and(level, Box::new(|_| {}), run);
}

pub(crate) fn listening_and(level: LevelFilter, then: Then, run: impl FnOnce(&Heard)) {
    let heard = Heard::default();
    let listener = Listener {
        heard: heard.clone(),
        level,
        then,
    };
    tracing::subscriber::with_default(listener, || run(&heard));
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "idjournal" && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let name = fields.0.remove("message").unwrap();
        let level = *event.metadata().level();
        let told = Told {
            level,
            name,
            fields: fields.0,
        };
        self.heard.0.lock().unwrap().push(told.clone());
        (self.then)(&told);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

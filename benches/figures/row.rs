//! One line of the result: what was measured, what it is compared with, and whether it holds.

use serde_json::{Value, json};

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    PerSecond,
    BytesPerSecond,
    Seconds,
    Bytes,
    Records,
    Share,
}

impl Unit {
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
            Unit::PerSecond if value >= 1e3 => format!("{:.1} k/s", value / 1e3),
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::BytesPerSecond => format!("{:.0} MB/s", value / 1e6),
            Unit::Seconds if value >= 1.0 => format!("{value:.2} s"),
            Unit::Seconds if value >= 1e-3 => format!("{:.2} ms", value * 1e3),
            Unit::Seconds if value >= 1e-6 => format!("{:.2} us", value * 1e6),
            Unit::Seconds => format!("{:.1} ns", value * 1e9),
            Unit::Bytes if value >= 1e6 => format!("{:.1} MB", value / 1e6),
            Unit::Bytes => format!("{value:.1} B"),
            Unit::Records => format!("{value:.0}"),
            Unit::Share => format!("{value:.3}"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Unit::PerSecond => "per second",
            Unit::BytesPerSecond => "bytes per second",
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::Records => "records",
            Unit::Share => "share",
        }
    }
}

/// How a row is judged.
#[derive(Clone, Copy)]
enum Judged {
    /// By its share of a limit, more being better.
    ShareAtLeast(f64),
    AtMost(f64),
    AtLeast(f64),
    /// Not at all: it is there to compare with.
    Shown,
}

/// What a row is compared with.
#[derive(Clone)]
struct Limit {
    name: String,
    value: f64,
}

#[derive(Clone)]
pub(crate) struct Row {
    name: String,
    unit: Unit,
    measured: f64,
    limit: Option<Limit>,
    /// Of the limit, so that more is better for rates and for times alike.
    share: Option<f64>,
    judged: Judged,
}

impl Row {
    fn new(name: &str, unit: Unit, measured: f64, judged: Judged) -> Row {
        Row {
            name: name.to_owned(),
            unit,
            measured,
            limit: None,
            share: None,
            judged,
        }
    }

    /// For the reader only.
    pub(crate) fn shown(name: &str, unit: Unit, measured: f64) -> Row {
        Row::new(name, unit, measured, Judged::Shown)
    }

    pub(crate) fn at_most(name: &str, unit: Unit, measured: f64, most: f64) -> Row {
        Row::new(name, unit, measured, Judged::AtMost(most))
    }

    pub(crate) fn at_least(name: &str, unit: Unit, measured: f64, least: f64) -> Row {
        Row::new(name, unit, measured, Judged::AtLeast(least))
    }

    /// A rate that must be `least` of the rate `limit`.
    pub(crate) fn rate(name: &str, measured: f64, limit: (&str, f64), least: f64) -> Row {
        Row::new(name, Unit::PerSecond, measured, Judged::ShareAtLeast(least)).beside(
            limit.0,
            limit.1,
            measured / limit.1,
        )
    }

    /// The same, of a share that was found otherwise.
    pub(crate) fn with_share(mut self, share: f64) -> Row {
        self.share = Some(share);
        self
    }

    /// Bytes that must be few: `limit` must be `least` of them.
    pub(crate) fn bytes(name: &str, measured: f64, limit: (&str, f64), least: f64) -> Row {
        Row::new(name, Unit::Bytes, measured, Judged::ShareAtLeast(least)).beside(
            limit.0,
            limit.1,
            limit.1 / measured,
        )
    }

    /// Shows also what was measured beside it, and the share of that.
    pub(crate) fn beside(mut self, name: &str, value: f64, share: f64) -> Row {
        let name = name.to_owned();
        self.limit = Some(Limit { name, value });
        self.share = Some(share);
        self
    }

    /// Whether it holds; none where nothing is asked.
    pub(crate) fn is_held(&self) -> Option<bool> {
        match self.judged {
            Judged::ShareAtLeast(least) => Some(self.share.is_some_and(|share| share >= least)),
            Judged::AtMost(most) => Some(self.measured <= most),
            Judged::AtLeast(least) => Some(self.measured >= least),
            Judged::Shown => None,
        }
    }

    pub(crate) fn text(&self) -> String {
        let limit = self.limit.as_ref().map_or_else(String::new, |limit| {
            format!("{} {}", limit.name, self.unit.show(limit.value))
        });
        let share = self
            .share
            .map_or_else(String::new, |share| format!("{share:.3} "));
        let bound = match self.judged {
            Judged::ShareAtLeast(least) => format!("{share}of {least:.3}"),
            Judged::AtMost(most) => format!("{share}at most {}", self.unit.show(most)),
            Judged::AtLeast(least) => format!("{share}at least {}", self.unit.show(least)),
            Judged::Shown => share,
        };
        let held = match self.is_held() {
            Some(true) => "held",
            Some(false) => "SHORT",
            None => "",
        };
        line(
            &self.name,
            &self.unit.show(self.measured),
            &limit,
            &bound,
            held,
        )
    }

    pub(crate) fn json(&self) -> Value {
        let (kind, bound) = match self.judged {
            Judged::ShareAtLeast(least) => (Some("share at least"), Some(least)),
            Judged::AtMost(most) => (Some("at most"), Some(most)),
            Judged::AtLeast(least) => (Some("at least"), Some(least)),
            Judged::Shown => (None, None),
        };
        json!({
            "name": self.name,
            "measured": self.measured,
            "unit": self.unit.name(),
            "compared_with": self.limit.as_ref().map(|limit| &limit.name),
            "limit": self.limit.as_ref().map(|limit| limit.value),
            "share": self.share,
            "bound_kind": kind,
            "bound": bound,
            "held": self.is_held(),
        })
    }
}

/// The line above the rows.
pub(crate) fn head() -> String {
    line("figure", "measured", "compared with", "share or bound", "")
}

fn line(name: &str, measured: &str, limit: &str, bound: &str, held: &str) -> String {
    format!("{name:<60} {measured:>12}  {limit:<29} {bound:<22} {held}")
        .trim_end()
        .to_owned()
}

//! Promise: an ID of its address's highest age or older is as if it were gone, and what was added
//! in its place stays, whatever clocks, restarts and later settings do.
//!
//! Method: both clocks are set by hand, to the tick; each case runs mapped, positioned and in
//! memory, and again after a restart, by a close and by a kill.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod carrying;
mod clocks;
mod settings;
mod ticks;

use std::sync::Arc;
use std::time::Duration;

use idjournal::{Cache, Clock, Options, Seen, State};

use support::{Jumping, small};

/// The wall clock at the beginning of a test, in milliseconds.
const NOW: u64 = 1_700_000_000_000;
const AGE: Duration = Duration::from_millis(100);

/// Time by hand.
#[derive(Clone, Default)]
struct Time(Arc<Jumping>);

impl Time {
    fn begin() -> Time {
        let time = Time::default();
        time.set(0);
        time
    }

    /// So many milliseconds after the beginning, on both clocks.
    fn set(&self, milliseconds: u64) {
        self.0.set(NOW + milliseconds, milliseconds);
    }

    fn options(&self) -> Options {
        small(4096).clock(Arc::clone(&self.0) as Arc<dyn Clock>)
    }
}

fn ids(cache: &Cache) -> Vec<String> {
    let ids = cache.ids().map(|id| String::from_utf8(id).unwrap());
    let ids: Vec<String> = ids.collect();
    assert_eq!(cache.len(), ids.len() as u64);
    assert_eq!(cache.stats().len, ids.len() as u64);
    for id in &ids {
        assert!(cache.contains(id).unwrap(), "{id} is listed");
    }
    ids
}

fn seen(cache: &Cache, id: &str) -> Seen {
    match cache.state(id) {
        State::Known(seen) | State::Unsynced(seen) => seen,
        other => panic!("{id} is {other:?}"),
    }
}

//! What the engine tells `tracing`, behind the feature of that name: events with fields, not
//! sentences. The table of them is in docs/operations.md.
//!
//! Invariants: (1) no subscriber is called under a lock of the engine, for it may call the engine,
//! or wait; so what happens under one is put into a queue here, which is told where no lock is
//! held, as wakers are woken; (2) what nobody listens to is not made; (3) without the feature there
//! is nothing here: no queue, no field, no branch; (4) what a subscriber does wrong is no failure
//! of the engine: its panic ends here, on whatever thread it is; (5) what happens while a
//! subscriber is told something stays in the queue, for `tracing` takes nothing from within one.

#![cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "what is not told is not read")
)]

#[cfg(feature = "tracing")]
use std::collections::VecDeque;
#[cfg(feature = "tracing")]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "tracing")]
use parking_lot::Mutex;

use crate::ids::{Namespace, SegmentNumber};

/// Something that is told. Text of callers and files is escaped by who makes it.
pub(crate) enum Event {
    /// A store was opened.
    Recovered(Recovered),
    /// Recovery found the end of the journal torn.
    Tail {
        segment: SegmentNumber,
        offset: u64,
        bytes: u64,
    },
    /// The options changed an address, or ended what it had stored.
    Changed(Changed),
    /// A pattern of an earlier life means nothing with these wildcards.
    PatternInactive { pattern: String },
    /// The active segment was sealed to the next one.
    Rotated {
        segment: SegmentNumber,
        end: u64,
        next: SegmentNumber,
    },
    /// The oldest segment was let go.
    Released {
        segment: SegmentNumber,
        oldest: SegmentNumber,
    },
    /// The store was stopped by a failure.
    Poisoned { place: String, cause: String },
    /// An open was refused.
    Damaged {
        place: String,
        segment: SegmentNumber,
        offset: u64,
        reason: String,
    },
    /// A copy of a known ID came.
    Duplicate(Duplicate),
    /// A window has pushed out an ID that was younger than it should have been.
    EvictedYoung(EvictedYoung),
}

#[derive(Default)]
pub(crate) struct Recovered {
    pub(crate) place: String,
    pub(crate) is_new: bool,
    pub(crate) segments: u64,
    pub(crate) left_out: Option<u64>,
    pub(crate) records: u64,
    pub(crate) caches: u64,
    pub(crate) ids: u64,
    pub(crate) prepared: u64,
    pub(crate) rewritten_bytes: u64,
    pub(crate) changes: u64,
    pub(crate) clock_ahead_milliseconds: i64,
    pub(crate) took_milliseconds: u64,
}

pub(crate) struct Changed {
    pub(crate) what: &'static str,
    pub(crate) namespace: Namespace,
    pub(crate) address: String,
    pub(crate) old: Option<u64>,
    pub(crate) new: Option<u64>,
    pub(crate) forgotten: u64,
}

pub(crate) struct Duplicate {
    pub(crate) namespace: Namespace,
    pub(crate) address: String,
    pub(crate) id: String,
    pub(crate) ordinal: u64,
    pub(crate) age_milliseconds: u64,
    pub(crate) adds_left: u64,
    /// Duplicates of this address since the last that was told.
    pub(crate) untold: u64,
}

pub(crate) struct EvictedYoung {
    pub(crate) namespace: Namespace,
    pub(crate) address: String,
    pub(crate) age_milliseconds: u64,
    pub(crate) max_age_milliseconds: u64,
    pub(crate) stated_age_milliseconds: u64,
    pub(crate) capacity: u64,
}

/// How much an event matters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weight {
    Error,
    Warn,
    Info,
    Debug,
}

/// Events that wait until no lock is held.
#[derive(Default)]
pub(crate) struct Events {
    #[cfg(feature = "tracing")]
    is_due: AtomicBool,
    #[cfg(feature = "tracing")]
    queue: Mutex<VecDeque<Event>>,
}

#[cfg(not(feature = "tracing"))]
impl Events {
    #[inline]
    pub(crate) fn add(&self, _: Weight, _: impl FnOnce() -> Event) {}

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn tell_due(&self) {}
}

/// Calls what is not ours, such as a waker or a subscriber, which may panic: the thread that comes
/// by is the keeper's, or one in the middle of a call, and neither may end with it. The panic has
/// been shown by its hook; there is nobody else to tell.
pub(crate) fn apart(call: impl FnOnce()) {
    // Where loom runs the threads it ends them by panics of its own.
    #[cfg(loom)]
    call();
    #[cfg(not(loom))]
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
}

/// Tells what `event` makes. The caller holds no lock of the engine.
#[cfg(not(feature = "tracing"))]
#[inline]
pub(crate) fn tell(_: Weight, _: impl FnOnce() -> Event) {}

/// Whether somebody may listen; this asks no subscriber.
#[cfg(not(feature = "tracing"))]
#[inline]
pub(crate) fn is_on(_: Weight) -> bool {
    false
}

#[cfg(feature = "tracing")]
pub(crate) use told::{is_on, tell};

#[cfg(feature = "tracing")]
mod told {
    use ::tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
    use ::tracing::{Level, debug, error, info, warn};

    use std::cell::Cell;

    use super::{
        Changed, Duplicate, Event, Events, EvictedYoung, Ordering, Recovered, Weight, apart,
    };

    thread_local! {
        /// Whether this thread is in a subscriber that is told something.
        static IS_TELLING: Cell<bool> = const { Cell::new(false) };
    }

    impl Events {
        /// Has what `event` makes told when no lock is held.
        #[inline]
        pub(crate) fn add(&self, weight: Weight, event: impl FnOnce() -> Event) {
            if is_on(weight) {
                self.queue.lock().push_back(event());
                self.is_due.store(true, Ordering::Release);
            }
        }

        #[inline]
        pub(crate) fn is_due(&self) -> bool {
            self.is_due.load(Ordering::Acquire)
        }

        /// Tells all that is due. The caller holds no lock of the engine.
        ///
        /// What a subscriber causes by what it is told is left to the next call, so that one that
        /// causes an event by each ends all the same.
        pub(crate) fn tell_due(&self) {
            if IS_TELLING.get() {
                return;
            }
            let due = {
                let mut queue = self.queue.lock();
                self.is_due.store(false, Ordering::Release);
                std::mem::take(&mut *queue)
            };
            due.into_iter().for_each(emit_apart);
        }
    }

    /// Tells one event, whatever the subscriber does.
    fn emit_apart(event: Event) {
        let was_telling = IS_TELLING.replace(true);
        apart(|| emit(event));
        IS_TELLING.set(was_telling);
    }

    pub(crate) fn tell(weight: Weight, event: impl FnOnce() -> Event) {
        if is_on(weight) {
            emit_apart(event());
        }
    }

    #[inline]
    pub(crate) fn is_on(weight: Weight) -> bool {
        let level = match weight {
            Weight::Error => Level::ERROR,
            Weight::Warn => Level::WARN,
            Weight::Info => Level::INFO,
            Weight::Debug => Level::DEBUG,
        };
        level <= STATIC_MAX_LEVEL && level <= LevelFilter::current()
    }

    #[cold]
    fn emit(event: Event) {
        match event {
            Event::Recovered(recovered) => emit_recovered(&recovered),
            Event::Tail {
                segment,
                offset,
                bytes,
            } => {
                warn!(target: "idjournal", segment = segment.0, offset, bytes, "tail");
            }
            Event::Changed(changed) => emit_changed(&changed),
            Event::PatternInactive { pattern } => {
                warn!(target: "idjournal", pattern, "pattern inactive");
            }
            Event::Rotated { segment, end, next } => {
                debug!(target: "idjournal", segment = segment.0, end, next = next.0, "rotated");
            }
            Event::Released { segment, oldest } => {
                debug!(target: "idjournal", segment = segment.0, oldest = oldest.0, "released");
            }
            Event::Poisoned { place, cause } => {
                error!(target: "idjournal", place, cause, "poisoned");
            }
            Event::Damaged {
                place,
                segment,
                offset,
                reason,
            } => {
                let segment = segment.0;
                error!(target: "idjournal", place, segment, offset, reason, "damaged");
            }
            Event::Duplicate(duplicate) => emit_duplicate(&duplicate),
            Event::EvictedYoung(evicted) => emit_evicted(&evicted),
        }
    }

    fn emit_recovered(recovered: &Recovered) {
        info!(
            target: "idjournal",
            place = recovered.place,
            is_new = recovered.is_new,
            segments = recovered.segments,
            left_out = recovered.left_out,
            records = recovered.records,
            caches = recovered.caches,
            ids = recovered.ids,
            prepared = recovered.prepared,
            rewritten_bytes = recovered.rewritten_bytes,
            changes = recovered.changes,
            clock_ahead_milliseconds = recovered.clock_ahead_milliseconds,
            took_milliseconds = recovered.took_milliseconds,
            "recovered"
        );
    }

    fn emit_changed(changed: &Changed) {
        warn!(
            target: "idjournal",
            what = changed.what,
            namespace = changed.namespace.word(),
            address = changed.address,
            old = changed.old,
            new = changed.new,
            forgotten = changed.forgotten,
            "changed by options"
        );
    }

    fn emit_duplicate(duplicate: &Duplicate) {
        warn!(
            target: "idjournal",
            namespace = duplicate.namespace.word(),
            address = duplicate.address,
            id = duplicate.id,
            ordinal = duplicate.ordinal,
            age_milliseconds = duplicate.age_milliseconds,
            adds_left = duplicate.adds_left,
            untold = duplicate.untold,
            "duplicate"
        );
    }

    fn emit_evicted(evicted: &EvictedYoung) {
        warn!(
            target: "idjournal",
            namespace = evicted.namespace.word(),
            address = evicted.address,
            age_milliseconds = evicted.age_milliseconds,
            max_age_milliseconds = evicted.max_age_milliseconds,
            stated_age_milliseconds = evicted.stated_age_milliseconds,
            capacity = evicted.capacity,
            "evicted young"
        );
    }
}

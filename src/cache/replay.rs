//! Replay: puts into a cache what the journal tells, in the order of the journal.
//!
//! Copies of old ordinals may come after newer adds, and what ends an ID before or after it. Only
//! ordinals decide meanwhile (rule 12 of docs/design.md), so that the index is made once, at last.

use crate::ids::{Ordinal, Ticks};

use super::chunk::Content;
use super::index::Index;
use super::place::low;
use super::{Cache, UNINDEXED_MAX, fold};

/// What [`Cache::restore`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// The ID lives at this ordinal now.
    Fresh,
    /// It did before; its record bytes are those given now.
    Copy,
    /// The ordinal is outside of the window; nothing is kept.
    Forgotten,
}

impl Cache {
    /// Replays an add, or a copy of one, in the order of the journal; ordinals may come in any
    /// order.
    ///
    /// IDs are not found until [`Cache::restored`] was called.
    pub(crate) fn restore(
        &mut self,
        ordinal: Ordinal,
        hash: u64,
        id: &[u8],
        value: &[u8],
        time: Ticks,
        record_bytes: u64,
    ) -> Restored {
        self.restore_last(ordinal);
        if ordinal.0 < self.start() {
            return Restored::Forgotten;
        }
        if self.is_live(ordinal) {
            self.set_record_bytes(ordinal, record_bytes);
            return Restored::Copy;
        }
        self.note_age(time);
        if !self.index.is_unused() {
            self.index = Index::default();
        }
        self.put_unindexed(
            ordinal.0,
            &Content {
                hash: fold(hash),
                id,
                value,
                time,
                record_bytes,
            },
        );
        Restored::Fresh
    }

    /// Ends a replay: from now on IDs are found.
    ///
    /// If two ordinals of a window hold the same ID the higher one has it: when it was added the
    /// other was out of the window as it was then.
    pub(crate) fn restored(&mut self) {
        if !self.index.is_unused() {
            return;
        }
        let (chunks, last) = (&self.chunks, self.last);
        let entries = || {
            let live = chunks.live();
            live.map(|(ordinal, hash, _)| (hash, low(ordinal)))
        };
        let place = |ordinal| chunks.get(Cache::whole(last, ordinal));
        let is_same = |(hash, ordinal), other| {
            let alike = place(other).filter(|(chunk, at)| chunk.hash(*at) == Some(hash));
            let own = || place(ordinal).and_then(|(chunk, at)| chunk.get(at));
            let both = alike.and_then(|alike| Some((alike, own()?)));
            both.is_some_and(|((chunk, at), own)| chunk.holds(at, hash, own.id))
        };
        let of = (self.len, self.capacity);
        let (index, doubles) = Index::of(entries, of, is_same);
        // A few IDs are found without one.
        if self.chunks.only(UNINDEXED_MAX).is_none() {
            self.index = index;
        }
        for double in doubles {
            self.remove(Ordinal(Cache::whole(last, double)));
        }
    }

    /// Replays that adds were made up to `last`.
    pub(crate) fn restore_last(&mut self, last: Ordinal) {
        if last.0 <= self.last {
            return;
        }
        let start = self.start();
        let is_next = last.0 - self.last == 1;
        self.last = last.0;
        match self.start() {
            now if now == start => {}
            // Usually one comes and one goes.
            _ if is_next => {
                self.evict(start);
            }
            _ => drop(self.leave(start)),
        }
    }
}

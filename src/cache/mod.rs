//! The cache of one address: a circular memory of its last n IDs, ordered by ordinals alone.
//!
//! Invariants: (1) a place is live exactly if an ID was put at its ordinal, was not removed since,
//! and the ordinal is neither below the floor nor `capacity` or more behind `last`; (2) `len` and
//! `live_bytes` count the live ones exactly; (3) at most one live ordinal holds the same ID; (4)
//! each live ordinal is in the index, once there is one.
//!
//! Pure: callers lock, hash and tell the time. No call works in proportion to capacity or content,
//! but for a walk over the heads of chunks (one per 128 ordinals) where many IDs go at once.

use crate::ids::{Ordinal, Ticks};

mod age;
#[cfg(test)]
mod cases;
mod chunk;
mod chunks;
mod index;
mod place;
mod reach;
mod replay;
mod table;
#[cfg(test)]
mod tests;
mod times;
mod unsynced;

pub(crate) use reach::Reach;
pub(crate) use replay::Restored;
pub(crate) use unsynced::Unsynced;

use age::Aging;
use chunk::Content;
use chunks::{Chunks, Dropped};
use index::Index;
use place::low;

/// So many places are looked through without an index.
const UNINDEXED_MAX: usize = 8;
/// Ordinals that go at once one by one, with their index entries; more go by whole chunks.
const SINGLY_MAX: u64 = 128;
/// After so many adds the index does a piece of postponed work.
const TEND_EVERY: u64 = 32;

/// A live ID with all that is kept with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered<'a> {
    pub(crate) ordinal: Ordinal,
    pub(crate) id: &'a [u8],
    pub(crate) value: &'a [u8],
    /// Exact while neighbouring IDs lie within 497 days, else up to seconds too late.
    pub(crate) time: Ticks,
    pub(crate) record_bytes: u64,
}

/// What went at once, and its memory, to be dropped where nobody waits for a lock.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Forgotten {
    /// Bytes of the records of what went.
    pub(crate) bytes: u64,
    #[allow(dead_code, reason = "kept only to be dropped by the caller")]
    storage: Option<Box<(Dropped, Chunks, Index)>>,
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Cache {
    capacity: u64,
    last: u64,
    floor: u64,
    len: u64,
    live_bytes: u64,
    aging: Aging,
    chunks: Chunks,
    index: Index,
}

impl Cache {
    /// An empty cache without memory of its own yet.
    pub(crate) fn new(capacity: u64) -> Cache {
        Cache {
            capacity,
            last: 0,
            floor: 1,
            len: 0,
            live_bytes: 0,
            aging: Aging::default(),
            chunks: Chunks::default(),
            index: Index::default(),
        }
    }

    /// The ordinal of `id`, if it is live.
    #[inline]
    pub(crate) fn find(&self, hash: u64, id: &[u8]) -> Option<Ordinal> {
        self.find_folded(fold(hash), id).map(Ordinal)
    }

    pub(crate) fn get(&self, ordinal: Ordinal) -> Option<Remembered<'_>> {
        let (chunk, offset) = self.chunks.get(ordinal.0)?;
        let Content {
            id,
            value,
            time,
            record_bytes,
            ..
        } = chunk.get(offset)?;
        Some(Remembered {
            ordinal,
            id,
            value,
            time,
            record_bytes,
        })
    }

    #[inline]
    pub(crate) fn is_live(&self, ordinal: Ordinal) -> bool {
        self.chunks
            .get(ordinal.0)
            .is_some_and(|(chunk, offset)| chunk.is_live(offset))
    }

    /// The first live ID at or after `ordinal`.
    pub(crate) fn next_from(&self, ordinal: Ordinal) -> Option<Remembered<'_>> {
        self.get(Ordinal(self.chunks.next_live(ordinal.0)?))
    }

    #[cfg(test)]
    pub(crate) fn oldest(&self) -> Option<Remembered<'_>> {
        self.next_from(Ordinal(0))
    }

    pub(crate) fn newest(&self) -> Option<Remembered<'_>> {
        self.get(Ordinal(self.chunks.last_live()?))
    }

    /// The ordinal of the last add; 0 before the first.
    pub(crate) fn last(&self) -> Ordinal {
        Ordinal(self.last)
    }

    /// Every ordinal below it is forgotten.
    pub(crate) fn floor(&self) -> Ordinal {
        Ordinal(self.floor)
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of the records of all live IDs.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// The how manieth add from now pushes `ordinal` out; 0 if it is outside of the window.
    pub(crate) fn adds_left(&self, ordinal: Ordinal) -> u64 {
        if ordinal.0 < self.start() || ordinal.0 > self.last {
            return 0;
        }
        self.capacity - (self.last - ordinal.0)
    }

    /// The ordinal that the next add gets: one more than the last, but not below the floor.
    #[inline]
    pub(crate) fn next(&self) -> Ordinal {
        Ordinal(self.last.saturating_add(1).max(self.floor))
    }

    /// Bytes of the record of the ID that the next add pushes out; 0 if it pushes out none.
    #[inline]
    pub(crate) fn eviction_bytes(&self) -> u64 {
        let leaving = self.next().0.saturating_sub(self.capacity);
        self.chunks
            .get(leaving)
            .and_then(|(chunk, at)| chunk.record_bytes(at))
            .unwrap_or(0)
    }

    /// Remembers `id`, which is not live, at the [next](Cache::next) ordinal; tells also when the
    /// ID was added that it pushes out, if it does.
    ///
    /// Record bytes are counted from the length of `id` to 2 MiB.
    #[inline]
    pub(crate) fn add(
        &mut self,
        hash: u64,
        id: &[u8],
        value: &[u8],
        time: Ticks,
        record_bytes: u64,
    ) -> (Ordinal, Option<Ticks>) {
        let ordinal = self.next().0;
        let mut evicted = None;
        // One address cannot reach the highest ordinal; a store whose files say so keeps nothing.
        if self.capacity > 0 && ordinal > self.last {
            if let Some(leaving) = ordinal.checked_sub(self.capacity) {
                evicted = self.evict(leaving);
            }
            self.last = ordinal;
            self.put(
                ordinal,
                &Content {
                    hash: fold(hash),
                    id,
                    value,
                    time,
                    record_bytes,
                },
            );
            if ordinal.is_multiple_of(TEND_EVERY) {
                self.tend();
            }
        }
        self.last = ordinal;
        (Ordinal(ordinal), evicted)
    }

    /// Makes a hole of a live ID; gives the bytes of its record, 0 if it was not live.
    pub(crate) fn remove(&mut self, ordinal: Ordinal) -> u64 {
        let Some(killed) = self.chunks.remove(ordinal.0) else {
            return 0;
        };
        self.index.remove(killed.hash, low(ordinal.0));
        self.len -= 1;
        self.live_bytes -= killed.record_bytes;
        killed.record_bytes
    }

    /// Raises the floor to `floor`; it never falls.
    pub(crate) fn forget_below(&mut self, floor: Ordinal) -> Forgotten {
        let start = self.start();
        self.floor = self.floor.max(floor.0);
        self.leave(start)
    }

    /// Changes the capacity: the newest stay, and growing revives nothing.
    pub(crate) fn set_capacity(&mut self, capacity: u64) -> Forgotten {
        let start = self.start();
        let kept = self.capacity.min(capacity);
        self.floor = self
            .floor
            .max(self.last.saturating_add(1).saturating_sub(kept));
        self.capacity = capacity;
        self.index.refit();
        self.leave(start)
    }

    /// Changes the bytes of a live ID's record, as when it was carried; gives the old ones.
    pub(crate) fn set_record_bytes(&mut self, ordinal: Ordinal, record_bytes: u64) -> u64 {
        let Some((chunk, offset)) = self.chunks.get_mut(ordinal.0) else {
            return 0;
        };
        let Some(old) = chunk.set_record_bytes(offset, record_bytes) else {
            return 0;
        };
        let new = chunk.record_bytes(offset).unwrap_or(0);
        self.live_bytes = self.live_bytes - old + new;
        old
    }

    /// Bytes on the heap, as asked for.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.chunks.heap_bytes() + self.index.heap_bytes()
    }

    /// The lowest ordinal that may be live.
    pub(crate) fn window_start(&self) -> Ordinal {
        Ordinal(self.start())
    }

    #[inline]
    fn start(&self) -> u64 {
        self.floor
            .max(self.last.saturating_add(1).saturating_sub(self.capacity))
    }

    /// The ordinal whose lower 32 bits an index entry holds: no live one is 2^32 behind the last.
    #[inline]
    fn whole(last: u64, ordinal: u32) -> u64 {
        last.wrapping_sub(u64::from(low(last).wrapping_sub(ordinal)))
    }

    #[inline]
    fn find_folded(&self, hash: u32, id: &[u8]) -> Option<u64> {
        if self.index.is_unused() {
            return self.chunks.find_in_only(UNINDEXED_MAX, hash, id);
        }
        let found = self.index.find(hash, |ordinal| {
            let place = self.chunks.get(Cache::whole(self.last, ordinal));
            place.is_some_and(|(chunk, offset)| chunk.holds(offset, hash, id))
        });
        found.map(|ordinal| Cache::whole(self.last, ordinal))
    }

    #[inline]
    fn put_unindexed(&mut self, ordinal: u64, content: &Content<'_>) {
        self.chunks.put(ordinal, content);
        self.len += 1;
        if let Some((chunk, offset)) = self.chunks.get(ordinal) {
            self.live_bytes += chunk.record_bytes(offset).unwrap_or(0);
        }
    }

    #[inline]
    fn put(&mut self, ordinal: u64, content: &Content<'_>) {
        self.put_unindexed(ordinal, content);
        if !self.index.is_unused() {
            self.insert(content.hash, ordinal);
        } else if self.chunks.only(UNINDEXED_MAX).is_none() {
            self.restored();
        }
    }

    #[inline]
    fn insert(&mut self, hash: u32, ordinal: u64) {
        let (chunks, last) = (&self.chunks, self.last);
        self.index
            .insert(hash, low(ordinal), self.capacity, |other| {
                hash_at(chunks, last, other)
            });
    }

    fn tend(&mut self) {
        let (chunks, last) = (&self.chunks, self.last);
        self.index
            .tend(self.capacity, |other| hash_at(chunks, last, other));
    }

    /// Lets go of an ordinal, if it is live; gives its time.
    #[inline]
    fn evict(&mut self, ordinal: u64) -> Option<Ticks> {
        let killed = self.chunks.evict(ordinal)?;
        self.index.remove(killed.hash, low(ordinal));
        self.len -= 1;
        self.live_bytes -= killed.record_bytes;
        Some(killed.time)
    }

    /// Takes out what lives between `from` and the start of the window, which has moved on from it.
    #[inline]
    fn leave(&mut self, from: u64) -> Forgotten {
        let to = self.start();
        let (len, live_bytes) = (self.len, self.live_bytes);
        let mut dropped = Dropped::default();
        if self.len > 0 {
            let mut from = from;
            if to - from > SINGLY_MAX {
                dropped = self.chunks.drop_below(to);
                self.len -= dropped.live;
                self.live_bytes -= dropped.live_bytes;
                self.index.refit();
                from = from.max(to - to % SINGLY_MAX);
            }
            for ordinal in from..to {
                self.evict(ordinal);
            }
        }
        let bytes = live_bytes - self.live_bytes;
        let mut storage = None;
        if self.len == 0 && len > 0 {
            let (chunks, index) = (
                std::mem::take(&mut self.chunks),
                std::mem::take(&mut self.index),
            );
            storage = Some(Box::new((dropped, chunks, index)));
        } else if dropped.live > 0 {
            storage = Some(Box::new((dropped, Chunks::default(), Index::default())));
        }
        Forgotten { bytes, storage }
    }
}

fn hash_at(chunks: &Chunks, last: u64, ordinal: u32) -> Option<u32> {
    let (chunk, offset) = chunks.get(Cache::whole(last, ordinal))?;
    chunk.hash(offset)
}

/// The 32 bits of a hash that are kept.
#[inline]
fn fold(hash: u64) -> u32 {
    low(hash ^ hash >> 32)
}

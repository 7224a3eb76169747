//! All chunks of a cache, by ordinal: the dense run at the end, and what lies apart before it.
//!
//! Adds go to the last chunk of `recent`, whose chunks have consecutive numbers. Only replay puts
//! IDs elsewhere: before the run or far behind it; then older chunks move to `apart`, so that no
//! gap, however wide, is ever allocated.

use std::collections::{BTreeMap, VecDeque};

use super::chunk::{Chunk, Content, Killed, PLACES};
use super::place::narrow;

/// Missing chunks that are filled with empty ones rather than begin a new run.
const GAP_MAX: u64 = 8;

/// Chunks taken out of a cache: what lived in them, and their memory.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    pub(super) live: u64,
    pub(super) live_bytes: u64,
    pub(super) recent: VecDeque<Chunk>,
    pub(super) apart: BTreeMap<u64, Chunk>,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    recent: VecDeque<Chunk>,
    /// The number of `recent[0]`.
    first: u64,
    #[expect(
        clippy::box_collection,
        reason = "it is seldom there, and an idle cache must be small"
    )]
    apart: Option<Box<BTreeMap<u64, Chunk>>>,
}

impl Chunks {
    #[inline]
    pub(super) fn get(&self, ordinal: u64) -> Option<(&Chunk, usize)> {
        let (number, offset) = split(ordinal);
        let chunk = match number.checked_sub(self.first) {
            Some(at) => self.recent.get(narrow(at))?,
            None => self.apart.as_ref()?.get(&number)?,
        };
        Some((chunk, offset))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, ordinal: u64) -> Option<(&mut Chunk, usize)> {
        let (number, offset) = split(ordinal);
        let chunk = match number.checked_sub(self.first) {
            Some(at) => self.recent.get_mut(narrow(at))?,
            None => self.apart.as_mut()?.get_mut(&number)?,
        };
        Some((chunk, offset))
    }

    /// Puts an ID at an ordinal that is not live.
    #[inline]
    pub(super) fn put(&mut self, ordinal: u64, content: &Content<'_>) {
        let (number, offset) = split(ordinal);
        let is_there = number
            .checked_sub(self.first)
            .is_some_and(|at| narrow(at) < self.recent.len());
        if is_there {
            if let Some(chunk) = self.recent.get_mut(narrow(number - self.first)) {
                chunk.put(offset, content);
            }
        } else if number < self.first && !self.recent.is_empty() {
            let apart = self.apart.get_or_insert_default();
            apart.entry(number).or_default().put(offset, content);
        } else {
            self.begin(number);
            if let Some(chunk) = self.recent.back_mut() {
                chunk.put(offset, content);
            }
        }
    }

    /// Makes a hole of a live place while IDs go out at the old end: a chunk's memory is kept for
    /// the next one.
    #[inline]
    pub(super) fn evict(&mut self, ordinal: u64) -> Option<Killed> {
        let (chunk, offset) = self.get_mut(ordinal)?;
        let killed = chunk.kill(offset)?;
        if chunk.live() == 0 {
            self.tidy(ordinal);
        }
        Some(killed)
    }

    /// Makes a hole of a live place anywhere: the memory of a chunk without IDs is freed.
    pub(super) fn remove(&mut self, ordinal: u64) -> Option<Killed> {
        let (chunk, offset) = self.get_mut(ordinal)?;
        let killed = chunk.kill(offset)?;
        if chunk.live() == 0 {
            *chunk = Chunk::default();
            self.tidy(ordinal);
        }
        Some(killed)
    }

    /// Takes out all chunks of ordinals below `ordinal`, but for that one's own.
    pub(super) fn drop_below(&mut self, ordinal: u64) -> Dropped {
        let (number, _) = split(ordinal);
        let mut dropped = Dropped::default();
        if let Some(apart) = &mut self.apart {
            let kept = apart.split_off(&number);
            dropped.apart = std::mem::replace(&mut **apart, kept);
            if apart.is_empty() {
                self.apart = None;
            }
        }
        let count = narrow(
            number
                .saturating_sub(self.first)
                .min(self.recent.len() as u64),
        );
        // Whichever part is smaller is moved.
        if count < self.recent.len() / 2 {
            dropped.recent = self.recent.drain(..count).collect();
        } else {
            let kept = self.recent.split_off(count);
            dropped.recent = std::mem::replace(&mut self.recent, kept);
        }
        self.first += count as u64;
        for chunk in dropped.recent.iter().chain(dropped.apart.values()) {
            dropped.live += chunk.live();
            dropped.live_bytes += chunk.live_bytes();
        }
        dropped
    }

    /// The first live ordinal that is not below `ordinal`.
    pub(super) fn next_live(&self, ordinal: u64) -> Option<u64> {
        let (number, offset) = split(ordinal);
        let within = |number: u64, chunk: &Chunk, from: u64| {
            let offset = if number == from { offset } else { 0 };
            chunk.first_live(offset).map(|found| join(number, found))
        };
        let apart = self.apart.iter().flat_map(|apart| apart.range(number..));
        if let Some(found) = apart
            .map(|(at, chunk)| within(*at, chunk, number))
            .find_map(|it| it)
        {
            return Some(found);
        }
        let skip = number
            .saturating_sub(self.first)
            .min(self.recent.len() as u64);
        let recent = self.recent.iter().skip(narrow(skip));
        (self.first + skip..)
            .zip(recent)
            .filter(|(_, chunk)| chunk.live() > 0)
            .find_map(|(at, chunk)| within(at, chunk, number))
    }

    pub(super) fn last_live(&self) -> Option<u64> {
        let last = |number: u64, chunk: &Chunk| Some(join(number, chunk.last_live()?));
        let recent = self.recent.iter().enumerate().rev();
        let mut recent = recent.filter(|(_, chunk)| chunk.live() > 0);
        recent
            .find_map(|(at, chunk)| last(self.first + at as u64, chunk))
            .or_else(|| {
                let mut apart = self.apart.iter().flat_map(|apart| apart.iter().rev());
                apart.find_map(|(number, chunk)| last(*number, chunk))
            })
    }

    /// Every live ID in order of ordinals, with its ordinal and hash.
    pub(super) fn live(&self) -> impl Iterator<Item = (u64, u32, &[u8])> {
        let apart = self.apart.iter().flat_map(|apart| apart.iter());
        let apart = apart.map(|(number, chunk)| (*number, chunk));
        let all = apart.chain((self.first..).zip(&self.recent));
        all.flat_map(|(number, chunk)| {
            let places = chunk.live_ids();
            places.map(move |(offset, hash, id)| (join(number, offset), hash, id))
        })
    }

    /// The one chunk there is, if it holds so few places that looking at each is quick.
    #[inline]
    pub(super) fn only(&self, places_max: usize) -> Option<&Chunk> {
        match self.recent.front() {
            Some(chunk) if self.recent.len() == 1 && self.apart.is_none() => {
                (chunk.places() <= places_max).then_some(chunk)
            }
            _ => None,
        }
    }

    /// The live ordinal of an ID in that one chunk.
    pub(super) fn find_in_only(&self, places_max: usize, hash: u32, id: &[u8]) -> Option<u64> {
        let offset = self.only(places_max)?.find(hash, id)?;
        Some(join(self.first, offset))
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        let apart = self.apart.iter().flat_map(|apart| apart.values());
        let apart_chunks = apart.clone().count();
        let held = self
            .recent
            .iter()
            .chain(apart)
            .map(Chunk::heap_bytes)
            .sum::<usize>();
        held + (self.recent.capacity() + 2 * apart_chunks) * size_of::<Chunk>()
    }

    /// Makes `number` the last chunk of the run, or begins a new run with it.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, number: u64) {
        let mut spare = None;
        while self.recent.front().is_some_and(|front| front.live() == 0) {
            spare = self.recent.pop_front();
            self.first += 1;
        }
        if self.recent.is_empty() {
            self.first = number;
        }
        let end = self.first + self.recent.len() as u64;
        if number - end > GAP_MAX {
            let chunks = (self.first..).zip(self.recent.drain(..));
            let live = chunks.filter(|(_, chunk)| chunk.live() > 0);
            self.apart.get_or_insert_default().extend(live);
            self.first = number;
        }
        let back = self.recent.back_mut();
        let mut new = match (spare, &back) {
            (Some(mut spare), _) => {
                spare.recycle();
                spare
            }
            (None, Some(back)) => Chunk::sized_like(back),
            (None, None) => Chunk::default(),
        };
        back.into_iter().for_each(Chunk::fit);
        while self.first + self.recent.len() as u64 <= number {
            if self.recent.len() == self.recent.capacity() {
                self.recent.reserve_exact(1 + self.recent.len() / 8);
            }
            let is_last = self.first + self.recent.len() as u64 == number;
            self.recent.push_back(if is_last {
                std::mem::take(&mut new)
            } else {
                Chunk::default()
            });
        }
    }

    /// After the chunk of `ordinal` lost its last ID: takes it out where nothing is kept by it.
    ///
    /// At most one chunk without IDs stays at the front, so that the oldest ID is found at once.
    fn tidy(&mut self, ordinal: u64) {
        let (number, _) = split(ordinal);
        if number < self.first {
            if let Some(apart) = &mut self.apart {
                apart.remove(&number);
                if apart.is_empty() {
                    self.apart = None;
                }
            }
            return;
        }
        let is_dead = |chunk: Option<&Chunk>| chunk.is_some_and(|chunk| chunk.live() == 0);
        while is_dead(self.recent.front()) && is_dead(self.recent.get(1)) {
            self.recent.pop_front();
            self.first += 1;
        }
    }
}

#[inline]
fn split(ordinal: u64) -> (u64, usize) {
    (ordinal / PLACES as u64, narrow(ordinal % PLACES as u64))
}

#[inline]
fn join(number: u64, offset: usize) -> u64 {
    number * PLACES as u64 + offset as u64
}

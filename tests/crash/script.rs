//! What a thread does in a life: steps that a seed decides, one after the other.

use crate::support::Random;

/// Threads of a child; each has two caches of its own.
pub(crate) const THREADS: usize = 6;
/// Steps of a thread; after them the child closes the store.
pub(crate) const STEPS: usize = 300;
/// The capacity of the caches of the threads.
pub(crate) const SETTINGS: u64 = 40;
/// The cache that all threads add to.
pub(crate) const SHARED: &str = "shared";
pub(crate) const SHARED_CAPACITY: u64 = 300;

/// One step; `usize` is which of the thread's two caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Add(usize, u64),
    /// New IDs to both caches, in one transaction.
    Commit(Vec<(usize, u64)>),
    Remove(usize, u64),
    Clear(usize),
    Drop(usize),
    Resize(usize, u64),
    Share(u64),
    ClearShared,
    Sync,
    Compact,
}

/// The steps of a thread in a life.
pub(crate) struct Script {
    random: Random,
    thread: u64,
    first: u64,
    next: u64,
}

impl Script {
    pub(crate) fn new((seed, life): (u64, u64), thread: usize) -> Script {
        let thread = thread as u64;
        let first = life << 24 | thread << 16;
        let mut random = Random(seed << 40 ^ first);
        random.next();
        Script {
            random,
            thread,
            first,
            next: first,
        }
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// An ID that this thread made in this life, if it has made any; of any cache.
    fn old_id(&mut self) -> u64 {
        let made = (self.next - self.first).clamp(1, 40);
        (self.next + 1).saturating_sub(1 + self.random.below(made))
    }

    /// The cache that an ID is added to is part of it, so that each is known in one only.
    fn cache(id: u64) -> usize {
        usize::from(!id.is_multiple_of(2))
    }

    pub(crate) fn step(&mut self) -> Step {
        let which = usize::from(self.random.below(2) == 1);
        match self.random.below(1_000) {
            0..420 => {
                let id = self.new_id();
                Step::Add(Script::cache(id), id)
            }
            420..500 => {
                let id = self.old_id();
                Step::Add(Script::cache(id), id)
            }
            500..660 => {
                let count = 1 + self.random.below(4);
                let ids = (0..count).map(|_| self.new_id());
                Step::Commit(ids.map(|id| (Script::cache(id), id)).collect())
            }
            660..740 => {
                let id = self.old_id();
                Step::Remove(Script::cache(id), id)
            }
            740..760 => Step::Clear(which),
            760..775 => Step::Drop(which),
            775..800 => Step::Resize(which, 1 + self.random.below(2 * SETTINGS)),
            800..980 => Step::Share(self.new_id()),
            980..988 if self.thread == 0 => Step::ClearShared,
            988..996 => Step::Sync,
            996..998 => Step::Compact,
            _ => Step::Share(self.new_id()),
        }
    }
}

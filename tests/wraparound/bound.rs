//! The bound of promise 7, worked out apart from the engine.

use std::collections::VecDeque;

use idjournal::{Stats, Store};

/// The most that lived while each segment of the chain was the active one, oldest first.
pub(crate) struct Bound {
    most_live: VecDeque<u64>,
    begun: u64,
    segment_bytes: u64,
    /// Kills since the last release: each may have cost a segment.
    kills: u64,
    released: u64,
    /// The highest share of the bound that was ever used, in percent.
    pub(crate) worst: u64,
}

impl Bound {
    pub(crate) fn new(segment_bytes: u64) -> Bound {
        Bound {
            most_live: VecDeque::new(),
            begun: 0,
            segment_bytes,
            kills: 0,
            released: 0,
            worst: 0,
        }
    }

    /// The store was closed or killed and is open again.
    pub(crate) fn reopened(&mut self, store: &Store, was_killed: bool) {
        self.begun = 0;
        self.released = 0;
        self.kills += u64::from(was_killed);
        let chain = usize::try_from(store.stats().segments).unwrap();
        assert!(chain <= self.most_live.len(), "a segment out of nothing");
        self.most_live.truncate(chain);
    }

    /// Takes the figures of this moment in; call it after each change.
    pub(crate) fn note(&mut self, stats: &Stats) {
        for _ in self.begun..stats.segments_begun {
            self.most_live.push_back(stats.live_bytes);
        }
        self.begun = stats.segments_begun;
        while self.most_live.len() as u64 > stats.segments {
            self.most_live.pop_front();
        }
        if stats.segments_released > self.released {
            self.released = stats.segments_released;
            self.kills = 0;
        }
        if let Some(active) = self.most_live.back_mut() {
            *active = (*active).max(stats.live_bytes);
        }
    }

    /// How many bytes there may be on disk.
    pub(crate) fn bytes(&self) -> u64 {
        let most = self.most_live.iter().max().copied().unwrap_or(0);
        2 * most + (4 + self.kills) * self.segment_bytes
    }

    /// Whether there are more; how many, and how many there may be.
    pub(crate) fn excess(&mut self, stats: &Stats) -> Option<(u64, u64)> {
        self.note(stats);
        let bound = self.bytes();
        self.worst = self.worst.max(stats.disk_bytes * 100 / bound);
        (stats.disk_bytes > bound).then_some((stats.disk_bytes, bound))
    }

    pub(crate) fn check(&mut self, stats: &Stats, when: impl std::fmt::Display) {
        if let Some((bytes, bound)) = self.excess(stats) {
            panic!("{when}: {bytes} bytes on disk, the bound is {bound}: {stats:?}");
        }
    }
}

//! The index of a cache: from the hash of an ID to the lower 32 bits of its ordinal.
//!
//! It is cut into tables of some thousand entries; one more is split off when they fill (linear
//! hashing), so that no call moves more than one table.
//!
//! An entry may be stale: its ordinal is no longer live. The caller tells that by looking at the
//! place; stale entries go when their table is rebuilt. Equality is the caller's matter, too.

use super::table::Table;

/// Mean entries of a table at which one more is split off.
const TABLE_FULL: usize = 4096;
/// Mean entries of a table below which two are merged.
const TABLE_SPARSE: usize = 1024;

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Index {
    tables: Vec<Table>,
    entries: usize,
    /// Tables that are to be rebuilt for their size or their stale entries, and the next of them.
    to_refit: u32,
    refit_at: u32,
}

impl Index {
    /// An index of all `entries`, about `len` hashes and ordinals from old to new, in a window of
    /// `capacity`; and the older ordinals of IDs that are there twice, which it leaves out.
    ///
    /// Each table is filled by itself, at its final size, so that what is written to stays near.
    /// `is_same` tells whether two ordinals hold the same ID, the hash of the first being given.
    pub(super) fn of<I: Iterator<Item = (u32, u32)>>(
        entries: impl Fn() -> I,
        (len, capacity): (u64, u64),
        is_same: impl Fn((u32, u32), u32) -> bool,
    ) -> (Index, Vec<u32>) {
        let tables = len.div_ceil(TABLE_FULL as u64).max(1);
        let mut index = Index::default();
        index
            .tables
            .resize_with(usize::try_from(tables).unwrap_or(1), Table::default);
        let mut ends = vec![0; index.tables.len()];
        entries().for_each(|(hash, _)| ends[index.table_of(hash)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // Where the table's own entries begin; filling it moves that to their end.
            sum += std::mem::replace(end, sum);
        }
        let mut sorted = vec![(0, 0); sum];
        for entry in entries() {
            let end = &mut ends[index.table_of(entry.0)];
            sorted[*end] = entry;
            *end += 1;
        }
        let (mut doubles, mut begin) = (Vec::new(), 0);
        for (at, end) in ends.into_iter().enumerate() {
            let own = &sorted[begin..end];
            let mut table = Table::with_room(index.room(at, own.len(), capacity));
            for entry in own {
                if let Some(double) = table.find(entry.0, |other| is_same(*entry, other)) {
                    table.remove(entry.0, double);
                    doubles.push(double);
                }
                table.insert(entry.0, entry.1);
            }
            index.entries += table.len();
            index.tables[at] = table;
            begin = end;
        }
        (index, doubles)
    }

    /// Whether nothing was ever inserted.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        self.tables.is_empty()
    }

    #[inline]
    pub(super) fn find(&self, hash: u32, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.tables.get(self.table_of(hash))?.find(hash, is_it)
    }

    /// Inserts an entry for a cache of `capacity`; `hash_of` knows the hash of every live ordinal.
    #[inline]
    pub(super) fn insert(
        &mut self,
        hash: u32,
        ordinal: u32,
        capacity: u64,
        hash_of: impl Fn(u32) -> Option<u32>,
    ) {
        if self.entries >= self.tables.len() * TABLE_FULL {
            self.split(capacity, &hash_of);
        }
        let at = self.table_of(hash);
        if self.tables[at].is_full() {
            self.redistribute(&[at], capacity, &hash_of);
        }
        self.tables[at].insert(hash, ordinal);
        self.entries += 1;
    }

    /// Removes an entry, if it is there.
    #[inline]
    pub(super) fn remove(&mut self, hash: u32, ordinal: u32) {
        let at = self.table_of(hash);
        if self
            .tables
            .get_mut(at)
            .is_some_and(|table| table.remove(hash, ordinal))
        {
            self.entries -= 1;
        }
    }

    /// Asks for every table to be rebuilt, little by little.
    pub(super) fn refit(&mut self) {
        self.to_refit = u32::try_from(self.tables.len()).unwrap_or(u32::MAX);
    }

    /// Does a small piece of what [`Index::refit`] asked for; to be called every now and then.
    pub(super) fn tend(&mut self, capacity: u64, hash_of: impl Fn(u32) -> Option<u32>) {
        if self.to_refit > 0 {
            self.to_refit -= 1;
            let at = self.refit_at as usize;
            let at = if at < self.tables.len() { at } else { 0 };
            self.refit_at = u32::try_from(at + 1).unwrap_or_default();
            if !self.tables.is_empty() {
                self.redistribute(&[at], capacity, &hash_of);
            }
        } else if self.tables.len() > 1 && self.entries < (self.tables.len() - 1) * TABLE_SPARSE {
            self.merge(capacity, &hash_of);
        }
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        let held: usize = self.tables.iter().map(Table::heap_bytes).sum();
        self.tables.capacity() * size_of::<Table>() + held
    }

    #[inline]
    fn table_of(&self, hash: u32) -> usize {
        let tables = self.tables.len();
        let mask = tables.next_power_of_two() - 1;
        let at = hash as usize & mask;
        if at < tables { at } else { at & (mask >> 1) }
    }

    /// How many IDs of a full window of `capacity` belong to table `at`.
    fn share(&self, at: usize, capacity: u64) -> usize {
        let whole = self.tables.len().next_power_of_two();
        let half = whole / 2;
        let is_split = at >= half || at + half < self.tables.len();
        let ways = if is_split || half == 0 { whole } else { half };
        usize::try_from(capacity).unwrap_or(usize::MAX) / ways + 1
    }

    /// The room that table `at` should have when it holds `own` entries: twice as much while the
    /// window fills; what a full window needs; small steps above that.
    fn room(&self, at: usize, own: usize, capacity: u64) -> usize {
        let share = self.share(at, capacity);
        let full = share + share.isqrt();
        (own + own / 16).max(full.min(2 * own)) + 1
    }

    /// Adds a table and moves into it what is its own now.
    #[cold]
    #[inline(never)]
    fn split(&mut self, capacity: u64, hash_of: &impl Fn(u32) -> Option<u32>) {
        if self.tables.is_empty() {
            self.tables.reserve_exact(1);
            self.tables.push(Table::with_room(1));
            return;
        }
        let new = self.tables.len();
        let from = new - (1 << new.ilog2());
        self.tables.push(Table::default());
        self.redistribute(&[from, new], capacity, hash_of);
    }

    /// Moves the content of the last table back to the one it was split from.
    #[cold]
    #[inline(never)]
    fn merge(&mut self, capacity: u64, hash_of: &impl Fn(u32) -> Option<u32>) {
        let Some(table) = self.tables.pop() else {
            return;
        };
        let new = self.tables.len().max(1);
        let into = new - (1 << new.ilog2());
        let mut entries = self.take(into, hash_of);
        entries.extend(live(&table, hash_of));
        self.entries -= table.len();
        self.fill(&[into], entries, capacity);
    }

    /// Shares the live entries of the first table of `to` among all of `to`, made anew.
    #[cold]
    #[inline(never)]
    fn redistribute(&mut self, to: &[usize], capacity: u64, hash_of: &impl Fn(u32) -> Option<u32>) {
        let entries = to
            .first()
            .map_or_else(Vec::new, |from| self.take(*from, hash_of));
        self.fill(to, entries, capacity);
    }

    /// Empties table `at`; gives its live entries.
    fn take(&mut self, at: usize, hash_of: &impl Fn(u32) -> Option<u32>) -> Vec<(u32, u32)> {
        let table = std::mem::take(&mut self.tables[at]);
        self.entries -= table.len();
        live(&table, hash_of).collect()
    }

    /// Puts `entries` into the tables `to`, made anew with fitting room.
    fn fill(&mut self, to: &[usize], entries: Vec<(u32, u32)>, capacity: u64) {
        for at in to {
            let is_own = |entry: &&(u32, u32)| self.table_of(entry.0) == *at;
            let own = entries.iter().filter(is_own).count();
            let mut table = Table::with_room(self.room(*at, own, capacity));
            entries
                .iter()
                .filter(is_own)
                .for_each(|entry| table.insert(entry.0, entry.1));
            self.entries += own;
            self.tables[*at] = table;
        }
    }
}

fn live(table: &Table, hash_of: &impl Fn(u32) -> Option<u32>) -> impl Iterator<Item = (u32, u32)> {
    table
        .ordinals()
        .filter_map(|ordinal| Some((hash_of(ordinal)?, ordinal)))
}

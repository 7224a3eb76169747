//! The index of a cache: from the hash of an ID to the lower 32 bits of its ordinal.
//!
//! It is cut into tables of some thousand entries; one more is split off when they fill (linear
//! hashing), so that no call moves more than one table. A table is groups of one cache line: twelve
//! tags of seven hash bits, twelve ordinals, and how many entries went past the full group, so that
//! a removal leaves no tombstone.
//!
//! An entry may be stale: its ordinal is no longer live. The caller tells that by looking at the
//! place; stale entries go when their table is rebuilt. Equality is the caller's matter, too.

const LANES: usize = 12;
/// Mean entries of a group at which its table counts as full.
const GROUP_FULL: usize = 10;
/// Mean entries of a table at which one more is split off.
const TABLE_FULL: usize = 4096;
/// Mean entries of a table below which two are merged.
const TABLE_SPARSE: usize = 1024;

const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const HIGH_BITS_OF_FOUR: u64 = 0x8080_8080;
const PAST_SHIFT: u32 = 32;
const PAST_ONE: u64 = 1 << PAST_SHIFT;

/// Twelve tags (high bit set; 0 is free) in the first twelve bytes of `control`, then as a `u32`
/// the number of entries that went past this group.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group {
    control: [u64; 2],
    ordinals: [u32; LANES],
}

const _: () = assert!(size_of::<Group>() == 64);

impl Group {
    const EMPTY: Group = Group {
        control: [0; 2],
        ordinals: [0; LANES],
    };

    /// Lanes as bits: lane `n` below 8 is bit `8 n`, lane `8 + n` is bit `8 n + 1`.
    #[inline]
    fn lanes(first: u64, second: u64) -> u64 {
        (first & HIGH_BITS) >> 7 | (second & HIGH_BITS_OF_FOUR) >> 6
    }

    /// Lanes whose tag may be `tag`; a wrong one is possible behind a right one.
    #[inline]
    fn with_tag(&self, tag: u64) -> u64 {
        let [first, second] = self.control.map(|word| word ^ (tag * EVERY_BYTE));
        Group::lanes(
            first.wrapping_sub(EVERY_BYTE) & !first,
            second.wrapping_sub(EVERY_BYTE) & !second,
        )
    }

    #[inline]
    fn free(&self) -> u64 {
        Group::lanes(!self.control[0], !self.control[1])
    }

    #[inline]
    fn taken(&self) -> u64 {
        Group::lanes(self.control[0], self.control[1])
    }

    #[inline]
    fn lane(bits: u64) -> usize {
        let bit = bits.trailing_zeros() as usize;
        ((bit >> 3) + 8 * (bit & 1)) & 15
    }

    #[inline]
    fn set(&mut self, lane: usize, tag: u64, ordinal: u32) {
        self.control[lane / 8] |= tag << (8 * (lane % 8));
        if let Some(place) = self.ordinals.get_mut(lane) {
            *place = ordinal;
        }
    }

    #[inline]
    fn unset(&mut self, lane: usize) {
        self.control[lane / 8] &= !(0xff << (8 * (lane % 8)));
    }

    #[inline]
    fn is_passed(&self) -> bool {
        self.control[1] >> PAST_SHIFT != 0
    }
}

/// An open-addressed table of any number of groups, never quite full.
#[derive(Debug, Default)]
struct Table {
    groups: Box<[Group]>,
    entries: usize,
}

impl Table {
    fn with_room(entries: usize) -> Table {
        // Odd, so that steps of every power of two lead through all groups.
        let groups = entries.div_ceil(GROUP_FULL) | 1;
        Table {
            groups: vec![Group::EMPTY; groups].into_boxed_slice(),
            entries: 0,
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.entries >= self.groups.len() * GROUP_FULL
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        super::place::narrow((u64::from(hash) * self.groups.len() as u64) >> 32)
    }

    /// How far on the next group for `hash` is: unequal steps keep full groups from clustering.
    #[inline]
    fn step(&self, hash: u32) -> usize {
        let step = 1 << (hash >> 12 & 7);
        if step < self.groups.len() { step } else { 1 }
    }

    #[inline]
    fn after(&self, group: usize, step: usize) -> usize {
        let next = group + step;
        if next < self.groups.len() {
            next
        } else {
            next - self.groups.len()
        }
    }

    #[inline]
    fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        for _ in 0..self.groups.len() {
            let group = &self.groups[at];
            let mut lanes = group.with_tag(tag(hash));
            while lanes != 0 {
                let ordinal = group.ordinals[Group::lane(lanes)];
                if is_it(ordinal) {
                    return Some(ordinal);
                }
                lanes &= lanes - 1;
            }
            if !group.is_passed() {
                return None;
            }
            at = self.after(at, self.step(hash));
        }
        None
    }

    /// Inserts into a table that is not full.
    #[inline]
    fn insert(&mut self, hash: u32, ordinal: u32) {
        let mut at = self.home(hash);
        loop {
            let group = &mut self.groups[at];
            let free = group.free();
            if free != 0 {
                group.set(Group::lane(free), tag(hash), ordinal);
                self.entries += 1;
                return;
            }
            group.control[1] += PAST_ONE;
            at = self.after(at, self.step(hash));
        }
    }

    #[inline]
    fn remove(&mut self, hash: u32, ordinal: u32) -> bool {
        let home = self.home(hash);
        let mut at = home;
        for _ in 0..self.groups.len() {
            let group = &mut self.groups[at];
            let mut lanes = group.with_tag(tag(hash));
            while lanes != 0 {
                let lane = Group::lane(lanes);
                if group.ordinals[lane] == ordinal {
                    group.unset(lane);
                    self.entries -= 1;
                    self.unpass(hash, home, at);
                    return true;
                }
                lanes &= lanes - 1;
            }
            if !group.is_passed() {
                return false;
            }
            at = self.after(at, self.step(hash));
        }
        false
    }

    /// Takes one passing entry off each group from `home` on the way of `hash` to `end`.
    #[inline]
    fn unpass(&mut self, hash: u32, home: usize, end: usize) {
        let mut at = home;
        while at != end {
            let group = &mut self.groups[at];
            if group.is_passed() {
                group.control[1] -= PAST_ONE;
            }
            at = self.after(at, self.step(hash));
        }
    }

    fn ordinals(&self) -> impl Iterator<Item = u32> {
        self.groups.iter().flat_map(|group| {
            let lanes = |bits: u64| (bits != 0).then_some(bits);
            std::iter::successors(lanes(group.taken()), move |bits| lanes(bits & (bits - 1)))
                .map(|bits| group.ordinals[Group::lane(bits)])
        })
    }
}

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
        let groups: usize = self.tables.iter().map(|table| table.groups.len()).sum();
        self.tables.capacity() * size_of::<Table>() + groups * size_of::<Group>()
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
        self.entries -= table.entries;
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
        self.entries -= table.entries;
        live(&table, hash_of).collect()
    }

    /// Puts `entries` into the tables `to`, made anew with fitting room.
    fn fill(&mut self, to: &[usize], entries: Vec<(u32, u32)>, capacity: u64) {
        for at in to {
            let is_own = |entry: &&(u32, u32)| self.table_of(entry.0) == *at;
            let own = entries.iter().filter(is_own).count();
            let share = self.share(*at, capacity);
            // Twice as much while the window fills; what a full window needs; small steps above it.
            let full = share + share.isqrt();
            let room = (own + own / 16).max(full.min(2 * own)) + 1;
            let mut table = Table::with_room(room);
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

/// Seven bits of the hash that choose neither table nor group in caches of usual size.
#[inline]
fn tag(hash: u32) -> u64 {
    u64::from(hash >> 15 & 0x7f | 0x80)
}

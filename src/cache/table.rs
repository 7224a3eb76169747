//! A hash table of ordinals, cut to the memory that a full window may take.
//!
//! It is groups of one cache line: twelve tags of seven hash bits, twelve ordinals, and how many
//! entries went past the full group, so that a removal leaves no tombstone: IDs leave a window as
//! fast as they come. It has any number of groups, not only powers of two.

const LANES: usize = 12;
/// Mean entries of a group at which its table counts as full.
const GROUP_FULL: usize = 10;

const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const HIGH_BITS_OF_FOUR: u64 = 0x8080_8080;
const PAST_SHIFT: u32 = 32;
const PAST_MASK: u64 = 0xf;

/// Twelve tags (high bit set; 0 is free) in the first twelve bytes of `control`, then eight counts
/// of the entries that went past this group, by three bits of their hash: who looks for an ID that
/// is not there need not follow those of the others. A count that reaches its end stays there.
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

    /// How many entries went past that share three bits with `hash`.
    #[inline]
    fn passed(&self, hash: u32) -> u64 {
        self.control[1] >> past_shift(hash) & PAST_MASK
    }

    fn pass(&mut self, hash: u32) {
        if self.passed(hash) < PAST_MASK {
            self.control[1] += 1 << past_shift(hash);
        }
    }

    fn unpass(&mut self, hash: u32) {
        if (1..PAST_MASK).contains(&self.passed(hash)) {
            self.control[1] -= 1 << past_shift(hash);
        }
    }
}

/// An open-addressed table of any number of groups, never quite full.
#[derive(Debug, Default)]
pub(super) struct Table {
    groups: Box<[Group]>,
    entries: usize,
}

impl Table {
    /// An empty table for so many entries.
    pub(super) fn with_room(entries: usize) -> Table {
        // Odd, so that steps of every power of two lead through all groups.
        let groups = entries.div_ceil(GROUP_FULL) | 1;
        Table {
            groups: vec![Group::EMPTY; groups].into_boxed_slice(),
            entries: 0,
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
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
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
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
            if group.passed(hash) == 0 {
                return None;
            }
            at = self.after(at, self.step(hash));
        }
        None
    }

    /// Inserts into a table that is not full.
    #[inline]
    pub(super) fn insert(&mut self, hash: u32, ordinal: u32) {
        let mut at = self.home(hash);
        loop {
            let group = &mut self.groups[at];
            let free = group.free();
            if free != 0 {
                group.set(Group::lane(free), tag(hash), ordinal);
                self.entries += 1;
                return;
            }
            group.pass(hash);
            at = self.after(at, self.step(hash));
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, hash: u32, ordinal: u32) -> bool {
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
            if group.passed(hash) == 0 {
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
            self.groups[at].unpass(hash);
            at = self.after(at, self.step(hash));
        }
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.groups.len() * size_of::<Group>()
    }

    pub(super) fn ordinals(&self) -> impl Iterator<Item = u32> {
        self.groups.iter().flat_map(|group| {
            let lanes = |bits: u64| (bits != 0).then_some(bits);
            std::iter::successors(lanes(group.taken()), move |bits| lanes(bits & (bits - 1)))
                .map(|bits| group.ordinals[Group::lane(bits)])
        })
    }
}

/// Seven bits of the hash that choose neither table nor group in caches of usual size.
#[inline]
fn tag(hash: u32) -> u64 {
    u64::from(hash >> 15 & 0x7f | 0x80)
}

/// Where the count for entries with `hash` is: by bits of the tag, so that it tells the more.
#[inline]
fn past_shift(hash: u32) -> u32 {
    PAST_SHIFT + 4 * (hash >> 19 & 7)
}

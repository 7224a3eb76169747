//! A place: what a chunk knows of one ordinal, packed into 16 bytes.

use crate::format::{ID_BYTES_MAX, VALUE_BYTES_MAX};

use super::chunk::{Content, PLACES};

const ID_SHIFT: u32 = 24;
const VALUE_SHIFT: u32 = ID_SHIFT + 17;
const LIVE_SHIFT: u32 = VALUE_SHIFT + 1;
const EXTRA_SHIFT: u32 = LIVE_SHIFT + 1;
/// Bytes that a chunk may have, so that every start fits its bits.
pub(super) const BYTES_MAX: usize = (1 << ID_SHIFT) - 1;
const START_MASK: u64 = (1 << ID_SHIFT) - 1;
const ID_MASK: u64 = (1 << 17) - 1;
const EXTRA_MAX: u64 = (1 << (64 - EXTRA_SHIFT)) - 1;
const LIVE: u64 = 1 << LIVE_SHIFT;

const _: () = {
    assert!(ID_BYTES_MAX as u64 <= ID_MASK);
    // The bytes of a whole chunk twice over, so that after compacting there is always room.
    assert!((PLACES * (ID_BYTES_MAX + 1 + VALUE_BYTES_MAX)) as u64 <= START_MASK / 2 + (1 << 20));
};

/// One ordinal's place: where its bytes begin, their lengths, whether it is live, the bytes that
/// its record has beyond those of the ID (at most 2 MiB); hash; time. All zeros is a hole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    packed: u64,
    pub(super) hash: u32,
    pub(super) time: u32,
}

const _: () = assert!(size_of::<Place>() == 16);

impl Place {
    #[inline]
    pub(super) fn new(start: usize, content: &Content<'_>, time: u32) -> Place {
        let id_bytes = as_u64(content.id.len());
        let has_value = u64::from(!content.value.is_empty());
        let packed = as_u64(start) | id_bytes << ID_SHIFT | has_value << VALUE_SHIFT | LIVE;
        let mut place = Place {
            packed,
            hash: content.hash,
            time,
        };
        place.set_record_bytes(content.record_bytes);
        place
    }

    #[inline]
    pub(super) fn is_live(self) -> bool {
        self.packed & LIVE != 0
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        narrow(self.packed & START_MASK)
    }

    #[inline]
    pub(super) fn id_bytes(self) -> usize {
        narrow(self.packed >> ID_SHIFT & ID_MASK)
    }

    #[inline]
    pub(super) fn has_value(self) -> bool {
        self.packed >> VALUE_SHIFT & 1 != 0
    }

    #[inline]
    pub(super) fn record_bytes(self) -> u64 {
        (self.packed >> EXTRA_SHIFT) + (self.packed >> ID_SHIFT & ID_MASK)
    }

    /// Record bytes are cut to what fits: from the length of the ID to 2 MiB more.
    #[inline]
    pub(super) fn set_record_bytes(&mut self, record_bytes: u64) {
        let extra = record_bytes
            .saturating_sub(as_u64(self.id_bytes()))
            .min(EXTRA_MAX);
        self.packed = self.packed & ((1 << EXTRA_SHIFT) - 1) | extra << EXTRA_SHIFT;
    }

    #[inline]
    pub(super) fn set_hole(&mut self) {
        self.packed &= !LIVE;
    }

    pub(super) fn set_start(&mut self, start: usize) {
        self.packed = self.packed & !START_MASK | as_u64(start);
    }
}

#[inline]
fn as_u64(count: usize) -> u64 {
    count as u64
}

/// The lower 32 bits.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper bits are known to be zero or meant to go"
)]
pub(super) fn low(number: u64) -> u32 {
    number as u32
}

/// A number that is known to be small.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "callers have masked it to 24 bits or bounded it"
)]
pub(super) fn narrow(number: u64) -> usize {
    number as usize
}

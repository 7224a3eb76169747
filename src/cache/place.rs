//! A place: what a chunk knows of one ordinal, packed into 12 bytes, and 4 more where IDs differ
//! in length.

use crate::format::{ID_BYTES_MAX, VALUE_BYTES_MAX};

use super::chunk::{Content, PLACES};

const RECORD_BITS: u32 = 21;
const RECORD_MAX: u64 = (1 << RECORD_BITS) - 1;
const LIVE: u32 = 1 << RECORD_BITS;
const VALUE: u32 = LIVE << 1;
const HIGH_SHIFT: u32 = RECORD_BITS + 2;
/// Bits of a length that stand in the span; the others stand in the place.
const LOW_BITS: u32 = 8;
const START_BITS: u32 = 32 - LOW_BITS;
/// Bytes that a chunk may have, so that every start fits its bits.
pub(super) const BYTES_MAX: usize = (1 << START_BITS) - 1;

const _: () = {
    assert!(ID_BYTES_MAX >> LOW_BITS < 1 << (32 - HIGH_SHIFT));
    // The bytes of a whole chunk twice over, so that after compacting there is always room.
    assert!(PLACES * (ID_BYTES_MAX + 1 + VALUE_BYTES_MAX) <= BYTES_MAX / 2 + (1 << 20));
};

/// One ordinal's place: hash; time; the bytes of its record (at most 2 MiB), whether it is live
/// and has a value, and the upper bits of the length of its ID. All zeros is a hole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) hash: u32,
    pub(super) time: u32,
    rest: u32,
}

const _: () = assert!(size_of::<Place>() == 12);

impl Place {
    #[inline]
    pub(super) fn new(content: &Content<'_>, time: u32) -> Place {
        let has_value = if content.value.is_empty() { 0 } else { VALUE };
        let high = low(as_u64(content.id.len() >> LOW_BITS));
        let mut place = Place {
            hash: content.hash,
            time,
            rest: high << HIGH_SHIFT | has_value | LIVE,
        };
        place.set_record_bytes(content.record_bytes);
        place
    }

    #[inline]
    pub(super) fn is_live(self) -> bool {
        self.rest & LIVE != 0
    }

    #[inline]
    pub(super) fn has_value(self) -> bool {
        self.rest & VALUE != 0
    }

    #[inline]
    pub(super) fn record_bytes(self) -> u64 {
        u64::from(self.rest) & RECORD_MAX
    }

    /// Record bytes are cut to what fits: at most 2 MiB.
    #[inline]
    pub(super) fn set_record_bytes(&mut self, record_bytes: u64) {
        let record_bytes = low(record_bytes.min(RECORD_MAX));
        self.rest = self.rest & !low(RECORD_MAX) | record_bytes;
    }

    #[inline]
    pub(super) fn set_hole(&mut self) {
        self.rest &= !LIVE;
    }
}

/// Where the ID of a place begins, and the lower bits of its length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span(u32);

impl Span {
    #[inline]
    pub(super) fn new(start: usize, id_bytes: usize) -> Span {
        let (start, id_bytes) = (low(as_u64(start)), low(as_u64(id_bytes)));
        Span(start | id_bytes << START_BITS)
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        narrow(u64::from(self.0) & as_u64(BYTES_MAX))
    }

    /// The length of the ID at `place`, whose span this is.
    #[inline]
    pub(super) fn id_bytes(self, place: Place) -> usize {
        narrow(u64::from(
            place.rest >> HIGH_SHIFT << LOW_BITS | self.0 >> START_BITS,
        ))
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

//! IDs of 36 bytes, made outside of what is measured.

/// An ID, in the form in which brokers write them.
pub(crate) type Id = [u8; 36];

/// How many are made at a time: few enough to stay in the cache of the processor.
pub(crate) const BATCH: usize = 4_096;

const SHAPE: &Id = b"00000000-0000-0000-8000-00ca1fb50000";
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Makes IDs that no other source of another number makes.
pub(crate) struct Source {
    next: u64,
    batch: Vec<Id>,
}

impl Source {
    pub(crate) fn new(number: u64) -> Source {
        Source {
            next: number << 40,
            batch: vec![*SHAPE; BATCH],
        }
    }

    /// The next `count` IDs, `BATCH` at most.
    pub(crate) fn batch(&mut self, count: usize) -> &[Id] {
        let count = count.min(BATCH);
        for place in &mut self.batch[..count] {
            *place = id(self.next);
            self.next += 1;
        }
        &self.batch[..count]
    }
}

/// Another number for each, so that neighbours have nothing in common.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The ID of a number: another for each.
#[inline]
pub(crate) fn id(number: u64) -> Id {
    let mut digits = [0; 16];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(mix(number).to_le_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    let mut id = *SHAPE;
    id[..8].copy_from_slice(&digits[..8]);
    id[9..13].copy_from_slice(&digits[8..12]);
    id[14..18].copy_from_slice(&digits[12..]);
    id
}

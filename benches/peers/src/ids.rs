//! The IDs and their order: what every peer is given, the same for all of them.
//!
//! An ID is the text of a UUID, 36 bytes, made from a number: the same number gives the same ID
//! again. Of 16 adds in turn 13 go to the first address and one to each of the three others: a
//! broker has busy and slow addresses, and a log has to keep what the slow ones still remember.

/// The text of a UUID.
pub type Id = [u8; 36];

/// How many addresses there are.
pub const ADDRESSES: usize = 4;

/// Of this many adds in turn, each slow address gets one.
const TURN: u64 = 16;

/// The adds that never end, each of an ID that was not there before.
#[derive(Clone)]
pub struct Stream {
    next: u64,
}

impl Stream {
    /// The adds from `first` on; streams that begin 2^40 apart do not meet.
    pub fn new(first: u64) -> Stream {
        Stream { next: first }
    }

    /// The next add.
    pub fn take(&mut self) -> (usize, Id) {
        let number = self.next;
        self.next += 1;
        (address_of(number), id_of(number))
    }

    /// The number of the next add, which is the count of those before it.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The newest IDs of `address` among the adds made so far, the newest first.
    pub fn newest(&self, address: usize) -> impl Iterator<Item = Id> {
        let numbers = (0..self.next).rev();
        numbers
            .filter(move |number| address_of(*number) == address)
            .map(id_of)
    }

    /// How many adds fill windows of these sizes.
    pub fn adds_to_fill(windows: &[usize]) -> u64 {
        let busy = windows[0] as u64 * TURN / (TURN - 3) + TURN;
        let slow = windows[1..].iter().max().copied().unwrap_or(0) as u64 * TURN;
        busy.max(slow)
    }
}

fn address_of(number: u64) -> usize {
    match number % TURN {
        turn @ 13..16 => (turn - 12) as usize,
        _ => 0,
    }
}

/// The ID of a number: its bits mixed, as a UUID is written.
pub fn id_of(number: u64) -> Id {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let (high, low) = (mix(number), mix(number ^ 0x5bf0_3635));
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_be_bytes());
    bytes[8..].copy_from_slice(&low.to_be_bytes());
    let mut id = [b'-'; 36];
    let mut place = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            place += 1;
        }
        id[place] = DIGITS[usize::from(byte >> 4)];
        id[place + 1] = DIGITS[usize::from(byte & 15)];
        place += 2;
    }
    id
}

/// A mixing of 64 bits that no two numbers share (the finisher of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_text_of_a_uuid_and_stands_for_one_number() {
        let mut seen = std::collections::HashSet::new();
        for number in 0..10_000 {
            let id = id_of(number);
            for (place, byte) in id.iter().enumerate() {
                let is_dash = matches!(place, 8 | 13 | 18 | 23);
                assert_eq!(*byte == b'-', is_dash);
                assert!(is_dash || byte.is_ascii_hexdigit());
            }
            assert!(seen.insert(id));
        }
    }

    #[test]
    fn the_newest_ids_are_those_taken_last_and_the_windows_are_full() {
        let windows = [100, 40, 20, 20];
        let mut stream = Stream::new(0);
        let mut taken: [Vec<Id>; ADDRESSES] = Default::default();
        for _ in 0..Stream::adds_to_fill(&windows) {
            let (address, id) = stream.take();
            taken[address].push(id);
        }
        for (address, ids) in taken.iter().enumerate() {
            assert!(ids.len() >= windows[address]);
            assert!(stream.newest(address).eq(ids.iter().rev().copied()));
        }
    }
}

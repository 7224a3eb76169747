//! A chunk: the places of 128 neighbouring ordinals, with the bytes of their IDs and values.
//!
//! Invariants: (1) a place is live or a hole; `live` and `live_bytes` count the live ones exactly;
//! (2) places are kept from the first ordinal that was ever put, so few IDs need little memory.
//!
//! Times are kept as 32 bits from the chunk's base. They are exact while the times in a chunk lie
//! within 497 days; beyond, all times of the chunk get coarser by the power of two that is needed
//! and are rounded up, so that an ID is never taken for older than it is.

use crate::format::{ID_BYTES_MAX, VALUE_BYTES_MAX};
use crate::ids::Ticks;

use super::place::{BYTES_MAX, Place, low};

/// Ordinals in a chunk.
pub(super) const PLACES: usize = 128;

/// The coarsest that times get: with it any two 64-bit times fit.
const SHIFT_MAX: u8 = 33;

/// What is remembered with an ID.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content<'a> {
    pub(super) hash: u32,
    pub(super) id: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) time: Ticks,
    pub(super) record_bytes: u64,
}

/// What a place held of which a hole was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Killed {
    pub(super) hash: u32,
    pub(super) record_bytes: u64,
    pub(super) time: Ticks,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    places: Vec<Place>,
    bytes: Vec<u8>,
    base_time: u64,
    live_bytes: u32,
    live: u8,
    /// The offset of `places[0]` in the chunk.
    origin: u8,
    time_shift: u8,
}

const _: () = assert!(size_of::<Chunk>() == 64);

impl Chunk {
    /// An empty chunk with the room that `like` needed.
    pub(super) fn sized_like(like: &Chunk) -> Chunk {
        let mut chunk = Chunk::default();
        if like.places.len() == PLACES {
            chunk.places.reserve_exact(PLACES);
            chunk.bytes.reserve_exact(like.bytes.len());
        }
        chunk
    }

    /// Forgets all but the memory.
    pub(super) fn recycle(&mut self) {
        self.places.clear();
        self.bytes.clear();
        (self.live, self.live_bytes, self.time_shift) = (0, 0, 0);
    }

    /// Gives back the room that a full chunk does not need, if it is worth the call.
    pub(super) fn fit(&mut self) {
        if self.bytes.capacity() - self.bytes.len() > self.bytes.len() / 8 {
            self.bytes.shrink_to_fit();
        }
    }

    #[inline]
    pub(super) fn live(&self) -> u64 {
        u64::from(self.live)
    }

    pub(super) fn live_bytes(&self) -> u64 {
        u64::from(self.live_bytes)
    }

    /// Places held, holes too.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn place(&self, offset: usize) -> Option<&Place> {
        let place = self
            .places
            .get(offset.wrapping_sub(usize::from(self.origin)))?;
        place.is_live().then_some(place)
    }

    #[inline]
    fn place_mut(&mut self, offset: usize) -> Option<&mut Place> {
        let place = self
            .places
            .get_mut(offset.wrapping_sub(usize::from(self.origin)))?;
        place.is_live().then_some(place)
    }

    #[inline]
    pub(super) fn is_live(&self, offset: usize) -> bool {
        self.place(offset).is_some()
    }

    #[inline]
    pub(super) fn hash(&self, offset: usize) -> Option<u32> {
        self.place(offset).map(|place| place.hash)
    }

    #[inline]
    pub(super) fn record_bytes(&self, offset: usize) -> Option<u64> {
        self.place(offset).map(|place| place.record_bytes())
    }

    /// Whether the place at `offset` is live and holds `id`.
    #[inline]
    pub(super) fn holds(&self, offset: usize, hash: u32, id: &[u8]) -> bool {
        self.place(offset).is_some_and(|place| {
            place.hash == hash && place.id_bytes() == id.len() && self.id_of(*place) == id
        })
    }

    /// The offset of the live place that holds `id`, by looking at every place.
    pub(super) fn find(&self, hash: u32, id: &[u8]) -> Option<usize> {
        let origin = usize::from(self.origin);
        (origin..origin + self.places.len()).find(|offset| self.holds(*offset, hash, id))
    }

    pub(super) fn get(&self, offset: usize) -> Option<Content<'_>> {
        let place = *self.place(offset)?;
        Some(Content {
            hash: place.hash,
            id: self.id_of(place),
            value: self.value_of(place),
            time: self.time_of(place),
            record_bytes: place.record_bytes(),
        })
    }

    /// The first live offset that is not below `offset`.
    pub(super) fn first_live(&self, offset: usize) -> Option<usize> {
        let origin = usize::from(self.origin);
        let from = offset.saturating_sub(origin);
        let places = self.places.get(from..)?;
        places
            .iter()
            .position(|place| place.is_live())
            .map(|found| origin + from + found)
    }

    /// Each live offset with the hash and the ID there.
    pub(super) fn live_ids(&self) -> impl Iterator<Item = (usize, u32, &[u8])> {
        let places = (usize::from(self.origin)..).zip(&self.places);
        let live = places.filter(|(_, place)| place.is_live());
        live.map(|(offset, place)| (offset, place.hash, self.id_of(*place)))
    }

    pub(super) fn last_live(&self) -> Option<usize> {
        let found = self.places.iter().rposition(|place| place.is_live())?;
        Some(usize::from(self.origin) + found)
    }

    /// Puts an ID into the place at `offset`, which is not live.
    #[inline]
    pub(super) fn put(&mut self, offset: usize, content: &Content<'_>) {
        let id_bytes = content.id.len();
        assert!(
            id_bytes <= ID_BYTES_MAX,
            "IDs are checked against their limit before"
        );
        assert!(
            content.value.len() <= VALUE_BYTES_MAX,
            "values are checked before"
        );
        let needed = id_bytes + 1 + VALUE_BYTES_MAX;
        if self.bytes.len() + needed > BYTES_MAX {
            self.compact();
        }
        let start = self.append(content);
        let time = self.delta(content.time);
        let place = Place::new(start, content, time);
        if offset == usize::from(self.origin) + self.places.len() && !self.places.is_empty() {
            if self.places.len() == self.places.capacity() {
                self.make_places(self.places.len() + 1);
            }
            self.places.push(place);
        } else {
            self.put_apart(offset, place);
        }
        self.live += 1;
        self.live_bytes += low(place.record_bytes());
    }

    /// Makes a hole of a live place; tells what it held.
    #[inline]
    pub(super) fn kill(&mut self, offset: usize) -> Option<Killed> {
        let place = self.place_mut(offset)?;
        place.set_hole();
        let place = *place;
        let record_bytes = place.record_bytes();
        self.live -= 1;
        self.live_bytes -= low(record_bytes);
        Some(Killed {
            hash: place.hash,
            record_bytes,
            time: self.time_of(place),
        })
    }

    /// Changes the bytes of a live place's record; gives the old ones.
    pub(super) fn set_record_bytes(&mut self, offset: usize, record_bytes: u64) -> Option<u64> {
        let place = self.place_mut(offset)?;
        let old = place.record_bytes();
        place.set_record_bytes(record_bytes);
        let new = place.record_bytes();
        self.live_bytes = self.live_bytes - low(old) + low(new);
        Some(old)
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.bytes.capacity()
    }

    #[inline]
    fn id_of(&self, place: Place) -> &[u8] {
        self.bytes
            .get(place.start()..place.start() + place.id_bytes())
            .unwrap_or_default()
    }

    fn value_of(&self, place: Place) -> &[u8] {
        let start = place.start() + place.id_bytes();
        match self.bytes.get(start) {
            Some(value_bytes) if place.has_value() => {
                let start = start + 1;
                self.bytes
                    .get(start..start + usize::from(*value_bytes))
                    .unwrap_or_default()
            }
            _ => &[],
        }
    }

    #[inline]
    fn time_of(&self, place: Place) -> Ticks {
        let since_base = u64::from(place.time).saturating_mul(1 << self.time_shift);
        Ticks(self.base_time.saturating_add(since_base))
    }

    /// Appends ID and value to the bytes; gives where they begin.
    #[inline]
    fn append(&mut self, content: &Content<'_>) -> usize {
        let start = self.bytes.len();
        let value_bytes = content.value.len();
        let needed = content.id.len() + if value_bytes > 0 { 1 + value_bytes } else { 0 };
        if self.bytes.capacity() - start < needed {
            // Small steps: a chunk is short, and what it does not use is lost for long.
            self.bytes.reserve_exact(needed.max(start / 8));
        }
        self.bytes.extend_from_slice(content.id);
        if value_bytes > 0 {
            self.bytes.extend(u8::try_from(value_bytes));
            self.bytes.extend_from_slice(content.value);
        }
        start
    }

    /// The stored time of `time`, for a place that is put next.
    #[inline]
    fn delta(&mut self, time: Ticks) -> u32 {
        if self.live == 0 {
            (self.base_time, self.time_shift) = (time.0, 0);
        }
        match time.0.checked_sub(self.base_time).map(u32::try_from) {
            Some(Ok(delta)) if self.time_shift == 0 => delta,
            _ => self.retime(time),
        }
    }

    /// Chooses base and coarseness anew so that `time` fits; gives its stored time.
    #[cold]
    fn retime(&mut self, time: Ticks) -> u32 {
        let times: Vec<u64> = self
            .places
            .iter()
            .map(|place| self.time_of(*place).0)
            .collect();
        let known = || {
            self.places
                .iter()
                .zip(&times)
                .filter(|(place, _)| place.is_live())
        };
        let base = known().map(|(_, known)| *known).fold(time.0, u64::min);
        let newest = known().map(|(_, known)| *known).fold(time.0, u64::max);
        let shift =
            (0..SHIFT_MAX).find(|shift| scaled(newest - base, *shift) <= u64::from(u32::MAX));
        let shift = shift.unwrap_or(SHIFT_MAX);
        (self.base_time, self.time_shift) = (base, shift);
        for (place, time) in self.places.iter_mut().zip(times) {
            place.time = cut(scaled(time.saturating_sub(base), shift));
        }
        cut(scaled(time.0 - base, shift))
    }

    #[cold]
    fn put_apart(&mut self, offset: usize, place: Place) {
        let Some(origin) = u8::try_from(offset).ok().filter(|_| offset < PLACES) else {
            return;
        };
        if self.places.is_empty() {
            self.origin = origin;
        }
        if origin < self.origin {
            let missing = usize::from(self.origin - origin);
            self.make_places(self.places.len() + missing);
            self.places
                .splice(0..0, std::iter::repeat_n(Place::default(), missing));
            self.origin = origin;
        }
        let at = usize::from(origin - self.origin);
        if at >= self.places.len() {
            self.make_places(at + 1);
            self.places.resize(at + 1, Place::default());
        }
        if let Some(free) = self.places.get_mut(at) {
            *free = place;
        }
    }

    /// Makes room for `places`, doubling, never beyond a whole chunk.
    fn make_places(&mut self, places: usize) {
        if places > self.places.capacity() {
            let room = places.max(2 * self.places.capacity()).clamp(4, PLACES);
            self.places.reserve_exact(room - self.places.len());
        }
    }

    /// Closes the gaps that holes left among the bytes.
    #[cold]
    fn compact(&mut self) {
        let old = std::mem::take(&mut self.bytes);
        for place in self.places.iter_mut().filter(|place| place.is_live()) {
            let start = place.start();
            let mut end = start + place.id_bytes();
            if place.has_value() {
                end += 1 + old
                    .get(end)
                    .map_or(0, |value_bytes| usize::from(*value_bytes));
            }
            place.set_start(self.bytes.len());
            self.bytes
                .extend_from_slice(old.get(start..end).unwrap_or_default());
        }
    }
}

/// `ticks` divided by two to the `shift`, rounded up.
fn scaled(ticks: u64, shift: u8) -> u64 {
    (ticks >> shift) + u64::from(ticks & ((1 << shift) - 1) != 0)
}

fn cut(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

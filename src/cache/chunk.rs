//! A chunk: the places of 128 neighbouring ordinals, with the bytes of their IDs and values.
//!
//! Invariants: (1) a place is live or a hole; `live` and `live_bytes` count the live ones exactly;
//! (2) places are kept from the first ordinal that was ever put, so few IDs need little memory;
//! (3) without spans every ID has the same length and the bytes are theirs in the order of places.

use crate::format::{ID_BYTES_MAX, VALUE_BYTES_MAX};
use crate::ids::Ticks;

use super::place::{BYTES_MAX, Place, Span, low, narrow};
use super::times::Times;

/// Ordinals in a chunk.
pub(super) const PLACES: usize = 128;

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
    /// One for each place, once IDs differ in length, have values or came out of order.
    spans: Vec<Span>,
    bytes: Vec<u8>,
    times: Times,
    live_bytes: u32,
    /// The length of every ID, while there are no spans.
    id_bytes: u32,
    live: u8,
    /// The offset of `places[0]` in the chunk.
    origin: u8,
}

const _: () = assert!(size_of::<Chunk>() == 104);

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
        self.spans.clear();
        self.bytes.clear();
        (self.live, self.live_bytes) = (0, 0);
    }

    /// Gives back the room that a full chunk does not need, if it is worth the call.
    pub(super) fn fit(&mut self) {
        if self.bytes.capacity() - self.bytes.len() > self.bytes.len() / 32 {
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
    fn at(&self, offset: usize) -> usize {
        offset.wrapping_sub(usize::from(self.origin))
    }

    #[inline]
    fn place(&self, offset: usize) -> Option<&Place> {
        let place = self.places.get(self.at(offset))?;
        place.is_live().then_some(place)
    }

    #[inline]
    fn place_mut(&mut self, offset: usize) -> Option<&mut Place> {
        let at = self.at(offset);
        let place = self.places.get_mut(at)?;
        place.is_live().then_some(place)
    }

    /// Where the ID of the place at `at` begins and ends.
    #[inline]
    fn span(&self, at: usize) -> (usize, usize) {
        match (self.spans.get(at), self.places.get(at)) {
            (Some(span), Some(place)) => (span.start(), span.start() + span.id_bytes(*place)),
            _ => {
                let id_bytes = narrow(u64::from(self.id_bytes));
                (at * id_bytes, (at + 1) * id_bytes)
            }
        }
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
        self.place(offset)
            .is_some_and(|place| place.hash == hash && self.id_at(self.at(offset)) == id)
    }

    /// The offset of the live place that holds `id`, by looking at every place.
    pub(super) fn find(&self, hash: u32, id: &[u8]) -> Option<usize> {
        let origin = usize::from(self.origin);
        (origin..origin + self.places.len()).find(|offset| self.holds(*offset, hash, id))
    }

    pub(super) fn get(&self, offset: usize) -> Option<Content<'_>> {
        let place = *self.place(offset)?;
        let at = self.at(offset);
        Some(Content {
            hash: place.hash,
            id: self.id_at(at),
            value: self.value_at(at, place),
            time: self.times.time_of(place),
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
        let origin = usize::from(self.origin);
        let live = (0..).zip(&self.places).filter(|(_, place)| place.is_live());
        live.map(move |(at, place)| (origin + at, place.hash, self.id_at(at)))
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
        if self.live == 0 {
            self.times = Times::since(content.time);
        }
        let time = self.times.stored(content.time, &mut self.places);
        let mut place = Place::new(content, time);
        place.set_record_bytes(content.record_bytes.max(id_bytes as u64));
        if self.places.is_empty() {
            self.id_bytes = low(id_bytes as u64);
        }
        let is_next = self.at(offset) == self.places.len() && !self.places.is_empty();
        let is_alike = narrow(u64::from(self.id_bytes)) == id_bytes && content.value.is_empty();
        let is_in_order = is_next || self.places.is_empty();
        let span = if self.spans.is_empty() && is_in_order && is_alike {
            self.append(content);
            None
        } else {
            Some(self.append_apart(content))
        };
        if is_next {
            if self.places.len() == self.places.capacity() {
                self.make_places(self.places.len() + 1);
            }
            self.places.push(place);
            self.spans.extend(span);
        } else {
            self.put_apart(offset, place, span);
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
            time: self.times.time_of(place),
        })
    }

    /// Changes the bytes of a live place's record; gives the old ones.
    pub(super) fn set_record_bytes(&mut self, offset: usize, record_bytes: u64) -> Option<u64> {
        self.place(offset)?;
        let (begin, end) = self.span(self.at(offset));
        let place = self.place_mut(offset)?;
        let old = place.record_bytes();
        place.set_record_bytes(record_bytes.max((end - begin) as u64));
        let new = place.record_bytes();
        self.live_bytes = self.live_bytes - low(old) + low(new);
        Some(old)
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        let spans = self.spans.capacity() * size_of::<Span>();
        self.places.capacity() * size_of::<Place>() + spans + self.bytes.capacity()
    }

    #[inline]
    fn id_at(&self, at: usize) -> &[u8] {
        let (begin, end) = self.span(at);
        self.bytes.get(begin..end).unwrap_or_default()
    }

    fn value_at(&self, at: usize, place: Place) -> &[u8] {
        let (_, end) = self.span(at);
        match self.bytes.get(end) {
            Some(value_bytes) if place.has_value() => {
                let start = end + 1;
                self.bytes
                    .get(start..start + usize::from(*value_bytes))
                    .unwrap_or_default()
            }
            _ => &[],
        }
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

    /// Appends what is not in step with the others; gives its span.
    #[inline(never)]
    fn append_apart(&mut self, content: &Content<'_>) -> Span {
        if self.spans.is_empty() {
            let id_bytes = narrow(u64::from(self.id_bytes));
            self.spans.reserve_exact(self.places.capacity());
            let known = (0..self.places.len()).map(|at| Span::new(at * id_bytes, id_bytes));
            self.spans.extend(known);
        }
        let needed = content.id.len() + 1 + VALUE_BYTES_MAX;
        if self.bytes.len() + needed > BYTES_MAX {
            self.compact();
        }
        Span::new(self.append(content), content.id.len())
    }

    #[cold]
    fn put_apart(&mut self, offset: usize, place: Place, span: Option<Span>) {
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
            self.spans
                .splice(0..0, std::iter::repeat_n(Span::default(), missing));
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
        if let Some(span) = span {
            self.spans.resize(self.places.len(), Span::default());
            self.spans[at] = span;
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
        let spans = self.spans.iter_mut().zip(&self.places);
        for (span, place) in spans.filter(|(_, place)| place.is_live()) {
            let (start, id_bytes) = (span.start(), span.id_bytes(*place));
            let mut end = start + id_bytes;
            if place.has_value() {
                end += 1 + old
                    .get(end)
                    .map_or(0, |value_bytes| usize::from(*value_bytes));
            }
            *span = Span::new(self.bytes.len(), id_bytes);
            self.bytes
                .extend_from_slice(old.get(start..end).unwrap_or_default());
        }
    }
}

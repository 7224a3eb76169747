//! The parts of a body: a cursor over bytes from disk, and the lists that some records hold.
//!
//! A list is checked as a whole when its record is decoded; walking it afterwards cannot fail and
//! allocates nothing.

use super::Stop;
use crate::format::{BOOKMARK_NAME_BYTES_MAX, ID_BYTES_MAX, VALUE_BYTES_MAX, kind};
use crate::ids::Ordinal;

/// Ordinals stay below this, so that adding a capacity or one more never overflows.
const ORDINAL_LIMIT: u64 = 1 << 63;
/// What stands for the ordinal of an add of a prepared transaction that removes it again: at commit
/// it takes a place, which is a hole.
pub const PREPARED_HOLE: Ordinal = Ordinal(1);

/// What is left to read of a body.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    fn chunk<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Stop> {
        let (chunk, rest) = self
            .0
            .split_first_chunk()
            .ok_or(Stop::Malformed("the body is too short"))?;
        self.0 = rest;
        Ok(*chunk)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Stop> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Stop> {
        self.chunk().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        self.chunk().map(u64::from_le_bytes)
    }

    /// The ordinal of an add: never 0.
    pub(super) fn ordinal(&mut self) -> Result<Ordinal, Stop> {
        match self.place()? {
            Ordinal(0) => Err(Stop::Malformed("an ordinal is 0")),
            ordinal => Ok(ordinal),
        }
    }

    /// A floor, or an ordinal that may be 0.
    pub(super) fn place(&mut self) -> Result<Ordinal, Stop> {
        checked_ordinal(self.u64()?)
    }

    pub(super) fn take(&mut self, bytes: u32) -> Result<&'a [u8], Stop> {
        let taken = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| self.0.split_at_checked(bytes));
        let (taken, rest) = taken.ok_or(Stop::Malformed("a length goes beyond the body"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// So many bytes, as a name or the ID of a transaction.
    pub(super) fn take_within(&mut self, bytes: u32, max: usize) -> Result<&'a [u8], Stop> {
        match self.take(bytes)? {
            taken if taken.len() > max => Err(Stop::Malformed("a name is longer than allowed")),
            taken => Ok(taken),
        }
    }

    /// A value and the byte that gives its length; none if that is 0.
    pub(super) fn value(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        let bytes = self.u8()?;
        let value = self.take(u32::from(bytes))?;
        Ok((!value.is_empty()).then_some(value))
    }

    /// A value that must be there.
    pub(super) fn value_there(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        match self.value()? {
            None => Err(Stop::Malformed("an add with value has none")),
            value => Ok(value),
        }
    }

    /// Everything that is left, as an ID or a name.
    pub(super) fn rest_within(&mut self, max: usize) -> Result<&'a [u8], Stop> {
        let rest = self.rest();
        if rest.len() > max {
            return Err(Stop::Malformed("an ID or address is longer than allowed"));
        }
        Ok(rest)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(super) fn end(self) -> Result<(), Stop> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Stop::Malformed("the body is too long"))
        }
    }

    fn element(&mut self) -> Result<Element<'a>, Stop> {
        match self.u8()? {
            kind @ (kind::ADD | kind::ADD_WITH_VALUE) => {
                let address = self.u32()?;
                let ordinal = self.place()?;
                let value = if kind == kind::ADD {
                    None
                } else {
                    self.value_there()?
                };
                let id_bytes = self.u32()?;
                let id = Cursor(self.take(id_bytes)?).rest_within(ID_BYTES_MAX)?;
                Ok(Element::Add {
                    address,
                    ordinal,
                    value,
                    id,
                })
            }
            kind::REMOVE => Ok(Element::Remove {
                address: self.u32()?,
                ordinal: self.ordinal()?,
            }),
            kind::BOOKMARK => {
                let name_bytes = self.u32()?;
                let name = self.take_within(name_bytes, BOOKMARK_NAME_BYTES_MAX)?;
                let value_bytes = self.u32()?;
                Ok(Element::Bookmark {
                    name,
                    value: self.take(value_bytes)?,
                })
            }
            _ => Err(Stop::Malformed("an element has an unknown kind")),
        }
    }
}

pub(super) fn checked_ordinal(ordinal: u64) -> Result<Ordinal, Stop> {
    if ordinal >= ORDINAL_LIMIT {
        return Err(Stop::Malformed("an ordinal is too high"));
    }
    Ok(Ordinal(ordinal))
}

/// One change of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element<'a> {
    /// An ID is added.
    Add {
        /// The number of the address.
        address: u32,
        /// The place within the address; in a prepared transaction 0, or [`PREPARED_HOLE`] if the
        /// transaction removes it again.
        ordinal: Ordinal,
        /// What is kept with the ID.
        value: Option<&'a [u8]>,
        /// The ID.
        id: &'a [u8],
    },
    /// An add ends.
    Remove {
        /// The number of the address.
        address: u32,
        /// The ordinal of the add.
        ordinal: Ordinal,
    },
    /// A bookmark is set.
    Bookmark {
        /// Its name.
        name: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
}

/// The changes of a transaction in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    left: u32,
}

impl<'a> Elements<'a> {
    /// Checks that `bytes` are `count` elements. `given` says whether adds have their ordinals yet.
    pub(super) fn check(bytes: &'a [u8], count: u32, given: bool) -> Result<Elements<'a>, Stop> {
        let mut cursor = Cursor(bytes);
        // Each element takes bytes, so that a count from disk cannot keep this loop going.
        for _ in 0..count {
            match cursor.element()? {
                Element::Add {
                    ordinal: Ordinal(0),
                    ..
                } if given => {
                    return Err(Stop::Malformed("an ordinal is 0"));
                }
                Element::Add { ordinal, .. } if !given && ordinal > PREPARED_HOLE => {
                    return Err(Stop::Malformed("an add is prepared with an ordinal"));
                }
                _ => {}
            }
        }
        cursor.end()?;
        Ok(Elements { bytes, left: count })
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn element_count(&self) -> u32 {
        self.left
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        self.left = self.left.checked_sub(1)?;
        let mut cursor = Cursor(self.bytes);
        let element = cursor.element().ok();
        self.bytes = cursor.0;
        element
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Every element has five bytes or more.
        let most = self.bytes.len() / 5;
        (0, Some(most))
    }
}

/// The ordinals of a commit in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinals<'a>(&'a [u8]);

impl<'a> Ordinals<'a> {
    pub(super) fn check(bytes: &'a [u8], count: u32) -> Result<Ordinals<'a>, Stop> {
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || u64::try_from(words.len()) != Ok(u64::from(count)) {
            return Err(Stop::Malformed("the count of ordinals is not theirs"));
        }
        words
            .iter()
            .try_for_each(|word| checked_ordinal(u64::from_le_bytes(*word)).map(|_| ()))?;
        Ok(Ordinals(bytes))
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl Iterator for Ordinals<'_> {
    type Item = Ordinal;

    fn next(&mut self) -> Option<Ordinal> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(Ordinal(u64::from_le_bytes(*word)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.len() / 8;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Ordinals<'_> {}

/// The changes of a transaction while it is gathered.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransactionBody {
    bytes: Vec<u8>,
    count: u32,
}

impl TransactionBody {
    /// Bytes that an add takes in a transaction.
    pub(crate) fn add_bytes(id_bytes: usize, value: Option<&[u8]>) -> usize {
        let value_bytes = value
            .filter(|value| !value.is_empty())
            .map_or(0, |value| 1 + value.len());
        1 + 4 + 8 + value_bytes + 4 + id_bytes
    }

    /// Bytes that a remove takes in a transaction.
    pub(crate) const REMOVE_BYTES: usize = 1 + 4 + 8;

    /// Bytes that a bookmark takes in a transaction.
    pub(crate) fn bookmark_bytes(name: &[u8], value: &[u8]) -> usize {
        1 + 4 + name.len() + 4 + value.len()
    }

    /// Adds a change at the end.
    pub(crate) fn push(&mut self, element: Element<'_>) {
        let bytes = &mut self.bytes;
        match element {
            Element::Add {
                address,
                ordinal,
                value,
                id,
            } => {
                let value = value.filter(|value| !value.is_empty());
                bytes.push(if value.is_some() {
                    kind::ADD_WITH_VALUE
                } else {
                    kind::ADD
                });
                bytes.extend_from_slice(&address.to_le_bytes());
                bytes.extend_from_slice(&ordinal.0.to_le_bytes());
                if let Some(value) = value {
                    bytes.push(value_length(value));
                    bytes.extend_from_slice(value);
                }
                put_long(bytes, id);
            }
            Element::Remove { address, ordinal } => {
                bytes.push(kind::REMOVE);
                bytes.extend_from_slice(&address.to_le_bytes());
                bytes.extend_from_slice(&ordinal.0.to_le_bytes());
            }
            Element::Bookmark { name, value } => {
                bytes.push(kind::BOOKMARK);
                put_long(bytes, name);
                put_long(bytes, value);
            }
        }
        self.count += 1;
    }

    /// The changes so far, to be put into a record.
    pub(crate) fn elements(&self) -> Elements<'_> {
        Elements {
            bytes: &self.bytes,
            left: self.count,
        }
    }
}

/// The ordinals of a commit while they are gathered.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrdinalsBody(Vec<u8>);

impl OrdinalsBody {
    pub(crate) fn push(&mut self, ordinal: Ordinal) {
        self.0.extend_from_slice(&ordinal.0.to_le_bytes());
    }

    pub(crate) fn ordinals(&self) -> Ordinals<'_> {
        Ordinals(&self.0)
    }
}

/// Bytes with their length before them.
fn put_long(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&long_length(bytes).to_le_bytes());
    out.extend_from_slice(bytes);
}

pub(super) fn long_length(bytes: &[u8]) -> u32 {
    let length = u32::try_from(bytes.len()).ok();
    assert!(
        length.is_some(),
        "what a record holds is checked against its limit before it is encoded"
    );
    length.unwrap_or(u32::MAX)
}

pub(super) fn value_length(value: &[u8]) -> u8 {
    assert!(
        value.len() <= VALUE_BYTES_MAX,
        "a value is checked against its limit before it is encoded"
    );
    u8::try_from(value.len()).unwrap_or(u8::MAX)
}

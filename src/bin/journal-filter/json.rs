//! Two values of a JSON line by pointer (RFC 6901), without building the rest.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::failure::BadLine;

/// A JSON pointer.
#[derive(Clone)]
pub(crate) struct Pointer {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Clone)]
struct Token {
    name: String,
    index: Option<usize>,
}

/// The values found, as they stand in the line.
pub(crate) type Found<'de> = [Option<&'de str>; 2];

impl Pointer {
    /// The pointer that `text` writes.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the user.
    pub(crate) fn parse(text: &str) -> Result<Pointer, String> {
        let mut parts = text.split('/');
        if parts.next() != Some("") {
            return Err("a JSON pointer is empty or begins with /".to_owned());
        }
        let tokens = parts.map(Token::parse).collect::<Result<_, _>>()?;
        Ok(Pointer {
            text: text.to_owned(),
            tokens,
        })
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Token {
    fn parse(text: &str) -> Result<Token, String> {
        let rest = text.replace("~0", "").replace("~1", "");
        if rest.contains('~') {
            return Err("in a JSON pointer, ~ is written ~0 and / within a name ~1".to_owned());
        }
        let name = text.replace("~1", "/").replace("~0", "~");
        let is_index = name == "0" || !name.starts_with(['0', '+']);
        let index = if is_index { name.parse().ok() } else { None };
        Ok(Token { name, index })
    }
}

/// The values that `pointers` lead to in `line`.
///
/// # Errors
///
/// [`BadLine::NotUtf8`] or [`BadLine::NotJson`].
pub(crate) fn find<'de>(
    line: &'de [u8],
    pointers: &[Option<Pointer>; 2],
) -> Result<Found<'de>, BadLine> {
    let text = std::str::from_utf8(line).map_err(|_| BadLine::NotUtf8)?;
    let mut found = [None; 2];
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let active = pointers.each_ref().map(Option::is_some);
    let walk = Walk {
        pointers,
        found: &mut found,
        active,
        depth: 0,
    };
    walk.deserialize(&mut deserializer)
        .map_err(BadLine::NotJson)?;
    deserializer.end().map_err(BadLine::NotJson)?;
    Ok(found)
}

/// The bytes that a string or number stands for, or nothing if `value` is neither.
///
/// # Errors
///
/// [`BadLine::NotJson`], if a string is no text (half of a surrogate pair).
pub(crate) fn scalar<'a>(
    value: &'a str,
    decoded: &'a mut Vec<u8>,
) -> Result<Option<&'a [u8]>, BadLine> {
    match value.as_bytes() {
        [b'"', plain @ .., b'"'] if memchr::memchr(b'\\', plain).is_none() => Ok(Some(plain)),
        [b'"', ..] => {
            decoded.clear();
            let mut deserializer = serde_json::Deserializer::from_str(value);
            deserializer
                .deserialize_str(Text(decoded))
                .map_err(BadLine::NotJson)?;
            Ok(Some(decoded))
        }
        number @ [b'-' | b'0'..=b'9', ..] => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// Walks down to where the active pointers lead.
struct Walk<'a, 'de> {
    pointers: &'a [Option<Pointer>; 2],
    found: &'a mut Found<'de>,
    active: [bool; 2],
    depth: usize,
}

impl<'de> Walk<'_, 'de> {
    /// Which active pointers go on through a part that `is_next` recognises.
    fn next(&self, is_next: impl Fn(&Token) -> bool) -> [bool; 2] {
        let mut next = self.active;
        for (is_active, pointer) in next.iter_mut().zip(self.pointers) {
            let token = pointer
                .as_ref()
                .and_then(|pointer| pointer.tokens.get(self.depth));
            *is_active &= token.is_some_and(&is_next);
        }
        next
    }

    /// The walk one level down; of a name given twice, the last counts.
    fn below(&mut self, active: [bool; 2]) -> Walk<'_, 'de> {
        for (found, is_active) in self.found.iter_mut().zip(active) {
            if is_active {
                *found = None;
            }
        }
        Walk {
            pointers: self.pointers,
            found: self.found,
            active,
            depth: self.depth + 1,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let mut ends = self.active;
        for (is_end, pointer) in ends.iter_mut().zip(self.pointers) {
            *is_end &= pointer
                .as_ref()
                .is_some_and(|pointer| pointer.tokens.len() == self.depth);
        }
        if ends == [false; 2] {
            return deserializer.deserialize_any(self);
        }
        // A pointer that goes on from here finds nothing: this must be a string or a number.
        let value = <&RawValue>::deserialize(deserializer)?.get();
        for (found, is_end) in self.found.iter_mut().zip(ends) {
            if is_end {
                *found = Some(value);
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(active) = map.next_key_seed(Name(&self))? {
            if active == [false; 2] {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(self.below(active))?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        for index in 0.. {
            let active = self.next(|token| token.index == Some(index));
            let element = if active == [false; 2] {
                list.next_element::<IgnoredAny>()?.map(|_| ())
            } else {
                list.next_element_seed(self.below(active))?
            };
            if element.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// A name in an object: which pointers go on through it.
struct Name<'w, 'a, 'de>(&'w Walk<'a, 'de>);

impl<'de> DeserializeSeed<'de> for Name<'_, '_, '_> {
    type Value = [bool; 2];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<[bool; 2], D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_, '_> {
    type Value = [bool; 2];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<[bool; 2], E> {
        Ok(self.0.next(|token| token.name == name))
    }
}

/// A string, into a buffer.
struct Text<'a>(&'a mut Vec<u8>);

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

//! The values of settings in the formats of serde: each is read from what people write, and told
//! plainly where it is something else.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DURATION, SIZE, parse_duration, parse_size, write_duration};

/// Takes a number, a text, or either.
pub(crate) struct Told<T> {
    /// What it must be, for who wrote something else.
    pub(crate) expected: String,
    pub(crate) number: fn(u64) -> Option<T>,
    pub(crate) text: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Told<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.expected)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let value = (self.number)(number);
        value.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let value = (self.text)(text);
        value.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// A duration: a text with units.
#[derive(Clone, Copy)]
pub(crate) struct Span(pub(crate) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        deserializer.deserialize_any(Told {
            expected: String::from(DURATION),
            number: |number| (number == 0).then_some(Span(Duration::ZERO)),
            text: |text| parse_duration(text).map(Span),
        })
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&write_duration(self.0))
    }
}

/// A highest age: a duration, where zero is none and is written so.
#[derive(Clone, Copy)]
pub(crate) struct Age(pub(crate) Duration);

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Age, D::Error> {
        deserializer.deserialize_any(Told {
            expected: format!("\"none\", or {DURATION}"),
            number: |number| (number == 0).then_some(Age(Duration::ZERO)),
            text: |text| match text {
                "none" => Some(Age(Duration::ZERO)),
                _ => parse_duration(text).map(Age),
            },
        })
    }
}

impl Serialize for Age {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Duration::ZERO => serializer.serialize_str("none"),
            age => Span(age).serialize(serializer),
        }
    }
}

/// A duration that may be missing, for fields that say `with`.
pub(crate) mod optional_span {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, Span};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let span = Option::<Span>::deserialize(deserializer)?;
        Ok(span.map(|span| span.0))
    }

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(Span).serialize(serializer)
    }
}

/// A highest age that may be missing, likewise.
pub(crate) mod optional_age {
    use super::{Age, Deserialize, Deserializer, Duration, Serialize, Serializer};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let age = Option::<Age>::deserialize(deserializer)?;
        Ok(age.map(|age| age.0))
    }

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(Age).serialize(serializer)
    }
}

/// A number up to `MAX`.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Count<const MAX: u64>(pub(crate) u64);

impl<'de, const MAX: u64> Deserialize<'de> for Count<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count<MAX>, D::Error> {
        deserializer.deserialize_u64(Told {
            expected: format!("a number from 0 to {MAX}"),
            number: |number| (number <= MAX).then_some(Count(number)),
            text: |_| None,
        })
    }
}

/// A number of bytes up to `MAX` that is a multiple of `STEP`; written as a number.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Size<const STEP: u64, const MAX: u64>(pub(crate) u64);

impl<const STEP: u64, const MAX: u64> Size<STEP, MAX> {
    fn new(bytes: u64) -> Option<Size<STEP, MAX>> {
        (bytes <= MAX && bytes.is_multiple_of(STEP)).then_some(Size(bytes))
    }
}

impl<'de, const STEP: u64, const MAX: u64> Deserialize<'de> for Size<STEP, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size<STEP, MAX>, D::Error> {
        let multiple = match STEP {
            1 => String::new(),
            _ => format!(", a multiple of {STEP}"),
        };
        deserializer.deserialize_any(Told {
            expected: format!("{SIZE}{multiple}, at most {MAX}"),
            number: Size::new,
            text: |text| parse_size(text).and_then(Size::new),
        })
    }
}

/// One ASCII character.
#[derive(Clone, Copy)]
pub(crate) struct Character(pub(crate) u8);

impl<'de> Deserialize<'de> for Character {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Character, D::Error> {
        deserializer.deserialize_str(Told {
            expected: String::from("one ASCII character"),
            number: |_| None,
            text: |text| match text.as_bytes() {
                [byte] => Some(Character(*byte)),
                _ => None,
            },
        })
    }
}

impl Serialize for Character {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(char::from(self.0))
    }
}

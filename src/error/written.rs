//! Bytes in the formats of serde: the text that they are shown as, and back.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Bytes;

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        deserializer.deserialize_str(Shown)
    }
}

struct Shown;

impl Visitor<'_> for Shown {
    type Value = Bytes;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or 0x and an even number of hexadecimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        let Some(digits) = text.strip_prefix("0x") else {
            return Ok(Bytes::from(text.as_bytes()));
        };
        let bytes = bytes_of(digits.as_bytes());
        let bytes = bytes.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))?;
        Ok(Bytes::from(&bytes[..]))
    }
}

fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(value(high)? << 4 | value(low)?).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

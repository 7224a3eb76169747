//! Records as JSON.
//!
//! Bytes of callers stand in a field of their name if all are printable ASCII, else as hex in one
//! whose name ends in `_hex`.

use idjournal::inspect::{Dropped, Element, Item, PREPARED_HOLE, Record};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::records::{Shown, namespace_name, place};
use crate::settings;
use crate::time;

/// The name of a field for text and for hex.
pub(crate) type BytesField = (&'static str, &'static str);
pub(crate) const ADDRESS: BytesField = ("address", "address_hex");
pub(crate) const ID: BytesField = ("id", "id_hex");
pub(crate) const FILE: BytesField = ("file", "file_hex");
const VALUE: BytesField = ("value", "value_hex");
const TRANSACTION: BytesField = ("transaction", "transaction_hex");
const NAME: BytesField = ("name", "name_hex");

/// A record to be shown.
pub(crate) struct JsonRecord<'a> {
    pub(crate) item: &'a Item<'a>,
    pub(crate) shown: &'a Shown<'a>,
}

/// Puts bytes of a caller into `map`.
pub(crate) fn bytes<M: SerializeMap>(
    map: &mut M,
    (text, hex): BytesField,
    bytes: &[u8],
) -> Result<(), M::Error> {
    let is_text = bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    match std::str::from_utf8(bytes) {
        Ok(value) if is_text => map.serialize_entry(text, value),
        _ => map.serialize_entry(hex, &hexadecimal(bytes)),
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
    digits.collect()
}

impl JsonRecord<'_> {
    fn address<M: SerializeMap>(&self, map: &mut M, number: u32) -> Result<(), M::Error> {
        map.serialize_entry("address_number", &number)?;
        if let Some((namespace, name)) = self.shown.names.get(number) {
            map.serialize_entry("namespace", namespace_name(namespace))?;
            bytes(map, ADDRESS, name)?;
        }
        Ok(())
    }

    fn content<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match &self.item.decoded.record {
            Record::Add(add) => {
                bytes(map, ID, add.id)?;
                value(map, add.value)
            }
            Record::Renew { add, old } => {
                map.serialize_entry("old_ordinal", &old.0)?;
                bytes(map, ID, add.id)?;
                value(map, add.value)
            }
            Record::Clear { floor, .. } => map.serialize_entry("floor", &floor.0),
            Record::Drop { dropped, other, .. } => {
                map.serialize_entry("incarnation", &dropped.incarnation)?;
                map.serialize_entry("floor", &dropped.floor.0)?;
                other.iter().try_for_each(|other| {
                    let other = JsonDropped {
                        record: self,
                        dropped: *other,
                    };
                    map.serialize_entry("other", &other)
                })
            }
            Record::Definition(definition) => {
                map.serialize_entry("namespace", namespace_name(definition.namespace))?;
                bytes(map, ADDRESS, definition.name)?;
                map.serialize_entry("capacity", &definition.capacity)?;
                map.serialize_entry("origin", origin(definition.by_call))?;
                map.serialize_entry("max_age_ticks", &definition.max_age)?;
                map.serialize_entry("age_origin", origin(definition.age_by_call))?;
                map.serialize_entry("incarnation", &definition.incarnation)?;
                map.serialize_entry("floor", &definition.floor.0)?;
                map.serialize_entry("last", &definition.last.0)
            }
            Record::Bookmark { name, value, .. } => {
                bytes(map, NAME, name)?;
                bytes(map, VALUE, value)
            }
            Record::Settings {
                pattern, settings, ..
            } => {
                bytes(map, ("pattern", "pattern_hex"), pattern)?;
                map.serialize_entry("id_cache_size", &settings.id_cache_size)?;
                map.serialize_entry("max_age_milliseconds", &settings::age(settings))?;
                map.serialize_entry("persistence", &settings.persistence)?;
                map.serialize_entry("end_stored_ids", &settings.end_stored_ids)
            }
            Record::Seal { number, salt } => {
                map.serialize_entry("next_segment", &number.0)?;
                map.serialize_entry("next_salt", &format!("{salt:016x}"))
            }
            Record::Release { oldest } => map.serialize_entry("oldest_needed", &oldest.0),
            record => self.transaction(map, record),
        }
    }

    fn transaction<M: SerializeMap>(
        &self,
        map: &mut M,
        record: &Record<'_>,
    ) -> Result<(), M::Error> {
        let elements = match record {
            Record::Transaction { elements, .. } => elements,
            Record::Prepare {
                owner,
                transaction,
                elements,
                ..
            } => {
                bytes(map, TRANSACTION, transaction)?;
                map.serialize_entry("owner", &owner.0)?;
                elements
            }
            Record::Commit {
                transaction,
                ordinals,
                ..
            } => {
                bytes(map, TRANSACTION, transaction)?;
                let ordinals: Vec<u64> = (*ordinals).map(|ordinal| ordinal.0).collect();
                return map.serialize_entry("ordinals", &ordinals);
            }
            Record::RollBack { transaction, .. } => return bytes(map, TRANSACTION, transaction),
            _ => return Ok(()),
        };
        let elements = *elements;
        let elements: Vec<JsonElement<'_>> = elements
            .filter(|element| self.shown.has_element(element))
            .map(|element| JsonElement {
                record: self,
                element,
            })
            .collect();
        map.serialize_entry("elements", &elements)
    }
}

pub(crate) fn origin(by_call: bool) -> &'static str {
    if by_call { "call" } else { "settings" }
}

fn value<M: SerializeMap>(map: &mut M, value: Option<&[u8]>) -> Result<(), M::Error> {
    match value.filter(|value| !value.is_empty()) {
        Some(value) => bytes(map, VALUE, value),
        None => Ok(()),
    }
}

impl Serialize for JsonRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (item, decoded) = (self.item, self.item.decoded);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "record")?;
        map.serialize_entry("segment", &item.segment.0)?;
        map.serialize_entry("slot", &item.slot.0)?;
        map.serialize_entry("offset", &item.offset)?;
        map.serialize_entry("bytes", &decoded.bytes)?;
        map.serialize_entry("kind", item.kind_name())?;
        map.serialize_entry("kind_number", &item.kind())?;
        map.serialize_entry("whole", &decoded.whole)?;
        map.serialize_entry("carried", &decoded.carried)?;
        map.serialize_entry("end_of_group", &decoded.end_of_group)?;
        if let Some(mark) = decoded.mark {
            map.serialize_entry("mark_segment", &mark.segment().0)?;
            map.serialize_entry("mark_offset", &mark.offset())?;
        }
        let common = place(&decoded.record);
        match (&decoded.record, common.address) {
            (Record::Definition(definition), _) => {
                map.serialize_entry("address_number", &definition.address)?;
            }
            (_, Some(number)) => self.address(&mut map, number)?,
            (_, None) => {}
        }
        if let Some(ordinal) = common.ordinal {
            map.serialize_entry("ordinal", &ordinal.0)?;
        }
        self.content(&mut map)?;
        if let Some(time) = common.time {
            map.serialize_entry("time", &time::text(time))?;
        }
        map.end()
    }
}

struct JsonDropped<'a> {
    record: &'a JsonRecord<'a>,
    dropped: Dropped,
}

impl Serialize for JsonDropped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.record.address(&mut map, self.dropped.address)?;
        map.serialize_entry("incarnation", &self.dropped.incarnation)?;
        map.serialize_entry("floor", &self.dropped.floor.0)?;
        map.end()
    }
}

struct JsonElement<'a> {
    record: &'a JsonRecord<'a>,
    element: Element<'a>,
}

impl Serialize for JsonElement<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.element {
            Element::Add {
                address,
                ordinal,
                value: bytes_of_value,
                id,
            } => {
                map.serialize_entry("kind", "add")?;
                self.record.address(&mut map, *address)?;
                match self.record.item.decoded.record {
                    Record::Prepare { .. } if *ordinal != PREPARED_HOLE => {}
                    Record::Prepare { .. } => map.serialize_entry("removed_again", &true)?,
                    _ => map.serialize_entry("ordinal", &ordinal.0)?,
                }
                bytes(&mut map, ID, id)?;
                value(&mut map, *bytes_of_value)?;
            }
            Element::Remove { address, ordinal } => {
                map.serialize_entry("kind", "remove")?;
                self.record.address(&mut map, *address)?;
                map.serialize_entry("ordinal", &ordinal.0)?;
            }
            Element::Bookmark { name, value } => {
                map.serialize_entry("kind", "bookmark")?;
                bytes(&mut map, NAME, name)?;
                bytes(&mut map, VALUE, value)?;
            }
            _ => map.serialize_entry("kind", "unknown")?,
        }
        map.end()
    }
}

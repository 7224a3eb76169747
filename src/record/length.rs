//! How many bytes a record takes, told before it is encoded.

use super::settings::SETTINGS_BYTES;
use super::{Add, AddForm, Record};
use crate::format::{UNIT_BYTES, frame};

pub(super) const SHORT_ADD_BODY_BYTES: usize = 4 + 4 + 4;
const WHOLE_ADD_BODY_BYTES: usize = 4 + 8 + 8;
const DEFINITION_BODY_BYTES: usize = 4 + 1 + 1 + 2 + 4 + 8 + 8 + 8 + 8 + 8;
/// Bytes of a remove's body.
pub(crate) const REMOVE_BODY_BYTES: usize = 4 + 8 + 8;
/// Bytes of a clear's body.
pub(crate) const CLEAR_BODY_BYTES: usize = 4 + 8 + 8;
/// Bytes of a drop's body.
pub(crate) const DROP_BODY_BYTES: usize = DROPPED_BYTES + 8;
const DROPPED_BYTES: usize = 4 + 4 + 8;

/// Bytes of a record whose body has `body_bytes`.
pub(crate) fn framed_bytes(body_bytes: usize, marked: bool) -> u64 {
    let mark_bytes = if marked { frame::MARK_BYTES } else { 0 };
    let bytes = (frame::BYTES + mark_bytes + body_bytes).next_multiple_of(UNIT_BYTES);
    let is_large = bytes / UNIT_BYTES > usize::from(u16::MAX);
    (if is_large {
        bytes + frame::LARGE_BYTES
    } else {
        bytes
    }) as u64
}

/// Bytes of an add of an ID of `id_bytes`, with a value of `value_bytes` if that is not 0.
pub(crate) fn add_bytes(id_bytes: usize, value_bytes: usize, form: AddForm, marked: bool) -> u64 {
    let value_bytes = if value_bytes == 0 { 0 } else { 1 + value_bytes };
    let fixed_bytes = match form {
        AddForm::Short => SHORT_ADD_BODY_BYTES,
        AddForm::Whole => WHOLE_ADD_BODY_BYTES,
    };
    framed_bytes(fixed_bytes + value_bytes + id_bytes, marked)
}

/// Bytes of the definition of an address whose name has `name_bytes`.
pub(crate) fn definition_bytes(name_bytes: usize, marked: bool) -> u64 {
    framed_bytes(DEFINITION_BODY_BYTES + name_bytes, marked)
}

/// Bytes of a transaction whose elements have `element_bytes`.
pub(crate) fn transaction_bytes(element_bytes: usize, marked: bool) -> u64 {
    framed_bytes(8 + 4 + element_bytes, marked)
}

/// Bytes of the commit of a transaction whose ID has `id_bytes`, with so many adds.
pub(crate) fn commit_bytes(id_bytes: usize, adds: usize, marked: bool) -> u64 {
    framed_bytes(8 + 4 + 4 + id_bytes + 8 * adds, marked)
}

/// Bytes of `record`; an add counts in its long form.
pub(crate) fn encoded_bytes(record: &Record<'_>, marked: bool) -> u64 {
    framed_bytes(body_bytes(record), marked)
}

pub(super) fn body_bytes(record: &Record<'_>) -> usize {
    match record {
        Record::Add(add) => {
            let value_bytes = value_of(add).map_or(0, |value| 1 + value.len());
            WHOLE_ADD_BODY_BYTES + value_bytes + add.id.len()
        }
        Record::Remove { .. } => REMOVE_BODY_BYTES,
        Record::Renew { add, .. } => {
            let value_bytes = value_of(add).map_or(0, <[u8]>::len);
            4 + 8 + 8 + 8 + 1 + value_bytes + add.id.len()
        }
        Record::Clear { .. } => CLEAR_BODY_BYTES,
        Record::Drop { other, .. } => DROP_BODY_BYTES + other.map_or(0, |_| DROPPED_BYTES),
        Record::Definition(definition) => DEFINITION_BODY_BYTES + definition.name.len(),
        Record::Transaction { elements, .. } => 8 + 4 + elements.bytes().len(),
        Record::Prepare {
            transaction,
            elements,
            ..
        } => 8 + 8 + 4 + 4 + transaction.len() + elements.bytes().len(),
        Record::Commit {
            transaction,
            ordinals,
            ..
        } => 8 + 4 + 4 + transaction.len() + ordinals.bytes().len(),
        Record::RollBack { transaction, .. } => 8 + 4 + transaction.len(),
        Record::Bookmark { name, value, .. } => 8 + 4 + name.len() + value.len(),
        Record::Settings { pattern, .. } => 8 + SETTINGS_BYTES + pattern.len(),
        Record::Mark | Record::Skipped { .. } => 0,
        Record::Seal { .. } => 8 + 8,
        Record::Release { .. } => 8,
    }
}

/// The value of an add; one of no bytes is none.
pub(super) fn value_of<'a>(add: &Add<'a>) -> Option<&'a [u8]> {
    add.value.filter(|value| !value.is_empty())
}

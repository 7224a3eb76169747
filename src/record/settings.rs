//! The settings of a pattern as bytes and back.

use std::time::Duration;

use super::Stop;
use super::body::Cursor;
use crate::address_settings::AddressSettings;
use crate::clock::ticks;
use crate::format::CAPACITY_MAX;
use crate::ids::Ticks;

/// Bytes of the settings in a record.
pub(super) const SETTINGS_BYTES: usize = 1 + 1 + 2 + 4 + 8 + 8;

const HAS_SIZE: u8 = 1 << 0;
const HAS_AGE: u8 = 1 << 1;
const HAS_PERSISTENCE: u8 = 1 << 2;
const IS_STORED: u8 = 1 << 3;
const ENDS_STORED_IDS: u8 = 1 << 4;

pub(super) fn put_settings(out: &mut Vec<u8>, settings: &AddressSettings) {
    let ends = settings.persistence.is_some() && settings.end_stored_ids;
    let bits = [
        (settings.id_cache_size.is_some(), HAS_SIZE),
        (settings.max_age.is_some(), HAS_AGE),
        (settings.persistence.is_some(), HAS_PERSISTENCE),
        (settings.persistence == Some(true), IS_STORED),
        (ends, ENDS_STORED_IDS),
    ];
    let set = bits.iter().filter(|(is_set, _)| *is_set);
    out.push(set.fold(0, |set, (_, bit)| set | bit));
    out.extend_from_slice(&[0; 7]);
    let age = settings.max_age.map_or(0, |age| ticks(age).0);
    for word in [settings.id_cache_size.unwrap_or(0), age] {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

pub(super) fn settings(body: &mut Cursor<'_>) -> Result<AddressSettings, Stop> {
    let set = body.u8()?;
    let reserved = (body.u8()?, body.u16()?, body.u32()?);
    if reserved != (0, 0, 0) || set >= ENDS_STORED_IDS << 1 {
        return Err(Stop::Malformed("reserved bytes are not zero"));
    }
    if set & HAS_PERSISTENCE == 0 && set & (IS_STORED | ENDS_STORED_IDS) != 0 {
        return Err(Stop::Malformed(
            "settings say how something is that is not set",
        ));
    }
    let (size, age) = (body.u64()?, body.u64()?);
    let is_unset = |bit, value| set & bit == 0 && value != 0;
    let is_too_high = size > CAPACITY_MAX || age > u64::MAX / Ticks::MILLISECONDS;
    if is_unset(HAS_SIZE, size) || is_unset(HAS_AGE, age) || is_too_high {
        return Err(Stop::Malformed("settings have an impossible value"));
    }
    let has = |bit| set & bit != 0;
    let age = Duration::from_millis(Ticks(age).milliseconds());
    Ok(AddressSettings {
        id_cache_size: has(HAS_SIZE).then_some(size),
        max_age: has(HAS_AGE).then_some(age),
        persistence: has(HAS_PERSISTENCE).then_some(has(IS_STORED)),
        end_stored_ids: has(ENDS_STORED_IDS),
    })
}

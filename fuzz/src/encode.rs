//! An encoder of its own, from docs/format.md, to hold the decoder to: what is decoded must have
//! exactly these bytes.

use idjournal::inspect::{Add, Decoded, Dropped, Element, Record, RecordPlace, record_checksum};

/// The bytes that a record must have had; none if it keeps too little of them.
pub fn encode(decoded: &Decoded<'_>, is_large: bool, place: &RecordPlace) -> Option<Vec<u8>> {
    let (kind, body) = body(decoded, place)?;
    let head = 8 + if is_large { 8 } else { 0 } + if decoded.mark.is_some() { 8 } else { 0 };
    let units = (head + body.len()).div_ceil(8);
    let padding = units * 8 - head - body.len();
    let flags = u8::try_from(padding).ok()?
        | u8::from(decoded.mark.is_some()) << 3
        | u8::from(is_large) << 4
        | u8::from(decoded.whole) << 5
        | u8::from(decoded.carried) << 6
        | u8::from(decoded.end_of_group) << 7;
    let mut bytes = vec![0, 0, 0, 0, kind, flags];
    if is_large {
        bytes.extend([0, 0]);
        bytes.extend(u32::try_from(units).ok()?.to_le_bytes());
        bytes.extend([0; 4]);
    } else {
        bytes.extend(u16::try_from(units).ok()?.to_le_bytes());
    }
    if let Some(mark) = decoded.mark {
        bytes.extend(mark.to_bits().to_le_bytes());
    }
    bytes.extend(body);
    bytes.extend(vec![0; padding]);
    let checksum = record_checksum(&bytes[4..], place);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    Some(bytes)
}

fn body(decoded: &Decoded<'_>, place: &RecordPlace) -> Option<(u8, Vec<u8>)> {
    let mut to = Vec::new();
    let kind = match &decoded.record {
        Record::Add(add) => {
            put_add(&mut to, add, decoded.whole, place)?;
            match (add.value, decoded.carried) {
                (Some(_), _) => 2,
                (None, true) => 3,
                (None, false) => 1,
            }
        }
        Record::Remove {
            address,
            ordinal,
            time,
        } => {
            put(
                &mut to,
                [&address.to_le_bytes()[..], &long(ordinal.0), &long(time.0)],
            );
            4
        }
        Record::Renew { add, old } => {
            put(&mut to, [&add.address.to_le_bytes()[..], &long(add.time.0)]);
            put(&mut to, [&long(add.ordinal.0)[..], &long(old.0)]);
            put_value(&mut to, add.value.unwrap_or_default())?;
            to.extend(add.id);
            5
        }
        Record::Clear {
            address,
            floor,
            time,
        } => {
            put(
                &mut to,
                [&address.to_le_bytes()[..], &long(floor.0), &long(time.0)],
            );
            6
        }
        Record::Drop {
            dropped,
            other,
            time,
        } => {
            put_dropped(&mut to, dropped);
            to.extend(long(time.0));
            if let Some(other) = other {
                put_dropped(&mut to, other);
            }
            7
        }
        Record::Definition(definition) => {
            to.extend(definition.address.to_le_bytes());
            to.extend([
                definition.namespace as u8,
                u8::from(definition.by_call) | u8::from(definition.age_by_call) << 1,
                0,
                0,
            ]);
            to.extend(definition.incarnation.to_le_bytes());
            let words = [definition.capacity, definition.max_age, definition.floor.0];
            let words = words
                .into_iter()
                .chain([definition.last.0, definition.time.0]);
            words.for_each(|word| to.extend(long(word)));
            to.extend(definition.name);
            8
        }
        Record::Transaction { time, elements } => {
            let (count, elements) = put_elements(*elements)?;
            put(
                &mut to,
                [&long(time.0)[..], &count.to_le_bytes(), &elements],
            );
            9
        }
        Record::Prepare {
            time,
            owner,
            transaction,
            elements,
        } => {
            let (count, elements) = put_elements(*elements)?;
            put(
                &mut to,
                [&long(time.0)[..], &long(owner.0), &length(transaction)?],
            );
            put(&mut to, [&count.to_le_bytes()[..], transaction, &elements]);
            10
        }
        Record::Commit {
            time,
            transaction,
            ordinals,
        } => {
            let count = u32::try_from(ordinals.len()).ok()?;
            put(
                &mut to,
                [
                    &long(time.0)[..],
                    &length(transaction)?,
                    &count.to_le_bytes(),
                ],
            );
            to.extend(*transaction);
            ordinals.for_each(|ordinal| to.extend(long(ordinal.0)));
            11
        }
        Record::RollBack { time, transaction } => {
            put(
                &mut to,
                [&long(time.0)[..], &length(transaction)?, transaction],
            );
            12
        }
        Record::Bookmark { time, name, value } => {
            put(&mut to, [&long(time.0)[..], &length(name)?, name, value]);
            13
        }
        Record::Mark => 14,
        Record::Seal { number, salt } => {
            put(&mut to, [long(number.0), long(*salt)]);
            15
        }
        Record::Release { oldest } => {
            to.extend(long(oldest.0));
            16
        }
        Record::Settings {
            time,
            pattern,
            settings,
        } => {
            let is_stored = settings.persistence == Some(true);
            let set = u8::from(settings.id_cache_size.is_some())
                | u8::from(settings.max_age.is_some()) << 1
                | u8::from(settings.persistence.is_some()) << 2
                | u8::from(is_stored) << 3
                | u8::from(settings.end_stored_ids) << 4;
            let ticks = settings.max_age.map_or(0, |age| age.as_millis() / 10);
            to.extend(long(time.0));
            to.extend([set, 0, 0, 0, 0, 0, 0, 0]);
            to.extend(long(settings.id_cache_size.unwrap_or(0)));
            to.extend(long(u64::try_from(ticks).ok()?));
            to.extend(*pattern);
            128
        }
        // What it says is not kept.
        _ => return None,
    };
    Some((kind, to))
}

fn long(word: u64) -> [u8; 8] {
    word.to_le_bytes()
}

fn length(bytes: &[u8]) -> Option<[u8; 4]> {
    Some(u32::try_from(bytes.len()).ok()?.to_le_bytes())
}

fn put<const PARTS: usize>(to: &mut Vec<u8>, parts: [impl AsRef<[u8]>; PARTS]) {
    parts.iter().for_each(|part| to.extend(part.as_ref()));
}

fn put_value(to: &mut Vec<u8>, value: &[u8]) -> Option<()> {
    to.push(u8::try_from(value.len()).ok()?);
    to.extend(value);
    Some(())
}

fn put_add(to: &mut Vec<u8>, add: &Add<'_>, is_whole: bool, place: &RecordPlace) -> Option<()> {
    to.extend(add.address.to_le_bytes());
    if is_whole {
        put(to, [long(add.time.0), long(add.ordinal.0)]);
    } else {
        let base = place.base_ordinal?.0;
        let ordinal = u32::try_from(add.ordinal.0.checked_sub(base)?).ok()?;
        let time = u32::try_from(add.time.0.checked_sub(place.base_time.0)?).ok()?;
        put(to, [ordinal.to_le_bytes(), time.to_le_bytes()]);
    }
    if let Some(value) = add.value {
        put_value(to, value)?;
    }
    to.extend(add.id);
    Some(())
}

fn put_dropped(to: &mut Vec<u8>, dropped: &Dropped) {
    put(
        to,
        [
            dropped.address.to_le_bytes(),
            dropped.incarnation.to_le_bytes(),
        ],
    );
    to.extend(long(dropped.floor.0));
}

fn put_elements<'a>(elements: impl Iterator<Item = Element<'a>>) -> Option<(u32, Vec<u8>)> {
    let (mut count, mut to) = (0, Vec::new());
    for element in elements {
        count += 1;
        match element {
            Element::Add {
                address,
                ordinal,
                value,
                id,
            } => {
                to.push(if value.is_some() { 2 } else { 1 });
                put(&mut to, [&address.to_le_bytes()[..], &long(ordinal.0)]);
                if let Some(value) = value {
                    put_value(&mut to, value)?;
                }
                put(&mut to, [&length(id)?[..], id]);
            }
            Element::Remove { address, ordinal } => {
                to.push(4);
                put(&mut to, [&address.to_le_bytes()[..], &long(ordinal.0)]);
            }
            Element::Bookmark { name, value } => {
                to.push(13);
                put(&mut to, [&length(name)?[..], name, &length(value)?, value]);
            }
            _ => return None,
        }
    }
    Some((count, to))
}

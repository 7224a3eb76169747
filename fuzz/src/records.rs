//! The check of `record_decode`: one record at a place, mended or not, there and back again.

use idjournal::inspect::{RecordPlace, Stop, decode_record};
use idjournal::{Ordinal, SegmentNumber, Ticks};

use crate::encode::encode;
use crate::layout::{mend_record, put, record_bytes, u16_at, u64_at};

/// Bytes of an input before those of the record.
pub const HEAD: usize = 22;
pub const WITH_BASE: u8 = 1 << 2;
/// The frame is given the length of all that follows.
pub const STRETCHED: u8 = 1 << 3;
/// The checksum stays as it is.
const UNMENDED: u8 = 1 << 4;
const HIGH_NUMBER: u8 = 1 << 5;

/// The input of a record at a place of the usual kind.
pub fn input(control: u8, record: &[u8]) -> Vec<u8> {
    let mut input = vec![control, 0, 3, 0, 0, 1];
    input.extend(1_000_u64.to_le_bytes());
    input.extend(1_000_u64.to_le_bytes());
    input.extend(record);
    input
}

/// What the head of an input says.
pub fn place(head: &[u8]) -> Option<RecordPlace> {
    let control = *head.first()?;
    let number = u64::from(u16_at(head, 2)?);
    let number = if control & HIGH_NUMBER == 0 {
        1 + number
    } else {
        SegmentNumber::MAX.0 - number
    };
    let lengths = [1 << 10, 4 << 10, 32 << 10, 512 << 20];
    Some(RecordPlace {
        identity: *b"identity-of-this",
        salt: 0x5a17,
        number: SegmentNumber(number),
        offset: u64::from(u16_at(head, 4)?) * 8,
        segment_bytes: lengths[usize::from(control & 3)],
        base_ordinal: (control & WITH_BASE != 0)
            .then_some(u64_at(head, 6).map(Ordinal))
            .flatten(),
        base_time: Ticks(u64_at(head, 14)?),
    })
}

pub fn check(data: &[u8]) {
    let Some((head, record)) = data.split_at_checked(HEAD) else {
        return;
    };
    let Some(place) = place(head) else { return };
    let (control, chosen) = (head[0], usize::from(head[1]));
    let mut record = record.to_vec();
    // As it came: any answer is right that is one.
    let _ = decode_record(&record, &place);
    if control & STRETCHED != 0 {
        stretch(&mut record);
    }
    if control & UNMENDED == 0 {
        mend_record(&mut record, &place);
    }
    let decoded = match decode_record(&record, &place) {
        Ok(decoded) => decoded,
        Err(stop) => {
            let is_mended = control & UNMENDED == 0 && record_bytes(&record).is_some();
            assert!(
                !(is_mended && stop == Stop::Checksum),
                "a right checksum is refused"
            );
            return;
        }
    };
    let length = usize::try_from(decoded.bytes).expect("it was read from memory");
    assert_eq!(
        Some(length),
        record_bytes(&record),
        "another length than that of the frame"
    );
    let alone = &record[..length];
    assert_eq!(
        decode_record(alone, &place).as_ref(),
        Ok(&decoded),
        "what follows has a say"
    );
    if let Some(again) = encode(&decoded, record[5] & 1 << 4 != 0, &place) {
        assert_eq!(again, alone, "{decoded:?} has two forms");
    }
    for moved in [
        RecordPlace {
            offset: place.offset + 8,
            ..place
        },
        RecordPlace {
            number: SegmentNumber(place.number.0 ^ 1),
            ..place
        },
    ] {
        assert_eq!(
            decode_record(alone, &moved),
            Err(Stop::Checksum),
            "valid elsewhere"
        );
    }
    // Every bit but those that give the length, of which a wrong one changes what is summed up.
    let bit = chosen * length * 8 / 256;
    if !(40..64).contains(&bit) && !(64..128).contains(&bit) {
        let mut flipped = alone.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(
            decode_record(&flipped, &place).is_err(),
            "bit {bit} does not count"
        );
    }
}

/// Makes one record of all bytes.
fn stretch(record: &mut Vec<u8>) {
    record.resize(record.len().max(16).next_multiple_of(8), 0);
    let units = record.len() / 8;
    if record[5] & 1 << 4 == 0 {
        put(
            record,
            6,
            &u16::try_from(units).unwrap_or(u16::MAX).to_le_bytes(),
        );
    } else {
        put(record, 6, &[0, 0]);
        put(
            record,
            8,
            &u32::try_from(units).unwrap_or(u32::MAX).to_le_bytes(),
        );
        put(record, 12, &[0; 4]);
    }
}

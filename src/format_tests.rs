//! The tables of docs/format.md and the constants say the same.

#![allow(
    clippy::unwrap_used,
    reason = "a page that cannot be read fails the test"
)]

use super::*;
use crate::ids::SegmentNumber;

const PAGE: &str = include_str!("../docs/format.md");

/// The cells of the first table behind the line `title`, without its head.
#[track_caller]
fn table(title: &str) -> Vec<Vec<&'static str>> {
    let mut lines = PAGE.lines().skip_while(|line| *line != title);
    assert!(lines.next().is_some(), "no line {title}");
    let rows = lines
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
    let rows: Vec<Vec<_>> = rows.skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "no table behind {title}");
    rows
}

/// Compares offset, bytes and type of every row with the fields of that name.
#[track_caller]
fn compare(title: &str, fields: &[(&str, Field)]) {
    let rows = table(title);
    let names: Vec<&str> = rows.iter().map(|row| row[3]).collect();
    let expected: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected, "{title}");
    for (row, (name, field)) in rows.iter().zip(fields) {
        let written = Field {
            offset: row[0].parse().unwrap(),
            bytes: row[1].parse().unwrap(),
        };
        assert_eq!(written, *field, "{title} {name}");
        let type_bytes = match row[2] {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            "u64" => 8,
            "bytes" => field.bytes,
            other => panic!("{title} {name}: type {other}"),
        };
        assert_eq!(type_bytes, field.bytes, "{title} {name}");
    }
}

const HEAD: [(&str, Field); 7] = [
    ("magic", head::MAGIC),
    ("version", head::VERSION),
    ("header bytes", head::HEADER_BYTES),
    ("compatible features", head::COMPATIBLE),
    ("incompatible features", head::INCOMPATIBLE),
    ("identity", head::IDENTITY),
    ("epoch", head::EPOCH),
];

/// Compares what the first rows of a header say of its values.
#[track_caller]
fn compare_head(title: &str, magic: [u8; 8]) {
    let rows = table(title);
    let magic = str::from_utf8(&magic).unwrap();
    assert_eq!(rows[0][4], format!("`{magic}`"));
    assert_eq!(rows[1][4], VERSION.to_string());
    assert_eq!(rows[2][4], HEADER_BYTES.to_string());
    assert_eq!(rows[6][4], EPOCH.to_string());
}

#[test]
fn the_store_copy_is_as_written_down() {
    let title = "Store copy:";
    let fields = [
        ("generation", store::GENERATION),
        ("mark number", store::MARK_NUMBER),
        ("mark salt", store::MARK_SALT),
        ("mark end", store::MARK_END),
        ("first number", store::FIRST_NUMBER),
        ("first salt", store::FIRST_SALT),
        ("reserved", store::RESERVED),
        ("checksum", store::CHECKSUM),
    ];
    compare(title, &[&HEAD[..], &fields].concat());
    compare_head(title, STORE_MAGIC);
    let [first, second] = store::COPY_OFFSETS;
    assert!(PAGE.contains(&format!("at offset {first} and at offset {second}")));
    assert!(PAGE.contains(&format!("the file is {} bytes long", store::FILE_BYTES)));
}

#[test]
fn the_segment_header_is_as_written_down() {
    let title = "Segment header (each copy):";
    let fields = [
        ("number", segment::NUMBER),
        ("salt", segment::SALT),
        ("previous number", segment::PREVIOUS_NUMBER),
        ("previous salt", segment::PREVIOUS_SALT),
        ("previous end", segment::PREVIOUS_END),
        ("oldest needed", segment::OLDEST_NEEDED),
        ("base time", segment::BASE_TIME),
        ("segment bytes", segment::SEGMENT_BYTES),
        ("checksum algorithm", segment::ALGORITHM),
        ("reserved", segment::RESERVED),
        ("checksum", segment::CHECKSUM),
    ];
    compare(title, &[&HEAD[..], &fields].concat());
    compare_head(title, SEGMENT_MAGIC);
    let algorithm = &table(title)[HEAD.len() + 8][4];
    assert!(
        algorithm.starts_with(&format!("{CHECKSUM_ALGORITHM}: CRC-32 ")),
        "{algorithm}"
    );
    assert!(PAGE.contains(&format!(
        "The last {SEAL_BYTES} bytes are kept for the seal"
    )));
    assert!(PAGE.contains(&format!("at least every {MARK_EVERY_BYTES} bytes")));
}

#[test]
fn the_frame_is_as_written_down() {
    let fields = [
        ("checksum", frame::CHECKSUM),
        ("kind", frame::KIND),
        ("flags", frame::FLAGS),
        ("units", frame::UNITS),
    ];
    compare("Record frame:", &fields);
    assert!(PAGE.contains("4 bytes follow with the length in units as u32, then 4 reserved bytes"));
    assert_eq!(frame::LARGE_BYTES, 4 + 4);
    assert!(PAGE.contains(&format!("the mark follows: {} bytes", frame::MARK_BYTES)));
    assert!(PAGE.contains(&format!("a *unit* is {UNIT_BYTES} bytes")));
}

#[test]
fn the_flags_are_as_written_down() {
    let flags = [
        ("padding", flag::PADDING),
        ("marked", flag::MARKED),
        ("large", flag::LARGE),
        ("whole", flag::WHOLE),
        ("carried", flag::CARRIED),
        ("end of group", flag::END_OF_GROUP),
    ];
    let rows = table("### 4.1 Flags");
    let written: Vec<(&str, u8)> = rows
        .iter()
        .map(|row| {
            let (first, last) = row[0].split_once('-').unwrap_or((row[0], row[0]));
            let bits = first.parse::<u8>().unwrap()..=last.parse::<u8>().unwrap();
            (row[1], bits.fold(0, |flags, bit| flags | 1 << bit))
        })
        .collect();
    assert_eq!(written, flags);
    assert_eq!(flags.iter().fold(0, |all, (_, flag)| all | flag), u8::MAX);
}

#[test]
fn the_kinds_are_as_written_down() {
    let kinds = [
        ("add", kind::ADD),
        ("add with value", kind::ADD_WITH_VALUE),
        ("carried add", kind::CARRIED_ADD),
        ("remove", kind::REMOVE),
        ("renew", kind::RENEW),
        ("clear", kind::CLEAR),
        ("drop", kind::DROP),
        ("definition", kind::DEFINITION),
        ("transaction", kind::TRANSACTION),
        ("prepare", kind::PREPARE),
        ("commit", kind::COMMIT),
        ("roll back", kind::ROLL_BACK),
        ("bookmark", kind::BOOKMARK),
        ("mark", kind::MARK),
        ("seal", kind::SEAL),
        ("release", kind::RELEASE),
        ("settings", kind::SETTINGS),
    ];
    let rows = table("### 4.2 Kinds and bodies");
    let written: Vec<(&str, u8)> = rows
        .iter()
        .map(|row| (row[1], row[0].parse().unwrap()))
        .collect();
    assert_eq!(written, kinds);
    let unknown = &table("Record frame:")[1][5];
    let skipped = format!("{} and up unknown: skipped", kind::SKIPPABLE_MIN);
    assert!(unknown.contains(&skipped), "{unknown}");
}

#[test]
fn the_limits_are_as_written_down() {
    let limits = [
        ("id bytes", "65,536", ID_BYTES_MAX as u64),
        ("address bytes", "65,536", ADDRESS_BYTES_MAX as u64),
        ("value bytes", "255", VALUE_BYTES_MAX as u64),
        (
            "transaction id bytes",
            "65,536",
            TRANSACTION_ID_BYTES_MAX as u64,
        ),
        (
            "bookmark name bytes",
            "65,536",
            BOOKMARK_NAME_BYTES_MAX as u64,
        ),
        ("capacity", "2^31", CAPACITY_MAX),
        ("addresses", "1,000,000", u64::from(ADDRESSES_MAX)),
        ("segment bytes", "1,024 to 536,870,912", SEGMENT_BYTES_MAX),
        ("record", "a quarter of a segment", record_bytes_max(1024)),
        ("segment number", "2^37 - 1", SegmentNumber::MAX.0),
    ];
    let rows = table("## 7. Limits");
    let written: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[1])).collect();
    let expected: Vec<(&str, &str)> = limits
        .iter()
        .map(|(name, text, _)| (*name, *text))
        .collect();
    assert_eq!(written, expected);
    for (name, text, value) in limits {
        let last = text.rsplit(" to ").next().unwrap().replace(',', "");
        let number = match last.split_once('^') {
            Some(("2", power)) => match power.split_once(" - ") {
                Some((power, less)) => {
                    (1_u64 << power.parse::<u32>().unwrap()) - less.parse::<u64>().unwrap()
                }
                None => 1 << power.parse::<u32>().unwrap(),
            },
            _ if name == "record" => 1024 / 4,
            _ => last.parse().unwrap(),
        };
        assert_eq!(number, value, "{name}");
    }
    assert_eq!((SEGMENT_BYTES_MIN, SEGMENT_BYTES_STEP), (1024, 1024));
    assert_eq!(record_bytes_max(SEGMENT_BYTES_MAX), SEGMENT_BYTES_MAX / 4);
}

#[test]
fn header_blocks_are_as_written_down() {
    assert_eq!(header_block_bytes(32_768), 4096);
    assert_eq!(header_block_bytes(31_744), 31_744 / 8 / 128 * 128);
    assert_eq!(header_block_bytes(1024), 128);
    for segment_bytes in (SEGMENT_BYTES_MIN..=65_536).step_by(1024) {
        let records = records_offset(segment_bytes);
        assert_eq!(records, 2 * header_block_bytes(segment_bytes));
        assert!(
            records <= segment_bytes / 4,
            "the headers of {segment_bytes} leave room"
        );
    }
}

/// Neither copy of a header can be torn where sectors of 512 bytes are not, and writing one never
/// touches the other (F49).
#[test]
fn f49_no_copy_of_a_header_crosses_a_sector() {
    const SECTOR_BYTES: u64 = 512;
    let header_bytes = HEADER_BYTES as u64;
    let step = usize::try_from(SEGMENT_BYTES_STEP).unwrap();
    let lengths = (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).step_by(step);
    let segments = lengths.map(|bytes| [0, header_block_bytes(bytes)]);
    let mut copies = 0;
    for [first, second] in segments.chain([store::COPY_OFFSETS]) {
        for offset in [first, second] {
            assert!(
                offset % SECTOR_BYTES + header_bytes <= SECTOR_BYTES,
                "{offset}"
            );
            copies += 1;
        }
        assert!(second >= first + header_bytes, "{first} and {second}");
    }
    assert_eq!(copies, 2 * (SEGMENT_BYTES_MAX / SEGMENT_BYTES_STEP + 1));
}

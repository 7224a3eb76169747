//! Every kind of record is shown, also what no call writes yet.
//!
//! The directory is written by hand, from docs/format.md alone.

use super::*;

const IDENTITY: [u8; 16] = *b"identity-of-this";
const SALT: u64 = 7;
const SEGMENT_BYTES: usize = 8192;
const MARKED: u8 = 1 << 3;
const WHOLE: u8 = 1 << 5;
const CARRIED: u8 = 1 << 6;
const END_OF_GROUP: u8 = 1 << 7;

/// What two headers begin with, and their checksum.
fn header(magic: &[u8; 8], fields: &[u64]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    for word in [1_u32, 128, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(IDENTITY);
    bytes.extend(0_u64.to_le_bytes());
    fields
        .iter()
        .for_each(|field| bytes.extend(field.to_le_bytes()));
    bytes.resize(124, 0);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

struct Segment {
    number: u64,
    bytes: Vec<u8>,
}

impl Segment {
    fn new(number: u64, previous: u64) -> Segment {
        let previous_salt = if previous == 0 { 0 } else { SALT };
        let length = SEGMENT_BYTES as u64;
        // Number, salt, previous, its salt, its end, oldest needed, base time, length, algorithm.
        let fields = [number, SALT, previous, previous_salt, 0, 1, 100, length, 1];
        let copy = header(b"idjsegmt", &fields);
        let mut bytes = copy.clone();
        bytes.resize(1024, 0);
        bytes.extend(&copy);
        bytes.resize(2048, 0);
        Segment { number, bytes }
    }

    fn record(&mut self, kind: u8, flags: u8, parts: &[&[u8]]) {
        let body = parts.concat();
        let mark = if flags & MARKED == 0 { 0 } else { 8 };
        let padding = (8 - (8 + mark + body.len()) % 8) % 8;
        let units = u16::try_from((8 + mark + body.len() + padding) / 8).unwrap();
        let mut rest = vec![kind, flags | u8::try_from(padding).unwrap()];
        rest.extend(units.to_le_bytes());
        if mark > 0 {
            rest.extend((self.number << 27 | 256).to_le_bytes());
        }
        rest.extend(body);
        rest.resize(rest.len() + padding, 0);
        let offset = u32::try_from(self.bytes.len()).unwrap();
        let number = u32::try_from(self.number).unwrap();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&IDENTITY);
        hasher.update(&SALT.to_le_bytes());
        hasher.update(&number.to_le_bytes());
        hasher.update(&offset.to_le_bytes());
        hasher.update(&rest);
        self.bytes.extend(hasher.finalize().to_le_bytes());
        self.bytes.extend(rest);
    }

    fn finish(mut self, directory: &Path) {
        self.bytes.resize(SEGMENT_BYTES, 0);
        let name = format!("slot-{:06}", self.number);
        std::fs::write(directory.join(name), self.bytes).unwrap();
    }
}

/// A directory with every kind of record; address 3 is the only one.
fn every_kind(directory: &Path) {
    let word = |number: u32| number.to_le_bytes();
    let long = |number: u64| number.to_le_bytes();
    let (address, time) = (&word(3), &long(170_905_535_999));
    std::fs::create_dir(directory).unwrap();
    let mut store = header(b"idjstore", &[1, 0, 0, 0, 1, SALT]);
    store.resize(4096, 0);
    store.extend_from_within(..128);
    store.resize(8192, 0);
    std::fs::write(directory.join("store"), store).unwrap();
    let mut one = Segment::new(1, 0);
    let mut put = |kind, flags, parts: &[&[u8]]| one.record(kind, flags | END_OF_GROUP, parts);
    let numbers = [10, 0, 1, 0].map(long).concat();
    put(
        8,
        0,
        &[address, &[0, 1, 0, 0], &word(0), &numbers, time, b"orders"],
    );
    put(1, WHOLE, &[address, time, &long(1), b"whole"]);
    put(1, MARKED, &[address, &word(1), &word(50), b"short"]);
    put(
        2,
        WHOLE,
        &[address, time, &long(3), &[5], b"valuewith value"],
    );
    put(3, WHOLE | CARRIED, &[address, time, &long(1), b"whole"]);
    put(4, 0, &[address, &long(2), time]);
    put(
        5,
        0,
        &[address, time, &long(4), &long(3), &[1], b"vwith value"],
    );
    let add = [&[1][..], address, &long(5), &word(2), b"t1"].concat();
    let remove = [&[4][..], address, &long(1)].concat();
    let bookmark = [&[13][..], &word(4), b"mark", &word(2), b"\x1b!"].concat();
    put(9, 0, &[time, &word(3), &add, &remove, &bookmark]);
    let open = [&[2][..], address, &long(0), &[3], b"val", &word(2), b"p1"].concat();
    for transaction in [b"tx-a", b"tx-b"] {
        put(
            10,
            0,
            &[time, &long(9), &word(4), &word(1), transaction, &open],
        );
    }
    put(11, 0, &[time, &word(4), &word(1), b"tx-a", &long(6)]);
    put(12, 0, &[time, &word(4), b"tx-b"]);
    put(13, 0, &[time, &word(5), b"place", b"17"]);
    put(6, 0, &[address, &long(5), time]);
    put(14, MARKED, &[]);
    put(200, 0, &[b"from the future"]);
    put(15, 0, &[&long(2), &long(SALT)]);
    one.finish(directory);
    let mut two = Segment::new(2, 1);
    two.record(16, END_OF_GROUP, &[&long(1)]);
    two.record(7, END_OF_GROUP, &[address, &word(0), &long(7), time]);
    let other = [&word(4)[..], &word(1), &long(9)].concat();
    two.record(
        7,
        END_OF_GROUP,
        &[address, &word(1), &long(8), time, &other],
    );
    two.finish(directory);
}

/// Kind, flags, address, ordinal and what follows, word by word; and the lines below.
const SHOWN: &str = "\
definition ---e client/orders - capacity 10, by call T
add -w-e client/orders 1 whole T
add m--e client/orders 2 short 1970-01-01T00:00:01.50Z
add with value -w-e client/orders 3 with value T
value value
carried add -wce client/orders 1 whole T
remove ---e client/orders 2 - T
renew ---e client/orders 4 with value T
place before 3
value v
transaction ---e - - 3 changes T
add client/orders 5 t1
remove client/orders 1
bookmark mark = 0x1b21
prepare ---e - - tx-a of owner 9, 1 changes T
add client/orders - p1
value val
prepare ---e - - tx-b of owner 9, 1 changes T
add client/orders - p1
value val
commit ---e - - tx-a, 1 ordinals T
add 6
roll back ---e - - tx-b T
bookmark ---e - - place T
value 17
clear ---e client/orders - all below 5 T
mark m--e - - - -
unknown ---e - - kind 200 -
seal ---e - - to segment 2 of salt 0000000000000007 -
release ---e - - all before segment 1 -
drop ---e client/orders - incarnation 0, all below 7 T
drop ---e client/orders - incarnation 1, all below 8 T
drop #4 incarnation 1, all below 9
";

#[test]
fn every_kind_is_shown_as_text() {
    let place = Place::new();
    every_kind(&place.path());
    let run = dump(&[], &place.path());
    assert_eq!(run.status, 0, "{run:?}");
    let lines = run.out.lines().skip(1).map(|line| {
        let words = line.split_whitespace();
        // Lines below a record have no place of their own.
        let skipped = if line.starts_with("       1") || line.starts_with("       2") {
            2
        } else {
            0
        };
        let words: Vec<&str> = words.skip(skipped).collect();
        words.join(" ").replace("2024-02-27T17:35:59.99Z", "T")
    });
    let lines: Vec<String> = lines.collect();
    assert_eq!(lines.join("\n") + "\n", SHOWN, "{}", run.out);
}

#[test]
fn every_kind_is_shown_as_json() {
    let place = Place::new();
    every_kind(&place.path());
    let records = dump(&["--json"], &place.path()).json();
    let kinds: Vec<u64> = records
        .iter()
        .map(|record| record["kind_number"].as_u64().unwrap())
        .collect();
    let expected = [
        8, 1, 1, 2, 3, 4, 5, 9, 10, 10, 11, 12, 13, 6, 14, 200, 15, 16, 7, 7,
    ];
    assert_eq!(kinds, expected);
    let fields = [
        (0, "origin", "\"call\""),
        (2, "mark_offset", "2048"),
        (3, "value", "\"value\""),
        (4, "carried", "true"),
        (6, "old_ordinal", "3"),
        (8, "owner", "9"),
        (10, "ordinals", "[6]"),
        (11, "transaction", "\"tx-b\""),
        (12, "name", "\"place\""),
        (13, "floor", "5"),
        (16, "next_segment", "2"),
        (17, "oldest_needed", "1"),
        (18, "incarnation", "0"),
        (
            19,
            "other",
            "{\"address_number\":4,\"floor\":9,\"incarnation\":1}",
        ),
    ];
    for (index, field, value) in fields {
        assert_eq!(
            records[index][field].to_string(),
            value,
            "{}",
            records[index]
        );
    }
    assert_eq!(records[7]["elements"][2]["value_hex"], "1b21");
    assert_eq!(dump(&["verify"], &place.path()).status, 0);
    let stats = dump(&["stats", "--json"], &place.path()).json();
    let total = stats.last().unwrap();
    assert_eq!(
        (&total["addresses"], &total["bookmarks"]),
        (&0.into(), &2.into())
    );
}

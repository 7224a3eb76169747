//! Every kind of record is shown, also what no call writes yet.
//!
//! The directory is written by hand, from docs/format.md alone.

use super::*;
use encoder::{CARRIED, END_OF_GROUP, Life, MARKED, Segment, WHOLE, framed};

#[path = "../support/encoder.rs"]
mod encoder;

const ONE: Life = Life {
    identity: *b"identity-of-this",
    number: 1,
    salt: 7,
};
const TWO: Life = Life { number: 2, ..ONE };
const SEGMENT_BYTES: usize = 8192;

/// A directory with every kind of record; address 3 is the only one.
fn every_kind(directory: &Path) {
    let word = |number: u32| number.to_le_bytes();
    let long = |number: u64| number.to_le_bytes();
    let (address, time) = (&word(3), &long(170_905_535_999));
    std::fs::create_dir(directory).unwrap();
    std::fs::write(directory.join("store"), encoder::store_file(&ONE)).unwrap();
    let mut one = Segment::new(ONE, None, SEGMENT_BYTES);
    let mark = &ONE.mark(one.end());
    let mut put = |kind, flags, parts: &[&[u8]]| {
        one.put(&framed(kind, flags | END_OF_GROUP, parts));
    };
    let numbers = [10, 0, 1, 0].map(long).concat();
    put(
        8,
        0,
        &[address, &[0, 1, 0, 0], &word(0), &numbers, time, b"orders"],
    );
    put(1, WHOLE, &[address, time, &long(1), b"whole"]);
    put(1, MARKED, &[mark, address, &word(1), &word(50), b"short"]);
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
    let again = [&[1][..], address, &long(1), &word(2), b"p2"].concat();
    for transaction in [b"tx-a", b"tx-b"] {
        let head = [&word(4)[..], &word(2), transaction].concat();
        put(10, 0, &[time, &long(9), &head, &open, &again]);
    }
    let given = [long(6), long(0)].concat();
    put(11, 0, &[time, &word(4), &word(2), b"tx-a", &given]);
    put(12, 0, &[time, &word(4), b"tx-b"]);
    put(13, 0, &[time, &word(5), b"place", b"17"]);
    put(6, 0, &[address, &long(5), time]);
    put(14, MARKED, &[mark]);
    put(200, 0, &[b"from the future"]);
    let set = &[0b1_0101, 0, 0, 0, 0, 0, 0, 0];
    put(128, 0, &[time, set, &long(500), &long(0), b"orders.#"]);
    put(15, 0, &[&long(2), &long(TWO.salt)]);
    std::fs::write(directory.join("slot-000001"), one.into_bytes()).unwrap();
    let mut two = Segment::new(TWO, Some(&ONE), SEGMENT_BYTES);
    let mut put = |kind, parts: &[&[u8]]| two.put(&framed(kind, END_OF_GROUP, parts));
    put(16, &[&long(1)]);
    put(7, &[address, &word(0), &long(7), time]);
    let other = [&word(4)[..], &word(1), &long(9)].concat();
    put(7, &[address, &word(1), &long(8), time, &other]);
    std::fs::write(directory.join("slot-000002"), two.into_bytes()).unwrap();
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
prepare ---e - - tx-a of owner 9, 2 changes T
add client/orders - p1
value val
add client/orders - p2, removed again
prepare ---e - - tx-b of owner 9, 2 changes T
add client/orders - p1
value val
add client/orders - p2, removed again
commit ---e - - tx-a, 2 ordinals T
add 6
add -
roll back ---e - - tx-b T
bookmark ---e - - place T
value 17
clear ---e client/orders - all below 5 T
mark m--e - - - -
unknown ---e - - kind 200 -
settings ---e - - orders.#, id cache size 500, not stored T
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
        8, 1, 1, 2, 3, 4, 5, 9, 10, 10, 11, 12, 13, 6, 14, 200, 128, 15, 16, 7, 7,
    ];
    assert_eq!(kinds, expected);
    let fields = [
        (0, "origin", "\"call\""),
        (2, "mark_offset", "2048"),
        (3, "value", "\"value\""),
        (4, "carried", "true"),
        (6, "old_ordinal", "3"),
        (8, "owner", "9"),
        (10, "ordinals", "[6,0]"),
        (11, "transaction", "\"tx-b\""),
        (12, "name", "\"place\""),
        (13, "floor", "5"),
        (16, "pattern", "\"orders.#\""),
        (16, "id_cache_size", "500"),
        (16, "max_age_milliseconds", "null"),
        (16, "persistence", "false"),
        (16, "end_stored_ids", "true"),
        (17, "next_segment", "2"),
        (18, "oldest_needed", "1"),
        (19, "incarnation", "0"),
        (
            20,
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
    let prepared = &records[8]["elements"];
    assert_eq!(prepared[0]["removed_again"], serde_json::Value::Null);
    assert_eq!(prepared[1]["removed_again"], true);
    assert_eq!(prepared[1]["ordinal"], serde_json::Value::Null);
    assert_eq!(dump(&["verify"], &place.path()).status, 0);
    let stats = dump(&["stats", "--json"], &place.path()).json();
    let total = stats.last().unwrap();
    assert_eq!(
        (&total["addresses"], &total["bookmarks"]),
        (&0.into(), &2.into())
    );
}

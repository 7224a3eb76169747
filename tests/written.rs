//! Promise: options, figures and reports keep their values through TOML and JSON, and a file that
//! says something unknown or wrong is refused with its place and what would be right.
//!
//! Method: tables of texts and what they mean; round trips; every wrong value at a known line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

use std::time::Duration;

use idjournal::{
    AddressSettings, Bytes, CacheStats, FileSettings, MemoryStorage, Options, RecoveryReport,
    Stats, Store, SyncPolicy, Wildcards, Writes,
};

const ALL: &str = r##"
journal-directory = "data/ids"
id-cache-size = 1000
max-age = "36h"
persist-id-cache = true
sync-policy = "50ms"
journal-file-size = "64MiB"
writes = "positioned"
keeper = false
lock-wait = "1s 500ms"
id-bytes-max = "1k"
address-bytes-max = 255
addresses-max = 77
literal-match-markers = "()"

[wildcard-addresses]
delimiter = "/"
any-words = ">"
single-word = "+"

[[address-settings]]
match = "orders/>"
id-cache-size = 50000
max-age = "none"

[[address-settings]]
match = "orders/test"
persist-id-cache = false
end-stored-ids = true

[[address-settings]]
match = "(a/>)"
max-age = "10m"
"##;

/// The same in code.
fn all() -> Options {
    let wildcards = Wildcards::default()
        .delimiter(b'/')
        .any_words(b'>')
        .single_word(b'+')
        .literal_markers(b'(', b')');
    let settings = AddressSettings::default;
    let test = settings().persistence(false).end_stored_ids(true);
    Options::default()
        .id_cache_size(1000)
        .max_age(Some(Duration::from_secs(36 * 3600)))
        .sync_policy(SyncPolicy::Interval(Duration::from_millis(50)))
        .segment_bytes(64 << 20)
        .writes(Writes::Positioned)
        .keeper(false)
        .lock_wait(Duration::from_millis(1500))
        .id_bytes_max(1024)
        .address_bytes_max(255)
        .addresses_max(77)
        .wildcards(wildcards)
        .address_settings(
            "orders/>",
            settings().id_cache_size(50_000).max_age(Duration::ZERO),
        )
        .address_settings("orders/test", test)
        .address_settings("(a/>)", settings().max_age(Duration::from_secs(600)))
}

fn json(options: &Options) -> String {
    serde_json::to_string_pretty(options).unwrap()
}

#[test]
fn a_file_says_everything_that_code_says() {
    let settings: FileSettings = toml::from_str(ALL).unwrap();
    assert_eq!(settings.journal_directory.unwrap().as_os_str(), "data/ids");
    assert_eq!(json(&settings.options), json(&all()));
    assert_eq!(format!("{:?}", settings.options), format!("{:?}", all()));
}

#[test]
fn both_files_of_the_page_say_the_same() {
    let page = include_str!("../docs/operations.md");
    let block = |begin| page.split(begin).nth(1).unwrap().split("```").next();
    let by_toml: FileSettings = toml::from_str(block("```toml\n").unwrap()).unwrap();
    let by_json: FileSettings = serde_json::from_str(block("```json\n").unwrap()).unwrap();
    assert_eq!(format!("{by_toml:?}"), format!("{by_json:?}"));
    let store = Store::in_memory(by_toml.options).unwrap();
    assert_eq!(store.cache("orders.eu").unwrap().capacity(), 200_000);
}

#[test]
fn options_survive_both_formats() {
    for options in [
        Options::default(),
        all(),
        Options::default()
            .max_age(None)
            .persistence(false)
            .end_stored_ids(true),
        Options::default()
            .max_age(Some(Duration::from_millis(10)))
            .sync_policy(SyncPolicy::Manual),
    ] {
        let by_json: Options = serde_json::from_str(&json(&options)).unwrap();
        assert_eq!(json(&by_json), json(&options));
        let by_toml: Options = toml::from_str(&toml::to_string(&options).unwrap()).unwrap();
        assert_eq!(json(&by_toml), json(&options));
        assert_eq!(format!("{by_toml:?}"), format!("{options:?}"));
    }
    let again = all().address_settings("(a/>)", AddressSettings::default());
    assert_eq!(json(&again).matches("(a/>)").count(), 1);
    let nothing: Options = serde_json::from_str("{}").unwrap();
    assert_eq!(json(&nothing), json(&Options::default()));
    let no_text = Options::default().address_settings([0xff], AddressSettings::default());
    let refused = serde_json::to_string(&no_text).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a pattern of address settings is not UTF-8"
    );
}

#[test]
fn sizes_may_be_numbers_and_texts() {
    for text in [
        "4194304",
        "\"4MiB\"",
        "\"4096 K\"",
        "\"4194304\"",
        "\"4mb\"",
    ] {
        let options: Options = toml::from_str(&format!("journal-file-size = {text}")).unwrap();
        assert_eq!(json(&options), json(&Options::default()), "{text}");
    }
}

/// A line that is wrong, and what is said of it.
const WRONG: &[(&str, &[&str])] = &[
    (
        "id-cach-size = 1",
        &["unknown field `id-cach-size`", "`id-cache-size`"],
    ),
    (
        "id-cache-size = -1",
        &["`-1`", "expected a number from 0 to 2147483648"],
    ),
    (
        "id-cache-size = 2147483649",
        &["`2147483649`", "a number from 0 to 2147483648"],
    ),
    (
        "id-cache-size = 1e9",
        &["floating point", "a number from 0 to 2147483648"],
    ),
    (
        "id-cache-size = \"many\"",
        &["\"many\"", "a number from 0 to 2147483648"],
    ),
    (
        "persist-id-cache = \"yes\"",
        &["\"yes\"", "expected a boolean"],
    ),
    (
        "max-age = 10",
        &[
            "`10`",
            "expected \"none\", or a number with a unit of d, h, m",
        ],
    ),
    ("max-age = \"10\"", &["\"10\"", "such as \"10m\""]),
    (
        "max-age = \"99999999999999999999s\"",
        &["expected \"none\""],
    ),
    (
        "lock-wait = \"soon\"",
        &[
            "\"soon\"",
            "a number with a unit of d, h, m, s, ms, us or ns",
        ],
    ),
    (
        "sync-policy = \"never\"",
        &[
            "\"never\"",
            "\"always\", \"manual\", or an interval such as",
        ],
    ),
    ("sync-policy = \"0s\"", &["\"0s\"", "or an interval"]),
    (
        "journal-file-size = 1000",
        &["`1000`", "a multiple of 1024, at most 536870912"],
    ),
    (
        "journal-file-size = \"1GiB\"",
        &["\"1GiB\"", "at most 536870912"],
    ),
    (
        "journal-file-size = \"18446744073709551615G\"",
        &["at most 536870912"],
    ),
    (
        "writes = \"mmap\"",
        &["`mmap`", "`auto`, `mapped`, `positioned`"],
    ),
    ("addresses-max = 1000001", &["a number from 0 to 1000000"]),
    ("id-bytes-max = \"65KiB\"", &["at most 65536"]),
    ("literal-match-markers = \"(\"", &["two ASCII characters"]),
    (
        "wildcard-addresses = { delimiter = \"::\" }",
        &["\"::\"", "one ASCII character"],
    ),
    (
        "wildcard-addresses = { delimiter = \"\u{e9}\" }",
        &["one ASCII character"],
    ),
    (
        "wildcard-addresses = { separator = \"/\" }",
        &["unknown field `separator`"],
    ),
    (
        "address-settings = [{ id-cache-size = 1 }]",
        &["missing field `match`"],
    ),
    (
        "address-settings = [{ match = \"#\", size = 1 }]",
        &["unknown field `size`"],
    ),
    (
        "address-settings = [{ match = \"#\", max-age = 1 }]",
        &["expected \"none\""],
    ),
];

#[test]
fn a_wrong_value_is_told_with_its_place_and_what_would_be_right() {
    for (line, parts) in WRONG {
        let text = format!("keeper = true\n\n{line}\n");
        let error = toml::from_str::<Options>(&text).expect_err(line);
        let start = error.span().expect("a place").start;
        assert_eq!(text[..start].matches('\n').count(), 2, "{line}: {error}");
        for part in *parts {
            assert!(
                error.message().contains(part),
                "{line}: {}",
                error.message()
            );
        }
    }
    let error = serde_json::from_str::<Options>("{\n  \"max-age\": \"10\"\n}").unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 17), "{error}");
}

#[test]
fn what_only_the_whole_shows_is_told_by_name() {
    for (text, part) in [
        (
            "end-stored-ids = true",
            "option end_stored_ids: needs persistence to be off",
        ),
        (
            "wildcard-addresses = { delimiter = \"#\" }",
            "option wildcards: they must differ",
        ),
        (
            "address-settings = [{ match = \"a.#.b\" }]",
            "the match \"a.#.b\": any words may stand at the end of a pattern only",
        ),
        (
            "journal-directory = \"x\"",
            "journal-directory is no option; read FileSettings",
        ),
        ("keeper = true\nkeeper = true", "duplicate key"),
        (
            "address-settings = [{ match = \"a\" }, { match = \"a\" }]",
            "the match \"a\" is given twice",
        ),
    ] {
        let error = toml::from_str::<Options>(text).unwrap_err();
        assert!(
            error.message().contains(part),
            "{text}: {}",
            error.message()
        );
    }
    let twice = serde_json::from_str::<Options>("{\"keeper\":true,\"keeper\":true}").unwrap_err();
    assert!(
        twice.to_string().contains("duplicate field `keeper`"),
        "{twice}"
    );
}

#[test]
fn hostile_text_is_an_error_and_costs_little() {
    let deep = "[".repeat(200_000);
    for text in [
        format!("address-settings = {deep}"),
        format!("{}{}", "a.".repeat(100_000), "b = 1"),
        format!("id-cache-size = {}", "9".repeat(200_000)),
        format!("max-age = \"{}s\"", "9".repeat(200_000)),
        String::from("\0"),
    ] {
        assert!(toml::from_str::<Options>(&text).is_err());
    }
    for text in [
        format!("{{\"address-settings\":{deep}"),
        format!("{{\"unknown\":{deep}"),
        format!("{{\"id-cache-size\":{}}}", "9".repeat(200_000)),
        format!("{{\"id-cache-size\":1e{}}}", "9".repeat(200_000)),
    ] {
        assert!(serde_json::from_str::<Options>(&text).is_err());
    }
}

#[test]
fn figures_and_reports_are_written_in_the_spelling_of_settings_and_read_back() {
    let storage = MemoryStorage::new();
    let options = Options::default().max_age(Some(Duration::from_secs(600)));
    let open = |options| Store::open_on(storage.clone(), options, &mut |_| {}).unwrap();
    let store = open(options.clone());
    for number in 0..50 {
        let _ = store
            .cache([0xff, 1])
            .unwrap()
            .add(format!("{number}"))
            .unwrap();
        let _ = store
            .cache("orders")
            .unwrap()
            .add(format!("{number}"))
            .unwrap();
    }
    let cache = store.cache("orders").unwrap().stats();
    let text = serde_json::to_string(&cache).unwrap();
    for part in [
        "\"max-age\":\"10m\"",
        "\"max-age-origin\":\"options\"",
        "\"is-stored\":true",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(serde_json::from_str::<CacheStats>(&text).unwrap(), cache);
    let stats = store.stats();
    let text = toml::to_string(&stats).unwrap();
    assert!(text.contains("is-poisoned = false"), "{text}");
    assert_eq!(toml::from_str::<Stats>(&text).unwrap(), stats);
    store.close().unwrap();

    let store = open(options.max_age(None).id_cache_size(10));
    let report = store.recovery();
    assert_eq!(
        (report.capacity_changes.len(), report.age_changes.len()),
        (2, 2)
    );
    let text = serde_json::to_string(report).unwrap();
    for part in [
        "\"address\":\"0xff01\"",
        "\"namespace\":\"client\"",
        "\"old\":\"10m\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(
        &serde_json::from_str::<RecoveryReport>(&text).unwrap(),
        report
    );
    assert_eq!(
        &toml::from_str::<RecoveryReport>(&toml::to_string(report).unwrap()).unwrap(),
        report
    );
    store.close().unwrap();
}

#[test]
fn bytes_are_the_text_they_are_shown_as() {
    let table: [&[u8]; 5] = [b"", b"order-1842", b"\x1b[2J", b"0x", &[0, 0xff]];
    for bytes in table {
        let bytes = Bytes::from(bytes);
        let text = serde_json::to_string(&bytes).unwrap();
        assert_eq!(text, format!("\"{bytes}\""));
        assert_eq!(serde_json::from_str::<Bytes>(&text).unwrap(), bytes);
    }
    for wrong in ["\"0x1\"", "\"0xzz\"", "\"0x\u{e9}\"", "1"] {
        assert!(serde_json::from_str::<Bytes>(wrong).is_err(), "{wrong}");
    }
}

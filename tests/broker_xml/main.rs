//! Promise: a broker.xml gives each address the window that Artemis gives it, whatever else the
//! file holds; what is wrong in it is told with line and column; no text makes the reader panic, or
//! work for long.
//!
//! Method: files in the forms that Artemis ships and documents, and a table of what holds for which
//! address; every kind of fault at a known place; files cut and flipped at every byte.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod faults;
mod hostile;

use std::path::{Path, PathBuf};

use idjournal::artemis::{read_broker_xml, read_broker_xml_with};
use idjournal::{FileSettings, Namespace, Options, Origin, Store};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/broker");
    std::fs::read_to_string(path.join(name)).expect(name)
}

fn settings(name: &str) -> FileSettings {
    read_broker_xml(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A file, an address, and how many of its IDs are remembered.
const SIZES: &[(&str, &str, u64)] = &[
    // Nothing set: Artemis's default.
    ("created.xml", "orders", 20_000),
    ("created.xml", "activemq.management", 20_000),
    ("created.xml", "DLQ", 20_000),
    // The broker's own size, and patterns that say more.
    ("clustered.xml", "orders", 5_000),
    ("clustered.xml", "payments", 200_000),
    ("clustered.xml", "payments.eu", 5_000),
    ("clustered.xml", "telemetry", 5_000),
    ("clustered.xml", "telemetry.7", 0),
    ("clustered.xml", "telemetry.7.raw", 5_000),
    // Three depths.
    ("overrides.xml", "", 1_000),
    ("overrides.xml", "bills", 1_000),
    ("overrides.xml", "order", 1_000),
    ("overrides.xml", "ordersx", 1_000),
    ("overrides.xml", "orders", 2_000),
    ("overrides.xml", "orders.us", 2_000),
    ("overrides.xml", "orders.us.retail", 2_500),
    ("overrides.xml", "orders.us.retail.shop", 2_000),
    ("overrides.xml", "orders.eu", 3_000),
    ("overrides.xml", "orders.eu.x", 3_000),
    ("overrides.xml", "orders.eu.retail", 4_000),
    ("overrides.xml", "orders.eu.retail.shop", 3_000),
    // Its own pattern leaves the size to the next.
    ("overrides.xml", "orders.eu.wholesale", 3_000),
    ("overrides.xml", "queues.a", 77),
    ("overrides.xml", "queues.a::q1", 1_000),
    ("overrides.xml", "BRIDGE.orders", 1_000),
    // Other characters.
    ("wildcards.xml", "sensors", 100),
    ("wildcards.xml", "sensors/7", 100),
    ("wildcards.xml", "sensors/7/state", 300),
    ("wildcards.xml", "sensors/8/state", 200),
    ("wildcards.xml", "sensors/8/state/x", 100),
    ("wildcards.xml", "sensors/>", 400),
    ("wildcards.xml", "sensors.7.state", 20_000),
    ("wildcards.xml", "a.*", 500),
    ("wildcards.xml", "a.b", 20_000),
    ("wildcards.xml", "a.#", 600),
    // With prefixes, and elements of others in between.
    ("prefixed.xml", "orders", 8_000),
    ("prefixed.xml", "orders.eu", 8_000),
    ("prefixed.xml", "bills", 7_000),
    ("hornetq.xml", "bills", 2_000),
];

#[test]
fn each_address_has_the_window_that_artemis_gives_it() {
    for (name, address, ids) in SIZES {
        let properties = |property: &str| (property == "ids").then(|| String::from("2000"));
        let settings = read_broker_xml_with(file(name), properties).unwrap();
        let store = Store::in_memory(settings.options).unwrap();
        for namespace in [Namespace::Client, Namespace::Bridge] {
            let cache = store.cache_in(namespace, address).unwrap();
            assert_eq!(cache.capacity(), *ids, "{name}, {address}");
        }
    }
}

#[test]
fn what_is_left_unset_is_left_to_the_store() {
    let store = Store::in_memory(settings("created.xml").options).unwrap();
    let origin = |store: &Store, name| store.cache(name).unwrap().stats().capacity_origin;
    assert_eq!(origin(&store, "orders"), Origin::Stored);
    let store = Store::in_memory(settings("clustered.xml").options).unwrap();
    assert_eq!(origin(&store, "orders"), Origin::Options);
    assert_eq!(origin(&store, "payments"), Origin::PatternByOptions);
}

/// A file, lines that show what its options are, and its directory.
const OTHERS: &[(&str, &[&str], &str)] = &[
    (
        "created.xml",
        &[
            "persist-id-cache = true",
            "sync-policy = \"always\"",
            "journal-file-size = 10485760",
        ],
        "data/journal",
    ),
    (
        "clustered.xml",
        &[
            "persist-id-cache = true",
            "sync-policy = \"always\"",
            "journal-file-size = 1000448",
        ],
        "./data/node-1/journal",
    ),
    (
        "hornetq.xml",
        &[
            "persist-id-cache = false",
            "sync-policy = \"manual\"",
            "journal-file-size = 102400",
        ],
        "../data/journal",
    ),
];

#[test]
fn directory_file_size_and_flags_mean_what_they_can_mean_here() {
    for (name, lines, directory) in OTHERS {
        let properties = |property: &str| (property == "ids").then(|| String::from("1"));
        let settings = read_broker_xml_with(file(name), properties).unwrap();
        let written = toml::to_string(&settings).unwrap();
        for line in *lines {
            assert!(
                written.contains(&format!("{line}\n")),
                "{name}: {line} in {written}"
            );
        }
        assert_eq!(settings.journal_directory, Some(PathBuf::from(directory)));
    }
}

/// Flags, and what they come to: the policy, and whether IDs are stored.
const FLAGS: &[(&str, &str, bool)] = &[
    ("", "always", true),
    (
        "<journal-sync-transactional>false</journal-sync-transactional>",
        "always",
        true,
    ),
    (
        "<journal-sync-non-transactional>false</journal-sync-non-transactional>",
        "always",
        true,
    ),
    ("<journal-datasync>false</journal-datasync>", "manual", true),
    (
        "<journal-sync-transactional>false</journal-sync-transactional>\
         <journal-sync-non-transactional>FALSE</journal-sync-non-transactional>",
        "manual",
        true,
    ),
    (
        "<persist-id-cache>false</persist-id-cache>",
        "always",
        false,
    ),
    (
        "<persistence-enabled>false</persistence-enabled>",
        "always",
        false,
    ),
    (
        "<persist-id-cache>fal<!-- -->se</persist-id-cache>",
        "always",
        false,
    ),
];

#[test]
fn flags_are_what_artemis_makes_of_them() {
    for (flags, policy, is_stored) in FLAGS {
        let settings = read_broker_xml(format!("<core>{flags}</core>")).unwrap();
        let written = toml::to_string(&settings).unwrap();
        assert!(
            written.contains(&format!("sync-policy = \"{policy}\"\n")),
            "{flags}"
        );
        assert!(
            written.contains(&format!("persist-id-cache = {is_stored}\n")),
            "{flags}"
        );
    }
}

#[test]
fn an_empty_broker_is_as_good_as_the_defaults() {
    let defaults = toml::to_string(&Options::default()).unwrap();
    for text in [
        "<core/>",
        "<configuration/>",
        "\u{feff}<configuration><core></core></configuration>",
    ] {
        let settings = read_broker_xml(text).unwrap();
        assert_eq!(toml::to_string(&settings).unwrap(), defaults, "{text}");
    }
}

#[test]
fn names_stand_for_their_values_and_defaults() {
    let read = |text: &str| {
        let known = |name: &str| match name {
            "dir" => Some(String::from("/var/${dir}")),
            "spaced" => Some(String::from(" of/a file\r\n")),
            _ => None,
        };
        let text = format!("<core><journal-directory>{text}</journal-directory></core>");
        let settings = read_broker_xml_with(text, known).map_err(|error| error.to_string())?;
        Ok::<_, String>(settings.journal_directory.unwrap().display().to_string())
    };
    for (text, value) in [
        ("${dir}/ids", "/var/${dir}/ids"),
        ("${dir:./data}/ids", "/var/${dir}/ids"),
        ("${ other : ./data }/ids", "./data/ids"),
        ("a${other:}b${x:1:2}", "ab1:2"),
        ("${spaced}", "of/a file"),
        ("${dir", "${dir"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(value), "{text}");
    }
    let unknown = read("${unknown}/ids").unwrap_err();
    assert_eq!(
        unknown,
        "line 1, column 7: ${unknown} has no value and no default"
    );
    assert_eq!(
        read("${other:}").unwrap_err(),
        "line 1, column 7: journal-directory is \"\", not a path"
    );
}

//! What each view shows, and that it changes nothing.

use std::io::Read;
use std::process::{Command, Stdio};

use idjournal::{Namespace, Options};

use super::*;

#[test]
fn an_empty_store_has_nothing_to_show() {
    let place = Place::new();
    place.open(tiny()).close().unwrap();
    let run = dump(&[], &place.path());
    assert_eq!((run.status, run.out.lines().count()), (0, 1), "{run:?}");
    assert_eq!(dump(&["records", "--json"], &place.path()).out, "");
    let run = dump(&["verify"], &place.path());
    let good = "good: damages 0, notes 0; segments 0, records 0, addresses 0, live IDs 0\n";
    assert_eq!((run.status, &*run.out), (0, good));
    let total = &dump(&["stats", "--json"], &place.path()).json()[0];
    assert_eq!(
        (&total["type"], &total["live_ids"]),
        (&"total".into(), &0.into())
    );
}

#[test]
fn records_stand_in_order_with_names_ordinals_ids_and_times() {
    let place = Place::new();
    let store = place.open(Options::default());
    fill(&store, 12);
    store.cache("orders").unwrap().clear().wait().unwrap();
    store.drop_cache("bills").wait().unwrap();
    store.close().unwrap();
    let records = dump(&["--json"], &place.path()).json();
    let kinds = [
        "definition",
        "add",
        "remove",
        "transaction",
        "clear",
        "drop",
    ];
    for kind in kinds {
        assert!(
            records.iter().any(|record| record["kind"] == kind),
            "{kind}"
        );
    }
    let added: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "add" && record["namespace"] == "client")
        .map(|record| {
            (
                record["id"].as_str().unwrap(),
                record["ordinal"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected: Vec<_> = (0..12_u64)
        .map(|round| (format!("order-{round}"), round + 1))
        .collect();
    assert!(
        added
            .iter()
            .map(|(id, ordinal)| (*id, *ordinal))
            .eq(expected.iter().map(|(id, ordinal)| (&**id, *ordinal))),
        "{added:?}"
    );
    let elements = records
        .iter()
        .find(|record| record["kind"] == "transaction")
        .unwrap();
    assert_eq!(elements["elements"][0]["id"], "bill-3");
    assert_eq!(elements["elements"][1]["kind"], "remove");
    let text = dump(&[], &place.path()).out;
    let line = text.lines().find(|line| line.contains("order-7")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words[0], words[2]), ("1", "add"), "{line}");
    assert_eq!(words[4..7], ["client/orders", "8", "order-7"], "{line}");
    assert!(
        words[7].starts_with("20") && words[7].ends_with('Z'),
        "{line}"
    );
    assert!(
        text.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words == ["add", "client/bills", "1", "bill-3"]
        }),
        "{text}"
    );
}

#[test]
fn an_address_is_shown_alone() {
    let place = Place::new();
    let store = place.open(Options::default());
    fill(&store, 12);
    store.close().unwrap();
    for address in ["bills", "0x62696c6c73"] {
        let run = dump(&["--json", "--address", address], &place.path());
        let kinds: Vec<_> = run
            .json()
            .iter()
            .map(|record| record["kind"].clone())
            .collect();
        assert_eq!(kinds, ["definition", "transaction"], "{run:?}");
        assert_eq!(
            run.json()[1]["elements"].as_array().unwrap().len(),
            1,
            "{run:?}"
        );
        let stats = dump(&["stats", "--json", "--address", address], &place.path()).json();
        assert_eq!(stats.len(), 1);
        assert_eq!(
            (&stats[0]["address"], &stats[0]["live"]),
            (&"bills".into(), &1.into())
        );
    }
    assert_eq!(
        dump(&["--json", "--address", "none"], &place.path()).out,
        ""
    );
    assert_eq!(dump(&["--address", "0x5"], &place.path()).status, 2);
    assert_eq!(
        dump(&["verify", "--address", "bills"], &place.path()).status,
        2
    );
}

#[test]
fn statistics_agree_with_the_store_after_the_journal_wrapped() {
    let place = Place::new();
    let store = place.open(tiny().id_cache_size(20));
    fill(&store, 400);
    let orders = store.cache("orders").unwrap();
    let (live, first) = (orders.len(), orders.ids().next().unwrap());
    let (all, bytes) = (store.stats(), store.stats().live_bytes);
    assert!(all.segments_released > 20, "{all:?}");
    drop(orders);
    store.close().unwrap();
    let stats = dump(&["stats", "--json"], &place.path()).json();
    let of = |kind: &'static str| stats.iter().filter(move |line| line["type"] == kind);
    let client =
        of("address").find(|line| line["address"] == "orders" && line["namespace"] == "client");
    let client = client.unwrap();
    assert_eq!(
        (&client["live"], &client["capacity"]),
        (&live.into(), &7.into())
    );
    assert_eq!(client["holes"], 7 - live);
    assert_eq!(client["oldest"]["id"].as_str().unwrap().as_bytes(), first);
    assert_eq!(
        (&client["origin"], &client["last"]),
        (&"call".into(), &400.into())
    );
    let total = of("total").next().unwrap();
    assert_eq!(total["addresses"], 3);
    let sum: u64 = of("segment")
        .map(|line| line["live_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!((&total["live_bytes"], sum), (&sum.into(), bytes));
    let of_addresses = of("address")
        .map(|line| line["live_bytes"].as_u64().unwrap())
        .sum::<u64>();
    assert!(sum > of_addresses, "definitions live too");
    let text = dump(&["stats"], &place.path()).out;
    assert!(
        text.contains("client/orders") && text.contains("bridge/orders"),
        "{text}"
    );
    assert_eq!(dump(&["verify"], &place.path()).status, 0);
}

#[test]
fn a_stopped_directory_is_as_before() {
    let place = Place::new();
    let store = place.open(tiny());
    fill(&store, 60);
    store.close().unwrap();
    let killed = place.path().with_extension("killed");
    let store = place.open(tiny());
    fill(&store, 30);
    copy(&place.path(), &killed);
    store.close().unwrap();
    std::fs::write(killed.join("slot-000099.new"), b"unfinished").unwrap();
    std::fs::write(killed.join("notes \x1b[2J"), b"foreign").unwrap();
    for directory in [place.path(), killed] {
        let before = state(&directory);
        for view in all_views() {
            let run = dump(&view, &directory);
            assert_eq!((run.status, &*run.errors), (0, ""), "{view:?}: {run:?}");
            assert!(
                state(&directory) == before,
                "{view:?} changed {}",
                directory.display()
            );
        }
    }
}

#[test]
fn every_byte_of_ids_and_addresses_is_shown_plainly() {
    let place = Place::new();
    let store = place.open(Options::default());
    let hostile: Vec<u8> = (0..=255).collect();
    let marks = "\u{202e}abc\u{2066}".as_bytes();
    for address in [&hostile[..], marks, b"0x41", b"", b"a \"quoted\" \\ one"] {
        let cache = store.cache(address).unwrap();
        for id in [&hostile[..], marks, b"0x41", b"", b"\x1b[2J", b"\"\\"] {
            let _ = cache.add(id).unwrap();
        }
    }
    store.close().unwrap();
    for view in all_views() {
        // What comes out is looked at in every run.
        let run = dump(&view, &place.path());
        assert_eq!(run.status, 0, "{view:?}: {run:?}");
        if view.contains(&"--json") {
            assert!(!run.json().is_empty());
        }
    }
    let hexadecimal: String = hostile.iter().map(|byte| format!("{byte:02x}")).collect();
    let records = dump(&["--json"], &place.path()).json();
    assert!(records.iter().any(|record| record["id_hex"] == hexadecimal));
    assert!(records.iter().any(|record| record["id"] == "\"\\"));
    let of = dump(
        &["--json", "--address", &format!("0x{hexadecimal}")],
        &place.path(),
    );
    assert_eq!(of.json().len(), 7);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    let store = place.open(Options::default());
    let cache = store.cache_in(Namespace::Client, "orders").unwrap();
    for number in 0..20_000 {
        cache.submit(format!("order-{number}")).detach();
    }
    drop(cache);
    store.close().unwrap();
    for view in [&["records"][..], &["records", "--json"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_journal-dump"))
            .args(view)
            .arg(place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 100]).unwrap();
        drop(out);
        let end = child.wait_with_output().unwrap();
        assert_eq!((end.status.code(), &*end.stderr), (Some(0), &b""[..]));
    }
}

#[test]
fn an_address_that_is_not_there_is_remarked_on_and_no_failure() {
    let place = Place::new();
    let store = place.open(Options::default());
    fill(&store, 3);
    store.cache("gone").unwrap().add("a").map(drop).unwrap();
    store.drop_cache("gone").wait().unwrap();
    store.close().unwrap();
    let remark = |view: &str, address: &str| {
        let run = dump(&[view, "--address", address, "--json"], &place.path());
        assert_eq!(run.status, 0, "{run:?}");
        (run.out.is_empty(), run.errors)
    };
    let no_record = "journal-dump: no record of this journal is of address nobody\n";
    assert_eq!(remark("records", "nobody"), (true, no_record.to_owned()));
    let escaped = "journal-dump: no record of this journal is of address 0x1b5b\n";
    assert_eq!(remark("records", "0x1b5b"), (true, escaped.to_owned()));
    for address in ["nobody", "gone"] {
        let none = format!("journal-dump: no address {address} lives in this journal\n");
        assert_eq!(remark("stats", address), (true, none));
    }
    for (view, address) in [
        ("records", "gone"),
        ("records", "orders"),
        ("stats", "orders"),
    ] {
        assert_eq!(
            remark(view, address),
            (false, String::new()),
            "{view} {address}"
        );
    }
}

#[test]
fn each_object_of_json_has_a_type() {
    let place = Place::new();
    fill(&place.open(Options::default()), 3);
    for (view, types) in [
        ("records", &["record"][..]),
        ("stats", &["address", "segment", "total"]),
        ("verify", &["segment", "finding", "summary"]),
    ] {
        let objects = dump(&[view, "--json"], &place.path()).json();
        assert!(!objects.is_empty());
        for object in objects {
            let name = object["type"].as_str();
            assert!(
                name.is_some_and(|name| types.contains(&name)),
                "{view}: {object}"
            );
        }
    }
}

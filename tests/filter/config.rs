//! Settings from a file: the three forms, what comes before what, and what is wrong where.

use std::process::Command;

use crate::{Done, Place, piped, run};

/// Two addresses, one of which remembers a single ID.
const TOML: &str =
    "id-cache-size = 100\n[[address-settings]]\nmatch = \"small\"\nid-cache-size = 1\n";
const JSON: &str =
    r#"{"id-cache-size": 100, "address-settings": [{"match": "small", "id-cache-size": 1}]}"#;
const XML: &str = "<core><id-cache-size>100</id-cache-size><address-settings>\
    <address-setting match=\"small\"><id-cache-size>1</id-cache-size></address-setting>\
    </address-settings></core>";

const FIELDS: [&str; 4] = ["--address-field", "1", "--id-field", "2"];
const INPUT: &[u8] = b"large\t1\nlarge\t2\nlarge\t1\nsmall\t1\nsmall\t2\nsmall\t1\n";
const EXPECTED: &[u8] = b"large\t1\nlarge\t2\nsmall\t1\nsmall\t2\nsmall\t1\n";

fn with(name: &str, text: impl AsRef<[u8]>, options: &[&str]) -> Done {
    let place = Place::new();
    let file = place.path(name);
    std::fs::write(&file, text).unwrap();
    let mut arguments = vec!["--config", file.to_str().unwrap()];
    arguments.extend(FIELDS);
    arguments.extend(options);
    place.run(&arguments, INPUT)
}

#[test]
fn all_three_forms_are_known_by_the_ending_and_by_how_they_begin() {
    for (name, text) in [
        ("settings.toml", TOML),
        ("settings.json", JSON),
        ("broker.xml", XML),
        ("BROKER.XML", XML),
        ("settings.conf", TOML),
        ("settings", JSON),
        ("settings.old", XML),
    ] {
        assert_eq!(with(name, text, &[]).good(), EXPECTED, "{name}");
    }
    for text in [XML, JSON, TOML] {
        let text = format!("\u{feff}\n  {text}");
        assert_eq!(with("settings", text, &[]).good(), EXPECTED);
    }
    assert_eq!(
        with("settings", "", &[]).good(),
        b"large\t1\nlarge\t2\nsmall\t1\nsmall\t2\n"
    );
}

#[test]
fn the_command_line_comes_before_the_file_and_patterns_before_both() {
    let input: &[u8] = b"a\t1\na\t2\na\t1\n";
    let place = Place::new();
    let file = place.path("settings.toml");
    std::fs::write(&file, "id-cache-size = 100\nsync-policy = \"manual\"\n").unwrap();
    let config = [
        "--config",
        file.to_str().unwrap(),
        "--id-cache-size",
        "1",
        "--sync",
        "always",
    ];
    let arguments: Vec<&str> = config.into_iter().chain(FIELDS).collect();
    assert_eq!(place.run(&arguments, input).good(), input);
    assert_eq!(
        with("settings.toml", TOML, &["--id-cache-size", "7"]).good(),
        EXPECTED
    );
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_column() {
    for (name, text, said) in [
        (
            "a.toml",
            "\nid-cache-size = 'x'",
            "a.toml: line 2, column 17: invalid value: string",
        ),
        (
            "a.toml",
            "id-cache-sise = 1",
            "a.toml: line 1, column 1: unknown field `id-cache-sise`",
        ),
        ("a.toml", "keeper", "a.toml: line 1, column 7: "),
        (
            "a.json",
            "{\n \"max-age\": \"1\"}",
            "a.json: line 2, column 15: invalid value: string",
        ),
        ("a.json", "[", "a.json: line 1, column 1: "),
        (
            "a.xml",
            "<core>\n<id-cache-size/></core>",
            "a.xml: line 2, column 1: id-cache-size is",
        ),
        (
            "a.xml",
            "<core>\n",
            "a.xml: line 2, column 1: not well-formed",
        ),
        ("a.toml", "x = \"\u{9b}\u{9b}\"", "unknown field `x`"),
    ] {
        let output = with(name, text, &[]).stopped(said);
        assert!(output.is_empty(), "{name}");
    }
    with("a.toml", b"\n\xff", &[]).stopped("a.toml: line 2, column 1: not UTF-8");
    with("a.toml", vec![b' '; (4 << 20) + 1], &[]).stopped("a.toml: it has over 4 MiB");
    let place = Place::new();
    let missing = place.path("missing.toml");
    let done = place.run(&["--config", missing.to_str().unwrap()], b"");
    done.stopped("missing.toml: cannot read it: ");
}

#[test]
fn the_file_may_name_the_directory_but_not_that_of_a_broker() {
    let place = Place::new();
    let alone = |name: &str, text: &str| {
        let file = place.path(name);
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_journal-filter"));
        command
            .arg("--config")
            .arg(file)
            .current_dir(place.path("."));
        piped(&mut command);
        run(command, |stdin| {
            stdin.write_all(b"a\na\n").unwrap_or_default()
        })
    };
    let named = "journal-directory = \"ids\"\nsync-policy = \"manual\"";
    assert_eq!(alone("a.toml", named).good(), b"a\n");
    assert_eq!(
        alone("a.toml", named).good(),
        b"",
        "remembered in that directory"
    );
    assert!(place.path("ids/store").is_file());
    alone("a.toml", "").stopped("it names no journal-directory, and there is no --dir");
    let broker = "<core><journal-directory>data/journal</journal-directory></core>";
    alone("a.xml", broker).stopped("the directory of that broker's journal; say --dir");
    assert!(!place.path("data").exists());
    alone("a.xml", "<core/>").stopped("it names no journal-directory");
}

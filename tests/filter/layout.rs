//! Where address and ID stand: fields, JSON, whole lines; any bytes; contradicting options.

use crate::Place;

#[track_caller]
fn passes(options: &[&str], input: &[u8], expected: &[u8]) {
    let output = Place::new().run(options, input).good();
    assert!(output == expected, "{options:?}: {}", output.escape_ascii());
}

#[test]
fn without_options_the_whole_line_is_the_id() {
    passes(&[], b"a\tb\na\na\tb\n\n\nb", b"a\tb\na\n\nb");
    passes(&[], b"", b"");
    passes(&[], b"\n", b"\n");
    // A carriage return belongs to the line.
    passes(&[], b"a\r\na\na\r\n", b"a\r\na\n");
}

#[test]
fn last_line_needs_no_newline_and_gets_none() {
    passes(&[], b"a\nb", b"a\nb");
    passes(&[], b"a\na", b"a\n");
    passes(&["--mark"], b"a\na", b"NEW\ta\nDUP\ta");
}

#[test]
fn any_bytes_are_lines_and_ids() {
    let input = b"\xff\xfe\n\0\n\x1b[2J\n\xff\xfe\n\0\n\0\0\n";
    passes(&[], input, b"\xff\xfe\n\0\n\x1b[2J\n\0\0\n");
    let fields = ["--address-field", "1", "--id-field", "2"];
    passes(
        &fields,
        b"\xff\t\0\n\xff\t\0\n\xfe\t\0\n",
        b"\xff\t\0\n\xfe\t\0\n",
    );
}

#[test]
fn fields_are_cut_at_the_delimiter() {
    passes(
        &["--id-field", "2"],
        b"x\t1\ty\nz\t1\nz\t2\n",
        b"x\t1\ty\nz\t2\n",
    );
    passes(
        &["--id-field", "2", "--delimiter", ","],
        b"x,1\nz,1,\nz,\n",
        b"x,1\nz,\n",
    );
    passes(
        &["--id-field", "2", "--delimiter", "\\t"],
        b"x\t1\nz\t1\n",
        b"x\t1\n",
    );
    passes(
        &["--id-field", "2", "--delimiter", "\\x00"],
        b"x\x001\nz\x001\n",
        b"x\x001\n",
    );
    passes(
        &["--id-field", "2", "--delimiter", "\\x1F"],
        b"x\x1f1\nz\x1f1\n",
        b"x\x1f1\n",
    );
    // The address may stand behind the ID, and be the same field.
    let swapped = ["--id-field", "1", "--address-field", "3"];
    passes(
        &swapped,
        b"1\t-\ta\n1\t-\tb\n1\t+\ta\n",
        b"1\t-\ta\n1\t-\tb\n",
    );
    passes(
        &["--id-field", "1", "--address-field", "1"],
        b"1\n1\n2\n",
        b"1\n2\n",
    );
    // Marks are a field more.
    passes(
        &["--mark", "--delimiter", ","],
        b"1\n1\n",
        b"NEW,1\nDUP,1\n",
    );
}

#[test]
fn addresses_are_apart() {
    let place = Place::new();
    assert_eq!(place.run(&["--address", "one"], b"a\n").good(), b"a\n");
    assert_eq!(place.run(&["--address", "two"], b"a\n").good(), b"a\n");
    assert_eq!(place.run(&["--address", "one"], b"a\nb\n").good(), b"b\n");
    assert_eq!(place.run(&[], b"a\n").good(), b"a\n");
    assert_eq!(place.run(&["--address", "default"], b"a\n").good(), b"");
}

#[test]
fn json_lines_are_told_apart_by_what_their_pointers_lead_to() {
    let id = ["--json-id", "/id"];
    let input = b"{\"id\":\"1\"}\n{\"x\":[{}],\"id\":\"1\"}\n";
    passes(&id, input, b"{\"id\":\"1\"}\n");
    // A string is its decoded bytes, a number its text.
    let (first, second) = (r#"{"id":"a\u0062\/"}"#, r#"{"id":"ab/"}"#);
    passes(
        &id,
        format!("{first}\n{second}\n").as_bytes(),
        format!("{first}\n").as_bytes(),
    );
    let numbers = "{\"id\":1}\n{\"id\":\"1\"}\n{\"id\":1.0}\n{\"id\":-1e5}\n{\"id\":1e400}\n";
    let kept = "{\"id\":1}\n{\"id\":1.0}\n{\"id\":-1e5}\n{\"id\":1e400}\n";
    passes(&id, numbers.as_bytes(), kept.as_bytes());
    // Of a name given twice the last counts, on the way too.
    passes(
        &id,
        b"{\"id\":1,\"id\":2}\n{\"id\":2}\n",
        b"{\"id\":1,\"id\":2}\n",
    );
    // Both in one place, one within a list, and names that need escapes.
    let deep = ["--json-address", "/a/0/~0~1", "--json-id", "/a/1"];
    let (first, second) = (
        r#"{"b":[[]],"a":[{"~/":"q"},7,{}]}"#,
        r#"{"a":[{"~\/":"r"},7]}"#,
    );
    let input = format!("{first}\n{second}\n{first}\n");
    passes(
        &deep,
        input.as_bytes(),
        format!("{first}\n{second}\n").as_bytes(),
    );
    let same = ["--json-address", "/a", "--json-id", "/a"];
    passes(&same, b"{\"a\":1}\n{\"a\":1}\n", b"{\"a\":1}\n");
    // Without a pointer to the ID the line is the ID; an empty pointer is the whole value.
    passes(
        &["--json-address", "/a"],
        b"{\"a\":1}\n{\"a\":1 }\n",
        b"{\"a\":1}\n{\"a\":1 }\n",
    );
    passes(&["--json-id", ""], b"\"x\"\n \"x\" \n1\n", b"\"x\"\n1\n");
}

#[test]
fn json_and_fixed_addresses_go_together() {
    let place = Place::new();
    let options = ["--address", "one", "--json-id", "/id"];
    assert_eq!(
        place.run(&options, b"{\"id\":1}\n{\"id\":1}\n").good(),
        b"{\"id\":1}\n"
    );
    assert_eq!(place.run(&["--address", "one"], b"1\n2\n").good(), b"2\n");
}

#[test]
fn contradicting_and_wrong_options_are_refused_before_anything_is_made() {
    let cases: [(&[&str], &str); 17] = [
        (
            &["--address", "a", "--address-field", "1"],
            "cannot be used with",
        ),
        (
            &["--address", "a", "--json-address", "/a"],
            "cannot be used with",
        ),
        (
            &["--address-field", "1", "--json-address", "/a"],
            "cannot be used with",
        ),
        (
            &["--address-field", "1", "--json-id", "/a"],
            "cannot be used with",
        ),
        (
            &["--id-field", "1", "--json-id", "/a"],
            "cannot be used with",
        ),
        (
            &["--id-field", "1", "--json-address", "/a"],
            "cannot be used with",
        ),
        (
            &["--delimiter", ",", "--json-id", "/a"],
            "cannot be used with",
        ),
        (&["--mark", "--duplicates", "x"], "cannot be used with"),
        (&["--id-field", "0"], "fields count from 1"),
        (&["--delimiter", "ab"], "must be one byte"),
        (&["--delimiter", ""], "must be one byte"),
        (&["--delimiter", "\\x0a"], "a newline ends the line"),
        (&["--json-id", "a"], "begins with /"),
        (&["--json-id", "/~2"], "~ is written ~0"),
        (&["--batch-lines", "0"], "from 1 up"),
        (&["--sync", "0"], "always, manual, or milliseconds"),
        (
            &["--bad-lines", "ignore"],
            "possible values: stop, pass, skip",
        ),
    ];
    for (options, message) in cases {
        let place = Place::new();
        let done = place.run(options, b"a\n");
        assert_eq!(done.status, Some(2), "{options:?}: {}", done.stderr);
        assert!(
            done.stderr.contains(message),
            "{options:?}: {}",
            done.stderr
        );
        assert!(
            done.stdout.is_empty() && !place.path("ids").exists(),
            "{options:?}"
        );
    }
}

#[test]
fn help_names_every_option() {
    let done = Place::new().run(&["--help"], b"");
    let text = String::from_utf8(done.good()).unwrap();
    let options = "--dir --config --address --address-field --id-field --delimiter --json-address \
        --json-id --id-cache-size --sync --mark --duplicates --bad-lines --batch-lines --quiet";
    for option in options.split_whitespace() {
        assert!(text.contains(option), "{option} is not in {text}");
    }
}

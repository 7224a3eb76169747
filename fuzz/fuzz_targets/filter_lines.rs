//! Fuzzes the parsers of `journal-filter`: lines, fields and JSON pointers, against plain ones.

#![no_main]
#![allow(
    dead_code,
    reason = "the parsers alone are used of the program's files"
)]

#[path = "../../src/bin/journal-filter/arguments.rs"]
mod arguments;
#[path = "../../src/bin/journal-filter/failure.rs"]
mod failure;
#[path = "../../src/bin/journal-filter/fields.rs"]
mod fields;
#[path = "../../src/bin/journal-filter/json.rs"]
mod json;
#[path = "../../src/bin/journal-filter/lines.rs"]
mod lines;

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use arbitrary::Arbitrary;
use arguments::{Arguments, BadLines};
use failure::BadLine;
use fields::Fields;
use idjournal::SyncPolicy;
use idjournal_fuzz::memory;
use json::Pointer;
use libfuzzer_sys::fuzz_target;
use lines::{Batch, Lines};
use serde_json::Value;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    delimiter: u8,
    fields: [Option<u8>; 2],
    pointers: [Option<&'a str>; 2],
    reads: [u16; 4],
    text: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    memory::bounded((4 << 20) + 64 * input.text.len(), || check(&input));
});

fn check(input: &Input<'_>) {
    let by_field = fields_of(input);
    let by_pointer = pointers_of(input);
    let mut read = Lines::new(Cut {
        input,
        done: 0,
        turn: 0,
    });
    let mut all: Vec<u8> = Vec::new();
    loop {
        let batch = match read.next().expect("memory can be read") {
            Batch::Lines(batch) => batch,
            Batch::Long => panic!("a line of {} bytes is long", input.text.len()),
            Batch::End => break,
        };
        all.extend(batch);
        assert!(
            batch.ends_with(b"\n") || all.len() == input.text.len(),
            "a line is cut"
        );
        for line in batch.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            if let Some((fields, numbers)) = &by_field {
                check_fields(fields, input.delimiter, *numbers, line);
            }
            if let Some(arguments) = &by_pointer {
                check_json(arguments, line);
            }
        }
    }
    assert_eq!(all, input.text, "what was read is not what was there");
}

/// As the command line gives them; it is not parsed here, which would take most of the time.
fn arguments() -> Arguments {
    Arguments {
        dir: Some(PathBuf::from("ids")),
        config: None,
        address: None,
        address_field: None,
        id_field: None,
        delimiter: None,
        json_address: None,
        json_id: None,
        id_cache_size: None,
        sync: Some(SyncPolicy::Manual),
        mark: false,
        duplicates: None,
        bad_lines: BadLines::Stop,
        batch_lines: None,
        quiet: true,
    }
}

fn fields_of(input: &Input<'_>) -> Option<(Arguments, [Option<usize>; 2])> {
    let number = |number: Option<u8>| NonZeroUsize::new(1 + usize::from(number? % 9));
    let [address_field, id_field] = input.fields.map(number);
    let fields = Arguments {
        delimiter: Some(input.delimiter),
        address_field,
        id_field,
        ..arguments()
    };
    let numbers = [address_field, id_field].map(|number| number.map(NonZeroUsize::get));
    (input.delimiter != b'\n').then_some((fields, numbers))
}

fn pointers_of(input: &Input<'_>) -> Option<Arguments> {
    let [json_address, json_id] = input.pointers.map(|text| {
        let pointer = Pointer::parse(text?).ok()?;
        assert!(pointer.text().is_empty() || pointer.text().starts_with('/'));
        Some(pointer)
    });
    (json_address.is_some() && json_id.is_some()).then(|| Arguments {
        json_address,
        json_id,
        ..arguments()
    })
}

fn check_fields(arguments: &Arguments, delimiter: u8, numbers: [Option<usize>; 2], line: &[u8]) {
    let nth = |number: usize| line.split(|byte| *byte == delimiter).nth(number - 1);
    let [address, id] = numbers;
    let expected_address = address.map_or(Some(&b"default"[..]), nth);
    let expected_id = id.map_or(Some(line), nth);
    let mut fields = Fields::new(arguments);
    match fields.locate(line) {
        Ok(place) => {
            assert_eq!(Some(place.address), expected_address);
            assert_eq!(Some(place.id), expected_id);
        }
        Err(BadLine::NoField { .. }) => {
            assert!(expected_address.is_none() || expected_id.is_none());
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// The text that a value stands for: that of a string; of numbers the text in the line counts.
enum Expected {
    Text(String),
    Number,
    Nothing,
}

fn expected(value: &Value, pointer: &Pointer) -> Expected {
    match value.pointer(pointer.text()) {
        Some(Value::String(text)) => Expected::Text(text.clone()),
        Some(Value::Number(_)) => Expected::Number,
        _ => Expected::Nothing,
    }
}

fn check_json(arguments: &Arguments, line: &[u8]) {
    let (Some(address), Some(id)) = (&arguments.json_address, &arguments.json_id) else {
        return;
    };
    let mut fields = Fields::new(arguments);
    let located = fields.locate(line);
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        // The plain reader refuses numbers and halves of surrogate pairs that nobody asked for.
        return;
    };
    let wanted = [expected(&value, address), expected(&value, id)];
    let is_there = !wanted.iter().any(|one| matches!(one, Expected::Nothing));
    match located {
        Ok(place) => {
            for (found, wanted) in [place.address, place.id].into_iter().zip(wanted) {
                match wanted {
                    Expected::Text(text) => assert_eq!(found, text.as_bytes()),
                    Expected::Number => {
                        serde_json::from_slice::<serde_json::Number>(found).expect("a number");
                    }
                    Expected::Nothing => panic!("{found:?} where there is nothing"),
                }
            }
        }
        Err(BadLine::NoValue { .. } | BadLine::WrongType { .. }) => assert!(!is_there),
        Err(other) => panic!("{other:?} in valid JSON"),
    }
}

/// Reads of the lengths that the input gives, in turn.
struct Cut<'a> {
    input: &'a Input<'a>,
    done: usize,
    turn: usize,
}

impl Read for Cut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::from(self.input.reads[self.turn % 4]).max(1);
        self.turn += 1;
        let rest = &self.input.text[self.done..];
        let count = most.min(buffer.len()).min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.done += count;
        Ok(count)
    }
}

//! Fuzzes the reader of a broker.xml: any bytes give settings that a store can be opened with, or
//! an error with a place in the text, and cost memory in proportion to the text.

#![no_main]

use idjournal::artemis::read_broker_xml;
use idjournal_fuzz::memory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    memory::bounded((1 << 20) + 300 * bytes.len(), || check(bytes));
});

fn check(bytes: &[u8]) {
    match read_broker_xml(bytes) {
        Ok(settings) => settings.options.validate().expect("was checked"),
        Err(error) => {
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
            let line = usize::try_from(error.line).expect("small");
            assert!((1..=lines).contains(&line) && error.column > 0, "{error}");
            assert!(error.to_string().is_ascii(), "{error}");
        }
    }
}

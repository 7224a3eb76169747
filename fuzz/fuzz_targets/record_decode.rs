//! Fuzzes `records`: see there for what is checked.

#![no_main]

use idjournal_fuzz::{memory, records};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| memory::bounded((1 << 20) + 32 * data.len(), || records::check(data)));

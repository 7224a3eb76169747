//! Fuzzes `scan`: see there for what is checked.

#![no_main]

use idjournal_fuzz::{memory, scan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| memory::bounded((1 << 20) + 32 * data.len(), || scan::check(data)));

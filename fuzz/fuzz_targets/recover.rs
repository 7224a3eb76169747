//! Fuzzes the recovery of whole directories: see `opening` for what is checked.

#![no_main]

use idjournal_fuzz::edits::Harmed;
use idjournal_fuzz::{memory, opening};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|harmed: Harmed| {
    let files = harmed.files();
    let bytes: usize = files.values().map(Vec::len).sum();
    memory::bounded((4 << 20) + 64 * bytes, || {
        opening::check(&files, harmed.options)
    });
});

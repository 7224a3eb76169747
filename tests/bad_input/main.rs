//! Promise: whatever a caller or a directory brings, the answer is the stated behaviour or an error
//! that names its cause, and what is not ours, or not whole, is left as it is.
//!
//! Method: make each bad thing, open or call, and look at the error's fields and at every byte
//! afterwards. A second opener is in `tests/lock.rs`, a disk that fills up at any call in
//! `tests/disk_full.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod directory;
mod limits;
mod mixtures;
mod segments;
mod sizes;
mod space;

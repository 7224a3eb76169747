//! Promise: the verbs of Camel's repositories do here what docs/camel.md says, and its table says
//! what each setting of a consumer guarantees after a failure and after a death.
//!
//! Method: a consumer that calls the verbs as Camel's does, over every combination of its settings;
//! it fails, or its process dies, at each of its steps, and the message comes again until it is
//! acknowledged, and once more. What comes of it is compared with the page; the page may have no
//! other rows. Then a death at every call of the disk instead, with power cuts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod route;
mod table;
mod verbs;

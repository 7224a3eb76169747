//! What the fuzz targets share: right checksums, a second encoder, bounds, harmed directories.

pub mod bases;
pub mod edits;
pub mod encode;
#[path = "../../tests/support/encoder.rs"]
pub mod encoder;
pub mod layout;
pub mod memory;
pub mod opening;
pub mod records;
pub mod scan;

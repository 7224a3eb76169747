//! A segment: the header that says which one a slot holds, and its records in order.
//!
//! docs/format.md, sections 3 to 5.

mod behind;
pub(crate) mod header;
pub(crate) mod reader;
mod writer;

pub(crate) use behind::mark_behind;
pub(crate) use header::{Parsed, SegmentHeader};
pub(crate) use reader::{End, Item, SegmentReader};
pub(crate) use writer::{SegmentWriter, Standing};

#[cfg(test)]
mod test_file;

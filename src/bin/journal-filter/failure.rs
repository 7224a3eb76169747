//! What stops a run, and what makes a line bad. Each shows only escaped bytes.

use std::io;
use std::path::Path;

use idjournal::{Bytes, Error, Owner};

use crate::lines::LINE_BYTES_MAX;

/// What stopped the run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot handle the signal of a file-size limit")]
    Signal(#[source] io::Error),
    #[error("cannot read standard input")]
    Input(#[source] io::Error),
    #[error("cannot write standard output (the last {lines} lines are not remembered; run again)")]
    Output {
        /// Lines of the batch.
        lines: usize,
        #[source]
        source: io::Error,
    },
    /// The reader of the output went away: the end of the run, but no error.
    #[error("the reader of standard output went away")]
    Closed,
    #[error("cannot {doing} {file}")]
    Duplicates {
        doing: &'static str,
        file: Bytes,
        #[source]
        source: io::Error,
    },
    #[error("no settings from {file}")]
    Config {
        file: Bytes,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("cannot open the store in {place}")]
    Open {
        place: Bytes,
        #[source]
        source: Error,
    },
    #[error("cannot remember the last {lines} lines")]
    Remember {
        lines: usize,
        #[source]
        source: Error,
    },
    #[error("cannot close the store")]
    Close(#[source] Error),
    #[error("line {number}")]
    Line {
        number: u64,
        #[source]
        source: BadLine,
    },
}

/// Why a line is bad.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadLine {
    #[error("over {} MiB", LINE_BYTES_MAX >> 20)]
    TooLong,
    #[error("there is no field {number} for the {what}")]
    NoField { what: &'static str, number: usize },
    #[error("not JSON: not UTF-8")]
    NotUtf8,
    #[error("not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("there is nothing at {pointer} for the {what}")]
    NoValue { what: &'static str, pointer: Bytes },
    #[error("what stands at {pointer} for the {what} is neither a string nor a number")]
    WrongType { what: &'static str, pointer: Bytes },
    #[error("the store does not take it")]
    Limit(#[source] Error),
    #[error("its ID is pending for owner {0}")]
    Pending(Owner),
}

/// A path as it is shown.
pub(crate) fn shown(path: &Path) -> Bytes {
    Bytes::from(path.as_os_str().as_encoded_bytes())
}

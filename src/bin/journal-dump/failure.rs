//! Why nothing could be told.

use std::io;

/// Why nothing could be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Look(#[from] idjournal::Error),
    #[error("cannot write the output")]
    Output(#[source] io::Error),
}

impl Failure {
    /// Whether the reader of the output went away.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

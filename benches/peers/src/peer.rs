//! What a peer is: something that remembers the last n IDs of each address.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ids::Id;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Failure>;

/// What an add that returned survives: the sync level, told by its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Survives {
    /// Nothing: a kill of the process may lose it.
    Nothing,
    /// A kill of the process, not a power cut.
    Kill,
    /// A power cut.
    Power,
}

/// How a peer is opened.
#[derive(Clone)]
pub struct Setup {
    /// An existing directory of its own, empty or left by an earlier close.
    pub directory: PathBuf,
    /// How many IDs each address remembers.
    pub windows: Vec<usize>,
    pub survives: Survives,
}

/// An open peer.
pub trait Peer: Send + Sync {
    /// What one thread works with.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// The process that does the work, if it is another one.
    fn server(&self) -> Option<u32> {
        None
    }

    /// Ends it so that nothing is lost.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's way to a peer.
pub trait Session: Send {
    /// Whether the ID was new, and it is remembered now; as durable as the peer was opened for.
    fn add(&mut self, address: usize, id: &Id) -> Result<bool>;

    /// The same for many, in order, durable together.
    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()>;

    /// Adds IDs that are known to be new, the quickest way there is.
    fn fill(&mut self, adds: &[(usize, Id)]) -> Result<()> {
        let mut new = Vec::with_capacity(adds.len());
        self.add_batch(adds, &mut new)?;
        if new.contains(&false) {
            return Err("a new ID was called a duplicate".into());
        }
        Ok(())
    }

    /// Waits until all that this session added is as durable as promised.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
}

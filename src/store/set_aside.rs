//! Space in the journal that is set aside for a call of many records before its first one, so that
//! "no space" is an answer of the whole call and never of its middle.

use std::cell::Cell;

use crate::error::Result;
use crate::journal::Purpose;
use crate::record::{Record, encoded_bytes};
use crate::store::shared::Shared;

/// See the head of this file. What is left of it is given back when it is dropped.
pub(crate) struct SetAside<'a> {
    shared: &'a Shared,
    left: Cell<u64>,
}

impl<'a> SetAside<'a> {
    /// Nothing is set aside.
    pub(crate) fn nothing(shared: &'a Shared) -> SetAside<'a> {
        let left = Cell::new(0);
        SetAside { shared, left }
    }

    /// Adds what records of at most `longest` bytes and of `bytes` altogether need.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`](crate::Error::NoSpace) if there is no such space.
    pub(crate) fn add(
        &self,
        shared: &std::sync::Arc<Shared>,
        bytes: u64,
        longest: u64,
    ) -> Result<()> {
        let Some(journal) = &shared.journal else {
            return Ok(());
        };
        let placed = shared.with_room(Purpose::Ordinary, || {
            journal.claim(bytes, longest)?;
            Ok((((), None), false))
        });
        let ((), _) = placed?;
        self.left.set(self.left.get() + bytes);
        Ok(())
    }

    /// For what room is to be made: none but a new segment if it is set aside.
    pub(crate) fn room(&self, otherwise: Purpose) -> Purpose {
        match self.left.get() {
            0 => otherwise,
            _ => Purpose::Within,
        }
    }

    /// What a record takes its space from.
    pub(crate) fn purpose(&self, record: &Record<'_>, otherwise: Purpose) -> Purpose {
        let bytes = encoded_bytes(record, true);
        match bytes <= self.left.get() {
            true => Purpose::Claimed(bytes),
            false => otherwise,
        }
    }

    /// A record was appended for that purpose.
    pub(crate) fn spent(&self, purpose: Purpose) {
        if let Purpose::Claimed(bytes) = purpose {
            self.left.set(self.left.get() - bytes);
        }
    }
}

impl Drop for SetAside<'_> {
    fn drop(&mut self) {
        if let (Some(journal), true) = (&self.shared.journal, self.left.get() > 0) {
            journal.unclaim(self.left.get());
        }
    }
}

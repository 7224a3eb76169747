//! Space that is set aside for claims: taken where there is room for all of them, and given back.

use crate::error::Error;
use crate::journal::{Journal, Refused};

impl Journal {
    /// Sets `bytes` aside for a claim that becomes part of a record of up to `whole` bytes.
    pub(crate) fn claim(&self, bytes: u64, whole: u64) -> std::result::Result<(), Refused> {
        self.claim_with_lasting(bytes, 0, whole)
    }

    /// The same, with `lasting` bytes that must be found again after a restart.
    pub(crate) fn claim_with_lasting(
        &self,
        bytes: u64,
        lasting: u64,
        whole: u64,
    ) -> std::result::Result<(), Refused> {
        self.check_bytes(whole)?;
        let mut inner = self.inner.lock();
        self.commit.check()?;
        if inner.is_closed {
            return Err(Error::Closed.into());
        }
        let room = inner.room(self);
        if !inner
            .space
            .fits_with_lasting(room, 0, (bytes, lasting), whole, 1)
        {
            return Err(Refused::NoRoom);
        }
        inner.space.claim(bytes, whole);
        inner.space.claim_lasting(lasting, whole);
        Ok(())
    }

    /// Sets aside again what was before a restart; where that does not fit any more, nothing else
    /// does until it does.
    pub(crate) fn claim_again(&self, lasting: u64, whole: u64) {
        self.inner.lock().space.claim_lasting(lasting, whole);
    }

    /// Gives back what was set aside over restarts.
    pub(crate) fn unclaim_lasting(&self, lasting: u64) {
        self.inner.lock().space.unclaim_lasting(lasting);
    }

    /// Gives back what was set aside.
    pub(crate) fn unclaim(&self, bytes: u64) {
        self.inner.lock().space.unclaim(bytes);
    }
}

//! Replay: puts into a cache what the journal tells, in the order of the journal.
//!
//! Copies of old ordinals may come after newer adds, and what ends an ID before or after it.

use crate::ids::{Ordinal, Ticks};

use super::chunk::Content;
use super::{Cache, fold};

/// What [`Cache::restore`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// The ID lives at this ordinal now.
    Fresh,
    /// It did before; its record bytes are those given now.
    Copy,
    /// The ordinal is outside of the window; nothing is kept.
    Forgotten,
}

impl Cache {
    /// Replays an add, or a copy of one, in the order of the journal; ordinals may come in any
    /// order.
    ///
    /// If another live ordinal holds this ID, this one, later in the journal, wins.
    pub(crate) fn restore(
        &mut self,
        ordinal: Ordinal,
        hash: u64,
        id: &[u8],
        value: &[u8],
        time: Ticks,
        record_bytes: u64,
    ) -> Restored {
        self.restore_last(ordinal);
        if ordinal.0 < self.start() {
            return Restored::Forgotten;
        }
        if self.is_live(ordinal) {
            self.set_record_bytes(ordinal, record_bytes);
            return Restored::Copy;
        }
        if let Some(elsewhere) = self.find(hash, id) {
            self.remove(elsewhere);
        }
        self.put(
            ordinal.0,
            &Content {
                hash: fold(hash),
                id,
                value,
                time,
                record_bytes,
            },
        );
        Restored::Fresh
    }

    /// Replays that adds were made up to `last`.
    pub(crate) fn restore_last(&mut self, last: Ordinal) {
        if last.0 > self.last {
            let start = self.start();
            self.last = last.0;
            drop(self.leave(start));
        }
    }
}

//! What a store keeps beside IDs: the bookmarks and prepared transactions of its journal.

use std::collections::HashMap;

use crate::ids::SegmentNumber;
use crate::recovery::{Bookmark, Configured, Prepared};

/// Bookmarks and prepared transactions as the journal left them.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) bookmarks: HashMap<Box<[u8]>, Bookmark>,
    pub(crate) prepared: HashMap<Box<[u8]>, Prepared>,
    /// The patterns that calls have set.
    pub(crate) configured: HashMap<Box<[u8]>, Configured>,
}

impl Extras {
    /// The oldest segment in which one of them lives; the highest number if there is none.
    pub(crate) fn oldest(&self) -> SegmentNumber {
        let bookmarks = self.bookmarks.values().map(|bookmark| bookmark.segment);
        let prepared = self.prepared.values().map(|prepared| prepared.segment);
        let configured = self.configured.values().map(|pattern| pattern.segment);
        bookmarks
            .chain(prepared)
            .chain(configured)
            .min()
            .unwrap_or(SegmentNumber::MAX)
    }
}

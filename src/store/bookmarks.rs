//! Bookmarks: names with a value each, journaled in order with the IDs around them.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::{BOOKMARK_NAME_BYTES_MAX, record_bytes_max};
use crate::journal::{Purpose, Standing};
use crate::receipt::Receipt;
use crate::record::{Record, encoded_bytes};
use crate::recovery::Bookmark;
use crate::store::Store;
use crate::store::adding::{Placed, signed};
use crate::store::shared::Shared;

impl Store {
    /// Sets the bookmark `name`.
    ///
    /// Bookmarks and IDs are recorded in one order, that of the calls: after any crash a bookmark
    /// is there only with everything recorded before it. So a broker that notes here up to which
    /// position of its own message file all IDs are recorded knows at a restart which messages lie
    /// behind, and adds their IDs again.
    ///
    /// # Errors
    ///
    /// Of the receipt: [`Error::Limit`] if the name is longer than
    /// [`BOOKMARK_NAME_BYTES_MAX`](crate::BOOKMARK_NAME_BYTES_MAX), or name and value than a record
    /// may be (a quarter of a segment); [`Error::NoSpace`]; [`Error::OutcomeUnknown`],
    /// [`Error::Poisoned`], [`Error::Closed`], [`Error::Forked`].
    ///
    /// # Examples
    ///
    /// ```
    /// use idjournal::{MemoryStorage, Options, Store};
    ///
    /// # fn main() -> idjournal::Result<()> {
    /// let storage = MemoryStorage::default();
    /// let store = Store::open_on(storage.clone(), Options::default(), &mut |_| {})?;
    /// let _ = store.cache("orders")?.submit("order-1842");
    /// store.set_bookmark("messages", 4096_u64.to_le_bytes()).wait()?;
    /// store.close()?;
    ///
    /// let store = Store::open_on(storage, Options::default(), &mut |_| {})?;
    /// assert_eq!(store.bookmark("messages"), Some(4096_u64.to_le_bytes().to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_bookmark(&self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Receipt<()> {
        let shared = self.shared();
        match shared.set_bookmark(name.as_ref(), value.as_ref()) {
            Ok(((), position)) => shared.receipt(Ok(()), position),
            Err(error) => Receipt::failed(error),
        }
    }

    /// The latest value of the bookmark `name`; none if it was never set.
    ///
    /// It answers from memory and never waits: what was set last may not be on disk yet.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// store.set_bookmark("messages", "1").wait()?;
    /// store.set_bookmark("messages", "2").wait()?;
    /// assert_eq!(store.bookmark("messages").as_deref(), Some(&b"2"[..]));
    /// assert_eq!(store.bookmark("replies"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn bookmark(&self, name: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let extras = self.shared().extras.lock();
        let bookmark = extras.bookmarks.get(name.as_ref())?;
        Some(bookmark.value.to_vec())
    }
}

impl Shared {
    pub(crate) fn set_bookmark(self: &Arc<Self>, name: &[u8], value: &[u8]) -> Result<Placed<()>> {
        self.check()?;
        check_name(name)?;
        let bytes = |time| encoded_bytes(&Record::Bookmark { time, name, value }, true);
        let (max, actual) = (
            record_bytes_max(self.options.segment_bytes),
            bytes(self.now()),
        );
        if actual > max {
            let limit = "bytes of a bookmark's record (a quarter of a segment)";
            return Err(Error::Limit { limit, max, actual });
        }
        self.with_room(Purpose::Ordinary, || {
            // Held over both, so that their order here is that of the journal.
            let mut extras = self.extras.lock();
            let time = self.now();
            let mut bookmark = Bookmark {
                value: Box::from(value),
                time,
                segment: Default::default(),
                record_bytes: 0,
            };
            let Some(journal) = &self.journal else {
                extras.set_bookmark(name, bookmark);
                return Ok((((), None), false));
            };
            let before = extras.bookmarks.get(name);
            let before = before.map_or(0, |before| before.record_bytes);
            let live = |bytes| signed(bytes) - signed(before);
            let record = Record::Bookmark { time, name, value };
            let appended = journal.append(&record, Standing::Alone, Purpose::Ordinary, live)?;
            bookmark.segment = appended.end.segment();
            bookmark.record_bytes = appended.bytes;
            extras.set_bookmark(name, bookmark);
            Ok((((), Some(appended.end)), appended.is_owing))
        })
    }
}

/// Checks the length of a bookmark's name.
pub(crate) fn check_name(name: &[u8]) -> Result<()> {
    let (max, actual) = (BOOKMARK_NAME_BYTES_MAX as u64, name.len() as u64);
    if actual > max {
        let limit = "bytes of a bookmark's name";
        return Err(Error::Limit { limit, max, actual });
    }
    Ok(())
}

//! What a copy of the journal is made of: its segments at one moment, and a store file that ends
//! there.

use crate::ids::{Position, SegmentNumber};
use crate::journal::{File, Journal};
use crate::ring::Link;
use crate::segment::{SegmentHeader, SegmentWriter};
use crate::store_file::StoreCopy;

/// A segment of the chain.
pub(crate) struct ChainSegment {
    /// What its header says, as far as its records need it.
    pub(crate) header: SegmentHeader,
    /// Where its records end.
    pub(crate) end: u64,
    /// Whether records can be appended behind that.
    pub(crate) is_active: bool,
    pub(crate) file: File,
}

/// The chain at one moment, oldest first.
pub(crate) struct Snapshot {
    pub(crate) segments: Vec<ChainSegment>,
    /// Everything appended lies before this position.
    pub(crate) end: Position,
    /// The store file of a journal that was closed there.
    pub(crate) store: StoreCopy,
}

/// What the header of a segment says, as far as its records need it.
pub(super) fn records_header(store: &StoreCopy, link: &Link<File>) -> SegmentHeader {
    SegmentHeader {
        identity: store.identity,
        number: link.number,
        salt: link.salt,
        previous: SegmentNumber(0),
        previous_salt: 0,
        previous_end: 0,
        oldest_needed: SegmentNumber(0),
        base_time: link.base_time,
        segment_bytes: link.bytes,
    }
}

impl Journal {
    /// The chain as it is now. A segment that is not active never changes, until it is released.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let inner = self.inner.lock();
        let copy = inner.store_file.copy();
        let end = inner.end();
        let active = inner.writer.as_ref().map(SegmentWriter::number);
        let segments = inner.ring.chain().map(|link| {
            let is_active = Some(link.number) == active;
            ChainSegment {
                header: records_header(copy, link),
                end: if is_active { end.offset() } else { link.end },
                is_active,
                file: File::clone(&link.file),
            }
        });
        let store = match &inner.writer {
            Some(writer) => StoreCopy {
                mark_number: end.segment(),
                mark_salt: writer.salt(),
                mark_end: end.offset(),
                ..*copy
            },
            // It ends where recovery, or nobody, has said.
            None => *copy,
        };
        Snapshot {
            segments: segments.collect(),
            end,
            store,
        }
    }

    /// Whether the segment of this number is still needed.
    pub(crate) fn needs(&self, number: SegmentNumber) -> bool {
        let inner = self.inner.lock();
        let oldest = inner.ring.oldest();
        oldest.is_some_and(|oldest| oldest.number <= number)
    }
}

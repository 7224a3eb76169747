//! What lives, told to carrying by ordinal, and copied to the end of the journal.

use crate::compaction::Living;
use crate::ids::{Ordinal, SegmentNumber};
use crate::journal::{Purpose, Refused};
use crate::record::{Add, Record};
use crate::store::adding::signed;
use crate::store::shared::Shared;

impl Living for Shared {
    fn carry_add(&self, number: u32, ordinal: Ordinal) -> Result<u64, Refused> {
        let (Some(journal), Some(address)) = (&self.journal, self.registry.by_number(number)) else {
            return Ok(0);
        };
        let mut state = address.state.lock();
        let Some(known) = state.cache.get(ordinal) else { return Ok(0) };
        let value = (!known.value.is_empty()).then_some(known.value);
        let add = Add { address: number, ordinal, time: known.time, value, id: known.id };
        let before = known.record_bytes;
        let live = |bytes| signed(bytes) - signed(before);
        let appended = journal.append(&Record::Add(add), true, Purpose::Freeing, live)?;
        state.cache.set_record_bytes(ordinal, appended.bytes);
        Ok(appended.bytes)
    }

    fn carry_definition(&self, number: u32, segment: SegmentNumber) -> Result<u64, Refused> {
        let (Some(journal), Some(address)) = (&self.journal, self.registry.by_number(number)) else {
            return Ok(0);
        };
        let mut state = address.state.lock();
        let Some(defined) = state.defined.filter(|defined| defined.segment == segment) else {
            return Ok(0);
        };
        let record = self.definition(&address, &state, number);
        let live = |bytes| signed(bytes) - signed(defined.bytes);
        let appended = journal.append(&record, true, Purpose::Freeing, live)?;
        state.set_defined(&appended);
        Ok(appended.bytes)
    }

    fn carry_bookmark(&self, name: &[u8], segment: SegmentNumber) -> Result<u64, Refused> {
        let Some(journal) = &self.journal else { return Ok(0) };
        let mut extras = self.extras.lock();
        let bookmark = extras.bookmarks.get_mut(name);
        let Some(bookmark) = bookmark.filter(|bookmark| bookmark.segment == segment) else {
            return Ok(0);
        };
        let record = Record::Bookmark { time: bookmark.time, name, value: &bookmark.value };
        let appended = journal.append(&record, true, Purpose::Freeing, |_| 0)?;
        bookmark.segment = appended.end.segment();
        Ok(appended.bytes)
    }

    fn carry_prepare(&self, transaction: &[u8], segment: SegmentNumber) -> Result<u64, Refused> {
        let Some(journal) = &self.journal else { return Ok(0) };
        let mut extras = self.extras.lock();
        let prepared = extras.prepared.get_mut(transaction);
        let Some(prepared) = prepared.filter(|prepared| prepared.segment == segment) else {
            return Ok(0);
        };
        let body = prepared.body();
        let (time, owner, elements) = (prepared.time, prepared.owner, body.elements());
        let record = Record::Prepare { time, owner, transaction, elements };
        let appended = journal.append(&record, true, Purpose::Freeing, |_| 0)?;
        prepared.segment = appended.end.segment();
        Ok(appended.bytes)
    }
}

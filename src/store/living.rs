//! What lives, told to carrying by ordinal, and copied to the end of the journal.

use std::collections::VecDeque;

use crate::compaction::Living;
use crate::ids::{Ordinal, SegmentNumber};
use crate::journal::{Purpose, Refused, Standing};
use crate::record::{Add, Record};
use crate::store::adding::signed;
use crate::store::shared::Shared;

impl Living for Shared {
    fn carry_adds(
        &self,
        number: u32,
        ordinals: &mut VecDeque<Ordinal>,
        carried: &mut u64,
    ) -> Result<(), Refused> {
        let (Some(journal), Some(address)) = (&self.journal, self.registry.by_number(number))
        else {
            return Ok(());
        };
        let mut state = address.state.lock();
        while let Some(ordinal) = ordinals.front().copied() {
            if let Some(known) = state.cache.get(ordinal) {
                let value = (!known.value.is_empty()).then_some(known.value);
                let (time, id) = (known.time, known.id);
                let add = Add {
                    address: number,
                    ordinal,
                    time,
                    value,
                    id,
                };
                let before = known.record_bytes;
                let live = |bytes| signed(bytes) - signed(before);
                let appended =
                    journal.append(&Record::Add(add), Standing::Carried, Purpose::Freeing, live)?;
                state.cache.set_record_bytes(ordinal, appended.bytes);
                *carried += appended.bytes;
            }
            ordinals.pop_front();
        }
        Ok(())
    }

    fn carry_definition(&self, number: u32, segment: SegmentNumber) -> Result<u64, Refused> {
        let (Some(journal), Some(address)) = (&self.journal, self.registry.by_number(number))
        else {
            return Ok(0);
        };
        let mut state = address.state.lock();
        let Some(defined) = state.defined.filter(|defined| defined.segment == segment) else {
            return Ok(0);
        };
        let record = self.definition(&address, &state, number);
        let live = |bytes| signed(bytes) - signed(defined.bytes);
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, live)?;
        state.set_defined(&appended);
        Ok(appended.bytes)
    }

    fn carry_bookmark(&self, name: &[u8], segment: SegmentNumber) -> Result<u64, Refused> {
        let Some(journal) = &self.journal else {
            return Ok(0);
        };
        let mut extras = self.extras.lock();
        let bookmark = extras.bookmarks.get_mut(name);
        let Some(bookmark) = bookmark.filter(|bookmark| bookmark.segment == segment) else {
            return Ok(0);
        };
        let record = Record::Bookmark {
            time: bookmark.time,
            name,
            value: &bookmark.value,
        };
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, |_| 0)?;
        bookmark.segment = appended.end.segment();
        Ok(appended.bytes)
    }

    fn carry_prepare(&self, transaction: &[u8], segment: SegmentNumber) -> Result<u64, Refused> {
        let Some(journal) = &self.journal else {
            return Ok(0);
        };
        let mut extras = self.extras.lock();
        let prepared = extras.prepared.get_mut(transaction);
        let Some(prepared) = prepared.filter(|prepared| prepared.segment == segment) else {
            return Ok(0);
        };
        let body = prepared.body();
        let (time, owner, elements) = (prepared.time, prepared.owner, body.elements());
        let record = Record::Prepare {
            time,
            owner,
            transaction,
            elements,
        };
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, |_| 0)?;
        prepared.segment = appended.end.segment();
        Ok(appended.bytes)
    }
}

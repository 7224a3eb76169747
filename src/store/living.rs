//! What lives, told to carrying by ordinal, and copied to the end of the journal.

use std::collections::VecDeque;

use crate::compaction::{Living, PrepareIs};
use crate::ids::{Ordinal, Position, SegmentNumber};
use crate::journal::{Purpose, Refused, Standing};
use crate::mutant::{self, Mutant};
use crate::record::{Add, Element, Record, TransactionBody};
use crate::store::adding::signed;
use crate::store::address::{Address, AddressState, Defined};
use crate::store::extras::Ended;
use crate::store::shared::Shared;

/// Definitions that are carried without reading their segment.
const DEFINITIONS_MAX: usize = 64;
/// Bytes of a segment that are read as quickly as an address is asked.
const BYTES_PER_ADDRESS: u64 = 1024;
/// So many addresses are always asked.
const ADDRESSES_MIN: u64 = 8;

impl Living for Shared {
    fn only_definitions(&self, segment: SegmentNumber) -> Option<Vec<u32>> {
        let max = (self.options.segment_bytes / BYTES_PER_ADDRESS).max(ADDRESSES_MIN);
        let addresses = self.registry.few_numbered(usize::try_from(max).ok()?)?;
        let mut definitions = Vec::new();
        for address in addresses {
            let state = self.lock(&address);
            let is_back = state.reach.oldest(state.cache.window_start()) <= segment;
            if state.cache.len() > 0 && is_back && !state.is_memory_only {
                return None;
            }
            let is_here = |defined: &Defined| defined.segment <= segment;
            let is_owing = state.owes_floor && !mutant::is(Mutant::FloorNotCarried);
            let is_needed = |defined| is_here(&defined) || is_owing;
            definitions.extend(
                state
                    .number
                    .filter(|_| state.defined.is_some_and(is_needed)),
            );
        }
        let extras = self.extras.lock();
        let is_clear = definitions.len() <= DEFINITIONS_MAX && extras.oldest() > segment;
        is_clear.then_some(definitions)
    }

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
        let mut state = self.lock(&address);
        let floor = state.cache.floor();
        let is_owing = state.owes_floor && !mutant::is(Mutant::FloorNotCarried);
        if is_owing && ordinals.iter().any(|ordinal| *ordinal < floor) {
            *carried += self.carry_defined(&address, &mut state)?;
        }
        while let Some(ordinal) = ordinals.front().copied() {
            let is_stored = !state.is_memory_only && ordinal >= state.stored_from;
            if let Some(known) = state.cache.get(ordinal).filter(|_| is_stored) {
                let is_kept = !known.value.is_empty() && !mutant::is(Mutant::ValueNotCarried);
                let value = is_kept.then_some(known.value);
                let (time, id) = (known.time, known.id);
                let add = Add {
                    address: number,
                    ordinal: match mutant::is(Mutant::NewOrdinalOnCopy) {
                        true => state.cache.next(),
                        false => ordinal,
                    },
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
        let Some(address) = self.registry.by_number(number) else {
            return Ok(0);
        };
        let mut state = self.lock(&address);
        if state.defined.is_none() {
            return self.carry_ended(&address, &state, (number, segment));
        }
        let is_here = |defined: &Defined| defined.segment == segment;
        if !state.defined.is_some_and(|defined| is_here(&defined)) && !state.owes_floor {
            return Ok(0);
        }
        self.carry_defined(&address, &mut state)
    }

    fn carry_last(&self, number: u32, ordinal: Ordinal) -> Result<u64, Refused> {
        let Some(address) = self.registry.by_number(number) else {
            return Ok(0);
        };
        let mut state = self.lock(&address);
        // A later add and a copy tell it themselves.
        if state.cache.last() > ordinal || state.cache.is_live(ordinal) {
            return Ok(0);
        }
        self.carry_defined(&address, &mut state)
    }

    #[cfg(idjournal_mutants)]
    fn carry_dead(&self, number: u32, ordinal: Ordinal, id: &[u8]) -> Result<u64, Refused> {
        let (Some(journal), Some(address)) = (&self.journal, self.registry.by_number(number))
        else {
            return Ok(0);
        };
        let state = address.state.lock();
        let is_held = state.cache.find(self.hash(id), id).is_some();
        if state.cache.get(ordinal).is_some() || !is_held {
            return Ok(0);
        }
        let (address, time, value) = (number, self.now(), None);
        let add = Add {
            address,
            ordinal,
            time,
            value,
            id,
        };
        let appended = journal.append(
            &Record::Add(add),
            Standing::Carried,
            Purpose::Freeing,
            |_| 0,
        )?;
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
        if mutant::is(Mutant::BookmarkNotCarried) {
            return Ok(0);
        }
        let record = Record::Bookmark {
            time: bookmark.time,
            name,
            value: &bookmark.value,
        };
        let live = |bytes| signed(bytes) - signed(bookmark.record_bytes);
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, live)?;
        bookmark.segment = appended.end.segment();
        bookmark.record_bytes = appended.bytes;
        Ok(appended.bytes)
    }

    fn carry_settings(&self, pattern: &[u8], segment: SegmentNumber) -> Result<u64, Refused> {
        let Some(journal) = &self.journal else {
            return Ok(0);
        };
        let mut extras = self.extras.lock();
        let configured = extras.configured.get_mut(pattern);
        let Some(configured) = configured.filter(|found| found.segment == segment) else {
            return Ok(0);
        };
        if mutant::is(Mutant::SettingsNotCarried) {
            return Ok(0);
        }
        let record = Record::Settings {
            time: configured.time,
            pattern,
            settings: configured.settings,
        };
        let before = configured.record_bytes;
        let live = |bytes| signed(bytes) - signed(before);
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, live)?;
        configured.segment = appended.end.segment();
        configured.record_bytes = appended.bytes;
        Ok(appended.bytes)
    }

    fn carry_prepare(&self, transaction: &[u8], position: Position) -> Result<PrepareIs, Refused> {
        let Some(journal) = &self.journal else {
            return Ok(PrepareIs::Gone);
        };
        let mut extras = self.extras.lock();
        if let Some(given) = extras.committed.remove(&position) {
            return Ok(match mutant::is(Mutant::CommittedNotCarried) {
                true => PrepareIs::Gone,
                false => PrepareIs::Committed(given),
            });
        }
        let doubt = extras.in_doubt.get_mut(transaction);
        let Some(doubt) = doubt.filter(|doubt| doubt.position == position) else {
            return Ok(PrepareIs::Gone);
        };
        if mutant::is(Mutant::PreparedNotCarried) {
            return Ok(PrepareIs::Gone);
        }
        let body = doubt.content.body();
        let record = Record::Prepare {
            time: doubt.content.time,
            owner: doubt.content.owner,
            transaction,
            elements: body.elements(),
        };
        let live = |bytes| signed(bytes) - signed(doubt.record_bytes);
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, live)?;
        doubt.position = appended.begin();
        doubt.record_bytes = appended.bytes;
        Ok(PrepareIs::Copied(appended.bytes))
    }

    fn carry_removes(&self, removes: &[(u32, Ordinal)]) -> Result<u64, Refused> {
        let Some(journal) = &self.journal else {
            return Ok(0);
        };
        let mut body = TransactionBody::default();
        for (number, ordinal) in removes {
            let Some(address) = self.registry.by_number(*number) else {
                continue;
            };
            // Below the window no copy of it can come alive again; but for a floor that IDs have
            // raised by their age, and no record tells yet.
            let state = address.state.lock();
            if *ordinal >= state.cache.window_start() || state.owes_floor {
                let (address, ordinal) = (*number, *ordinal);
                body.push(Element::Remove { address, ordinal });
            }
        }
        let (time, elements) = (self.now(), body.elements());
        if elements.element_count() == 0 || mutant::is(Mutant::PreparedRemoveNotCarried) {
            return Ok(0);
        }
        let record = Record::Transaction { time, elements };
        let appended = journal.append(&record, Standing::Carried, Purpose::Freeing, |_| 0)?;
        Ok(appended.bytes)
    }
}

impl Shared {
    /// Copies the definition of an address that was dropped, and that a transaction in doubt names.
    fn carry_ended(
        &self,
        address: &Address,
        state: &AddressState,
        (number, segment): (u32, SegmentNumber),
    ) -> Result<u64, Refused> {
        let (Some(journal), Some(ended)) = (&self.journal, self.extras.lock().ended(number)) else {
            return Ok(0);
        };
        if ended.segment != segment || mutant::is(Mutant::EndedNameNotCarried) {
            return Ok(0);
        }
        let record = self.definition(address, state, number);
        let live = |bytes| signed(bytes) - signed(ended.bytes);
        let standing = Standing::CarriedBefore;
        let appended = journal.append(&record, standing, Purpose::Freeing, live)?;
        let (segment, bytes) = (appended.end.segment(), appended.bytes);
        self.extras
            .lock()
            .keep_name(number, Ended { segment, bytes });
        Ok(appended.bytes)
    }
}

impl Shared {
    /// Copies the definition of an address as it is now, which tells its floor as well.
    fn carry_defined(&self, address: &Address, state: &mut AddressState) -> Result<u64, Refused> {
        let (Some(journal), Some(defined), Some(number)) =
            (&self.journal, state.defined, state.number)
        else {
            return Ok(0);
        };
        if mutant::is(Mutant::DefinitionNotCarried) {
            return Ok(0);
        }
        let mut record = self.definition(address, state, number);
        if let Record::Definition(definition) = &mut record {
            let is_stale = mutant::is(Mutant::DefinitionStale);
            if is_stale {
                definition.floor = Ordinal(0);
            }
            if is_stale || mutant::is(Mutant::LastOrdinalNotCarried) {
                definition.last = Ordinal(0);
            }
        }
        let live = |bytes| signed(bytes) - signed(defined.bytes);
        // A cache that does not exist does not come to be by being carried.
        let standing = match state.is_begun {
            true => Standing::Carried,
            false => Standing::CarriedBefore,
        };
        let appended = journal.append(&record, standing, Purpose::Freeing, live)?;
        state.set_defined(&appended);
        Ok(appended.bytes)
    }
}

//! Persistence of one address turned off or on by settings, while the store is open.
//!
//! An address that exists and is stored has a definition, from the moment on at which it is turned
//! on: what ends or renews an ID of it is a record then, as everywhere, though the IDs themselves
//! may be in memory only.

use std::sync::Arc;

use crate::address_settings::{AddressSettings, Effective, Pattern, SetBy};
use crate::error::Result;
use crate::ids::Ordinal;
use crate::journal::{Appended, Journal, Purpose, Refused, Standing};
use crate::mutant::{self, Mutant};
use crate::record::Record;
use crate::store::adding::{Placed, signed};
use crate::store::address::{Address, AddressState};
use crate::store::applying::check_ends;
use crate::store::set_aside::SetAside;
use crate::store::shared::Shared;

impl Shared {
    /// Whether stored IDs were to end with these settings though nobody has said that they may.
    pub(crate) fn would_end_unasked(&self, pattern: &Pattern, settings: &AddressSettings) -> bool {
        let is_defined = |state: &AddressState| state.defined.is_some();
        let ends = |effective: &Effective| !effective.is_stored() && check_ends(effective).is_err();
        !self
            .those_with((pattern, settings), is_defined, ends)
            .is_empty()
    }

    /// Gives a number to each address that these settings turn on: a limit is told before anything
    /// is changed.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`](crate::Error::Limit).
    pub(crate) fn number_those_turned_on(
        &self,
        pattern: &Pattern,
        settings: &AddressSettings,
    ) -> Result<()> {
        if self.journal.is_none() {
            return Ok(());
        }
        let is_unstored = |state: &AddressState| state.is_memory_only && state.is_begun;
        let turned_on = self.those_with((pattern, settings), is_unstored, Effective::is_stored);
        for address in turned_on {
            let mut state = address.state.lock();
            self.number(&address, &mut state)?;
        }
        Ok(())
    }

    /// The addresses that are of this kind and would have such settings.
    fn those_with(
        &self,
        (pattern, settings): (&Pattern, &AddressSettings),
        is_it: impl Fn(&AddressState) -> bool,
        would_be: impl Fn(&Effective) -> bool,
    ) -> Vec<Arc<Address>> {
        let mut found = self.matching(pattern);
        found.retain(|address| is_it(&address.state.lock()));
        // Nobody sees them in between.
        let mut patterns = self.patterns.lock();
        let before = patterns.set(SetBy::Call, pattern.clone(), *settings);
        found.retain(|address| would_be(&self.options.inherit(patterns.effective(&address.name))));
        patterns.set(SetBy::Call, pattern.clone(), before);
        found
    }

    /// Begins or ends to write what happens to an address to the journal.
    pub(crate) fn store_or_not(
        self: &Arc<Self>,
        address: &Arc<Address>,
        effective: &Effective,
        aside: &SetAside<'_>,
    ) -> Result<Placed<()>> {
        let is_stored = effective.is_stored();
        self.with_room(aside.room(Purpose::Freeing), || {
            let mut state = self.lock(address);
            let state = &mut *state;
            let Some(journal) = &self.journal else {
                return Ok((((), None), false));
            };
            if state.is_memory_only != is_stored {
                return Ok((((), None), false));
            }
            let appended = match is_stored {
                true => self.turn_on((address, state), journal, aside)?,
                false => {
                    if state.defined.is_some() {
                        check_ends(effective)?;
                    }
                    self.turn_off((address, state), journal, aside)?
                }
            };
            let end = appended.map(|appended| appended.end);
            let is_owing = appended.is_some_and(|appended| appended.is_owing);
            Ok((((), end), is_owing))
        })
    }

    fn turn_on(
        &self,
        (address, state): (&Arc<Address>, &mut AddressState),
        journal: &Journal,
        aside: &SetAside<'_>,
    ) -> std::result::Result<Option<Appended>, Refused> {
        // Until there is a definition nothing asks for it.
        if !mutant::is(Mutant::StoredFromForgotten) {
            state.stored_from = Ordinal(state.cache.last().0 + 1);
        }
        if !state.is_begun {
            state.is_memory_only = mutant::is(Mutant::OnForgotten);
            return Ok(None);
        }
        let number = self.number(address, state)?;
        let record = self.definition(address, state, number);
        let before = self.definition_before(state, number);
        // Until they go, its IDs count as if they had records.
        let counted = state.cache.live_bytes();
        let live = |bytes| signed(bytes) - signed(before) + signed(counted);
        let purpose = aside.purpose(&record, Purpose::Freeing);
        let appended = journal.append(&record, Standing::Alone, purpose, live)?;
        aside.spent(purpose);
        state.is_memory_only = mutant::is(Mutant::OnHalfDone);
        self.defined(state, number, &appended);
        Ok(Some(appended))
    }

    fn turn_off(
        &self,
        (address, state): (&Arc<Address>, &mut AddressState),
        journal: &Journal,
        aside: &SetAside<'_>,
    ) -> std::result::Result<Option<Appended>, Refused> {
        let is_recorded = !mutant::is(Mutant::EndNotRecorded);
        let Some(dropped) = state.dropped().filter(|_| is_recorded) else {
            state.is_memory_only = true;
            return Ok(None);
        };
        // A definition that a transaction in doubt needs for the name lives on.
        let mut extras = self.extras.lock();
        let freed = match extras.is_named(dropped.address) {
            true => state.cache.live_bytes(),
            false => state.all_live_bytes(),
        };
        let record = Record::Drop {
            dropped,
            other: None,
            time: self.now(),
        };
        let purpose = aside.purpose(&record, Purpose::Freeing);
        let live = |_| -signed(freed);
        let appended = journal.append(&record, Standing::Alone, purpose, live)?;
        aside.spent(purpose);
        state.forgot(dropped.floor, appended.end);
        state.is_memory_only = true;
        if let Some(defined) = state.defined.take() {
            extras.end_name(dropped.address, &defined);
        }
        state.incarnation = dropped.incarnation.saturating_add(1);
        let named_in = appended.end.segment();
        self.registry.dropped(dropped.address, address, named_in);
        Ok(Some(appended))
    }
}

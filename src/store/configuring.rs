//! Settings of addresses by pattern, at open and live.
//!
//! A pattern that a call sets is a record of its own, so that it holds for addresses that come
//! later, over restarts too. That record comes first, then the definitions of the addresses that it
//! changes: after a crash in between, the next open changes the rest before it returns.

use std::sync::Arc;
use std::time::Duration;

use crate::address_settings::{AddressSettings, Effective, Origin, Pattern, SetBy};
use crate::error::{Bytes, Cause, Error, Result};
use crate::ids::{Namespace, Position};
use crate::journal::{Purpose, Standing};
use crate::mutant::{self, Mutant};
use crate::options::{Fresh, Options, age_of, check_settings, ticks_of};
use crate::receipt::Receipt;
use crate::record::{Record, definition_bytes, encoded_bytes};
use crate::recovery::Configured;
use crate::stats::CacheStats;
use crate::store::Store;
use crate::store::adding::{Placed, signed};
use crate::store::address::{Address, AddressState};
use crate::store::set_aside::SetAside;
use crate::store::setting::Setting;
use crate::store::shared::Shared;

/// Addresses that are taken from the registry under one lock.
const BATCH: usize = 256;

impl Store {
    /// Sets what holds for the addresses that `pattern` matches, from now on and over restarts: all
    /// of it, in place of what an earlier call has set for the same pattern. Settings of which
    /// nothing is set take the pattern away.
    ///
    /// Patterns are those of [`Options::address_settings`]. Addresses that exist are changed before
    /// this returns, one after the other: its work is in proportion to how many match. A capacity
    /// or an age that was set by a call for one address stays. Where an `id_cache_size` or a
    /// `max_age` is not set any more, addresses that exist keep what they have. What shrinking
    /// forgets is told by [`CacheStats::shrunk`].
    ///
    /// Where persistence is turned off, IDs stay known until the store is closed, and nothing is
    /// known of them after that; where it is turned on, what is added from then on is stored.
    ///
    /// # Errors
    ///
    /// Of the receipt: [`Error::Options`] if the pattern means nothing, or if an address that it
    /// matches holds stored IDs and they may not be
    /// [ended](AddressSettings::end_stored_ids); [`Error::Limit`]; [`Error::NoSpace`]: nothing is
    /// changed then. What poisons the store: the next open finds the change whole, or not at all.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::{AddressSettings, Origin};
    /// let orders = store.cache("orders.eu")?;
    /// let settings = AddressSettings::default().id_cache_size(100_000);
    /// store.configure("orders.#", settings).wait()?;
    /// assert_eq!(orders.capacity(), 100_000);
    /// assert_eq!(orders.stats().capacity_origin, Origin::PatternByCall);
    /// # Ok(())
    /// # }
    /// ```
    pub fn configure(&self, pattern: impl AsRef<[u8]>, settings: AddressSettings) -> Receipt<()> {
        let shared = self.shared();
        match shared.configure(pattern.as_ref(), settings) {
            Ok(((), position)) => shared.receipt(Ok(()), position),
            Err(error) => Receipt::failed(error),
        }
    }

    /// The patterns that calls have set, in order of their bytes, with what each says.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::AddressSettings;
    /// let settings = AddressSettings::default().id_cache_size(100_000);
    /// store.configure("orders.#", settings).wait()?;
    /// let configured = store.configured();
    /// assert_eq!((&*configured[0].0.0, configured[0].1), (&b"orders.#"[..], settings));
    /// # Ok(())
    /// # }
    /// ```
    pub fn configured(&self) -> Vec<(Bytes, AddressSettings)> {
        let mut found = self.shared().patterns.lock().by_call();
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let found = found.into_iter();
        found
            .map(|(text, settings)| (Bytes::from(&*text), settings))
            .collect()
    }
}

impl Shared {
    /// What settings say of the address `name`.
    pub(crate) fn effective(&self, name: &[u8]) -> Effective {
        self.options.inherit(self.patterns.lock().effective(name))
    }

    /// What the address `name` begins with.
    pub(crate) fn fresh(&self, name: &[u8]) -> Fresh {
        Options::fresh(&self.effective(name))
    }

    /// The address, made with what settings say if it is not there.
    pub(crate) fn address(&self, namespace: Namespace, name: &[u8]) -> Arc<Address> {
        if let Some(address) = self.registry.get(namespace, name) {
            return address;
        }
        // Held until it is there: whoever changes settings meanwhile must find it.
        let patterns = self.patterns.lock();
        let effective = self.options.inherit(patterns.effective(name));
        let fresh = Options::fresh(&effective);
        self.registry.get_or_make(namespace, name, fresh)
    }

    fn configure(
        self: &Arc<Self>,
        text: &[u8],
        mut settings: AddressSettings,
    ) -> Result<Placed<()>> {
        self.check()?;
        check_settings(&settings)?;
        settings.max_age = settings.max_age.map(whole_ticks);
        settings.end_stored_ids &= settings.persistence.is_some();
        let _only_one = self.configuring.lock();
        let pattern = self.parse(text, &settings)?;
        self.number_those_turned_on(&pattern, &settings)?;
        let aside = self.set_aside(&pattern)?;
        let ((), mut position) = self.record_settings(&pattern, settings, &aside)?;
        for address in self.matching(&pattern) {
            let effective = self.effective(&address.name);
            let applied = self.apply(&address, &effective, &aside);
            position = position.max(applied.map_err(|error| self.broken_off(error))?);
            self.registry.let_go(&address);
        }
        Ok(((), position))
    }

    /// The pattern that `text` means, if it may have these settings.
    fn parse(&self, text: &[u8], settings: &AddressSettings) -> Result<Pattern> {
        let wrong = |why| Error::Options {
            option: "pattern",
            why,
        };
        let (max, actual) = (self.options.limits.address_bytes as u64, text.len() as u64);
        if actual > max {
            let limit = "bytes of a pattern";
            return Err(Error::Limit { limit, max, actual });
        }
        let pattern = {
            let patterns = self.patterns.lock();
            let (max, actual) = (self.options.limits.addresses, patterns.len() as u64 + 1);
            if actual > u64::from(max) {
                let (limit, max) = ("patterns", u64::from(max));
                return Err(Error::Limit { limit, max, actual });
            }
            patterns.parse(text).map_err(wrong)?
        };
        if self.would_end_unasked(&pattern, settings) {
            return Err(wrong(
                "it matches stored IDs; to end them, set end_stored_ids too",
            ));
        }
        Ok(pattern)
    }

    /// What a failure means behind the first record of a change, which is on its way to the disk:
    /// only the next open can finish it.
    fn broken_off(&self, error: Error) -> Error {
        match (&self.journal, error) {
            (Some(journal), error @ Error::NoSpace { .. }) => {
                let (place, source) = (journal.place(), Cause::from(error));
                journal.commit.poison(source.clone());
                Error::OutcomeUnknown { place, source }
            }
            (_, error) => error,
        }
    }

    /// Sets the space aside that the record of `pattern` takes, and three for each address that it
    /// matches: one with another capacity, one with another age, and its beginning or its end.
    fn set_aside(self: &Arc<Self>, pattern: &Pattern) -> Result<SetAside<'_>> {
        let record = Record::Settings {
            time: self.now(),
            pattern: pattern.text(),
            settings: AddressSettings::default(),
        };
        let mut longest = encoded_bytes(&record, true);
        let mut bytes = longest;
        for address in self.matching(pattern) {
            let state = address.state.lock();
            if state.defined.is_some() || state.is_begun {
                let definition = definition_bytes(address.name.len(), true);
                bytes += 3 * definition;
                longest = longest.max(definition);
            }
        }
        let aside = SetAside::nothing(self);
        aside.add(self, bytes, longest)?;
        Ok(aside)
    }

    /// Records what a pattern says, and puts it in force for addresses that come.
    fn record_settings(
        self: &Arc<Self>,
        pattern: &Pattern,
        settings: AddressSettings,
        aside: &SetAside<'_>,
    ) -> Result<Placed<()>> {
        self.with_room(aside.room(Purpose::Ordinary), || {
            let mut patterns = self.patterns.lock();
            let mut placed = (((), None), false);
            let is_recorded = !mutant::is(Mutant::SettingsNotRecorded);
            if let (Some(journal), true) = (&self.journal, is_recorded) {
                let mut extras = self.extras.lock();
                let (time, text) = (self.now(), pattern.text());
                let record = Record::Settings {
                    time,
                    pattern: text,
                    settings,
                };
                let before = extras.configured.get(text);
                let before = signed(before.map_or(0, |before| before.record_bytes));
                // The record that takes a pattern away need not live: those before it go with it.
                let live = |bytes| match settings.is_empty() {
                    true => -before,
                    false => signed(bytes) - before,
                };
                let purpose = aside.purpose(&record, Purpose::Ordinary);
                let appended = journal.append(&record, Standing::Alone, purpose, live)?;
                aside.spent(purpose);
                let configured = Configured {
                    settings,
                    time,
                    segment: appended.end.segment(),
                    record_bytes: appended.bytes,
                };
                match settings.is_empty() {
                    true => extras.configured.remove(text),
                    false => extras.configured.insert(Box::from(text), configured),
                };
                placed = (((), Some(appended.end)), appended.is_owing);
            }
            patterns.set(SetBy::Call, pattern.clone(), settings);
            Ok(placed)
        })
    }

    /// All addresses that `pattern` matches; one without wildcards is looked up.
    pub(crate) fn matching(&self, pattern: &Pattern) -> Vec<Arc<Address>> {
        if let Some(name) = pattern.name() {
            let both = [Namespace::Client, Namespace::Bridge];
            let found = both.map(|namespace| self.registry.get(namespace, name));
            return found.into_iter().flatten().collect();
        }
        let mut found = Vec::new();
        let mut last: Option<Arc<Address>> = None;
        loop {
            let after = last.as_ref().map(|last| (last.namespace, &*last.name));
            let addresses = self.registry.after(after, BATCH);
            let Some(address) = addresses.last() else {
                return found;
            };
            last = Some(Arc::clone(address));
            let matching = addresses.into_iter();
            found.extend(matching.filter(|address| pattern.matches(&address.name)));
        }
    }

    /// Gives an address what settings say of it; where the last record of that ends.
    fn apply(
        self: &Arc<Self>,
        address: &Arc<Address>,
        effective: &Effective,
        aside: &SetAside<'_>,
    ) -> Result<Option<Position>> {
        let mut position = self.store_or_not(address, effective, aside)?.1;
        // What does not exist begins with what is said by then, whoever holds a handle meanwhile.
        let fresh = Options::fresh(effective);
        let is_new = !address.state.lock().is_begun;
        let new_or = |said: Option<u64>, fresh| said.or(is_new.then_some(fresh));
        let ids = effective.id_cache_size.map(|(ids, _)| ids);
        if let Some(ids) = new_or(ids, fresh.capacity) {
            let (_, end) = self.set_from(address, Setting::Capacity(ids), false, aside)?;
            position = position.max(end);
        }
        let age = effective.max_age.map(|(age, _)| ticks_of(age));
        if let Some(age) = new_or(age, fresh.max_age) {
            let (_, end) = self.set_from(address, Setting::MaxAge(age), false, aside)?;
            position = position.max(end);
        }
        Ok(position)
    }

    /// Writes into `stats` what holds for an address and where each value comes from.
    pub(crate) fn tell_settings(
        &self,
        address: &Address,
        state: &AddressState,
        stats: &mut CacheStats,
    ) {
        let effective = self.effective(&address.name);
        let set = |origin: Option<Origin>, by_call| match by_call {
            true => Origin::Call,
            false => origin.unwrap_or_default(),
        };
        let size = effective.id_cache_size.map(|(_, origin)| origin);
        stats.capacity_origin = set(size, state.by_call);
        stats.max_age = age_of(state.cache.max_age());
        let age = effective.max_age.map(|(_, origin)| origin);
        stats.max_age_origin = set(age, state.age_by_call);
        stats.is_stored = self.journal_of(state).is_some();
        let persistence = effective.persistence.map(|(_, origin)| origin);
        stats.persistence_origin = match &self.journal {
            Some(_) => persistence.unwrap_or_default(),
            None => Origin::Options,
        };
    }
}

/// An age as it is stored: rounded up to ticks.
fn whole_ticks(age: Duration) -> Duration {
    age_of(ticks_of(age)).unwrap_or_default()
}

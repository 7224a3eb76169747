//! The settings of an address: a change is one record, its definition, which raises a floor so that
//! nothing comes back by a later change. All under the lock of the address.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::Forgotten;
use crate::error::{Error, Result};
use crate::format::CAPACITY_MAX;
use crate::ids::Ordinal;
use crate::journal::{Appended, Purpose, Refused, Standing};
use crate::mutant::{self, Mutant};
use crate::options::{age_of, age_ticks};
use crate::receipt::Receipt;
use crate::record::{Definition, Record};
use crate::store::adding::{Placed, signed};
use crate::store::address::{Address, AddressState};
use crate::store::handle::Cache;
use crate::store::set_aside::SetAside;
use crate::store::shared::Shared;

/// One setting with its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// How many adds the window holds.
    Capacity(u64),
    /// From which age in ticks on IDs are as if they were gone; 0 is none.
    MaxAge(u64),
}

impl Cache {
    /// Sets from which age on the IDs of this cache are as if they were gone, from now on and over
    /// restarts; `None` ends that.
    ///
    /// An ID of that age or older is counted nowhere, and its place may be taken by the same ID. A
    /// lower age forgets at once, a higher one revives nothing. The age of an ID is that of its add
    /// or [renewal](Cache::renew), in steps of 10 milliseconds: `age` is rounded up, and is one
    /// step at least. Time never goes back, over restarts too: if the clock of the system does, it
    /// stands still until that has made up for it. An age set by a call is not changed by the
    /// options of a later open.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`add`](Cache::add); the limit is that on addresses.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use std::time::Duration;
    /// let orders = store.cache("orders")?;
    /// orders.set_max_age(Some(Duration::from_secs(7 * 24 * 3600))).wait()?;
    /// assert_eq!(orders.max_age(), Some(Duration::from_secs(604_800)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_max_age(&self, age: Option<Duration>) -> Receipt<()> {
        let setting = Setting::MaxAge(age_ticks(age));
        self.receipt(self.handle.shared.set(&self.address, setting))
            .map(|_| ())
    }

    /// From which age on IDs are as if they were gone; none if there is no such age.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// assert_eq!(store.cache("orders")?.max_age(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_age(&self) -> Option<Duration> {
        age_of(self.address.state.lock().cache.max_age())
    }
}

impl Shared {
    /// Changes a setting of an address by a call; how many live IDs that forgets.
    pub(crate) fn set(
        self: &Arc<Self>,
        address: &Arc<Address>,
        setting: Setting,
    ) -> Result<Placed<u64>> {
        self.set_from(address, setting, true, &SetAside::nothing(self))
    }

    /// Changes a setting of an address, within the space that is set aside as long as that lasts;
    /// how many live IDs that forgets.
    pub(crate) fn set_from(
        self: &Arc<Self>,
        address: &Arc<Address>,
        setting: Setting,
        by_call: bool,
        aside: &SetAside<'_>,
    ) -> Result<Placed<u64>> {
        self.check()?;
        if let Setting::Capacity(actual) = setting
            && actual > CAPACITY_MAX
        {
            let (limit, max) = ("capacity", CAPACITY_MAX);
            return Err(Error::Limit { limit, max, actual });
        }
        let mut forgotten = Vec::new();
        let placed = self.with_room(aside.room(Purpose::Ordinary), || {
            let mut state = self.lock(address);
            let is_anothers = !by_call && state.is_by_call(setting);
            if state.has(setting, by_call) || is_anothers && !mutant::is(Mutant::SettingBeatsCall) {
                return Ok(((0, self.last_change(&state)), false));
            }
            let is_named = state.defined.is_some();
            if !by_call && !state.is_begun && !is_named {
                // There is only a handle: what it begins with is changed.
                forgotten.extend(state.put_in_force(setting, false));
                return Ok(((0, None), false));
            }
            let before = state.cache.len();
            let Some(journal) = self.journal_of(&state) else {
                forgotten.extend(state.put_in_force(setting, by_call));
                let shrunk = before - state.cache.len();
                state.figures.shrunk(shrunk);
                forgotten.extend(self.expire(&mut state));
                self.begun(&mut state);
                return Ok(((before - state.cache.len(), None), false));
            };
            let to = (setting, by_call);
            let appended = self.define_setting(address, &mut state, to, aside)?;
            let gone = state.put_in_force(setting, by_call);
            if by_call {
                self.begun(&mut state);
            }
            journal.change_live(-signed(gone.as_ref().map_or(0, |gone| gone.bytes)));
            forgotten.extend(gone);
            let shrunk = before - state.cache.len();
            state.figures.shrunk(shrunk);
            let floor = state.cache.floor();
            state.forgot(floor, appended.end);
            forgotten.extend(self.expire(&mut state));
            let count = before - state.cache.len();
            Ok(((count, Some(appended.end)), appended.is_owing))
        });
        drop(forgotten);
        placed
    }

    /// Writes the definition that an address will have with the setting: one record that raises a
    /// floor, so that neither a larger capacity nor a higher age revives anything (rule 12 of
    /// docs/design.md).
    fn define_setting(
        &self,
        address: &Arc<Address>,
        state: &mut AddressState,
        (setting, by_call): (Setting, bool),
        aside: &SetAside<'_>,
    ) -> std::result::Result<Appended, Refused> {
        let Some(journal) = &self.journal else {
            return Err(Refused::NoRoom);
        };
        let number = self.number(address, state)?;
        let last = state.cache.last().0;
        let mut record = self.definition(address, state, number);
        if let Record::Definition(definition) = &mut record {
            *definition = match setting {
                Setting::Capacity(capacity) => {
                    let kept = state.cache.capacity().min(capacity);
                    let floor = (last + 1).saturating_sub(kept).max(definition.floor.0);
                    Definition {
                        by_call,
                        capacity,
                        floor: Ordinal(floor),
                        ..*definition
                    }
                }
                Setting::MaxAge(max_age) => Definition {
                    age_by_call: by_call,
                    max_age,
                    floor: match mutant::is(Mutant::AgeRevives) {
                        true => Ordinal(0),
                        false => definition.floor,
                    },
                    ..*definition
                },
            };
        }
        let before = self.definition_before(state, number);
        let live = |bytes| signed(bytes) - signed(before);
        let purpose = aside.purpose(&record, Purpose::Ordinary);
        // A definition that is there for a transaction in doubt does not begin the cache.
        let standing = match by_call || state.is_begun {
            true => Standing::Alone,
            false => Standing::Before,
        };
        let appended = journal.append(&record, standing, purpose, live)?;
        aside.spent(purpose);
        self.defined(state, number, &appended);
        Ok(appended)
    }
}

impl AddressState {
    fn put_in_force(&mut self, setting: Setting, by_call: bool) -> Option<Forgotten> {
        match setting {
            Setting::Capacity(ids) => {
                self.by_call = by_call;
                Some(self.cache.set_capacity(ids))
            }
            Setting::MaxAge(ticks) => {
                self.age_by_call = by_call;
                self.cache.set_max_age(ticks);
                None
            }
        }
    }

    /// Whether a call has set it.
    fn is_by_call(&self, setting: Setting) -> bool {
        match setting {
            Setting::Capacity(_) => self.by_call,
            Setting::MaxAge(_) => self.age_by_call,
        }
    }

    /// Whether the setting is this already, from this origin.
    fn has(&self, setting: Setting, by_call: bool) -> bool {
        match setting {
            Setting::Capacity(ids) => (self.cache.capacity(), self.by_call) == (ids, by_call),
            Setting::MaxAge(ticks) => (self.cache.max_age(), self.age_by_call) == (ticks, by_call),
        }
    }
}

//! What options and patterns say, given to all addresses at open before anybody can use them.

use std::sync::Arc;

use crate::address_settings::Effective;
use crate::error::{Bytes, Error, Result};
use crate::ids::Position;
use crate::options::{age_of, ticks_of};
use crate::recovery::{AgeChange, CapacityChange, EndedCache, RecoveryReport};
use crate::store::address::Address;
use crate::store::set_aside::SetAside;
use crate::store::setting::Setting;
use crate::store::shared::Shared;

impl Shared {
    /// Gives all addresses what options and patterns say, durably, and reports what that changed.
    pub(crate) fn apply_options(self: &Arc<Self>, report: &mut RecoveryReport) -> Result<()> {
        let is_silent = self.effective_of_all().is_none() && self.patterns.lock().is_empty();
        if is_silent {
            return Ok(());
        }
        let addresses = self.registry.numbered();
        // Refused before anything is changed.
        for address in &addresses {
            let effective = self.effective(&address.name);
            if !effective.is_stored() && address.state.lock().defined.is_some() {
                check_ends(&effective)?;
            }
        }
        let mut end = None;
        for address in &addresses {
            end = end.max(self.apply_at_open(address, report)?);
        }
        match (&self.journal, end) {
            (Some(journal), Some(end)) => journal.wait(end),
            _ => Ok(()),
        }
    }

    /// What the options say of all addresses; none if nothing.
    fn effective_of_all(&self) -> Option<Effective> {
        let effective = self.options.inherit(Effective::default());
        (effective != Effective::default()).then_some(effective)
    }

    fn apply_at_open(
        self: &Arc<Self>,
        address: &Arc<Address>,
        report: &mut RecoveryReport,
    ) -> Result<Option<Position>> {
        let effective = self.effective(&address.name);
        let (old, old_age, len, is_defined) = {
            let state = address.state.lock();
            let (old, old_age) = (state.cache.capacity(), state.cache.max_age());
            (old, old_age, state.cache.len(), state.defined.is_some())
        };
        if !is_defined {
            return Ok(None);
        }
        let (namespace, name) = (address.namespace, Bytes::from(&*address.name));
        if !effective.is_stored() {
            let (_, end) = self.drop_addresses(&[Arc::clone(address)])?;
            address.state.lock().is_memory_only = true;
            report.ended_caches.push(EndedCache {
                namespace,
                address: name,
                forgotten: len,
            });
            return Ok(end);
        }
        let mut end = None;
        let none = SetAside::nothing(self);
        if let Some((new, _)) = effective.id_cache_size {
            let (forgotten, position) =
                self.set_from(address, Setting::Capacity(new), false, &none)?;
            end = end.max(position);
            if address.state.lock().cache.capacity() != old {
                report.capacity_changes.push(CapacityChange {
                    namespace,
                    address: name.clone(),
                    old,
                    new,
                    forgotten,
                });
            }
        }
        if let Some((age, _)) = effective.max_age {
            let new = ticks_of(age);
            let (forgotten, position) =
                self.set_from(address, Setting::MaxAge(new), false, &none)?;
            end = end.max(position);
            if address.state.lock().cache.max_age() != old_age {
                report.age_changes.push(AgeChange {
                    namespace,
                    address: name,
                    old: age_of(old_age),
                    new: age_of(new),
                    forgotten,
                });
            }
        }
        Ok(end)
    }
}

/// What is stored may be ended only where that was said.
pub(crate) fn check_ends(effective: &Effective) -> Result<()> {
    let may_end = effective
        .persistence
        .is_some_and(|(persistence, _)| persistence.ends_stored_ids);
    if may_end {
        return Ok(());
    }
    Err(Error::Options {
        option: "address_settings",
        why: "persistence is off for stored IDs; to end them, set end_stored_ids too",
    })
}

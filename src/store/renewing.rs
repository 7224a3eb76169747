//! What is kept with an ID, and giving a known one the newest place. All under the lock of the
//! address.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::{VALUE_BYTES_MAX, record_bytes_max};
use crate::ids::{Ordinal, Ticks};
use crate::journal::{Appended, Purpose, Refused};
use crate::receipt::Receipt;
use crate::record::{Add, AddForm, add_bytes, definition_bytes};
use crate::store::adding::{Placed, signed};
use crate::store::address::{Address, AddressState};
use crate::store::handle::Cache;
use crate::store::shared::Shared;

impl Cache {
    /// Gives a known ID the newest place, as if it had been added now, with what is kept with it;
    /// the outcome tells whether it was known.
    ///
    /// It counts as an add: the oldest place may leave the window for it, and the place before is a
    /// hole. A pending ID is not known. Renewing what is not known writes nothing.
    ///
    /// # Errors
    ///
    /// Of the receipt: those of [`add`](Cache::add).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(idjournal::Options::default().id_cache_size(2))?;
    /// let orders = store.cache("orders")?;
    /// let _ = (orders.add("a")?, orders.add("b")?);
    /// assert!(orders.renew("a").wait()?);
    /// let _ = orders.add("c")?;
    /// assert!(orders.contains("a")? && !orders.contains("b")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn renew(&self, id: impl AsRef<[u8]>) -> Receipt<bool> {
        self.receipt(self.handle.shared.renew(&self.address, id.as_ref()))
    }

    /// Puts into `value` what is [kept](crate::Reservation::confirm_with) with `id`, in place of
    /// what is there; whether the ID is known. One that was recorded without a value has no bytes.
    ///
    /// As with [`contains`](Cache::contains), a "true" may wait for a sync.
    ///
    /// # Errors
    ///
    /// As [`contains`](Cache::contains).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// let orders = store.cache("orders")?;
    /// let _ = orders.add("order-1842")?;
    /// let mut value = Vec::new();
    /// assert!(orders.value("order-1842", &mut value)? && value.is_empty());
    /// assert!(!orders.value("order-1843", &mut value)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn value(&self, id: impl AsRef<[u8]>, value: &mut Vec<u8>) -> Result<bool> {
        let (shared, id) = (&self.handle.shared, id.as_ref());
        value.clear();
        shared.check()?;
        let hash = shared.hash(id);
        let position = {
            let state = shared.lock(&self.address);
            let found = state.cache.find(hash, id);
            let Some(known) = found.and_then(|ordinal| state.cache.get(ordinal)) else {
                return Ok(false);
            };
            value.extend_from_slice(known.value);
            shared.unsynced(&state, known.ordinal)
        };
        if let Err(error) = shared.wait(position) {
            value.clear();
            return Err(error);
        }
        Ok(true)
    }
}

impl Shared {
    /// Gives `id` the newest place, if it is known: whether it is.
    pub(crate) fn renew(
        self: &Arc<Self>,
        address: &Arc<Address>,
        id: &[u8],
    ) -> Result<Placed<bool>> {
        self.check()?;
        self.check_id(id)?;
        let hash = self.hash(id);
        let mut value = Vec::new();
        self.with_room(Purpose::Ordinary, || {
            let mut state = self.lock(address);
            let Some(old) = state.cache.find(hash, id) else {
                return Ok(((false, self.last_change(&state)), false));
            };
            value.clear();
            let kept = state.cache.get(old).map(|known| known.value);
            value.extend_from_slice(kept.unwrap_or_default());
            let appended = self.record_renew(&mut state, old, (hash, id, &value))?;
            self.look_at_eviction(address, &mut state);
            let is_owing = appended.is_some_and(|appended| appended.is_owing);
            Ok(((true, appended.map(|appended| appended.end)), is_owing))
        })
    }

    /// Records that the ID at `old` has the next ordinal.
    fn record_renew(
        &self,
        state: &mut AddressState,
        old: Ordinal,
        (hash, id, value): (u64, &[u8], &[u8]),
    ) -> std::result::Result<Option<Appended>, Refused> {
        let (time, ordinal) = (self.now(), state.cache.next());
        let (Some(journal), Some(number)) = (self.journal_of(state), state.number) else {
            state.renewed(old, (hash, id), value, (time, id.len() as u64));
            return Ok(None);
        };
        let add = Add {
            address: number,
            ordinal,
            time,
            value: (!value.is_empty()).then_some(value),
            id,
        };
        let freed = state.cache.get(old).map_or(0, |known| known.record_bytes);
        // What is pushed out may be the ID's own place before.
        let is_own = old.0.checked_add(state.cache.capacity()) == Some(ordinal.0);
        let evicted = if is_own {
            0
        } else {
            state.cache.eviction_bytes()
        };
        let (base, live) = (state.base.segment(), -signed(freed + evicted));
        let appended = journal.append_renew(&add, old, &mut state.base, live)?;
        state.renewed(old, (hash, id), value, (time, appended.bytes));
        if state.base.segment() != base {
            state.begins_segment(ordinal);
        }
        state.note(ordinal, appended.end, journal.commit.durable());
        Ok(Some(appended))
    }

    /// The most bytes that recording an ID may take in the journal, with its address's definition
    /// and the longest value; and the longer of the two records.
    ///
    /// Setting the value aside costs no time, only that a claim which is open on a full disk takes
    /// 256 bytes more than it may need (docs/design.md).
    pub(crate) fn claim_bytes(&self, address: &Address, id_bytes: usize) -> (u64, u64) {
        let definition = definition_bytes(address.name.len(), true);
        let longest = self.value_bytes_max(id_bytes);
        let add = add_bytes(id_bytes, longest, AddForm::Whole, true);
        (definition + add, definition.max(add))
    }

    /// A value beyond its limit, or one that does not fit a record with its ID, is refused.
    pub(crate) fn check_value(&self, id_bytes: usize, value_bytes: usize) -> Result<()> {
        let (max, actual) = (self.value_bytes_max(id_bytes) as u64, value_bytes as u64);
        if actual > max {
            let limit = "bytes of a value";
            return Err(Error::Limit { limit, max, actual });
        }
        Ok(())
    }

    /// The longest value that may be kept with an ID of `id_bytes`.
    fn value_bytes_max(&self, id_bytes: usize) -> usize {
        if self.journal.is_none() {
            return VALUE_BYTES_MAX;
        }
        let max = record_bytes_max(self.options.segment_bytes);
        let plain = add_bytes(id_bytes, 1, AddForm::Whole, true);
        let longest = (max + 1).saturating_sub(plain);
        usize::try_from(longest).map_or(VALUE_BYTES_MAX, |longest| longest.min(VALUE_BYTES_MAX))
    }
}

impl AddressState {
    /// Gives the ID at `old` the next ordinal in the cache.
    fn renewed(&mut self, old: Ordinal, id: (u64, &[u8]), value: &[u8], of_add: (Ticks, u64)) {
        self.cache.remove(old);
        let (time, record_bytes) = of_add;
        self.remember(id, value, time, record_bytes);
        self.figures.count().renewed += 1;
    }
}

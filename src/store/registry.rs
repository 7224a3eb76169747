//! All addresses of a store, by name and by number.
//!
//! A number is given again only when no record with it can be on disk: until the segment of the
//! drop is released, the address keeps it, and counts its ordinals on from there (rule 12 of
//! docs/design.md).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::facade::Mutex;
use crate::ids::{Namespace, SegmentNumber};
use crate::options::Fresh;
use crate::store::address::Address;
use crate::store::by_name::ByName;
use crate::store::figures::Gone;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    /// What addresses have counted that it let go.
    pub(crate) gone: Gone,
}

#[derive(Default)]
struct Inner {
    by_name: ByName,
    by_number: Vec<Option<Arc<Address>>>,
    free_numbers: Vec<u32>,
    used_numbers: u32,
    /// Dropped addresses by number, with the last segment that names each.
    dropped: BTreeMap<u32, (SegmentNumber, Arc<Address>)>,
    /// Numbers of dropped addresses whose name is no longer known.
    nameless: Vec<(SegmentNumber, u32)>,
}

impl Registry {
    /// The address, made with `fresh` settings if it is not there.
    pub(crate) fn get_or_make(
        &self,
        namespace: Namespace,
        name: &[u8],
        fresh: Fresh,
    ) -> Arc<Address> {
        let mut inner = self.inner.lock();
        if let Some(known) = inner.by_name.get(namespace, name) {
            return Arc::clone(known);
        }
        let made = Arc::new(Address::new(namespace, name, fresh));
        inner.by_name.insert(Arc::clone(&made));
        made
    }

    pub(crate) fn get(&self, namespace: Namespace, name: &[u8]) -> Option<Arc<Address>> {
        self.inner.lock().by_name.get(namespace, name).cloned()
    }

    pub(crate) fn by_number(&self, number: u32) -> Option<Arc<Address>> {
        let index = usize::try_from(number).ok()?;
        self.inner.lock().by_number.get(index)?.clone()
    }

    /// Gives `address` a number that no record on disk names.
    pub(crate) fn assign(&self, address: &Arc<Address>, max: u32) -> Result<u32> {
        let mut inner = self.inner.lock();
        if inner.used_numbers >= max {
            let (max, actual) = (u64::from(max), u64::from(inner.used_numbers) + 1);
            return Err(Error::Limit {
                limit: "addresses",
                max,
                actual,
            });
        }
        let number = match inner.free_numbers.pop() {
            Some(number) => number,
            None => u32::try_from(inner.by_number.len()).unwrap_or(u32::MAX),
        };
        inner.place(number, Some(Arc::clone(address)));
        inner.used_numbers += 1;
        Ok(number)
    }

    /// Takes an address in as recovery found it.
    pub(crate) fn restore(&self, number: u32, address: &Arc<Address>) {
        let mut inner = self.inner.lock();
        inner.by_name.insert(Arc::clone(address));
        inner.place(number, Some(Arc::clone(address)));
        inner.used_numbers += 1;
    }

    /// Keeps a number from being given while records on disk name it.
    pub(crate) fn restore_nameless(&self, number: u32, named_in: SegmentNumber) {
        let mut inner = self.inner.lock();
        inner.place(number, None);
        inner.used_numbers += 1;
        inner.nameless.push((named_in, number));
    }

    /// Finds the numbers that nothing has, after everything was restored.
    pub(crate) fn restored(&self) {
        let mut inner = self.inner.lock();
        let nameless: Vec<u32> = inner.nameless.iter().map(|(_, number)| *number).collect();
        let numbers = (0..).zip(&inner.by_number);
        let free = numbers
            .filter(|(_, address)| address.is_none())
            .map(|(number, _)| number);
        let free = free.filter(|number| !nameless.contains(number)).collect();
        inner.free_numbers = free;
    }

    /// The address of this number was dropped; `named_in` is the segment of the record that says
    /// so.
    pub(crate) fn dropped(&self, number: u32, address: &Arc<Address>, named_in: SegmentNumber) {
        // It stands there once, however often it was dropped: its holders are counted.
        let dropped = (named_in, Arc::clone(address));
        self.inner.lock().dropped.insert(number, dropped);
    }

    /// Segments below `oldest` are gone: lets go of what only they named.
    pub(crate) fn released(&self, oldest: SegmentNumber) {
        let mut inner = self.inner.lock();
        let (gone, kept) = std::mem::take(&mut inner.nameless)
            .into_iter()
            .partition(|(segment, _)| *segment < oldest);
        inner.nameless = kept;
        let gone: Vec<(SegmentNumber, u32)> = gone;
        for (_, number) in gone {
            inner.free_numbers.push(number);
            inner.used_numbers -= 1;
        }
        let dropped = std::mem::take(&mut inner.dropped);
        for (number, (segment, address)) in dropped {
            // Nobody else can get at the address but through this registry, whose lock is held: by
            // name, by number and from this list.
            let is_held = Arc::strong_count(&address) > 3;
            // An address locks itself before this registry, so that here it may only be tried.
            let Some(mut state) = address.state.try_lock() else {
                inner
                    .dropped
                    .insert(number, (segment, Arc::clone(&address)));
                continue;
            };
            if state.defined.is_some() {
                continue;
            }
            if segment >= oldest || is_held || state.claims.len() > 0 {
                drop(state);
                inner.dropped.insert(number, (segment, address));
                continue;
            }
            if let Some(number) = state.number.take() {
                inner.place(number, None);
                inner.free_numbers.push(number);
                inner.used_numbers -= 1;
            }
            // In memory only it may exist all the same.
            if state.is_begun {
                continue;
            }
            if inner.is_named(&address) {
                self.gone.take(&state);
            }
            drop(state);
            inner.forget_name(&address);
        }
    }

    /// A handle of `address` is about to go: forgets an address that nothing was ever recorded of.
    pub(crate) fn let_go(&self, address: &Arc<Address>) {
        let mut inner = self.inner.lock();
        let Some(mut state) = address.state.try_lock() else {
            return;
        };
        // The map by name, the handle, and the map by number.
        let held = 2 + usize::from(state.number.is_some());
        let was_recorded = state.defined.is_some() || state.incarnation > 0;
        let was_stored = state.cache.last().0 > 0 && !state.is_memory_only;
        let is_named = state.number.is_some() && (was_recorded || was_stored);
        let is_needed = is_named || state.is_begun || state.claims.len() > 0;
        if Arc::strong_count(address) > held || is_needed {
            return;
        }
        // A number without a record: only a claim has asked for it.
        if let Some(number) = state.number.take() {
            inner.place(number, None);
            inner.free_numbers.push(number);
            inner.used_numbers -= 1;
        }
        self.gone.take(&state);
        drop(state);
        inner.by_name.remove(address);
    }

    /// Up to `limit` addresses behind `after`, in order of namespace and name.
    pub(crate) fn after(
        &self,
        after: Option<(Namespace, &[u8])>,
        limit: usize,
    ) -> Vec<Arc<Address>> {
        let inner = self.inner.lock();
        inner.by_name.after(after).take(limit).cloned().collect()
    }

    /// The last ordinals of all addresses, summed up.
    pub(crate) fn last_ordinals(&self) -> u64 {
        let inner = self.inner.lock();
        let last = |address: &Arc<Address>| address.state.lock().cache.last().0;
        inner
            .by_name
            .after(None)
            .map(last)
            .fold(0, u64::wrapping_add)
    }

    /// All addresses that have a number, if they are no more than `max`.
    pub(crate) fn few_numbered(&self, max: usize) -> Option<Vec<Arc<Address>>> {
        let inner = self.inner.lock();
        let numbered = inner.by_number.iter().flatten();
        (inner.by_number.len() <= max).then(|| numbered.cloned().collect())
    }

    /// How many numbers there are.
    pub(crate) fn number_count(&self) -> u64 {
        self.inner.lock().by_number.len() as u64
    }

    /// Those of so many numbers from `first` on that have an address.
    pub(crate) fn numbered_from(&self, first: u64, count: u64) -> Vec<Arc<Address>> {
        let narrow = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let inner = self.inner.lock();
        let numbers = inner.by_number.iter().skip(narrow(first));
        numbers.take(narrow(count)).flatten().cloned().collect()
    }

    /// All addresses that have a number.
    pub(crate) fn numbered(&self) -> Vec<Arc<Address>> {
        self.inner
            .lock()
            .by_number
            .iter()
            .flatten()
            .cloned()
            .collect()
    }
}

impl Inner {
    /// Whether its name stands for `address`, not for another one by now.
    fn is_named(&self, address: &Arc<Address>) -> bool {
        let named = self.by_name.get(address.namespace, &address.name);
        named.is_some_and(|named| Arc::ptr_eq(named, address))
    }

    /// Takes out the name of `address`, unless it stands for another one by now.
    fn forget_name(&mut self, address: &Arc<Address>) {
        if self.is_named(address) {
            self.by_name.remove(address);
        }
    }

    fn place(&mut self, number: u32, address: Option<Arc<Address>>) {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        if self.by_number.len() <= index {
            self.by_number.resize(index + 1, None);
        }
        if let Some(place) = self.by_number.get_mut(index) {
            *place = address;
        }
    }
}

//! Addresses by namespace and name, which stand in the address alone.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use crate::ids::Namespace;
use crate::store::address::Address;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct ByName {
    named: BTreeSet<Named>,
}

impl ByName {
    pub(crate) fn get(&self, namespace: Namespace, name: &[u8]) -> Option<&Arc<Address>> {
        let key: &dyn Key = &(namespace, name);
        self.named.get(key).map(|named| &named.0)
    }

    /// Takes `address` in, in place of one of the same name.
    pub(crate) fn insert(&mut self, address: Arc<Address>) {
        self.named.replace(Named(address));
    }

    /// Takes out what has the name of `address`.
    pub(crate) fn remove(&mut self, address: &Address) {
        let key: &dyn Key = address;
        self.named.remove(key);
    }

    /// All behind `after` in order.
    pub(crate) fn after(
        &self,
        after: Option<(Namespace, &[u8])>,
    ) -> impl Iterator<Item = &Arc<Address>> {
        let begin = match &after {
            Some(after) => Bound::Excluded(after as &dyn Key),
            None => Bound::Unbounded,
        };
        let behind = self.named.range::<dyn Key, _>((begin, Bound::Unbounded));
        behind.map(|named| &named.0)
    }
}

struct Named(Arc<Address>);

/// What addresses are ordered by.
trait Key {
    fn key(&self) -> (Namespace, &[u8]);
}

impl Key for Address {
    fn key(&self) -> (Namespace, &[u8]) {
        (self.namespace, &self.name)
    }
}

impl Key for (Namespace, &[u8]) {
    fn key(&self) -> (Namespace, &[u8]) {
        *self
    }
}

impl<'a> Borrow<dyn Key + 'a> for Named {
    fn borrow(&self) -> &(dyn Key + 'a) {
        &*self.0
    }
}

impl Ord for dyn Key + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for dyn Key + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Key + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for dyn Key + '_ {}

impl Ord for Named {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(&other.0.key())
    }
}

impl PartialOrd for Named {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for Named {}

//! Applies records to caches while recovering.
//!
//! The order of the journal is the order of calls. But what lives was carried forward: a copy may
//! come after younger adds, and the definition of an address after its first records. Ordinals make
//! the outcome the same (rule 12 of docs/design.md).

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::cache::{Cache, Restored};
use crate::error::{DamageReason, Error, Result};
use crate::format::{ADDRESSES_MAX, CAPACITY_MAX};
use crate::hash::IdHasher;
use crate::ids::{Namespace, Ordinal, Position, SegmentNumber, Ticks};
use crate::mutant::{self, Mutant};
use crate::record::{
    Add, Decoded, Definition, Element, Elements, Record, TransactionBody, transaction_bytes,
};
use crate::recovery::ahead::for_each;
use crate::recovery::beside::{Bookmark, Configured, Prepared};

/// So many IDs that finding their places in the indexes is work for all cores.
const MANY_IDS: u64 = 100_000;

/// Everything that the journal says, applied.
pub(crate) struct Replayed {
    pub(super) hasher: IdHasher,
    pub(crate) addresses: HashMap<u32, ReplayedAddress, RandomState>,
    pub(crate) bookmarks: HashMap<Box<[u8]>, Bookmark>,
    pub(crate) prepared: HashMap<Box<[u8]>, Prepared>,
    pub(crate) configured: HashMap<Box<[u8]>, Configured>,
    /// The ordinals that committed transactions have given, by where their prepare stands.
    pub(crate) committed: BTreeMap<Position, Box<[Ordinal]>>,
    /// How many later copies there are of a record that is still there itself: those are not copied
    /// again.
    pub(crate) copies: HashMap<(u32, Ordinal), u32>,
    pub(crate) newest_time: Ticks,
    pub(crate) records: u64,
}

/// An address as the journal leaves it.
pub(crate) struct ReplayedAddress {
    pub(crate) cache: Cache,
    /// Its definition, if it has one and was not dropped since.
    pub(crate) defined: Option<Defined>,
    /// The last one before the address was dropped, which still gives its name.
    pub(crate) ended: Option<Defined>,
    /// Whether the cache exists: a definition before the first add says nothing without that.
    pub(crate) is_begun: bool,
    /// The incarnation of its last definition or drop.
    pub(crate) incarnation: u32,
    /// Its name, also after a drop.
    pub(crate) name: Option<(Namespace, Box<[u8]>)>,
    /// The last segment that names it.
    pub(crate) named_in: SegmentNumber,
    is_capacity_known: bool,
}

/// The definition of an address that exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defined {
    pub(crate) by_call: bool,
    pub(crate) age_by_call: bool,
    /// The segment of the last definition, which is the one that lives.
    pub(crate) segment: SegmentNumber,
    pub(crate) record_bytes: u64,
}

/// Where a record stands.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) segment: SegmentNumber,
    pub(crate) offset: u64,
}

impl At {
    pub(super) fn position(self) -> Position {
        Position::new(self.segment, self.offset)
    }
}

/// The bytes that an element has, with its part of the record of `count` elements around it.
pub(crate) fn element_bytes(count: u64, element: &Element<'_>) -> u64 {
    let own = match element {
        Element::Add { value, id, .. } => TransactionBody::add_bytes(id.len(), *value),
        Element::Remove { .. } => TransactionBody::REMOVE_BYTES,
        Element::Bookmark { name, value } => TransactionBody::bookmark_bytes(name, value),
    };
    own as u64 + transaction_bytes(0, false) / count.max(1)
}

impl Replayed {
    pub(crate) fn new(hasher: IdHasher) -> Replayed {
        Replayed {
            hasher,
            addresses: HashMap::default(),
            bookmarks: HashMap::new(),
            prepared: HashMap::new(),
            configured: HashMap::new(),
            committed: BTreeMap::new(),
            copies: HashMap::new(),
            newest_time: Ticks(0),
            records: 0,
        }
    }

    /// Applies one record.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if it contradicts those before it.
    pub(crate) fn apply(&mut self, at: At, decoded: &Decoded<'_>) -> Result<()> {
        self.records += 1;
        match &decoded.record {
            Record::Add(add) => {
                self.add(
                    at,
                    add,
                    self.hasher.hash(add.id),
                    (decoded.bytes, decoded.carried),
                )?;
            }
            Record::Renew { add, old } => {
                self.at(at, add.address)?.cache.remove(*old);
                self.add(
                    at,
                    add,
                    self.hasher.hash(add.id),
                    (decoded.bytes, decoded.carried),
                )?;
            }
            Record::Remove {
                address,
                ordinal,
                time,
            } => {
                self.newest_time = self.newest_time.max(*time);
                self.at(at, *address)?.cache.remove(*ordinal);
            }
            Record::Clear {
                address,
                floor,
                time,
            } => {
                self.newest_time = self.newest_time.max(*time);
                drop(self.at(at, *address)?.cache.forget_below(*floor));
            }
            Record::Drop {
                dropped,
                other,
                time,
            } => {
                self.newest_time = self.newest_time.max(*time);
                for dropped in [Some(*dropped), *other].into_iter().flatten() {
                    let address = self.at(at, dropped.address)?;
                    if !mutant::is(Mutant::DropIsNoBarrier) {
                        drop(address.cache.forget_below(dropped.floor));
                    }
                    address.ended = address.defined.take().or(address.ended);
                    address.is_begun = false;
                    address.incarnation = dropped.incarnation;
                }
            }
            Record::Definition(definition) => self.define(at, definition, decoded)?,
            Record::Transaction { time, elements } => self.transaction(at, *time, elements)?,
            Record::Prepare {
                time,
                owner,
                transaction,
                elements,
            } => self.prepare(at, (*time, *owner), transaction, (elements, decoded.bytes))?,
            Record::Commit {
                time,
                transaction,
                ordinals,
            } => self.commit(at, *time, transaction, *ordinals)?,
            Record::RollBack { time, transaction } => {
                self.newest_time = self.newest_time.max(*time);
                self.prepared.remove(*transaction);
            }
            Record::Bookmark { time, name, value } => {
                self.bookmark(at.segment, *time, (name, value), decoded.bytes);
            }
            Record::Settings {
                time,
                pattern,
                settings,
            } => {
                self.newest_time = self.newest_time.max(*time);
                let configured = Configured {
                    settings: *settings,
                    time: *time,
                    segment: at.segment,
                    record_bytes: decoded.bytes,
                };
                match settings.is_empty() {
                    true => self.configured.remove(*pattern),
                    false => self.configured.insert(Box::from(*pattern), configured),
                };
            }
            Record::Mark
            | Record::Seal { .. }
            | Record::Release { .. }
            | Record::Skipped { .. } => {}
        }
        Ok(())
    }

    /// Applies an add of which the hash of its ID is known; `record` is the length of its record
    /// and whether that is a copy.
    pub(crate) fn apply_add(
        &mut self,
        at: At,
        add: &Add<'_>,
        hash: u64,
        record: (u64, bool),
    ) -> Result<()> {
        self.records += 1;
        self.add(at, add, hash, record)
    }

    /// Ends the replay. Checks what can only be known then: what lives has a name.
    pub(crate) fn finish(&mut self, end: At) -> Result<()> {
        let newest = self.newest_time;
        let caches = self
            .addresses
            .values_mut()
            .map(|address| &mut address.cache);
        let caches: Vec<_> = caches.collect();
        let ids: u64 = caches.iter().map(|cache| cache.len()).sum();
        for_each(caches, ids >= MANY_IDS, |cache| {
            drop(cache.expire(newest));
            cache.restored();
        });
        self.check_prepared()?;
        let nameless = self
            .addresses
            .values()
            .any(|address| address.defined.is_none() && address.cache.len() > 0);
        if nameless {
            return Err(malformed(
                end,
                "an ID lives in an address without a definition",
            ));
        }
        Ok(())
    }

    pub(super) fn at(&mut self, at: At, address: u32) -> Result<&mut ReplayedAddress> {
        if address >= ADDRESSES_MAX {
            return Err(malformed(at, "an address number is too high"));
        }
        let entry = self
            .addresses
            .entry(address)
            .or_insert_with(|| ReplayedAddress {
                cache: Cache::new(CAPACITY_MAX),
                defined: None,
                ended: None,
                is_begun: false,
                incarnation: 0,
                name: None,
                named_in: at.segment,
                is_capacity_known: false,
            });
        entry.named_in = at.segment;
        Ok(entry)
    }

    pub(super) fn add(
        &mut self,
        at: At,
        add: &Add<'_>,
        hash: u64,
        (bytes, is_carried): (u64, bool),
    ) -> Result<()> {
        self.newest_time = self.newest_time.max(add.time);
        let address = self.at(at, add.address)?;
        address.is_begun = true;
        let cache = &mut address.cache;
        if !is_carried && add.ordinal <= cache.last() {
            return Err(malformed(at, "an ordinal does not rise"));
        }
        if !is_carried {
            // An add passes over what had expired by then: whatever is said of age or time later,
            // that does not come back.
            drop(cache.expire(add.time));
        }
        let value = add.value.unwrap_or_default();
        let ordinal = if mutant::is(Mutant::CountSurvivors) && !cache.is_live(add.ordinal) {
            cache.next()
        } else {
            add.ordinal
        };
        let restored = cache.restore(ordinal, hash, add.id, value, add.time, bytes);
        if restored == Restored::Copy {
            *self.copies.entry((add.address, add.ordinal)).or_default() += 1;
        }
        Ok(())
    }

    fn define(&mut self, at: At, definition: &Definition<'_>, decoded: &Decoded<'_>) -> Result<()> {
        self.newest_time = self.newest_time.max(definition.time);
        let address = self.at(at, definition.address)?;
        if definition.incarnation < address.incarnation {
            return Err(malformed(at, "an incarnation does not rise"));
        }
        let name = (definition.namespace, Box::from(definition.name));
        let is_other = address.name.as_ref().is_some_and(|known| *known != name);
        if is_other && address.defined.is_some() {
            return Err(malformed(at, "an address has two names"));
        }
        address.name = Some(name);
        address.incarnation = definition.incarnation;
        address.defined = Some(Defined {
            by_call: definition.by_call,
            age_by_call: definition.age_by_call,
            segment: at.segment,
            record_bytes: decoded.bytes,
        });
        address.is_begun |= decoded.end_of_group;
        let cache = &mut address.cache;
        cache.restore_last(definition.last);
        if !address.is_capacity_known || cache.capacity() != definition.capacity {
            drop(cache.set_capacity(definition.capacity));
            address.is_capacity_known = true;
        }
        drop(cache.forget_below(definition.floor));
        cache.set_max_age(definition.max_age);
        Ok(())
    }

    fn transaction(&mut self, at: At, time: Ticks, elements: &Elements<'_>) -> Result<()> {
        self.newest_time = self.newest_time.max(time);
        let count = u64::from(elements.element_count());
        for element in *elements {
            let bytes = element_bytes(count, &element);
            match element {
                Element::Add {
                    address,
                    ordinal,
                    value,
                    id,
                } => {
                    let add = Add {
                        address,
                        ordinal,
                        time,
                        value,
                        id,
                    };
                    self.add(at, &add, self.hasher.hash(id), (bytes, false))?;
                }
                Element::Remove { address, ordinal } => {
                    self.at(at, address)?.cache.remove(ordinal);
                }
                Element::Bookmark { name, value } => {
                    self.bookmark(at.segment, time, (name, value), bytes);
                }
            }
        }
        Ok(())
    }
}

pub(super) fn malformed(at: At, why: &'static str) -> Error {
    let reason = DamageReason::Malformed(why);
    Error::damaged(at.segment, at.offset, reason)
}

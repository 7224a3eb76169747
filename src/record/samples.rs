//! For the tests of this folder: one record of every kind, and the place where it stands.

use std::time::Duration;

use super::*;

pub(super) const IDENTITY: [u8; 16] = *b"identity-of-this";
pub(super) const SALT: u64 = 0x1234_5678_9abc_def0;
pub(super) const NUMBER: SegmentNumber = SegmentNumber(77);
pub(super) const OFFSET: u64 = 8192;
pub(super) const BYTES_MAX: u64 = 128 << 20;
pub(super) const BASE: Base = Base {
    ordinal: Some(Ordinal(1000)),
    time: Ticks(5000),
};

pub(super) fn seed() -> Seed {
    Seed::new(&IDENTITY, SALT, NUMBER)
}

pub(super) fn place(seed: &Seed) -> Place<'_> {
    Place {
        seed,
        offset: OFFSET,
        mark: None,
        carried: false,
        end_of_group: true,
    }
}

pub(super) fn read<'a>(bytes: &'a [u8], seed: &Seed, offset: u64) -> Result<Decoded<'a>, Stop> {
    decode(
        bytes,
        (seed, offset),
        BYTES_MAX,
        |_| BASE.ordinal,
        BASE.time,
    )
}

/// What records are made of.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) address: u32,
    pub(super) ordinal: u64,
    pub(super) number: u64,
    pub(super) flag: bool,
    pub(super) short: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) long: Vec<u8>,
}

impl Parts {
    pub(super) fn example() -> Parts {
        Parts {
            address: 7,
            ordinal: 1042,
            number: 6000,
            flag: true,
            short: b"0b5a9c52-8a4e-4f6e-9d43-6e1f7f0c1a2b".to_vec(),
            value: b"value".to_vec(),
            long: b"a name of some length".to_vec(),
        }
    }

    pub(super) fn elements(&self, given: bool) -> TransactionBody {
        let mut body = TransactionBody::default();
        let (address, ordinal) = (self.address, Ordinal(self.ordinal));
        let add_ordinal = if given { ordinal } else { Ordinal(0) };
        let value = Some(&self.value[..]).filter(|value| !value.is_empty());
        for value in [None, value] {
            body.push(Element::Add {
                address,
                ordinal: add_ordinal,
                value,
                id: &self.short,
            });
        }
        body.push(Element::Remove { address, ordinal });
        body.push(Element::Bookmark {
            name: &self.short,
            value: &self.long,
        });
        body
    }

    /// Calls `check` with one record of every kind.
    pub(super) fn each(&self, mut check: impl FnMut(Record<'_>)) {
        let (address, time) = (self.address, Ticks(self.number));
        let (ordinal, floor) = (Ordinal(self.ordinal), Ordinal(self.ordinal / 2));
        let (given, open) = (self.elements(true), self.elements(false));
        let mut ordinals = OrdinalsBody::default();
        for ordinal in [ordinal, Ordinal(0), floor] {
            ordinals.push(ordinal);
        }
        let value = Some(&self.value[..]).filter(|value| !value.is_empty());
        let transaction = &self.short[..];
        let add = Add {
            address,
            ordinal,
            time,
            value: None,
            id: &self.short,
        };
        check(Record::Add(add));
        check(Record::Add(Add { value, ..add }));
        check(Record::Remove {
            address,
            ordinal,
            time,
        });
        check(Record::Renew {
            add: Add { value, ..add },
            old: Ordinal(ordinal.0 - 1),
        });
        check(Record::Clear {
            address,
            floor,
            time,
        });
        let dropped = Dropped {
            address,
            incarnation: !address,
            floor,
        };
        for other in [None, Some(dropped)] {
            check(Record::Drop {
                dropped,
                other,
                time,
            });
        }
        check(Record::Definition(Definition {
            address,
            namespace: if self.flag {
                Namespace::Bridge
            } else {
                Namespace::Client
            },
            by_call: !self.flag,
            age_by_call: self.number & 1 != 0,
            incarnation: !address,
            capacity: self.number % (1 << 31),
            max_age: !self.number,
            floor,
            last: ordinal,
            time,
            name: &self.long,
        }));
        let owner = Owner(!self.number);
        check(Record::Transaction {
            time,
            elements: given.elements(),
        });
        check(Record::Prepare {
            time,
            owner,
            transaction,
            elements: open.elements(),
        });
        check(Record::Commit {
            time,
            transaction,
            ordinals: ordinals.ordinals(),
        });
        check(Record::RollBack { time, transaction });
        check(Record::Bookmark {
            time,
            name: &self.short,
            value: &self.long,
        });
        let stored = Some(self.flag).filter(|_| self.number.is_multiple_of(3));
        check(Record::Settings {
            time,
            pattern: &self.long,
            settings: AddressSettings {
                id_cache_size: Some(self.number % (1 << 31)).filter(|_| self.flag),
                max_age: Some(Duration::from_millis(10 * (self.number >> 20))),
                persistence: stored,
                end_stored_ids: stored.is_some() && self.ordinal.is_multiple_of(2),
            },
        });
        check(Record::Seal {
            number: SegmentNumber(NUMBER.0 + 1 + self.number % 9),
            salt: !self.number,
        });
        check(Record::Release {
            oldest: SegmentNumber(1 + self.number % NUMBER.0),
        });
        check(Record::Skipped {
            kind: 192 | self.value.first().copied().unwrap_or(0),
        });
    }
}

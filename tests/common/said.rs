//! What settings say: by pattern, through a call or at open, and of all addresses.

use idjournal::{AddressSettings, Options};

use super::generator::Generator;
use super::recorded::PATTERNS;
use super::time::CountingClock;

/// What is said of persistence; stored IDs are ended only by who says that they may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    On,
    Off,
    OffEnding,
}

/// What a pattern says, each if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub capacity: Option<u64>,
    /// In steps of time, or that there is none.
    pub age: Option<Option<u64>>,
    pub persistence: Option<Persistence>,
}

impl Said {
    pub fn of_capacity(capacity: Option<u64>) -> Said {
        Said {
            capacity,
            ..Said::default()
        }
    }

    /// What a script says; one that is about the options says nothing that another open would be
    /// refused for.
    pub fn generate(generator: &mut Generator, has_ages: bool, is_of_options: bool) -> Said {
        if generator.per_cent(20) {
            return Said::default();
        }
        let capacity = generator.below(8) as u64;
        let age = [None, Some(1), Some(2), Some(4)][generator.below(4)];
        let kind = generator.below(8);
        let persistence = match kind {
            0..2 => None,
            2..5 if !is_of_options => Some(Persistence::On),
            5 if !is_of_options => Some(Persistence::Off),
            _ => Some(Persistence::OffEnding),
        };
        Said {
            capacity: generator.per_cent(40).then_some(capacity),
            age: (generator.per_cent(40) && has_ages).then_some(age),
            persistence: persistence.filter(|_| !is_of_options || generator.per_cent(60)),
        }
    }

    /// The same, with what another one says where it says nothing.
    pub fn or(self, other: Said) -> Said {
        Said {
            capacity: self.capacity.or(other.capacity),
            age: self.age.or(other.age),
            persistence: self.persistence.or(other.persistence),
        }
    }

    pub fn is_stored(&self) -> bool {
        matches!(self.persistence, None | Some(Persistence::On))
    }

    pub fn settings(&self) -> AddressSettings {
        let mut settings = AddressSettings::default();
        if let Some(capacity) = self.capacity {
            settings = settings.id_cache_size(capacity);
        }
        if let Some(age) = self.age {
            settings = settings.max_age(age.map(CountingClock::age).unwrap_or_default());
        }
        if let Some(persistence) = self.persistence {
            settings = settings
                .persistence(persistence == Persistence::On)
                .end_stored_ids(persistence == Persistence::OffEnding);
        }
        settings
    }
}

/// What the options of an open say: the capacity of all addresses, and what each of [`PATTERNS`]
/// says beside what calls have set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtOpen {
    pub capacity: u64,
    pub patterns: [Said; PATTERNS.len()],
}

impl From<u64> for AtOpen {
    fn from(capacity: u64) -> AtOpen {
        AtOpen {
            capacity,
            patterns: [Said::default(); PATTERNS.len()],
        }
    }
}

impl AtOpen {
    /// The same with one pattern that says something.
    pub fn generate(self, generator: &mut Generator, has_ages: bool) -> AtOpen {
        let mut at_open = AtOpen::from(self.capacity);
        let pattern = generator.below(PATTERNS.len());
        at_open.patterns[pattern] = Said::generate(generator, has_ages, true);
        at_open
    }

    pub fn options(&self, options: Options) -> Options {
        let said = PATTERNS.iter().zip(&self.patterns);
        let said = said.filter(|(_, said)| **said != Said::default());
        let options = options.id_cache_size(self.capacity);
        said.fold(options, |options, ((text, _), said)| {
            options.address_settings(text, said.settings())
        })
    }
}

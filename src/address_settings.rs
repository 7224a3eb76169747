//! Settings of addresses by pattern: which patterns match an address, and what holds for it.
//!
//! As Apache Artemis does it with its address settings: of all patterns that match, the most
//! specific one decides, and what it leaves unset is taken from the next one. A pattern without
//! wildcards is more specific than one with, and one for a single word more than one for any words.
//!
//! Pure: no I/O, no lock. Finding what holds for an address looks up its name once and matches each
//! pattern that has wildcards once.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

mod pattern;
#[cfg(test)]
mod tests;

pub(crate) use pattern::Pattern;
use pattern::Rank;

/// What is set for the addresses that a pattern matches; what is left unset is inherited from less
/// specific patterns, and at last from the options of the store.
///
/// # Examples
///
/// ```
/// use idjournal::{AddressSettings, Options, Store};
///
/// # fn main() -> idjournal::Result<()> {
/// let options = Options::default()
///     .id_cache_size(1_000)
///     .address_settings("orders.#", AddressSettings::default().id_cache_size(50_000))
///     .address_settings("orders.test", AddressSettings::default().persistence(false));
/// let store = Store::in_memory(options)?;
/// assert_eq!(store.cache("orders.eu")?.capacity(), 50_000);
/// assert_eq!(store.cache("orders.test")?.capacity(), 50_000, "inherited");
/// assert_eq!(store.cache("bills")?.capacity(), 1_000);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(
    feature = "serde",
    serde(default, deny_unknown_fields, rename_all = "kebab-case")
)]
#[non_exhaustive]
pub struct AddressSettings {
    /// How many of its newest IDs an address remembers.
    pub id_cache_size: Option<u64>,
    /// The age from which an ID is as if it were gone; zero: no age ends it.
    #[cfg_attr(feature = "serde", serde(with = "crate::units::text::optional_age"))]
    pub max_age: Option<Duration>,
    /// Whether the IDs are written to the journal.
    #[cfg_attr(feature = "serde", serde(rename = "persist-id-cache"))]
    pub persistence: Option<bool>,
    /// With persistence off: whether IDs that are stored already are forgotten for good.
    pub end_stored_ids: bool,
}

/// The bytes that have a meaning in patterns, each an ASCII character.
///
/// # Examples
///
/// ```
/// use idjournal::{AddressSettings, Options, Store, Wildcards};
///
/// # fn main() -> idjournal::Result<()> {
/// let small = AddressSettings::default().id_cache_size(10);
/// let options = Options::default()
///     .wildcards(Wildcards::default().delimiter(b'/').single_word(b'+'))
///     .address_settings("sensors/+/state", small);
/// let store = Store::in_memory(options)?;
/// assert_eq!(store.cache("sensors/7/state")?.capacity(), 10);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wildcards {
    /// Stands between words; `.` unless set.
    pub delimiter: u8,
    /// Any number of words, also none, at the end of a pattern; `#` unless set.
    pub any_words: u8,
    /// One word, or some of its characters; `*` unless set.
    pub single_word: u8,
    /// What a pattern begins and ends with that means the name in between as it is; none unless
    /// set.
    pub literal_markers: Option<(u8, u8)>,
}

/// Where a value that holds for an address comes from, the one that decides first.
///
/// What a call has set for the address stays, whatever settings say. Of settings the most specific
/// pattern decides, and for one pattern the call before the options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Origin {
    /// A call for this one address.
    Call,
    /// A pattern that a call has set.
    PatternByCall,
    /// A pattern of the options.
    PatternByOptions,
    /// The options, for all addresses.
    Options,
    /// No setting: what the journal says, or for a new address the default.
    #[default]
    Stored,
}

/// Who has set a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetBy {
    Options,
    Call,
}

/// What holds for an address, each value with where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effective {
    pub(crate) id_cache_size: Option<(u64, Origin)>,
    pub(crate) max_age: Option<(Duration, Origin)>,
    pub(crate) persistence: Option<(Persistence, Origin)>,
}

/// Whether IDs are written to the journal, and if not, whether those there may be ended for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Persistence {
    pub(crate) is_on: bool,
    pub(crate) ends_stored_ids: bool,
}

/// All patterns with their settings; see the head of this file.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    wildcards: Wildcards,
    /// By name: those that mean one address, in order of rank.
    exact: HashMap<Box<[u8]>, BTreeMap<Rank, Rule>>,
    /// Those with wildcards, in order of rank.
    wild: BTreeMap<Rank, Rule>,
    count: usize,
}

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    by_call: AddressSettings,
    by_options: AddressSettings,
}

impl AddressSettings {
    /// Sets how many of its newest IDs an address remembers: 0 to 2^31.
    #[must_use]
    pub fn id_cache_size(mut self, ids: u64) -> AddressSettings {
        self.id_cache_size = Some(ids);
        self
    }

    /// Sets the age from which an ID is as if it were gone; zero: no age ends it, also where a less
    /// specific pattern or the options have one.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> AddressSettings {
        self.max_age = Some(age);
        self
    }

    /// Sets whether the IDs are written to the journal.
    #[must_use]
    pub fn persistence(mut self, is_on: bool) -> AddressSettings {
        self.persistence = Some(is_on);
        self
    }

    /// Sets whether IDs that are stored already are forgotten for good where these settings turn
    /// persistence off. Without it that is refused for an address that has stored IDs.
    #[must_use]
    pub fn end_stored_ids(mut self, is_on: bool) -> AddressSettings {
        self.end_stored_ids = is_on;
        self
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == AddressSettings::default()
    }
}

impl Default for Wildcards {
    fn default() -> Wildcards {
        Wildcards {
            delimiter: b'.',
            any_words: b'#',
            single_word: b'*',
            literal_markers: None,
        }
    }
}

impl Wildcards {
    /// Sets what stands between words.
    #[must_use]
    pub fn delimiter(mut self, byte: u8) -> Wildcards {
        self.delimiter = byte;
        self
    }

    /// Sets what stands for any number of words.
    #[must_use]
    pub fn any_words(mut self, byte: u8) -> Wildcards {
        self.any_words = byte;
        self
    }

    /// Sets what stands for a single word.
    #[must_use]
    pub fn single_word(mut self, byte: u8) -> Wildcards {
        self.single_word = byte;
        self
    }

    /// Sets what a pattern begins and ends with that is a name as it is, wildcards and all.
    #[must_use]
    pub fn literal_markers(mut self, begin: u8, end: u8) -> Wildcards {
        self.literal_markers = Some((begin, end));
        self
    }

    /// Why these cannot be told apart, if so.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let bytes = [self.delimiter, self.any_words, self.single_word];
        let [delimiter, any_words, single_word] = bytes;
        let markers = self.literal_markers.map(|(begin, end)| [begin, end]);
        let markers = markers.as_ref().map_or(&[][..], |markers| &markers[..]);
        if !bytes.is_ascii() || !markers.is_ascii() {
            return Some("each must be an ASCII character");
        }
        if delimiter == any_words || delimiter == single_word || any_words == single_word {
            return Some("they must differ from each other");
        }
        let is_taken = bytes.iter().any(|byte| markers.contains(byte));
        is_taken.then_some("the markers of literal patterns must differ from the others")
    }
}

impl Patterns {
    pub(crate) fn new(wildcards: Wildcards) -> Patterns {
        Patterns {
            wildcards,
            ..Patterns::default()
        }
    }

    /// The pattern that `text` means.
    ///
    /// # Errors
    ///
    /// Why it means none.
    pub(crate) fn parse(&self, text: &[u8]) -> Result<Pattern, &'static str> {
        Pattern::parse(text, self.wildcards)
    }

    /// How many patterns there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether no pattern is there, as in most stores.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Sets what `pattern` says, all of it; gives what it said before by the same one. Nothing set
    /// takes it away.
    pub(crate) fn set(
        &mut self,
        set_by: SetBy,
        pattern: Pattern,
        settings: AddressSettings,
    ) -> AddressSettings {
        let rank = pattern.rank();
        let rules = match pattern.name() {
            Some(name) => self.exact.entry(Box::from(name)).or_default(),
            None => &mut self.wild,
        };
        let count = rules.len();
        let name = pattern.name().map(Box::<[u8]>::from);
        let rule = rules.entry(rank.clone()).or_insert(Rule {
            pattern,
            by_call: AddressSettings::default(),
            by_options: AddressSettings::default(),
        });
        let place = match set_by {
            SetBy::Call => &mut rule.by_call,
            SetBy::Options => &mut rule.by_options,
        };
        let before = std::mem::replace(place, settings);
        if rule.by_call.is_empty() && rule.by_options.is_empty() {
            rules.remove(&rank);
        }
        self.count = self.count - count + rules.len();
        if let Some(name) = name.filter(|_| rules.is_empty()) {
            self.exact.remove(&name);
        }
        before
    }

    /// The patterns that calls have set.
    pub(crate) fn by_call(&self) -> Vec<(Box<[u8]>, AddressSettings)> {
        let rules = self.exact.values().flat_map(BTreeMap::values);
        let rules = rules.chain(self.wild.values());
        let set = rules.filter(|rule| !rule.by_call.is_empty());
        set.map(|rule| (Box::from(rule.pattern.text()), rule.by_call))
            .collect()
    }

    /// What the patterns say of the address `name`, each value from the first that has it.
    pub(crate) fn effective(&self, name: &[u8]) -> Effective {
        let mut effective = Effective::default();
        if self.is_empty() {
            return effective;
        }
        let exact = self.exact.get(name).into_iter().flat_map(BTreeMap::values);
        let wild = self.wild.values();
        for rule in exact.chain(wild.filter(|rule| rule.pattern.matches(name))) {
            effective.inherit(rule.by_call, Origin::PatternByCall);
            effective.inherit(rule.by_options, Origin::PatternByOptions);
            if effective.is_complete() {
                break;
            }
        }
        effective
    }
}

impl Effective {
    /// Takes from `settings` what is not set yet.
    pub(crate) fn inherit(&mut self, settings: AddressSettings, origin: Origin) {
        let from = |ids| (ids, origin);
        self.id_cache_size = self.id_cache_size.or(settings.id_cache_size.map(from));
        self.max_age = self.max_age.or(settings.max_age.map(|age| (age, origin)));
        let ends_stored_ids = settings.end_stored_ids;
        let persistence = settings.persistence.map(|is_on| Persistence {
            is_on,
            ends_stored_ids,
        });
        self.persistence = self
            .persistence
            .or(persistence.map(|persistence| (persistence, origin)));
    }

    /// Whether the IDs are written to the journal.
    pub(crate) fn is_stored(&self) -> bool {
        self.persistence
            .is_none_or(|(persistence, _)| persistence.is_on)
    }

    fn is_complete(&self) -> bool {
        self.id_cache_size.is_some() && self.max_age.is_some() && self.persistence.is_some()
    }
}

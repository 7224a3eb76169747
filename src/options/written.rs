//! Options in the formats of serde: the keys, and what each may be.
//!
//! Keys that Artemis has in its broker.xml are spelled as there. Each value is checked where it
//! stands, so that a format with positions tells the place of a wrong one; what only the whole
//! shows, such as two wildcards of one character, is checked at the end.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FileSettings, Options, age_of};
use crate::address_settings::{AddressSettings, Wildcards};
use crate::error::Error;
use crate::format;
use crate::storage::Writes;
use crate::sync_policy::SyncPolicy;
use crate::units::text::{Age, Character, Count, Size, Span, Told};

type Capacity = Count<{ format::CAPACITY_MAX }>;
type IdBytes = Size<1, { format::ID_BYTES_MAX as u64 }>;
type AddressBytes = Size<1, { format::ADDRESS_BYTES_MAX as u64 }>;
type Addresses = Count<{ format::ADDRESSES_MAX as u64 }>;
type SegmentBytes = Size<{ format::SEGMENT_BYTES_STEP }, { format::SEGMENT_BYTES_MAX }>;

/// What a file may say; what it leaves out keeps its default.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    journal_directory: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_cache_size: Option<Capacity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<Age>,
    persist_id_cache: Option<bool>,
    end_stored_ids: Option<bool>,
    sync_policy: Option<SyncPolicy>,
    journal_file_size: Option<SegmentBytes>,
    writes: Option<Writes>,
    keeper: Option<bool>,
    lock_wait: Option<Span>,
    id_bytes_max: Option<IdBytes>,
    address_bytes_max: Option<AddressBytes>,
    addresses_max: Option<Addresses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal_match_markers: Option<Markers>,
    wildcard_addresses: Option<WrittenWildcards>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    address_settings: Vec<WrittenAddress>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenWildcards {
    delimiter: Option<Character>,
    any_words: Option<Character>,
    single_word: Option<Character>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenAddress {
    r#match: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id_cache_size: Option<Capacity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_age: Option<Age>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persist_id_cache: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_stored_ids: Option<bool>,
}

/// What a name begins and ends with that has no wildcards.
#[derive(Clone, Copy)]
struct Markers(u8, u8);

impl<'de> Deserialize<'de> for Markers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Markers, D::Error> {
        deserializer.deserialize_str(Told {
            expected: String::from("two ASCII characters such as \"()\""),
            number: |_| None,
            text: |text| match text.as_bytes() {
                [begin, end] if text.is_ascii() => Some(Markers(*begin, *end)),
                _ => None,
            },
        })
    }
}

impl Serialize for Markers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let both = [char::from(self.0), char::from(self.1)];
        serializer.serialize_str(&String::from_iter(both))
    }
}

/// As `"always"`, `"manual"`, or the interval as a duration, such as `"50ms"`.
impl<'de> Deserialize<'de> for SyncPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SyncPolicy, D::Error> {
        deserializer.deserialize_str(Told {
            expected: String::from("\"always\", \"manual\", or an interval such as \"50ms\""),
            number: |_| None,
            text: |text| match text {
                "always" => Some(SyncPolicy::Always),
                "manual" => Some(SyncPolicy::Manual),
                _ => crate::units::parse_duration(text)
                    .filter(|interval| !interval.is_zero())
                    .map(SyncPolicy::Interval),
            },
        })
    }
}

impl Serialize for SyncPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SyncPolicy::Always => serializer.serialize_str("always"),
            SyncPolicy::Manual => serializer.serialize_str("manual"),
            SyncPolicy::Interval(interval) => Span(*interval).serialize(serializer),
        }
    }
}

impl From<WrittenAddress> for (String, AddressSettings) {
    fn from(written: WrittenAddress) -> (String, AddressSettings) {
        let settings = AddressSettings {
            id_cache_size: written.id_cache_size.map(|ids| ids.0),
            max_age: written.max_age.map(|age| age.0),
            persistence: written.persist_id_cache,
            end_stored_ids: written.end_stored_ids.unwrap_or_default(),
        };
        (written.r#match, settings)
    }
}

impl Written {
    fn wildcards(&self) -> Wildcards {
        let mut wildcards = Wildcards::default();
        if let Some(written) = &self.wildcard_addresses {
            let or = |one: Option<Character>, default| one.map_or(default, |one| one.0);
            wildcards.delimiter = or(written.delimiter, wildcards.delimiter);
            wildcards.any_words = or(written.any_words, wildcards.any_words);
            wildcards.single_word = or(written.single_word, wildcards.single_word);
        }
        wildcards.literal_markers = self.literal_match_markers.map(|both| (both.0, both.1));
        wildcards
    }

    /// # Errors
    ///
    /// What is wrong with the whole.
    fn read(self) -> Result<FileSettings, String> {
        let mut options = Options::default().wildcards(self.wildcards());
        options.id_cache_size = self.id_cache_size.map(|ids| ids.0);
        if let Some(Age(age)) = self.max_age {
            options = options.max_age((!age.is_zero()).then_some(age));
        }
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limits = &mut options.limits;
        limits.id_bytes = self
            .id_bytes_max
            .map_or(limits.id_bytes, |max| small(max.0));
        limits.address_bytes = self
            .address_bytes_max
            .map_or(limits.address_bytes, |max| small(max.0));
        let addresses = self.addresses_max.and_then(|max| u32::try_from(max.0).ok());
        limits.addresses = addresses.unwrap_or(limits.addresses);
        options.persistence = self.persist_id_cache.unwrap_or(options.persistence);
        options.end_stored_ids = self.end_stored_ids.unwrap_or(options.end_stored_ids);
        options.sync_policy = self.sync_policy.unwrap_or(options.sync_policy);
        options.segment_bytes = self
            .journal_file_size
            .map_or(options.segment_bytes, |bytes| bytes.0);
        options.writes = self.writes.unwrap_or(options.writes);
        options.keeper = self.keeper.unwrap_or(options.keeper);
        options.lock_wait = self.lock_wait.map_or(options.lock_wait, |time| time.0);
        // The wildcards first, or each pattern would be told as their fault.
        options.validate().map_err(|error| error.to_string())?;
        let mut seen = HashSet::new();
        for written in self.address_settings {
            let (pattern, settings) = written.into();
            if !seen.insert(pattern.clone()) {
                return Err(format!("the match {pattern:?} is given twice"));
            }
            let alone = Options::default().wildcards(options.wildcards);
            let alone = alone.address_settings(&pattern, settings);
            if let Err(Error::Options { why, .. }) = alone.validate() {
                return Err(format!("the match {pattern:?}: {why}"));
            }
            options = options.address_settings(pattern, settings);
        }
        Ok(FileSettings {
            options,
            journal_directory: self.journal_directory,
        })
    }

    /// # Errors
    ///
    /// A pattern that is no UTF-8, which no text format can hold.
    fn write(options: &Options) -> Result<Written, &'static str> {
        let wildcards = options.wildcards;
        let mut address_settings = Vec::new();
        let last: HashMap<_, _> = options
            .address_settings
            .iter()
            .map(|(p, s)| (p, s))
            .collect();
        for (pattern, settings) in &options.address_settings {
            // Of those given again in code the last counts; a file has it only.
            if !last
                .get(pattern)
                .is_some_and(|last| std::ptr::eq(*last, settings))
            {
                continue;
            }
            let pattern = std::str::from_utf8(pattern);
            let pattern = pattern.map_err(|_| "a pattern of address settings is not UTF-8")?;
            address_settings.push(WrittenAddress {
                r#match: String::from(pattern),
                id_cache_size: settings.id_cache_size.map(Count),
                max_age: settings.max_age.map(Age),
                persist_id_cache: settings.persistence,
                end_stored_ids: settings.end_stored_ids.then_some(true),
            });
        }
        Ok(Written {
            journal_directory: None,
            id_cache_size: options.id_cache_size.map(Count),
            max_age: options
                .max_age
                .map(|ticks| Age(age_of(ticks).unwrap_or_default())),
            persist_id_cache: Some(options.persistence),
            end_stored_ids: Some(options.end_stored_ids),
            sync_policy: Some(options.sync_policy),
            journal_file_size: Some(Size(options.segment_bytes)),
            writes: Some(options.writes),
            keeper: Some(options.keeper),
            lock_wait: Some(Span(options.lock_wait)),
            id_bytes_max: Some(Size(options.limits.id_bytes as u64)),
            address_bytes_max: Some(Size(options.limits.address_bytes as u64)),
            addresses_max: Some(Count(u64::from(options.limits.addresses))),
            literal_match_markers: wildcards.literal_markers.map(|(b, e)| Markers(b, e)),
            wildcard_addresses: Some(WrittenWildcards {
                delimiter: Some(Character(wildcards.delimiter)),
                any_words: Some(Character(wildcards.any_words)),
                single_word: Some(Character(wildcards.single_word)),
            }),
            address_settings,
        })
    }
}

impl<'de> Deserialize<'de> for FileSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FileSettings, D::Error> {
        Written::deserialize(deserializer)?
            .read()
            .map_err(D::Error::custom)
    }
}

impl Serialize for FileSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = Written::write(&self.options).map_err(S::Error::custom)?;
        written
            .journal_directory
            .clone_from(&self.journal_directory);
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Options, D::Error> {
        let settings = FileSettings::deserialize(deserializer)?;
        match settings.journal_directory {
            None => Ok(settings.options),
            Some(_) => Err(D::Error::custom(
                "journal-directory is no option; read FileSettings, which has both",
            )),
        }
    }
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Written::write(self).map_err(S::Error::custom)?;
        written.serialize(serializer)
    }
}

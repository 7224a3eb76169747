//! The settings of a pattern in words and numbers.

use idjournal::AddressSettings;
use idjournal::inspect::Record;

use crate::line::Line;

/// A pattern with what is set.
pub(crate) fn text(line: &mut Line, record: &Record<'_>) {
    if let Record::Settings {
        pattern, settings, ..
    } = record
    {
        line.bytes(pattern);
        line.text(&words(settings));
    }
}

fn words(settings: &AddressSettings) -> String {
    let mut words = String::new();
    if let Some(ids) = settings.id_cache_size {
        words += &format!(", id cache size {ids}");
    }
    if let Some(age) = settings.max_age {
        words += &format!(", maximum age {} ms", age.as_millis());
    }
    if let Some(is_on) = settings.persistence {
        words += if is_on { ", stored" } else { ", not stored" };
    }
    if settings.is_empty() {
        words += ", taken away";
    }
    words
}

/// Its age in milliseconds, for a number.
pub(crate) fn age(settings: &AddressSettings) -> Option<u64> {
    let milliseconds = |age: std::time::Duration| u64::try_from(age.as_millis());
    settings
        .max_age
        .map(|age| milliseconds(age).unwrap_or(u64::MAX))
}

//! What a file of settings says: options, and where the journal is.

use std::path::PathBuf;

use super::Options;

/// What a file of settings says: the options of a store and, if it names one, its directory.
///
/// It is read from a `broker.xml` (feature `artemis`), and from TOML, JSON and the like through
/// `serde` (feature `serde`). The keys of the latter are, all of them optional:
///
/// | key | value |
/// |---|---|
/// | `journal-directory` | a path: [`journal_directory`](FileSettings::journal_directory) |
/// | `id-cache-size` | a number: [`Options::id_cache_size`] |
/// | `max-age` | a duration, or `"none"`: [`Options::max_age`] |
/// | `persist-id-cache` | true or false: [`Options::persistence`] |
/// | `end-stored-ids` | true or false: [`Options::end_stored_ids`] |
/// | `sync-policy` | `"always"`, `"manual"`, or an interval: [`Options::sync_policy`] |
/// | `journal-file-size` | a size: [`Options::segment_bytes`] |
/// | `writes` | `"auto"`, `"mapped"` or `"positioned"`: [`Options::writes`] |
/// | `keeper` | true or false: [`Options::keeper`] |
/// | `lock-wait` | a duration: [`Options::lock_wait`] |
/// | `id-bytes-max` | a size: [`Options::id_bytes_max`] |
/// | `address-bytes-max` | a size: [`Options::address_bytes_max`] |
/// | `addresses-max` | a number: [`Options::addresses_max`] |
/// | `literal-match-markers` | two characters, as in [`Options::wildcards`] |
/// | `wildcard-addresses` | a table: `delimiter`, `any-words`, `single-word`, a character each |
/// | `address-settings` | a list of tables, as in [`Options::address_settings`] |
///
/// Each table of `address-settings` has a pattern as `match`, and may have `id-cache-size`,
/// `max-age`, `persist-id-cache` and `end-stored-ids`.
///
/// A duration is a number with a unit (`d`, `h`, `m`, `s`, `ms`, `us`, `ns`), or several, the
/// longest unit first: `"10m"`, `"1h30m"`. A size is a number of bytes, or one with a unit (`KiB`,
/// `MiB`, `GiB`, or just `K`, `M`, `G`, powers of 1,024 all of them): `"64MiB"`. An unknown key is
/// refused, and so is a key or a `match` given twice. Clock and source of randomness are code and
/// in no file.
///
/// [`Options`] are read and written in the same way, without `journal-directory`.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "cli")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use idjournal::{FileSettings, Store};
///
/// let settings: FileSettings = toml::from_str(
///     r##"
///     id-cache-size = 1000
///     max-age = "36h"
///
///     [[address-settings]]
///     match = "orders.#"
///     id-cache-size = 50000
///     "##,
/// )?;
/// let store = Store::in_memory(settings.options)?;
/// assert_eq!(store.cache("orders.eu")?.capacity(), 50_000);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "cli"))]
/// # fn main() {}
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FileSettings {
    /// The options that the file sets; what it leaves out has its default.
    pub options: Options,
    /// The directory that it names.
    pub journal_directory: Option<PathBuf>,
}

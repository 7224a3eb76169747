//! Settings from a `broker.xml`: which elements are read, and what each means here.
//!
//! An element counts in the namespaces of Artemis and HornetQ and in none, whatever its prefix; all
//! others, and all elements without a meaning here, are left alone. What is read is taken from its
//! own place only: Artemis looks for an element by name anywhere below, so that the `id-cache-size`
//! of an address can become that of the broker.

use std::collections::HashSet;

use roxmltree::{Document, Node};

use super::document;
use super::fault::{BrokerXmlError, BrokerXmlFault, shown};
use super::values::{address_of, why_not};
use crate::{AddressSettings, FileSettings, Options, SyncPolicy, Wildcards};

/// Reads the settings of a store from a `broker.xml`, as Artemis 2 has it.
///
/// | element | meaning |
/// |---|---|
/// | `id-cache-size` | [`Options::id_cache_size`] |
/// | `persist-id-cache`, `persistence-enabled` | [`Options::persistence`]: off if one is false |
/// | `journal-directory` | [`FileSettings::journal_directory`], as it stands there |
/// | `journal-file-size` | [`Options::segment_bytes`], rounded up to whole KiB |
/// | `journal-sync-transactional`, `journal-sync-non-transactional` | `Manual` if both are false |
/// | `journal-datasync` | [`SyncPolicy::Manual`] if false, else [`SyncPolicy::Always`] |
/// | `wildcard-addresses` | `delimiter`, `any-words`, `single-word`: [`Options::wildcards`] |
/// | `literal-match-markers` | [`Options::wildcards`] too |
/// | `address-settings` | each `match` with its `id-cache-size`: [`Options::address_settings`] |
///
/// Of two `address-setting` with one `match` the first counts, as in Artemis. Of a fully qualified
/// queue name in a `match` (`address::queue`) the address counts. A `${name:default}` stands for
/// its default; [`read_broker_xml_with`] gives names values. What else the file holds is left
/// alone; but an `xi:include` where settings may be hidden is an error, since it is not followed.
///
/// The journal directory that a broker's file names is that of the broker's own journal. A store of
/// this engine wants a directory to itself.
///
/// # Errors
///
/// Each with line and column: the text is not well-formed (a DTD is refused too), a value is none
/// that its element can have, or a limit is exceeded: of the store, or of this reader, which takes
/// 4 MiB, 262,144 elements and texts, 250 namespace declarations, and 1,000 attributes an element.
///
/// # Examples
///
/// ```
/// use idjournal::Store;
/// use idjournal::artemis::read_broker_xml;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let settings = read_broker_xml(
///     r##"<configuration xmlns="urn:activemq">
///            <core xmlns="urn:activemq:core">
///               <id-cache-size>1000</id-cache-size>
///               <address-settings>
///                  <address-setting match="orders.#">
///                     <id-cache-size>50000</id-cache-size>
///                  </address-setting>
///               </address-settings>
///            </core>
///         </configuration>"##,
/// )?;
/// let store = Store::in_memory(settings.options)?;
/// assert_eq!(store.cache("orders.eu")?.capacity(), 50_000);
/// assert_eq!(store.cache("bills")?.capacity(), 1_000);
///
/// let wrong = "<core>\n  <id-cache-size>many</id-cache-size>\n</core>";
/// let error = read_broker_xml(wrong).unwrap_err();
/// assert_eq!((error.line, error.column), (2, 3));
/// # Ok(())
/// # }
/// ```
pub fn read_broker_xml(text: impl AsRef<[u8]>) -> Result<FileSettings, BrokerXmlError> {
    read_broker_xml_with(text, |_| None)
}

/// As [`read_broker_xml`], with a value for each `${name}` that `property` knows; Artemis takes
/// them from the system properties of its Java machine, and from the environment.
///
/// # Errors
///
/// Those of [`read_broker_xml`]; a name without a value and without a default is one too.
///
/// # Examples
///
/// ```
/// use idjournal::artemis::read_broker_xml_with;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "<core><journal-directory>${data.dir:./data}/journal</journal-directory></core>";
/// let property = |name: &str| (name == "data.dir").then(|| String::from("/var/a"));
/// let settings = read_broker_xml_with(text, property)?;
/// assert_eq!(settings.journal_directory, Some("/var/a/journal".into()));
/// # Ok(())
/// # }
/// ```
pub fn read_broker_xml_with(
    text: impl AsRef<[u8]>,
    property: impl Fn(&str) -> Option<String>,
) -> Result<FileSettings, BrokerXmlError> {
    let text = document::text(text.as_ref())?;
    let document = document::parse(text)?;
    let reader = Reader {
        document: &document,
        property: &property,
    };
    let places = reader.places()?;
    let found = reader.find(&places)?;
    reader.settings(&found)
}

/// The elements that are read from a broker's part of the file, each at most once.
const NAMES: [&str; 11] = [
    "id-cache-size",
    "persist-id-cache",
    "persistence-enabled",
    "journal-directory",
    "journal-file-size",
    "journal-sync-transactional",
    "journal-sync-non-transactional",
    "journal-datasync",
    "literal-match-markers",
    "wildcard-addresses",
    "address-settings",
];

/// Those found, in the order of [`NAMES`].
type Found<'a> = [Option<Node<'a, 'a>>; NAMES.len()];

/// See [`read_broker_xml`]; how values are read stands in `values.rs`.
pub(super) struct Reader<'a> {
    document: &'a Document<'a>,
    pub(super) property: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn wrong(&self, node: Node<'_, '_>, fault: BrokerXmlFault) -> BrokerXmlError {
        BrokerXmlError::at(self.document.text_pos_at(node.range().start), fault)
    }

    /// The elements whose children are read: the root, and `core` below it.
    fn places(&self) -> Result<Vec<Node<'a, 'a>>, BrokerXmlError> {
        let root = self.document.root_element();
        match document::name(root) {
            Some("core") => Ok(vec![root]),
            Some("configuration") => {
                let mut places = vec![root];
                for core in root.children().filter(|n| n.tag_name().name() == "core") {
                    if document::name(core).is_none() {
                        let namespace = shown(core.tag_name().namespace().unwrap_or_default());
                        return Err(self.wrong(core, BrokerXmlFault::Namespace { namespace }));
                    }
                    places.push(core);
                }
                Ok(places)
            }
            _ => {
                let root_name = shown(root.tag_name().name());
                Err(self.wrong(root, BrokerXmlFault::NotABroker { root: root_name }))
            }
        }
    }

    fn find(&self, places: &[Node<'a, 'a>]) -> Result<Found<'a>, BrokerXmlError> {
        let mut found: Found<'a> = [None; NAMES.len()];
        for node in places.iter().flat_map(Node::children) {
            self.refuse_include(node)?;
            let at = document::name(node).and_then(|name| NAMES.iter().position(|n| *n == name));
            if let Some((place, name)) = at.and_then(|at| found.get_mut(at).zip(NAMES.get(at)))
                && place.replace(node).is_some()
            {
                return Err(self.wrong(node, BrokerXmlFault::Twice { element: name }));
            }
        }
        Ok(found)
    }

    fn refuse_include(&self, node: Node<'_, '_>) -> Result<(), BrokerXmlError> {
        match document::is_include(node) {
            true => Err(self.wrong(node, BrokerXmlFault::Include)),
            false => Ok(()),
        }
    }

    fn settings(&self, found: &Found<'a>) -> Result<FileSettings, BrokerXmlError> {
        let [
            id_cache_size,
            persist_id_cache,
            persistence_enabled,
            directory,
            file_size,
            sync_transactional,
            sync_others,
            datasync,
            markers,
            wildcards,
            address_settings,
        ] = *found;
        let wildcards = self.wildcards(wildcards, markers)?;
        // All are read before one decides, so that a wrong value is always told.
        let persists = [
            self.is_on(persist_id_cache)?,
            self.is_on(persistence_enabled)?,
        ];
        let syncs = [self.is_on(sync_transactional)?, self.is_on(sync_others)?];
        let mut options = Options::default()
            .persistence(persists == [true, true])
            .wildcards(wildcards);
        if !self.is_on(datasync)? || syncs == [false, false] {
            options = options.sync_policy(SyncPolicy::Manual);
        }
        if let Some(node) = id_cache_size {
            options = options.id_cache_size(self.capacity(node)?);
        }
        if let Some(node) = file_size {
            options = options.segment_bytes(self.file_size(node)?);
        }
        if let Some(node) = address_settings {
            options = self.address_settings(node, wildcards, options)?;
        }
        let journal_directory = match directory {
            Some(node) => Some(self.path(node)?.into()),
            None => None,
        };
        Ok(FileSettings {
            options,
            journal_directory,
        })
    }

    fn address_settings(
        &self,
        node: Node<'a, 'a>,
        wildcards: Wildcards,
        mut options: Options,
    ) -> Result<Options, BrokerXmlError> {
        let mut seen = HashSet::new();
        for setting in node.children() {
            self.refuse_include(setting)?;
            if document::name(setting) != Some("address-setting") {
                continue;
            }
            let pattern = setting.attribute("match");
            let pattern = pattern.ok_or_else(|| self.wrong(setting, BrokerXmlFault::NoMatch))?;
            let pattern = self.replaced(setting, pattern)?;
            let pattern = address_of(&pattern, wildcards);
            let mut settings = AddressSettings::default();
            for child in setting.children() {
                self.refuse_include(child)?;
                if document::name(child) != Some("id-cache-size") {
                    continue;
                }
                if settings.id_cache_size.is_some() {
                    let element = "id-cache-size";
                    return Err(self.wrong(child, BrokerXmlFault::Twice { element }));
                }
                settings = settings.id_cache_size(self.capacity(child)?);
            }
            let alone = Options::default().wildcards(wildcards);
            if let Some(why) = why_not(&alone.address_settings(&pattern, settings)) {
                let pattern = shown(&pattern);
                return Err(self.wrong(setting, BrokerXmlFault::Match { pattern, why }));
            }
            if seen.insert(pattern.clone()) {
                options = options.address_settings(pattern, settings);
            }
        }
        Ok(options)
    }

    fn wildcards(
        &self,
        node: Option<Node<'a, 'a>>,
        markers: Option<Node<'a, 'a>>,
    ) -> Result<Wildcards, BrokerXmlError> {
        let mut wildcards = Wildcards::default();
        let mut seen = HashSet::new();
        for child in node.into_iter().flat_map(|node| node.children()) {
            self.refuse_include(child)?;
            let (place, element) = match document::name(child) {
                Some("delimiter") => (&mut wildcards.delimiter, "delimiter"),
                Some("any-words") => (&mut wildcards.any_words, "any-words"),
                Some("single-word") => (&mut wildcards.single_word, "single-word"),
                _ => continue,
            };
            if !seen.insert(element) {
                return Err(self.wrong(child, BrokerXmlFault::Twice { element }));
            }
            *place = self.character(child)?;
        }
        if let Some(node) = markers {
            let (begin, end) = self.two_characters(node)?;
            wildcards = wildcards.literal_markers(begin, end);
        }
        let why = why_not(&Options::default().wildcards(wildcards));
        match (why, node.or(markers)) {
            (Some(why), Some(node)) => Err(self.wrong(node, BrokerXmlFault::Wildcards { why })),
            _ => Ok(wildcards),
        }
    }
}

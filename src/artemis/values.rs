//! The values of elements: numbers, sizes, characters and paths, each as Artemis writes it.

use roxmltree::Node;

use super::broker_xml::Reader;
use super::fault::{BrokerXmlError, BrokerXmlFault, shown};
use crate::units::{SIZE, parse_size};
use crate::{CAPACITY_MAX, Error, Options, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, Wildcards};

impl Reader<'_> {
    /// The text of an element, comments left out, trimmed as Java does.
    fn text(&self, node: Node<'_, '_>) -> Result<String, BrokerXmlError> {
        let texts = node.descendants().filter(Node::is_text);
        let text: String = texts.filter_map(|node| node.text()).collect();
        let text = self.replaced(node, &text)?;
        // Afterwards, for there names are replaced before anything is read.
        Ok(String::from(
            text.trim_matches(|character| character <= ' '),
        ))
    }

    /// `text` with a value for each `${name}` and `${name:default}`. What comes of it is not looked
    /// through again, so that no text grows beyond what its names have.
    pub(super) fn replaced(
        &self,
        node: Node<'_, '_>,
        text: &str,
    ) -> Result<String, BrokerXmlError> {
        let (mut replaced, mut rest) = (String::new(), text);
        while let Some((before, behind)) = rest.split_once("${") {
            let Some((inner, after)) = behind.split_once('}') else {
                break;
            };
            let (name, default) = match inner.split_once(':') {
                Some((name, default)) => (name.trim(), Some(default.trim())),
                None => (inner.trim(), None),
            };
            let value = (self.property)(name).or_else(|| default.map(String::from));
            let name = || BrokerXmlFault::Property { name: shown(name) };
            let value = value.ok_or_else(|| self.wrong(node, name()))?;
            replaced.push_str(before);
            replaced.push_str(&value);
            rest = after;
        }
        replaced.push_str(rest);
        Ok(replaced)
    }

    /// What `read` makes of the text of an element.
    fn value<T>(
        &self,
        node: Node<'_, '_>,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, BrokerXmlError> {
        let text = self.text(node)?;
        read(&text).ok_or_else(|| {
            let fault = BrokerXmlFault::Value {
                element: shown(node.tag_name().name()),
                value: shown(&text),
                expected: String::from(expected),
            };
            self.wrong(node, fault)
        })
    }

    /// A flag; one that is not there is true, as every flag that is read is in Artemis.
    pub(super) fn is_on(&self, node: Option<Node<'_, '_>>) -> Result<bool, BrokerXmlError> {
        let Some(node) = node else { return Ok(true) };
        self.value(node, "true or false", |text| match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        })
    }

    pub(super) fn capacity(&self, node: Node<'_, '_>) -> Result<u64, BrokerXmlError> {
        let expected = format!("a number from 0 to {CAPACITY_MAX}");
        // The sign is what Java takes too.
        let number = |text: &str| text.parse().ok().filter(|ids| *ids <= CAPACITY_MAX);
        self.value(node, &expected, number)
    }

    /// The bytes of a file, up to whole KiB, in which segments come here.
    pub(super) fn file_size(&self, node: Node<'_, '_>) -> Result<u64, BrokerXmlError> {
        let expected = format!("{SIZE}, from 1 to {SEGMENT_BYTES_MAX}");
        self.value(node, &expected, |text| {
            let bytes = parse_size(text).filter(|bytes| (1..=SEGMENT_BYTES_MAX).contains(bytes))?;
            Some(bytes.next_multiple_of(SEGMENT_BYTES_MIN))
        })
    }

    pub(super) fn path(&self, node: Node<'_, '_>) -> Result<String, BrokerXmlError> {
        let some = |text: &str| (!text.is_empty()).then(|| String::from(text));
        self.value(node, "a path", some)
    }

    pub(super) fn character(&self, node: Node<'_, '_>) -> Result<u8, BrokerXmlError> {
        self.value(node, "one ASCII character", |text| match text.as_bytes() {
            [byte] if byte.is_ascii() => Some(*byte),
            _ => None,
        })
    }

    pub(super) fn two_characters(&self, node: Node<'_, '_>) -> Result<(u8, u8), BrokerXmlError> {
        let expected = "two ASCII characters, such as ()";
        self.value(node, expected, |text| match text.as_bytes() {
            [begin, end] if text.is_ascii() => Some((*begin, *end)),
            _ => None,
        })
    }
}

/// The address that a `match` speaks of, where it names a queue of an address; between markers too.
pub(super) fn address_of(pattern: &str, wildcards: Wildcards) -> String {
    let Some((address, _)) = pattern.split_once("::") else {
        return String::from(pattern);
    };
    let mut address = String::from(address);
    if let Some((begin, end)) = wildcards.literal_markers
        && pattern.as_bytes().first() == Some(&begin)
        && pattern.as_bytes().last() == Some(&end)
    {
        address.push(char::from(end));
    }
    address
}

/// Why no store can be opened with `options`, if so.
pub(super) fn why_not(options: &Options) -> Option<&'static str> {
    match options.validate() {
        Err(Error::Options { why, .. }) => Some(why),
        _ => None,
    }
}

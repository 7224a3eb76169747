//! From bytes to a document: limits first, then the parser, its errors told with their place.

use roxmltree::{Document, Node, ParsingOptions};

use super::fault::{BrokerXmlError, BrokerXmlFault, closed_by, parser_says};

const TEXT_BYTES_MAX: usize = 4 << 20;
const NODES_MAX: u32 = 1 << 18;
/// The parser compares each namespace declaration and each attribute with those before it.
const NAMESPACES_MAX: usize = 250;
const ATTRIBUTES_MAX: usize = 1_000;

/// Where an element counts: Artemis's own namespaces, that of HornetQ, and none.
const NAMESPACES: [&str; 3] = ["urn:activemq:core", "urn:activemq", "urn:hornetq"];
const INCLUSIONS: &str = "http://www.w3.org/2001/XInclude";

/// The text of a file, without the mark that some editors begin it with.
pub(super) fn text(bytes: &[u8]) -> Result<&str, BrokerXmlError> {
    if bytes.len() > TEXT_BYTES_MAX {
        let fault = BrokerXmlFault::TooLarge {
            limit: "bytes",
            max: TEXT_BYTES_MAX as u64,
        };
        return Err(BrokerXmlError::at_start(fault));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let good = std::str::from_utf8(good).unwrap_or_default();
        BrokerXmlError::behind(good, BrokerXmlFault::NotUtf8)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

pub(super) fn parse(text: &str) -> Result<Document<'_>, BrokerXmlError> {
    check_size(text)?;
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let fault = |why: String| BrokerXmlFault::NotWellFormed { why };
        match &error {
            roxmltree::Error::UnexpectedCloseTag(open, close, at) => {
                BrokerXmlError::at(*at, fault(closed_by(open, close)))
            }
            roxmltree::Error::DtdDetected => {
                let before = text
                    .split_once("<!DOCTYPE")
                    .map_or("", |(before, _)| before);
                BrokerXmlError::behind(before, BrokerXmlFault::Dtd)
            }
            roxmltree::Error::NodesLimitReached => {
                BrokerXmlError::at_start(too_many("elements and texts", NODES_MAX as usize))
            }
            // Only the end of the text shows these.
            roxmltree::Error::UnclosedRootNode => {
                BrokerXmlError::behind(text, fault(String::from("an element is not closed")))
            }
            roxmltree::Error::NoRootNode => {
                BrokerXmlError::behind(text, fault(String::from("there is no element")))
            }
            roxmltree::Error::UnexpectedEndOfStream => {
                BrokerXmlError::behind(text, fault(String::from("the text ends too early")))
            }
            _ => BrokerXmlError::at(error.pos(), fault(parser_says(&error))),
        }
    })
}

/// The name of an element that counts.
pub(super) fn name<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    let namespace = node.tag_name().namespace();
    let counts = namespace.is_none_or(|namespace| NAMESPACES.contains(&namespace));
    (node.is_element() && counts).then(|| node.tag_name().name())
}

/// Whether another file stands for this element.
pub(super) fn is_include(node: Node<'_, '_>) -> bool {
    node.is_element() && node.tag_name().namespace() == Some(INCLUSIONS)
}

fn too_many(limit: &'static str, max: usize) -> BrokerXmlFault {
    let max = max as u64;
    BrokerXmlFault::TooLarge { limit, max }
}

/// What the parser would take long for is refused before it sees it.
fn check_size(text: &str) -> Result<(), BrokerXmlError> {
    if text.matches("xmlns").count() > NAMESPACES_MAX {
        let fault = too_many("namespace declarations", NAMESPACES_MAX);
        return Err(BrokerXmlError::at_start(fault));
    }
    // An attribute has an equals sign, and no value of one has a less-than sign. What the text
    // behind an element has is counted too.
    let mut at = 0;
    for piece in text.split('<') {
        let is_tag = !piece.starts_with(['!', '?', '/']);
        if is_tag && piece.matches('=').count() > ATTRIBUTES_MAX {
            let before = text.get(..at).unwrap_or_default();
            let fault = too_many("attributes of an element", ATTRIBUTES_MAX);
            return Err(BrokerXmlError::behind(before, fault));
        }
        at += piece.len() + 1;
    }
    Ok(())
}

//! What is wrong with a broker.xml, and where.

use roxmltree::TextPos;

/// A `broker.xml` that cannot be read: where, and what is wrong there.
///
/// Nothing was opened or changed. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
#[non_exhaustive]
pub struct BrokerXmlError {
    /// The line.
    pub line: u32,
    /// The column; of an element, where its tag begins.
    pub column: u32,
    /// What is wrong there.
    pub fault: BrokerXmlFault,
}

/// What is wrong with a `broker.xml`. Text of the file is shown with everything escaped that a
/// terminal could act on, and cut where it is long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerXmlFault {
    /// The bytes are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// The text is not XML.
    #[error("not well-formed: {why}")]
    NotWellFormed {
        /// What is expected there.
        why: String,
    },
    /// There is a document type definition, which could define entities without bound.
    #[error("a DTD is not read")]
    Dtd,
    /// A limit of this reader is exceeded.
    #[error("{limit}: at most {max}")]
    TooLarge {
        /// What there is too much of.
        limit: &'static str,
        /// The highest number allowed.
        max: u64,
    },
    /// The text is not that of a broker.
    #[error("the root is {root}, neither configuration nor core")]
    NotABroker {
        /// The name of the root.
        root: String,
    },
    /// The part of the broker is of a namespace that is not Artemis's: its settings would be
    /// missed.
    #[error("core is of the namespace {namespace}, which is none of Artemis")]
    Namespace {
        /// The name of the namespace.
        namespace: String,
    },
    /// An element is given twice where it may stand once.
    #[error("{element} is given twice")]
    Twice {
        /// The name of the element.
        element: &'static str,
    },
    /// The text of an element is no value for it.
    #[error("{element} is \"{value}\", not {expected}")]
    Value {
        /// The name of the element.
        element: String,
        /// Its text.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// A name in `${ }` has neither a value nor a default.
    #[error("${{{name}}} has no value and no default")]
    Property {
        /// The name.
        name: String,
    },
    /// An address setting has no `match`.
    #[error("address-setting has no match")]
    NoMatch,
    /// The `match` of an address setting means nothing.
    #[error("the match \"{pattern}\": {why}")]
    Match {
        /// The pattern.
        pattern: String,
        /// Why not.
        why: &'static str,
    },
    /// Wildcards and markers cannot be told apart.
    #[error("the wildcards: {why}")]
    Wildcards {
        /// Why not.
        why: &'static str,
    },
    /// Another file is included, which is not followed: its settings would be missed.
    #[error("an include is not followed; put here what it includes")]
    Include,
}

impl BrokerXmlError {
    pub(super) fn at(place: TextPos, fault: BrokerXmlFault) -> BrokerXmlError {
        BrokerXmlError {
            line: place.row,
            column: place.col,
            fault,
        }
    }

    pub(super) fn at_start(fault: BrokerXmlFault) -> BrokerXmlError {
        BrokerXmlError::at(TextPos::new(1, 1), fault)
    }

    /// Of what follows the text `before`.
    pub(super) fn behind(before: &str, fault: BrokerXmlFault) -> BrokerXmlError {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let last = before.rsplit('\n').next().unwrap_or_default();
        let row = number(before.matches('\n').count()).saturating_add(1);
        let column = number(last.chars().count()).saturating_add(1);
        BrokerXmlError::at(TextPos::new(row, column), fault)
    }
}

/// That one element was begun and another one ended.
pub(super) fn closed_by(open: &str, close: &str) -> String {
    format!("{} is closed by {}", shown(open), shown(close))
}

/// What the parser says, without the place, which stands in the error.
pub(super) fn parser_says(error: &roxmltree::Error) -> String {
    let place = format!(" at {}", error.pos());
    shown(&error.to_string().replace(&place, ""))
}

/// Text of the file as it is shown.
pub(super) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    let mut characters = text.chars();
    let mut shown = String::new();
    for character in characters.by_ref().take(CHARACTERS_MAX) {
        match character {
            ' '..='~' => shown.push(character),
            _ => shown.extend(character.escape_default()),
        }
    }
    if characters.next().is_some() {
        shown.push_str("...");
    }
    shown
}

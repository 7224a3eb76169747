//! One pattern: whether it matches an address, and how specific it is beside others.
//!
//! What Artemis's manual says in words its source does by bytes, and so does this: the single-word
//! character stands for one or more bytes that are no delimiter, also within a word; the any-words
//! character may stand at the end only, where it means nothing, or a delimiter and at least one
//! byte more; the delimiter before it may be left out. A pattern whose wildcards all have a
//! backslash before them has none: it is a name, backslashes and all.

use super::Wildcards;

/// The most bytes of a pattern with wildcards: matching one takes up to so many steps per byte of
/// the address.
const WILD_BYTES_MAX: usize = 4096;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: Box<[u8]>,
    wildcards: Wildcards,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A name.
    Exact,
    /// A name between the markers.
    Literal,
    /// Words, some of them for any one word.
    SingleWords,
    /// As before, or none such, and any words at the end.
    AnyWords,
}

/// The order in which patterns decide, the most specific first. It follows Artemis where that
/// decides; beyond, that of the bytes makes it total.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    kind: Kind,
    /// With any words at the end: the longer comes first.
    shortness: usize,
    /// For each word whether it stands for any one: the first named one comes first.
    is_any: Box<[bool]>,
    length: usize,
    text: Box<[u8]>,
}

impl Pattern {
    /// # Errors
    ///
    /// Why it is none.
    pub(crate) fn parse(text: &[u8], wildcards: Wildcards) -> Result<Pattern, &'static str> {
        let is_literal = wildcards.literal_markers.is_some_and(|(begin, end)| {
            text.len() >= 2 && text.first() == Some(&begin) && text.last() == Some(&end)
        });
        let any_words = text.iter().position(|byte| *byte == wildcards.any_words);
        let kind = match any_words {
            _ if is_literal => Kind::Literal,
            Some(at) if at + 1 < text.len() => {
                return Err("any words may stand at the end of a pattern only");
            }
            _ if !is_wild(text, wildcards) => Kind::Exact,
            Some(_) => Kind::AnyWords,
            None => Kind::SingleWords,
        };
        if kind >= Kind::SingleWords && text.len() > WILD_BYTES_MAX {
            return Err("a pattern with wildcards has at most 4096 bytes");
        }
        Ok(Pattern {
            text: Box::from(text),
            wildcards,
            kind,
        })
    }

    /// As it was given.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The one address that it means, if it has no wildcards.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        match self.kind {
            Kind::Literal => self.text.get(1..self.text.len() - 1),
            Kind::Exact => Some(&self.text),
            Kind::SingleWords | Kind::AnyWords => None,
        }
    }

    /// Whether it matches the address `name`.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        if let Some(own) = self.name() {
            return own == name;
        }
        let any_words = self.kind == Kind::AnyWords;
        if any_words && self.text.len() == 1 {
            return true;
        }
        let delimiter = self.wildcards.delimiter;
        let head = match self.text.split_last() {
            Some((_, [head @ .., last])) if any_words && *last == delimiter => head,
            Some((_, head)) if any_words => head,
            _ => &*self.text,
        };
        let mut rest = Some(name);
        for word in head.split(|byte| *byte == delimiter) {
            let Some(left) = rest else { return false };
            let end = left.iter().position(|byte| *byte == delimiter);
            let (own, behind) = match end {
                Some(end) => (left.get(..end), left.get(end + 1..)),
                None => (Some(left), None),
            };
            if !self.matches_word(word, own.unwrap_or_default()) {
                return false;
            }
            rest = behind;
        }
        // Behind a delimiter there must be something, if only another delimiter.
        rest.is_none_or(|rest| any_words && !rest.is_empty())
    }

    /// Whether a word of the pattern matches one of an address.
    fn matches_word(&self, pattern: &[u8], word: &[u8]) -> bool {
        let single = self.wildcards.single_word;
        let (mut at, mut in_word) = (0, 0);
        // Behind the last single-word character, and the end of what it stands for so far. Those
        // before stand for as little as they can, which leaves most for what follows.
        let mut last: Option<(usize, usize)> = None;
        loop {
            match (pattern.get(at), word.get(in_word)) {
                (Some(byte), Some(_)) if *byte == single => {
                    (at, in_word) = (at + 1, in_word + 1);
                    last = Some((at, in_word));
                }
                (Some(byte), Some(own)) if byte == own => (at, in_word) = (at + 1, in_word + 1),
                (None, None) => return true,
                _ => {
                    let Some((behind, end)) = last.filter(|(_, end)| *end < word.len()) else {
                        return false;
                    };
                    last = Some((behind, end + 1));
                    (at, in_word) = (behind, end + 1);
                }
            }
        }
    }

    pub(super) fn rank(&self) -> Rank {
        let length = match std::str::from_utf8(&self.text) {
            // As Java counts.
            Ok(text) => text.encode_utf16().count(),
            Err(_) => self.text.len(),
        };
        let is_any = match self.kind {
            Kind::Literal | Kind::Exact => Box::default(),
            Kind::SingleWords | Kind::AnyWords => {
                let words = self.text.split(|byte| *byte == self.wildcards.delimiter);
                words
                    .map(|word| word == [self.wildcards.single_word])
                    .collect()
            }
        };
        Rank {
            kind: self.kind,
            shortness: match self.kind {
                Kind::AnyWords => usize::MAX - length,
                _ => 0,
            },
            is_any,
            length,
            text: self.text.clone(),
        }
    }
}

/// Whether there is a wildcard without a backslash before it.
fn is_wild(text: &[u8], wildcards: Wildcards) -> bool {
    let before = std::iter::once(&b' ').chain(text);
    let mut pairs = before.zip(text);
    pairs.any(|(before, byte)| {
        *before != b'\\' && [wildcards.any_words, wildcards.single_word].contains(byte)
    })
}

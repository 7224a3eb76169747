//! What a child said: what it found, read back from its words.

use std::collections::BTreeMap;

/// The IDs of a cache, oldest first, each with the adds it has left, and its capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundCache {
    pub(crate) capacity: u64,
    pub(crate) ids: Vec<(u64, u64)>,
}

/// What a child found when it opened the store.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) newest: u64,
    pub(crate) slots: u64,
    pub(crate) caches: BTreeMap<String, FoundCache>,
}

fn behind<'a>(said: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let at = said.windows(word.len()).position(|window| window == word)?;
    said.get(at + word.len()..)
}

/// What was said since the child began.
pub(crate) fn begin(said: &[u8]) -> Option<&[u8]> {
    behind(said, b"@begin\n")
}

/// What was said since it began to work.
pub(crate) fn work(said: &[u8]) -> Option<&[u8]> {
    behind(said, b"@work\n")
}

impl Found {
    /// What was found, and what was said afterwards; none if it was killed before all was told.
    pub(crate) fn read(said: &[u8]) -> Option<(Found, &[u8])> {
        let (told, rest) = (begin(said)?, work(said)?);
        let told = std::str::from_utf8(&told[..told.len() - rest.len()]).unwrap();
        let mut found = Found {
            newest: 0,
            slots: 0,
            caches: BTreeMap::new(),
        };
        for line in told.lines() {
            let mut words = line.split(' ');
            match words.next().unwrap_or_default() {
                "@segments" => {
                    found.newest = words.next().unwrap().parse().unwrap();
                    found.slots = words.next().unwrap().parse().unwrap();
                }
                "@cache" => {
                    let name = words.next().unwrap().to_owned();
                    let capacity = words.next().unwrap().parse().unwrap();
                    let ids = words.map(|word| {
                        let (id, left) = word.split_once(':').unwrap();
                        (id.parse().unwrap(), left.parse().unwrap())
                    });
                    let ids = ids.collect();
                    let twice = found.caches.insert(name, FoundCache { capacity, ids });
                    assert!(twice.is_none(), "a cache is listed twice");
                }
                _ => {}
            }
        }
        Some((found, rest))
    }
}

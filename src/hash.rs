//! The hash of IDs: fast, and keyed anew for each open store, since clients choose the IDs.
//!
//! Whoever does not know the key cannot choose IDs that share a hash. It is no cryptographic hash:
//! should somebody learn the key from how long calls take, a look-up among the colliding IDs gets
//! slow, and nothing else happens.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct IdHasher {
    key: u64,
    seeds: Arc<SharedSeed>,
}

impl IdHasher {
    /// A hasher with a key that the system's randomness gave.
    pub(crate) fn random() -> IdHasher {
        let random = RandomState::new();
        IdHasher::new(random.hash_one(0), random.hash_one(1))
    }

    fn new(key: u64, seed: u64) -> IdHasher {
        let seeds = Arc::new(SharedSeed::from_u64(seed));
        IdHasher { key, seeds }
    }

    #[inline]
    pub(crate) fn hash(&self, id: &[u8]) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.key, &self.seeds);
        hasher.write(id);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_decides_and_every_byte_and_the_length_count() {
        let (one, other) = (IdHasher::random(), IdHasher::random());
        let mut seen = std::collections::BTreeSet::new();
        let id = [0x5a; 64];
        for bytes in 0..=id.len() {
            assert!(seen.insert(one.hash(&id[..bytes])), "{bytes} bytes");
            assert!(seen.insert(other.hash(&id[..bytes])), "{bytes} bytes");
        }
        for at in 0..id.len() {
            let mut changed = id;
            changed[at] ^= 1;
            assert!(seen.insert(one.hash(&changed)), "byte {at}");
        }
    }
}

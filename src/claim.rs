//! What is pending at one address: IDs that a reservation or a transaction has taken.
//!
//! A claim is known by its token, so that whoever lost one (its lease was over and others took the
//! ID) cannot settle theirs. Pure: callers lock, hash and hand out tokens. Equality is by bytes;
//! the hash only leads to them. Without claims there is no memory on the heap.

use std::time::Duration;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::ids::{Owner, Ticks};
use crate::mutant::{self, Mutant};
use crate::waits::WaitKey;

/// An ID taken by `owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) owner: Owner,
    /// Differs from that of every other claim in the life of the store.
    pub(crate) token: u64,
    /// Space in the journal that is set aside for recording it.
    pub(crate) journal_bytes: u64,
    /// When others may take the ID, on the monotonic clock.
    pub(crate) lease_end: Option<Duration>,
}

impl Claim {
    /// Whether its lease is over by the monotonic clock, which is asked only if it has one: others
    /// may take the ID then.
    pub(crate) fn is_over(&self, now: impl FnOnce() -> Duration) -> bool {
        self.lease_end.is_some_and(|end| {
            let now = now();
            if mutant::is(Mutant::LeaseInTicks) {
                let tick = u128::from(Ticks::MILLISECONDS);
                return end.as_millis() / tick <= now.as_millis() / tick;
            }
            end < now || end == now && !mutant::is(Mutant::LeaseEndsLate)
        })
    }
}

#[derive(Debug)]
struct Claimed {
    hash: u64,
    id: Box<[u8]>,
    claim: Claim,
    /// It has no guard: its owner may take it up again.
    is_kept: bool,
    /// Those who wait for its end.
    waiters: Vec<WaitKey>,
}

/// All claims of one address.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    claimed: HashTable<Claimed>,
    journal_bytes: u64,
}

impl Claims {
    /// Takes `id`.
    ///
    /// # Errors
    ///
    /// The present holder, if it is taken; nothing is changed.
    pub(crate) fn claim(&mut self, hash: u64, id: &[u8], claim: Claim) -> Result<(), Owner> {
        let is_it = |claimed: &Claimed| *claimed.id == *id;
        match self.claimed.entry(hash, is_it, |claimed| claimed.hash) {
            Entry::Occupied(entry) => Err(entry.get().claim.owner),
            Entry::Vacant(entry) => {
                entry.insert(Claimed {
                    hash,
                    id: Box::from(id),
                    claim,
                    is_kept: false,
                    waiters: Vec::new(),
                });
                self.journal_bytes = self.journal_bytes.saturating_add(claim.journal_bytes);
                Ok(())
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64, id: &[u8]) -> Option<Claim> {
        if self.claimed.is_empty() {
            return None;
        }
        self.claimed
            .find(hash, |claimed| *claimed.id == *id)
            .map(|claimed| claimed.claim)
    }

    /// Who has taken `id`.
    #[cfg(test)]
    pub(crate) fn holder(&self, hash: u64, id: &[u8]) -> Option<Owner> {
        self.get(hash, id).map(|claim| claim.owner)
    }

    /// Takes up the claim on `id` that `owner` has kept; its token.
    pub(crate) fn take_up(&mut self, hash: u64, id: &[u8], owner: Owner) -> Option<u64> {
        let claimed = self.claimed.find_mut(hash, |claimed| *claimed.id == *id);
        let kept = claimed.filter(|claimed| claimed.is_kept && claimed.claim.owner == owner)?;
        kept.is_kept = mutant::is(Mutant::KeptTakenTwice);
        Some(kept.claim.token)
    }

    /// Leaves the claim on `id`, if it is still that of `token`, without a guard.
    pub(crate) fn keep(&mut self, hash: u64, id: &[u8], token: u64) {
        let is_it = |claimed: &Claimed| claimed.claim.token == token && *claimed.id == *id;
        if let Some(claimed) = self.claimed.find_mut(hash, is_it) {
            claimed.is_kept = true;
        }
    }

    /// Ends the claim on `id`, confirmed or released, if it is still that of `token`; also gives
    /// those who wait for that.
    pub(crate) fn settle(
        &mut self,
        hash: u64,
        id: &[u8],
        token: u64,
    ) -> Option<(Claim, Vec<WaitKey>)> {
        let is_it = |claimed: &Claimed| claimed.claim.token == token && *claimed.id == *id;
        let (claimed, _) = self.claimed.find_entry(hash, is_it).ok()?.remove();
        self.journal_bytes = self
            .journal_bytes
            .saturating_sub(claimed.claim.journal_bytes);
        if self.claimed.is_empty() {
            self.claimed = HashTable::new();
        }
        Some((claimed.claim, claimed.waiters))
    }

    /// Gives a claim another end, if it is still that of `token`; also gives those who wait, for
    /// the old end.
    pub(crate) fn renew(
        &mut self,
        hash: u64,
        id: &[u8],
        token: u64,
        end: Duration,
    ) -> Option<Vec<WaitKey>> {
        let is_it = |claimed: &Claimed| claimed.claim.token == token && *claimed.id == *id;
        let claimed = self.claimed.find_mut(hash, is_it)?;
        if !mutant::is(Mutant::RenewalNotKept) {
            claimed.claim.lease_end = Some(end);
        }
        Some(std::mem::take(&mut claimed.waiters))
    }

    /// Has `key` wait for the end of the claim on `id`, if it is still that of `token`; the claim.
    pub(crate) fn wait(&mut self, hash: u64, id: &[u8], token: u64, key: WaitKey) -> Option<Claim> {
        let is_it = |claimed: &Claimed| claimed.claim.token == token && *claimed.id == *id;
        let claimed = self.claimed.find_mut(hash, is_it)?;
        if !claimed.waiters.contains(&key) {
            claimed.waiters.push(key);
        }
        Some(claimed.claim)
    }

    /// Has `key` wait no longer.
    pub(crate) fn forget(&mut self, hash: u64, id: &[u8], token: u64, key: WaitKey) {
        let is_it = |claimed: &Claimed| claimed.claim.token == token && *claimed.id == *id;
        if let Some(claimed) = self.claimed.find_mut(hash, is_it) {
            claimed.waiters.retain(|waiter| *waiter != key);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.claimed.len()
    }

    /// Space in the journal that is set aside for all claims.
    #[cfg(test)]
    pub(crate) fn journal_bytes(&self) -> u64 {
        self.journal_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(owner: u64, token: u64) -> Claim {
        Claim {
            owner: Owner(owner),
            token,
            journal_bytes: 64,
            lease_end: None,
        }
    }

    #[test]
    fn one_of_two_gets_an_id_and_the_other_learns_who() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim(1, b"a", claim(7, 1)), Ok(()));
        assert_eq!(claims.claim(1, b"a", claim(8, 2)), Err(Owner(7)));
        assert_eq!(claims.holder(1, b"a"), Some(Owner(7)));
        assert_eq!(claims.take_up(1, b"a", Owner(7)), None, "it has a guard");
        claims.keep(1, b"a", 1);
        assert_eq!(claims.take_up(1, b"a", Owner(8)), None);
        assert_eq!(claims.take_up(1, b"a", Owner(7)), Some(1));
        assert_eq!(claims.take_up(1, b"a", Owner(7)), None, "once");
        assert_eq!((claims.len(), claims.journal_bytes()), (1, 64));
    }

    #[test]
    fn ids_of_one_hash_are_told_apart_by_their_bytes() {
        let mut claims = Claims::default();
        for number in 0..100_u64 {
            assert_eq!(
                claims.claim(5, &number.to_le_bytes(), claim(number, number)),
                Ok(())
            );
        }
        for number in 0..100_u64 {
            assert_eq!(claims.holder(5, &number.to_le_bytes()), Some(Owner(number)));
        }
        assert_eq!(
            (claims.holder(5, b""), claims.journal_bytes()),
            (None, 6400)
        );
    }

    #[test]
    fn a_lost_token_does_not_settle_the_claim_of_its_successor() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim(1, b"", claim(7, 1)), Ok(()));
        assert_eq!(claims.settle(1, b"", 1), Some((claim(7, 1), Vec::new())));
        assert_eq!(claims.claim(1, b"", claim(8, 2)), Ok(()));
        assert_eq!(claims.settle(1, b"", 1), None);
        assert_eq!(claims.holder(1, b""), Some(Owner(8)));
        assert_eq!(claims.settle(1, b"", 2), Some((claim(8, 2), Vec::new())));
        assert_eq!((claims.len(), claims.journal_bytes()), (0, 0));
        assert_eq!(claims.claimed.allocation_size(), 0);
    }
}

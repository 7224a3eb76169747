//! What is claimed, in the model and in scripts: several owners, claims kept and taken up again,
//! leases on a clock that jumps.
//!
//! A claim whose lease is over is as if it were gone for all but its holder, until somebody has
//! taken the ID.

use std::collections::BTreeMap;

use idjournal::{Cache, Owner};

use super::generator::Generator;
use super::model::Model;
use super::recorded::{Answer, pool};
use super::runner::Runner;

/// An ID of a cache.
type Key = (usize, u8);

#[derive(Clone, Copy, Debug)]
struct Claim {
    owner: u64,
    /// Differs from that of every other claim.
    token: u64,
    /// When others may take it.
    end: Option<u64>,
    is_kept: bool,
}

/// All claims of the model, and who holds them.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    claims: BTreeMap<Key, Claim>,
    /// Guards; none for one that has nothing to settle.
    guards: Vec<Option<(Key, u64)>>,
    tokens: u64,
    now: u64,
}

impl Claims {
    /// Who has the ID, if nobody may take it.
    pub fn holder(&self, key: Key) -> Option<u64> {
        let claim = self.claims.get(&key)?;
        let is_over = claim.end.is_some_and(|end| end <= self.now);
        (!is_over).then_some(claim.owner)
    }

    /// Takes the ID, from whoever has it; the token.
    pub fn take(&mut self, key: Key, owner: u64, lease: Option<u64>) -> u64 {
        self.tokens += 1;
        let claim = Claim {
            owner,
            token: self.tokens,
            end: lease.map(|lease| self.now + lease),
            is_kept: false,
        };
        self.claims.insert(key, claim);
        self.tokens
    }

    /// Somebody has the ID now without a claim.
    pub fn lose(&mut self, key: Key) {
        self.claims.remove(&key);
    }

    /// Ends the claim, if it is still the one of this token; whether it was.
    pub fn settle(&mut self, key: Key, token: u64) -> bool {
        let is_it = self.get(key, token).is_some();
        if is_it {
            self.claims.remove(&key);
        }
        is_it
    }

    fn get(&mut self, key: Key, token: u64) -> Option<&mut Claim> {
        let claim = self.claims.get_mut(&key)?;
        (claim.token == token).then_some(claim)
    }

    pub fn hold(&mut self, guard: Option<(Key, u64)>) {
        self.guards.push(guard);
    }

    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    pub fn guards(&self) -> usize {
        self.guards.len()
    }

    /// Takes a guard out of those that are held.
    pub fn let_go(&mut self, which: usize) -> Option<(Key, u64)> {
        self.guards.swap_remove(which)
    }

    /// The claim stays, without a guard.
    pub fn keep(&mut self, which: usize) {
        if let Some((key, token)) = self.let_go(which)
            && let Some(claim) = self.get(key, token)
        {
            claim.is_kept = true;
        }
    }

    fn take_up(&mut self, key: Key, owner: u64) -> bool {
        let claim = self.claims.get_mut(&key);
        let kept = claim.filter(|claim| claim.is_kept && claim.owner == owner);
        let Some(claim) = kept else { return false };
        claim.is_kept = false;
        let token = claim.token;
        self.hold(Some((key, token)));
        true
    }

    /// Time goes on by so many units.
    pub fn pass(&mut self, units: u64) {
        self.now += units;
    }

    fn renew(&mut self, which: usize, lease: u64) -> bool {
        let end = self.now + lease;
        let Some((key, token)) = self.guards[which] else {
            return true;
        };
        let claim = self.get(key, token);
        claim.map(|claim| claim.end = Some(end)).is_some()
    }
}

/// A call of a script that is about claims; leases and time are in units that are longer than all
/// that the clock of a script goes on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimCall {
    Lease {
        cache: usize,
        id: u8,
        owner: u64,
        units: u64,
    },
    Renew {
        which: usize,
        units: u64,
    },
    TakeUp {
        cache: usize,
        id: u8,
        owner: u64,
    },
    /// The clock jumps.
    Pass {
        units: u64,
    },
}

impl ClaimCall {
    pub fn generate(generator: &mut Generator, (cache, id): Key, owner: u64) -> ClaimCall {
        let units = 1 + generator.below(3) as u64;
        match generator.below(10) {
            0..5 => ClaimCall::Lease {
                cache,
                id,
                owner,
                units,
            },
            5 => ClaimCall::Renew {
                which: generator.below(6),
                units,
            },
            6..8 => ClaimCall::TakeUp { cache, id, owner },
            _ => ClaimCall::Pass { units },
        }
    }

    /// What the model answers.
    pub fn run_on(self, model: &mut Model) -> Answer {
        match self {
            ClaimCall::Lease {
                cache,
                id,
                owner,
                units,
            } => model.reserve(cache, id, owner, Some(units)),
            ClaimCall::Renew { which, units } if model.claims.guards() > 0 => {
                let which = which % model.claims.guards();
                Answer::Truth(model.claims.renew(which, units))
            }
            ClaimCall::TakeUp { cache, id, owner } => {
                Answer::Truth(model.claims.take_up((cache, id), owner))
            }
            ClaimCall::Pass { units } => {
                model.claims.pass(units);
                Answer::Done
            }
            ClaimCall::Renew { .. } => Answer::Done,
        }
    }

    /// What the store answers.
    pub fn run(self, runner: &mut Runner) -> Answer {
        let bytes = |id: u8| &pool()[usize::from(id)];
        match self {
            ClaimCall::Lease {
                cache,
                id,
                owner,
                units,
            } => {
                let lease = runner.clock.lease(units);
                runner.reserve(cache, id, owner, Some(lease))
            }
            ClaimCall::Renew { which, units } if !runner.reservations.is_empty() => {
                let which = which % runner.reservations.len();
                let lease = runner.clock.lease(units);
                Answer::Truth(runner.reservations[which].renew(lease))
            }
            ClaimCall::TakeUp { cache, id, owner } => {
                let cache: &Cache = &runner.caches[cache];
                let held = cache.held(bytes(id), Owner(owner));
                let is_held = held.is_some();
                runner.reservations.extend(held);
                Answer::Truth(is_held)
            }
            ClaimCall::Pass { units } => {
                runner.clock.pass(units);
                Answer::Done
            }
            ClaimCall::Renew { .. } => Answer::Done,
        }
    }
}

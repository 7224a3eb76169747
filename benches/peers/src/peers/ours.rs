//! idjournal, through its public face: `add`, or `submit` with the receipts in flight.

use std::collections::VecDeque;

use idjournal::{Cache, Options, Outcome, Receipt, Store, SyncPolicy};

use crate::ids::Id;
use crate::peer::{Failure, Peer, Result, Session, Setup, Survives};

/// This many receipts are in flight before the oldest is waited for.
const IN_FLIGHT: usize = 16_384;

struct Ours {
    store: Store,
    addresses: usize,
    is_in_flight: bool,
}

pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    open_as(setup, false)
}

pub fn open_in_flight(setup: &Setup) -> Result<Box<dyn Peer>> {
    open_as(setup, true)
}

fn open_as(setup: &Setup, is_in_flight: bool) -> Result<Box<dyn Peer>> {
    let policy = match setup.survives {
        Survives::Nothing | Survives::Kill => SyncPolicy::Manual,
        Survives::Power => SyncPolicy::Always,
    };
    let store = Store::open(&setup.directory, Options::default().sync_policy(policy))?;
    for (address, window) in setup.windows.iter().enumerate() {
        let cache = store.cache(name(address))?;
        if cache.capacity() != *window as u64 {
            cache.set_capacity(*window as u64).wait()?;
        }
    }
    Ok(Box::new(Ours {
        store,
        addresses: setup.windows.len(),
        is_in_flight,
    }))
}

fn name(address: usize) -> String {
    format!("address-{address}")
}

impl Peer for Ours {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let caches = (0..self.addresses).map(|address| self.store.cache(name(address)));
        let caches = caches.collect::<idjournal::Result<Vec<Cache>>>()?;
        Ok(if self.is_in_flight {
            Box::new(InFlight {
                caches,
                receipts: VecDeque::new(),
            })
        } else {
            Box::new(Waiting { caches })
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.store.close()?)
    }
}

fn is_new(outcome: &Outcome) -> Result<bool> {
    match outcome {
        Outcome::Added => Ok(true),
        Outcome::Duplicate(_) => Ok(false),
        Outcome::Pending(_) => Err("an ID is pending, though nobody claims".into()),
    }
}

fn provisional(receipt: &Receipt<Outcome>) -> Result<bool> {
    match receipt.outcome() {
        Ok(outcome) => is_new(outcome),
        Err(error) => Err(Failure::from(error.to_string())),
    }
}

/// Each add waits.
struct Waiting {
    caches: Vec<Cache>,
}

impl Session for Waiting {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        is_new(&self.caches[address].add(id)?)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        let mut receipts = Vec::with_capacity(adds.len());
        for (address, id) in adds {
            receipts.push(self.caches[*address].submit(id));
        }
        // The newest first: what it waits for covers the others.
        let begin = new.len();
        for receipt in receipts.into_iter().rev() {
            new.push(is_new(&receipt.wait()?)?);
        }
        new[begin..].reverse();
        Ok(())
    }
}

/// Each add leaves its receipt in a queue; the oldest is waited for when the queue is full.
struct InFlight {
    caches: Vec<Cache>,
    receipts: VecDeque<Receipt<Outcome>>,
}

impl Session for InFlight {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let receipt = self.caches[address].submit(id);
        let is_new = provisional(&receipt)?;
        self.receipts.push_back(receipt);
        if self.receipts.len() > IN_FLIGHT
            && let Some(oldest) = self.receipts.pop_front()
        {
            let _ = oldest.wait()?;
        }
        Ok(is_new)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        for (address, id) in adds {
            new.push(self.add(*address, id)?);
        }
        self.settle()
    }

    fn settle(&mut self) -> Result<()> {
        while let Some(newest) = self.receipts.pop_back() {
            let _ = newest.wait()?;
        }
        Ok(())
    }
}

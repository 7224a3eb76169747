//! The plain reference, and the comparison of a peer with it.
//!
//! A stream of adds with many duplicates, some of IDs that have just fallen out of the window, goes
//! to both; every answer must be the same, also after reopening.

use std::collections::{HashSet, VecDeque};

use crate::ids::{Id, id_of, mix};
use crate::peer::{Failure, Peer, Result, Session, Setup};
use crate::peers::Kind;

/// Adds before and after reopening.
const ADDS: u64 = 6_000;

#[derive(Default)]
struct Reference {
    order: VecDeque<Id>,
    set: HashSet<Id>,
}

impl Reference {
    fn add(&mut self, id: &Id, size: usize) -> bool {
        if !self.set.insert(*id) {
            return false;
        }
        self.order.push_back(*id);
        if self.order.len() > size
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
        true
    }
}

/// The adds: mostly new IDs, some of the last one and a half windows again.
struct Adds {
    next: u64,
    made: Vec<u64>,
}

impl Adds {
    fn take(&mut self, windows: &[usize]) -> (usize, Id) {
        let chance = mix(self.next);
        self.next += 1;
        let address = (chance % windows.len() as u64) as usize;
        let back = windows[address] as u64 * 3 / 2;
        let made = &mut self.made[address];
        let number = if chance >> 32 & 3 == 0 && *made > 0 {
            *made - 1 - (chance >> 34) % back.min(*made)
        } else {
            *made += 1;
            *made - 1
        };
        (address, id_of(number << 8 | address as u64))
    }
}

/// Compares all answers; the count of them.
pub fn check(kind: &Kind, setup: &Setup) -> Result<u64> {
    let mut references: Vec<Reference> = Vec::new();
    references.resize_with(setup.windows.len(), Reference::default);
    let mut adds = Adds {
        next: 0,
        made: vec![0; setup.windows.len()],
    };
    let mut checked = 0;
    for life in 0..3 {
        let peer = kind.open(setup)?;
        let compared = compare(&*peer, setup, &mut adds, &mut references);
        checked += compared.map_err(|error| Failure::from(format!("life {life}: {error}")))?;
        peer.close()?;
    }
    Ok(checked)
}

fn compare(
    peer: &dyn Peer,
    setup: &Setup,
    adds: &mut Adds,
    references: &mut [Reference],
) -> Result<u64> {
    let mut session = peer.session()?;
    let end = adds.next + ADDS / 3;
    let mut checked = 0;
    while adds.next < end {
        // One by one, then some at once.
        let count = if adds.next.is_multiple_of(7) { 50 } else { 1 };
        let batch: Vec<(usize, Id)> = (0..count).map(|_| adds.take(&setup.windows)).collect();
        let mut answers = Vec::new();
        answer(&mut *session, &batch, &mut answers)?;
        if answers.len() != batch.len() {
            return Err("a batch has fewer answers than adds".into());
        }
        for ((address, id), is_new) in batch.iter().zip(answers) {
            let expected = references[*address].add(id, setup.windows[*address]);
            if is_new != expected {
                let id = String::from_utf8_lossy(id);
                let text = format!("address {address}, ID {id}: new is {is_new}, not {expected}");
                return Err(text.into());
            }
            checked += 1;
        }
    }
    session.settle()?;
    Ok(checked)
}

fn answer(session: &mut dyn Session, batch: &[(usize, Id)], answers: &mut Vec<bool>) -> Result<()> {
    if let [(address, id)] = batch {
        answers.push(session.add(*address, id)?);
        return Ok(());
    }
    session.add_batch(batch, answers)
}

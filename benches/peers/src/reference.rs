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
    /// The last that fell out.
    forgotten: Option<Id>,
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
            self.forgotten = Some(oldest);
        }
        true
    }
}

/// The adds: mostly new IDs, some of the last one and a half windows again, and some from the very
/// edge of the window, as the reference has it.
struct Adds {
    next: u64,
    made: Vec<u64>,
}

impl Adds {
    fn take(&mut self, windows: &[usize], references: &[Reference]) -> (usize, Id) {
        let chance = mix(self.next);
        self.next += 1;
        let address = (chance % windows.len() as u64) as usize;
        let back = windows[address] as u64 * 3 / 2;
        let made = &mut self.made[address];
        let reference = &references[address];
        let id = match chance >> 32 & 15 {
            0 => reference.order.front().copied(),
            1 => reference.forgotten,
            2 | 3 if *made > 0 => {
                let number = *made - 1 - (chance >> 36) % back.min(*made);
                Some(id_of(number << 8 | address as u64))
            }
            _ => None,
        };
        let new = || {
            *made += 1;
            id_of((*made - 1) << 8 | address as u64)
        };
        (address, id.unwrap_or_else(new))
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
        let take = |_| adds.take(&setup.windows, references);
        let batch: Vec<(usize, Id)> = (0..count).map(take).collect();
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::peer::Survives;
    use crate::window::Window;

    struct InMemory(Mutex<Vec<Window>>);

    impl Peer for InMemory {
        fn session(&self) -> Result<Box<dyn Session + '_>> {
            Ok(Box::new(InMemorySession(self)))
        }

        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    struct InMemorySession<'a>(&'a InMemory);

    impl Session for InMemorySession<'_> {
        fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
            let windows = self.0.0.lock();
            let mut windows = windows.unwrap_or_else(PoisonError::into_inner);
            Ok(windows[address].add(id).is_some())
        }

        fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
            for (address, id) in adds {
                new.push(self.add(*address, id)?);
            }
            Ok(())
        }
    }

    /// Compares windows of these sizes with a reference of 300 and 260.
    fn compared(sizes: [usize; 2]) -> Result<u64> {
        let setup = Setup {
            directory: PathBuf::new(),
            windows: vec![300, 260],
            survives: Survives::Nothing,
        };
        let mut adds = Adds {
            next: 0,
            made: vec![0; 2],
        };
        let mut references = [Reference::default(), Reference::default()];
        let peer = InMemory(Mutex::new(sizes.map(Window::new).into()));
        compare(&peer, &setup, &mut adds, &mut references)
    }

    #[test]
    fn a_window_that_answers_as_the_reference_passes() {
        assert!(compared([300, 260]).is_ok_and(|checked| checked >= ADDS / 3));
    }

    #[test]
    fn a_window_one_too_small_or_too_large_is_found_out() {
        for sizes in [[299, 260], [301, 260], [300, 259], [300, 261]] {
            assert!(compared(sizes).is_err(), "{sizes:?}");
        }
    }
}

//! One life with one failing call, and a recovery with one.

use idjournal::Store;

use super::crash::Run;
use super::generator::{Choices, Generator};
use super::media::{Cut, Media};
use super::model::Model;
use super::operation::Operation;
use super::runner::chain;
use super::simulated::{CallKind, Fault, SimulatedDisk};

/// What became of a life.
pub struct Ending {
    /// How many calls of the kind there were.
    pub calls: u64,
    /// Whether the fault came about.
    pub is_hit: bool,
    /// Whether the caller was told of an error.
    pub is_told: bool,
    pub media: Media,
}

impl Run {
    /// One life of `operations` calls and a close, in which a call of this kind fails.
    pub fn run_failing(
        &mut self,
        operations: usize,
        kind: CallKind,
        fault: Option<Fault>,
    ) -> Result<Ending, String> {
        self.geometry.profile.reopens = false;
        self.geometry.snapshots = [0; 4];
        self.geometry.faults = 0;
        self.is_closing = true;
        self.models = vec![Model::new(self.geometry.profile.settings)];
        self.begin();
        let mut generator = Generator::of_part(self.seed, 5);
        let disk = SimulatedDisk::new(self.geometry.sector_bytes);
        if let Some(fault) = fault {
            disk.fail(fault);
        }
        self.again = (0..operations)
            .map(|_| Operation::generate(&mut generator, &self.geometry.profile))
            .collect();
        self.limit = operations;
        let result = self.live(&disk, &mut generator);
        result.and_then(|()| self.check_all(disk.snapshots(), &mut generator).map(drop))?;
        Ok(Ending {
            calls: disk.count(kind),
            is_hit: disk.has_told() || disk.short_writes() > 0,
            is_told: self.is_told,
            media: disk.media(),
        })
    }

    /// Recovers this with a failing call; then what is left of it, without one, must be in the same
    /// state. Returns how many calls of the kind there were, and whether the open failed.
    pub fn recover_failing(
        &mut self,
        media: &Media,
        kind: CallKind,
        fault: Option<Fault>,
    ) -> Result<(u64, bool), String> {
        let states = 0..=self.models.len() - 1;
        let (_, _, reached) = self.recover(media.clone(), states, 0)?;
        let disk = SimulatedDisk::holding(media.clone());
        if let Some(fault) = fault {
            disk.fail(fault);
        }
        let opened = Store::open_on(disk.clone(), self.options_early(), &mut |_| {});
        let calls = disk.count(kind);
        let is_failed = match opened {
            Ok(store) => {
                self.found_in(&store, reached..=reached)?;
                false
            }
            Err(error) if fault.is_none() => return Err(chain(&error)),
            Err(_) => true,
        };
        let mut choices = Choices::random(calls);
        for left in [disk.media(), disk.media().image(Cut::Free, &mut choices)] {
            self.recover(left, reached..=reached, 0)?;
        }
        Ok((calls, is_failed))
    }
}

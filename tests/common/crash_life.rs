//! How a life of the crash loop is opened and ended.

use std::sync::Arc;
use std::time::Duration;

use idjournal::{Options, Store};

use super::SeededEntropy;
use super::crash::{OPERATIONS_MAX, Run};
use super::generator::{Choices, Generator};
use super::media::Cut;
use super::runner::{Opener, Runner, chain};
use super::simulated::{Progress, SimulatedDisk};

/// How many damages of a cleanly closed store are looked at.
const ROTS_OF_CLOSED: usize = 20;

impl Run {
    pub fn options(&mut self) -> Options {
        self.openings += 1;
        let entropy = SeededEntropy::new(self.seed ^ self.openings << 32);
        let options = Options::default()
            .segment_bytes(self.geometry.segment_bytes)
            .sync_policy(self.geometry.policy)
            .keeper(false)
            .lock_wait(Duration::ZERO)
            .clock(self.clock.clone())
            .entropy(Arc::new(entropy));
        self.geometry.profile.settings.options(options)
    }

    /// The same for a store that is only looked at.
    pub(super) fn options_early(&mut self) -> Options {
        self.options().clock(self.early.clone())
    }

    pub(super) fn opener(&mut self, disk: &SimulatedDisk) -> Opener {
        let mut options: Vec<Options> = (0..=OPERATIONS_MAX).map(|_| self.options()).collect();
        let disk = disk.clone();
        Box::new(move |_, copy| {
            let options = options.pop().expect("as many as there can be openings");
            match copy {
                Some(copy) => Store::open_on(copy, options, &mut |_| {}),
                None => Store::open_on(disk.clone(), options, &mut |_| {}),
            }
        })
    }

    /// Closes the store, or leaves it to its last handle.
    pub(super) fn end(
        &mut self,
        mut runner: Runner,
        disk: &SimulatedDisk,
        generator: &mut Generator,
    ) -> Result<(), String> {
        if !self.is_closing && generator.per_cent(50) {
            runner.abandon();
            return Ok(());
        }
        match runner.close() {
            Ok(()) => {}
            Err(_) if disk.has_told() => {
                self.is_told = true;
                return Ok(());
            }
            Err(error) => return Err(format!("close: {}", chain(&error))),
        }
        let all = self.base + self.script.len();
        disk.set_progress(Progress::all(all));
        let closed = disk.snapshot();
        self.counts.closes += 1;
        // A power cut after a clean close takes nothing.
        let image = closed.media().image(Cut::Nothing, &mut Choices::random(0));
        for _ in 0..ROTS_OF_CLOSED {
            self.rot(&image, all..=all, true, generator)
                .map_err(|text| format!("closed, then {text}"))?;
        }
        self.recover(image, all..=all, 0)?;
        let store = Store::open_on(closed.clone(), self.options(), &mut |_| {});
        let store = store.map_err(|error| format!("open after close: {}", chain(&error)))?;
        if closed.changes() > 0 {
            // A life that found no space for the second copy of its first header leaves a segment
            // behind it without records, which this open had to take in.
            let newest = store.recovery().segments.last();
            let is_empty = newest.is_some_and(|newest| newest.end == self.records_offset());
            return match disk.refusals() > 0 && is_empty {
                true => Ok(()),
                false => Err("an open that finds nothing to do wrote".to_owned()),
            };
        }
        store
            .close()
            .map_err(|error| format!("second close: {}", chain(&error)))?;
        let (before, after) = (disk.media(), closed.media());
        let is_same = before.names() == after.names()
            && before
                .names()
                .iter()
                .filter(|name| *name != "lock")
                .all(|name| before.content(name).ok() == after.content(name).ok());
        if is_same {
            Ok(())
        } else {
            Err("open and close changed bytes".to_owned())
        }
    }

    /// Where the records of a segment begin: behind two header blocks.
    fn records_offset(&self) -> u64 {
        2 * (self.geometry.segment_bytes / 8 / 128 * 128).min(4096)
    }
}

//! The upkeep of the journal: segments ahead, carrying at pace, spares, intervals. Done by the
//! keeper, or by the calls where there is none or where it has fallen behind.
//!
//! Whoever does it holds the maintenance lock, and no lock of an address.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::compaction::{Carrier, Step};
use crate::error::{Error, Result};
use crate::facade::MutexGuard;
use crate::journal::{Journal, Purpose, Refused};
use crate::keeper::Chores;
use crate::store::shared::{PanicGuard, Shared};
use crate::sync_policy::SyncPolicy;

impl Shared {
    /// After a call that owes something, or has ended what others wait for.
    #[cold]
    pub(crate) fn tend_and_wake(self: &Arc<Self>, guard: PanicGuard<'_>, is_owing: bool) {
        if is_owing || self.has_interval {
            self.tend_or_call(is_owing);
        }
        // What a waker does is no failure of this call.
        drop(guard);
        self.look_at_leases();
        self.waits.wake_due();
    }

    /// Where the keeper does not, the calls see to it that who waits for the end of a lease is
    /// woken.
    fn look_at_leases(&self) {
        if self.waits.is_due() && !(self.options.keeper && self.keeper.is_running()) {
            self.waits.lapsed(self.timeline.monotonic());
        }
    }

    /// Sees to what is owed: calls the keeper, or does the work here.
    fn tend_or_call(self: &Arc<Self>, is_owing: bool) {
        let Some(journal) = &self.journal else { return };
        if self.options.keeper {
            if is_owing && !self.keeper.is_called() || !self.keeper.is_running() {
                self.keeper.call(self, self.interval());
            }
            if self.keeper.is_running() && !(is_owing && journal.is_behind()) {
                return;
            }
        }
        // What fails here fails again, with a better place to tell it, in the call that needs it.
        if is_owing {
            let _ = self.help(journal);
        }
        self.sync_if_due(journal);
    }

    /// Sees to those who wait without a thread: has the keeper sync, or syncs here where there is
    /// none.
    #[cold]
    pub(crate) fn serve(self: &Arc<Self>) {
        // Closing syncs for all, and wakes all.
        if self.is_closed() {
            return;
        }
        if self.options.keeper {
            self.keeper.call(self, self.interval());
            if self.keeper.is_running() {
                return;
            }
        }
        if let (Some(journal), true) = (&self.journal, self.waits.need_sync()) {
            sync(journal);
        }
        self.waits.unattended();
        self.look_at_leases();
        self.waits.wake_due();
    }

    fn interval(&self) -> Option<Duration> {
        match self.policy() {
            SyncPolicy::Interval(interval) => Some(interval),
            SyncPolicy::Always | SyncPolicy::Manual => None,
        }
    }

    /// Syncs what is not durable, if the interval of the policy is over.
    fn sync_if_due(&self, journal: &Journal) {
        if self.is_sync_due() {
            sync(journal);
        }
    }

    /// One round of what is owed, unless somebody is at it: that may be a sync of some
    /// milliseconds, for which a call that has found room need not wait.
    fn help(&self, journal: &Journal) -> Result<()> {
        if journal.is_far_behind() {
            return self.upkeep(journal);
        }
        match self.maintenance.try_lock() {
            Some(carrier) => self.upkeep_with(journal, carrier),
            None => Ok(()),
        }
    }

    /// One round of what is owed.
    fn upkeep(&self, journal: &Journal) -> Result<()> {
        self.upkeep_with(journal, self.maintenance.lock())
    }

    fn upkeep_with(&self, journal: &Journal, mut carrier: MutexGuard<'_, Carrier>) -> Result<()> {
        // Asked under the lock: after a close the directory may be somebody else's.
        let is_open = self.check();
        let kept = is_open.and_then(|()| self.upkeep_locked(journal, &mut carrier));
        drop(carrier);
        self.waits.wake_due();
        kept
    }

    fn upkeep_locked(&self, journal: &Journal, carrier: &mut Carrier) -> Result<()> {
        let kept = self.upkeep_at_pace(journal, carrier);
        self.rooms.fetch_add(1, Ordering::Release);
        if let Err(Error::NoSpace { .. }) = kept {
            // The disk is full. What a clear freed gives back the slot that it took, now: after a
            // restart there would be none to begin in.
            while !journal.has_spare()
                && journal.may_regain()
                && self.carry_oldest(journal, carrier)?
            {
                journal.prepare_next()?;
            }
        }
        kept
    }

    fn upkeep_at_pace(&self, journal: &Journal, carrier: &mut Carrier) -> Result<()> {
        self.sweep(journal);
        journal.prepare_next()?;
        while journal.owed() > 0 {
            // Those who wait for a sync come first, while carrying keeps up.
            if self.waits.need_sync() && !journal.is_behind() {
                break;
            }
            match self.carry_step(journal, carrier)? {
                Step::Nothing => break,
                Step::Looked { bytes, carried } => journal.paid(bytes, carried),
                Step::Released(_) => self.released(journal)?,
            }
        }
        journal.adjust_spares()
    }

    /// A step of carrying, with a segment made ready where it needs one.
    fn carry_step(&self, journal: &Journal, carrier: &mut Carrier) -> Result<Step> {
        loop {
            match carrier.step(journal, self) {
                Ok(step) => return Ok(step),
                Err(Refused::Failed(error)) => return Err(error),
                Err(Refused::NoRoom) => {
                    if journal.has_next() {
                        journal.make_slot()?;
                    } else {
                        journal.prepare_next()?;
                    }
                }
            }
        }
    }

    fn released(&self, journal: &Journal) -> Result<()> {
        self.registry.released(journal.oldest_number());
        journal.adjust_spares()
    }

    /// Makes room for a record that found none when room had been made `rooms` times. Each call
    /// that returns without an error has made some, or somebody else has: of many threads that find
    /// the end of a segment together one makes the next.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`], and what poisons the store.
    #[cold]
    pub(crate) fn make_room(&self, purpose: Purpose, rooms: u64) -> Result<()> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let made = self.make_room_once(journal, purpose, rooms);
        self.waits.wake_due();
        made
    }

    fn make_room_once(&self, journal: &Journal, purpose: Purpose, rooms: u64) -> Result<()> {
        let mut carrier = self.maintenance.lock();
        // As in `upkeep`.
        self.check()?;
        if self.rooms.load(Ordering::Acquire) != rooms {
            return Ok(());
        }
        self.make_room_locked(journal, &mut carrier, purpose)?;
        self.rooms.fetch_add(1, Ordering::Release);
        Ok(())
    }

    fn make_room_locked(
        &self,
        journal: &Journal,
        carrier: &mut Carrier,
        purpose: Purpose,
    ) -> Result<()> {
        if !journal.has_begun() {
            // The last slot is for what frees space; unless all that lives fits into it easily, so
            // that the others come free.
            while purpose == Purpose::Ordinary && !journal.may_begin() {
                journal.make_slot()?;
            }
            return journal.begin_life();
        }
        let mut refused = None;
        if !journal.has_next() {
            match journal.prepare_next() {
                Ok(()) => return Ok(()),
                Err(error @ Error::NoSpace { .. }) => refused = Some(error),
                Err(error) => return Err(error),
            }
        } else if journal.may_grow() || purpose == Purpose::Within {
            match journal.make_slot() {
                Ok(()) => return Ok(()),
                Err(error @ Error::NoSpace { .. }) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        if journal.may_regain() && self.carry_oldest(journal, carrier)? {
            return Ok(());
        }
        match refused {
            Some(error) => Err(error),
            None => journal.make_slot(),
        }
    }

    /// Carries the oldest segment to its end; whether it was released. Where there is no space even
    /// for that, it is not.
    fn carry_oldest(&self, journal: &Journal, carrier: &mut Carrier) -> Result<bool> {
        loop {
            match self.carry_step(journal, carrier) {
                Ok(Step::Nothing) => return Ok(false),
                Ok(Step::Looked { bytes, carried }) => journal.paid(bytes, carried),
                Ok(Step::Released(_)) => {
                    self.registry.released(journal.oldest_number());
                    return Ok(true);
                }
                Err(Error::NoSpace { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Carries everything that lives out of all segments but a fresh one, and gives the space back.
    pub(crate) fn compact(&self) -> Result<()> {
        let Some(journal) = &self.journal else {
            return self.check();
        };
        journal.check_process()?;
        let compacted = self.compact_all(journal);
        self.waits.wake_due();
        compacted
    }

    fn compact_all(&self, journal: &Journal) -> Result<()> {
        let mut carrier = self.maintenance.lock();
        // As in `upkeep`.
        self.check()?;
        self.sweep_all();
        if journal.dead_bytes() == 0 {
            return Ok(());
        }
        journal.begin_life()?;
        journal.prepare_next()?;
        match journal.rotate_now() {
            Ok(()) => {}
            Err(Refused::Failed(error)) => return Err(error),
            Err(Refused::NoRoom) => return Ok(()),
        }
        let boundary = journal.end().segment();
        while journal.oldest_number() < boundary {
            match self.carry_step(journal, &mut carrier)? {
                Step::Nothing => break,
                Step::Looked { .. } => {}
                Step::Released(_) => self.released(journal)?,
            }
        }
        self.upkeep_locked(journal, &mut carrier)
    }
}

impl Chores for Shared {
    fn tend(&self, is_over: bool) {
        self.waits.lapsed(self.timeline.monotonic());
        self.waits.wake_due();
        let Some(journal) = &self.journal else { return };
        // A failure that matters has poisoned the store, and "no space" is told to the call that
        // needs it.
        let _guard = self.guard();
        if is_over || self.waits.need_sync() {
            sync(journal);
        }
        let _ = self.upkeep(journal);
    }

    fn pause(&self) -> Option<Duration> {
        let end = self.waits.first_lease_end()?;
        Some(end.saturating_sub(self.timeline.monotonic()))
    }

    fn monotonic(&self) -> Duration {
        self.timeline.monotonic()
    }
}

/// Makes durable what is not.
fn sync(journal: &Journal) {
    let end = journal.end();
    if end > journal.commit.durable() {
        let _ = journal.wait(end);
        journal.commit.waits.wake_due();
    }
}

//! A disk in memory that counts, fails, forgets and loses power, behind the engine's `Storage`.
//!
//! Handles share one state. A snapshot is a copy of it as it is at one call, so that recovering it
//! is a kill of the process; an image is what a power cut may leave. Both begin unlocked.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::disk_calls::KINDS;
pub use super::disk_calls::{Call, CallKind, Effect, Fault, Progress, Snapshot};
use super::generator::{Choices, Generator};
use super::media::{Cut, Media};
use super::order::Order;

/// No space: a write that fails with it is no failure of the disk.
const ENOSPC: i32 = 28;
/// An interruption: the call is made again.
const EINTR: i32 = 4;

pub(super) struct State {
    pub(super) media: Media,
    pub(super) locked: BTreeSet<String>,
    pub(super) faults: Vec<Fault>,
    pub(super) counts: [u64; KINDS],
    pub(super) calls: u64,
    pub(super) trace: Option<Vec<Call>>,
    pub(super) progress: Progress,
    pub(super) snapshot_per_cent: usize,
    pub(super) snapshot_generator: Generator,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) space_left: Option<u64>,
    pub(super) has_failed: bool,
    pub(super) failures: u64,
    pub(super) changes_after_failure: u64,
    pub(super) refusals: u64,
    pub(super) failed_calls: u64,
    pub(super) short_writes: u64,
    pub(super) order: Order,
}

/// A handle of the disk; clones are handles of the same one.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

impl SimulatedDisk {
    /// An empty disk with sectors of this size.
    pub fn new(sector_bytes: usize) -> SimulatedDisk {
        SimulatedDisk::holding(Media::new(sector_bytes))
    }

    /// A disk that holds this, unlocked, with no faults planned.
    pub fn holding(media: Media) -> SimulatedDisk {
        SimulatedDisk(Arc::new(Mutex::new(State {
            media,
            locked: BTreeSet::new(),
            faults: Vec::new(),
            counts: [0; KINDS],
            calls: 0,
            trace: None,
            progress: Progress::default(),
            snapshot_per_cent: 0,
            snapshot_generator: Generator::new(0),
            snapshots: Vec::new(),
            space_left: None,
            has_failed: false,
            failures: 0,
            changes_after_failure: 0,
            refusals: 0,
            failed_calls: 0,
            short_writes: 0,
            order: Order::default(),
        })))
    }

    /// What it holds now: a disk made of it is this one after a kill of the process.
    pub fn media(&self) -> Media {
        self.state().media.clone()
    }

    /// A copy that goes its own way: this disk after a kill of the process.
    pub fn snapshot(&self) -> SimulatedDisk {
        SimulatedDisk::holding(self.media())
    }

    /// This disk after a power cut.
    pub fn image(&self, choices: &mut Choices) -> SimulatedDisk {
        let cut = Cut::any(choices);
        SimulatedDisk::holding(self.media().image(cut, choices))
    }

    /// Changes what it holds, as rot does.
    pub fn change<T>(&self, change: impl FnOnce(&mut Media) -> T) -> T {
        change(&mut self.state().media)
    }

    /// Plans a fault; `nth` counts from now.
    pub fn fail(&self, fault: Fault) {
        let mut state = self.state();
        let nth = state.counts[fault.kind as usize] + fault.nth;
        state.faults.push(Fault { nth, ..fault });
    }

    /// Plans no more faults.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// How many bytes files may still grow by before there is no space.
    pub fn limit_space(&self, bytes: Option<u64>) {
        self.state().space_left = bytes;
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    pub fn count(&self, kind: CallKind) -> u64 {
        self.state().counts[kind as usize]
    }

    /// How many writes, creations, renames and removals there were.
    pub fn changes(&self) -> u64 {
        let kinds = [
            CallKind::Write,
            CallKind::Create,
            CallKind::Rename,
            CallKind::Remove,
        ];
        let state = self.state();
        kinds.iter().map(|kind| state.counts[*kind as usize]).sum()
    }

    /// Whether a write or a sync, also of the directory, failed since the lock was taken.
    pub fn has_failed(&self) -> bool {
        self.state().has_failed
    }

    /// How many writes and syncs failed.
    pub fn failures(&self) -> u64 {
        self.state().failures
    }

    /// How many writes and syncs there were after one of the same life had failed.
    pub fn changes_after_failure(&self) -> u64 {
        self.state().changes_after_failure
    }

    /// How many writes failed since there was no space, with nothing of them written.
    pub fn refusals(&self) -> u64 {
        self.state().refusals
    }

    /// How many writes wrote less than asked.
    pub fn short_writes(&self) -> u64 {
        self.state().short_writes
    }

    /// Whether any call was made to fail.
    pub fn has_told(&self) -> bool {
        self.state().failed_calls > 0
    }

    /// Tells the watcher of the order something, or asks it.
    pub fn order<T>(&self, tell: impl FnOnce(&mut Order, &Media) -> T) -> T {
        let state = &mut *self.state();
        tell(&mut state.order, &state.media)
    }

    /// Begins a trace of all calls.
    pub fn begin_trace(&self) {
        self.state().trace = Some(Vec::new());
    }

    pub fn trace(&self) -> Vec<Call> {
        self.state().trace.clone().unwrap_or_default()
    }

    /// Takes snapshots before this share of the calls from now on.
    pub fn take_snapshots(&self, per_cent: usize, generator: Generator) {
        let mut state = self.state();
        state.snapshot_per_cent = per_cent;
        state.snapshot_generator = generator;
    }

    /// Takes a snapshot now.
    pub fn take_snapshot(&self) {
        self.state().take_snapshot();
    }

    /// The snapshots taken since the last call of this.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        std::mem::take(&mut self.state().snapshots)
    }

    pub fn set_progress(&self, progress: Progress) {
        self.state().progress = progress;
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn take_snapshot(&mut self) {
        let (media, progress, call) = (self.media.clone(), self.progress, self.calls);
        let is_after_failure = self.failures > 0;
        self.snapshots.push(Snapshot {
            media,
            progress,
            call,
            is_after_failure,
        });
    }

    /// Counts a call, takes a snapshot if it is time, and tells what is to go wrong.
    pub(super) fn enter(
        &mut self,
        kind: CallKind,
        name: &str,
        place: (u64, usize),
    ) -> Option<Effect> {
        if self.snapshot_per_cent > 0 && self.snapshot_generator.per_cent(self.snapshot_per_cent) {
            self.take_snapshot();
        }
        self.calls += 1;
        self.counts[kind as usize] += 1;
        let is_final = matches!(
            kind,
            CallKind::Write | CallKind::Sync | CallKind::SyncDirectory
        );
        self.changes_after_failure += u64::from(self.has_failed && is_final);
        let count = self.counts[kind as usize];
        let is_meant = |fault: &&Fault| {
            fault.kind == kind && (fault.nth == count || fault.is_lasting && fault.nth < count)
        };
        let effect = self.faults.iter().find(is_meant).map(|fault| fault.effect);
        let is_refused = kind == CallKind::Write && effect == Some(Effect::Fails(ENOSPC));
        self.refusals += u64::from(is_refused);
        self.failed_calls += u64::from(matches!(effect, Some(Effect::Fails(_))));
        let is_retried = kind == CallKind::Write && effect == Some(Effect::Fails(EINTR));
        let is_failed = matches!(effect, Some(Effect::Fails(_))) && !is_refused && !is_retried;
        self.has_failed |= is_failed && is_final;
        self.failures += u64::from(is_failed && is_final);
        if let Some(trace) = &mut self.trace {
            let (name, (offset, bytes)) = (name.to_owned(), place);
            trace.push(Call {
                kind,
                name,
                offset,
                bytes,
                is_failed,
            });
        }
        effect
    }

    pub(super) fn call(&mut self, kind: CallKind, name: &str) -> io::Result<()> {
        match self.enter(kind, name, (0, 0)) {
            Some(Effect::Fails(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Ok(()),
        }
    }

    pub(super) fn write(&mut self, inode: u64, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut count = bytes.len();
        match self.enter(CallKind::Write, &self.name(inode), (offset, bytes.len())) {
            Some(Effect::Fails(number)) => return Err(io::Error::from_raw_os_error(number)),
            Some(Effect::Short(most)) => {
                count = count.min(most);
                self.short_writes += 1;
            }
            None => {}
        }
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let length = self.media.bytes(inode).len();
        if let Some(left) = &mut self.space_left {
            let growth = (offset + count).saturating_sub(length.max(offset));
            let missing = growth.saturating_sub(usize::try_from(*left).unwrap_or(usize::MAX));
            if missing > 0 && missing == count {
                return Err(io::ErrorKind::StorageFull.into());
            }
            count -= missing;
            *left -= (growth - missing) as u64;
        }
        self.order
            .see_write(&self.media, inode, offset, &bytes[..count]);
        self.media.write(inode, offset, &bytes[..count]);
        Ok(count)
    }

    pub(super) fn name(&self, inode: u64) -> String {
        if self.trace.is_some() {
            self.media.name(inode)
        } else {
            String::new()
        }
    }
}

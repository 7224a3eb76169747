//! One run of the crash loop: lives of a store, snapshots at its calls of the disk, what power cuts
//! leave of them, recovered and compared with the model after each number of calls.
//!
//! Everything is decided by one seed; nothing runs beside it (the keeper is off).

use std::sync::Arc;

use idjournal::SyncPolicy;

use super::CountingClock;
use super::crash_found::AtTime;
use super::crash_geometry::{Counts, Geometry};
use super::crash_plan::planned_fault;
use super::generator::Generator;
use super::media::Media;
use super::model::Model;
use super::operation::{Operation, print};
use super::recorded::{Answer, Recorded};
use super::runner::{Runner, chain};
use super::simulated::{Progress, SimulatedDisk};

const LIVES: u64 = 4;
pub const OPERATIONS_MAX: usize = 120;

/// One seed's run.
pub struct Run {
    pub(super) seed: u64,
    pub geometry: Geometry,
    /// How many calls it may make: fewer, to find the shortest that fails.
    pub(super) limit: usize,
    pub(super) clock: Arc<CountingClock>,
    /// The clock of what is only looked at: so early that a store stands at its newest time, where
    /// no expiry hides in which state it is.
    pub(super) early: Arc<CountingClock>,
    pub(super) openings: u64,
    pub(super) is_traced: bool,
    /// The number of the state that this life begins with.
    pub(super) base: usize,
    pub counts: Counts,
    /// The calls of this life and the models before and after each.
    pub(super) script: Vec<Operation>,
    pub models: Vec<Model>,
    pub fingerprints: Vec<u64>,
    /// The same of what a restart would leave.
    pub kept: Vec<u64>,
    pub(super) at_time: AtTime,
    pub(super) again: Vec<Operation>,
    /// The states that were acknowledged in this life, each higher than the one before.
    pub acknowledged: Vec<usize>,
    /// The disk's call after which the store was open: what is older is vouched for from then on.
    pub opened_at: u64,
    /// Whether there was a life before, whose states are no longer known.
    pub is_later_life: bool,
    /// Whether the life ended with an error that the caller was told.
    pub(super) is_told: bool,
    /// Whether each life is closed in order, and not half of them.
    pub(super) is_closing: bool,
    /// The slot and the offset at which the last recovery found a tear.
    pub torn_at: Option<(String, u64)>,
}

impl Run {
    pub fn new(seed: u64, limit: usize) -> Run {
        Run {
            seed,
            geometry: Geometry::of(seed),
            limit,
            clock: Arc::new(CountingClock::default()),
            early: Arc::new(CountingClock::early()),
            openings: 0,
            is_traced: false,
            base: 0,
            counts: Counts::default(),
            script: Vec::new(),
            models: Vec::new(),
            fingerprints: Vec::new(),
            kept: Vec::new(),
            at_time: AtTime::default(),
            again: Vec::new(),
            acknowledged: Vec::new(),
            opened_at: u64::MAX,
            is_later_life: false,
            is_told: false,
            is_closing: false,
            torn_at: None,
        }
    }

    /// The same run on a disk and a store of this kind.
    pub fn on(self, geometry: Geometry) -> Run {
        Run { geometry, ..self }
    }

    /// The same run; a failure comes with the calls of the disk.
    pub fn traced(self) -> Run {
        Run {
            is_traced: true,
            ..self
        }
    }

    /// All lives; what was found wrong.
    pub fn run(&mut self) -> Result<(), String> {
        let mut media = Media::new(self.geometry.sector_bytes);
        self.models = vec![Model::new(self.geometry.profile.settings)];
        for life in 0..LIVES {
            self.begin();
            self.is_later_life = life > 0;
            let mut generator = Generator::of_part(self.seed, 100 + life);
            let disk = SimulatedDisk::holding(media.clone());
            if self.is_traced {
                disk.begin_trace();
            }
            let result = self.live(&disk, &mut generator);
            let result = result.and_then(|()| self.check_all(disk.snapshots(), &mut generator));
            let next = result.map_err(|text| {
                let (script, calls) = (print(&self.script), trace(&disk));
                format!(
                    "life {life}, from state {}: {text}\n{script}{calls}",
                    self.base
                )
            })?;
            self.counts.count_segments(&media, &disk.media());
            if next.is_none() || self.counts.operations >= self.limit as u64 {
                break;
            }
            if let Some(next) = next {
                self.again = self
                    .script
                    .split_off(next.legal.end().saturating_sub(self.base));
                self.again
                    .retain(|call| !matches!(call, Operation::Reopen { .. }));
                self.again.retain(|_| generator.per_cent(70));
                self.models = self.models[next.legal].to_vec();
                media = next.media;
            }
        }
        Ok(())
    }

    /// Begins a life at the last of the models; the disk may go back to others
    /// until it is open.
    pub(super) fn begin(&mut self) {
        self.script.clear();
        self.acknowledged.clear();
        self.opened_at = u64::MAX;
        self.base = self.models.len() - 1;
        self.look_at_models();
    }

    /// One short life on an empty disk, with a snapshot before every call: every image of those
    /// that have at most `images_max`. Returns how many snapshots were listed in full.
    pub fn run_listed(&mut self, operations: usize, images_max: u64) -> Result<u64, String> {
        self.models = vec![Model::new(self.geometry.profile.settings)];
        self.begin();
        let mut generator = Generator::of_part(self.seed, 3);
        let disk = SimulatedDisk::new(self.geometry.sector_bytes);
        disk.take_snapshots(100, generator.clone());
        self.again = (0..operations)
            .map(|_| Operation::generate(&mut generator, &self.geometry.profile))
            .collect();
        self.limit = operations;
        let opener = self.opener(&disk);
        let runner = Runner::open(
            opener,
            Arc::clone(&self.clock),
            self.geometry.profile.settings,
        );
        let runner = runner.map_err(|error| format!("open: {}", chain(&error)))?;
        let result = self.use_store(runner, &disk, &mut generator);
        let result = result.and_then(|()| self.list_all(disk.snapshots(), images_max));
        result.map_err(|text| format!("{text}\n{}", print(&self.script)))
    }

    /// One life of the store on this disk, up to a close, a drop or a failed call.
    pub(super) fn live(
        &mut self,
        disk: &SimulatedDisk,
        generator: &mut Generator,
    ) -> Result<(), String> {
        let share = self.geometry.snapshots[generator.below(4)];
        disk.take_snapshots(share, Generator::new(generator.next()));
        if generator.per_cent(self.geometry.faults) {
            disk.fail(planned_fault(generator));
        }
        disk.set_progress(Progress {
            acknowledged: 0,
            ..Progress::all(self.base)
        });
        let runner = match Runner::open(
            self.opener(disk),
            Arc::clone(&self.clock),
            self.geometry.profile.settings,
        ) {
            Ok(runner) => Some(runner),
            Err(_) if disk.has_told() => {
                self.is_told = true;
                None
            }
            Err(error) => return Err(format!("open: {}", chain(&error))),
        };
        if let Some(runner) = runner {
            self.use_store(runner, disk, generator)?;
        }
        disk.take_snapshot();
        self.counts.failures += u64::from(disk.failures() > 0);
        self.counts.short_writes += disk.short_writes();
        if let Some(fault) = disk.order(|order, _| order.fault()) {
            return Err(fault);
        }
        if disk.changes_after_failure() > 0 {
            return Err("there was a write or a sync after a failed one".to_owned());
        }
        Ok(())
    }

    fn use_store(
        &mut self,
        mut runner: Runner,
        disk: &SimulatedDisk,
        generator: &mut Generator,
    ) -> Result<(), String> {
        let now = self.clock.step_of(runner.store());
        self.found_at(runner.store(), now, self.base..=self.base)?;
        self.set_time(runner.store());
        let mut progress = Progress::all(self.base);
        disk.set_progress(progress);
        self.acknowledged.push(self.base);
        self.opened_at = disk.calls();
        let mut script: Vec<_> = std::mem::take(&mut self.again);
        for _ in 0..1 + generator.below(OPERATIONS_MAX - 1) {
            script.push(Operation::generate(generator, &self.geometry.profile));
        }
        let mut group = 1 + generator.below(8);
        // The last call whose receipt is at hand and that recorded something: a sync of it covers
        // all before it.
        let mut covered = 0;
        for operation in script {
            if self.counts.operations >= self.limit as u64 {
                break;
            }
            self.counts.operations += 1;
            progress.issued += 1;
            disk.set_progress(progress);
            disk.order(|order, _| order.begin_call());
            let Some(answer) = self.step(&mut runner, disk, operation)? else {
                self.is_told = true;
                runner.abandon();
                return Ok(());
            };
            let is_awaited = matches!(self.script.last(), Some(Operation::Add { .. }));
            let has_receipt = is_awaited || runner.newly_held() > 0;
            disk.order(|order, _| order.end_call(has_receipt));
            progress.returned = progress.issued;
            if is_awaited && answer == Answer::Added && self.has_changed() {
                // The call waits by itself, and what it waits for covers all before it.
                self.acknowledge(&mut progress, disk);
            }
            if let (true, Some(since)) = (is_awaited, self.known_since(&answer))
                && self.geometry.policy == SyncPolicy::Always
            {
                // "Duplicate" lets the caller forget its message: the ID must be as safe as added.
                progress.acknowledged = progress.acknowledged.max(since);
            }
            if runner.newly_held() > 0 && self.has_changed() {
                covered = progress.issued;
            }
            let is_durable = matches!(
                self.script.last(),
                Some(Operation::Sync | Operation::Backup | Operation::Reopen { .. })
            );
            let mut is_partly = false;
            group -= 1;
            if group == 0 || is_durable {
                group = 1 + generator.below(8);
                let is_synced = generator.per_cent(20);
                match runner.settle(is_synced) {
                    Ok(()) | Err(idjournal::Error::Rejected { .. }) => {}
                    Err(_) if disk.has_told() => {
                        self.is_told = true;
                        runner.abandon();
                        return Ok(());
                    }
                    Err(error) => return Err(format!("wait: {}", chain(&error))),
                }
                if is_durable {
                    progress.acknowledged = progress.issued;
                    disk.order(|order, media| order.acknowledge(media));
                } else if self.geometry.policy == SyncPolicy::Always {
                    self.acknowledge(&mut progress, disk);
                } else if is_synced {
                    progress.acknowledged = progress.acknowledged.max(covered);
                    is_partly = true;
                }
                covered = 0;
            }
            // Where a group surely ends: everything up to here, and nothing behind, is durable.
            if progress.acknowledged == progress.issued && !is_partly {
                self.acknowledged.push(progress.issued);
            }
            disk.set_progress(progress);
        }
        self.end(runner, disk, generator)
    }

    /// Since which state the ID of the last call is known, if it was a duplicate.
    fn known_since(&self, answer: &Answer) -> Option<usize> {
        let (Some(Operation::Add { cache, id }), Answer::Duplicate(_)) =
            (self.script.last(), answer)
        else {
            return None;
        };
        // What is not stored waits for nothing.
        self.models
            .last()
            .filter(|model| model.is_stored(*cache, *id))?;
        let is_known =
            |at: &usize| matches!(self.models[*at].state(*cache, *id), Answer::Duplicate(_));
        (0..self.models.len()).rev().take_while(is_known).last()
    }

    /// Under a policy that syncs each call, all up to now are acknowledged.
    fn acknowledge(&self, progress: &mut Progress, disk: &SimulatedDisk) {
        if self.geometry.policy == SyncPolicy::Always {
            progress.acknowledged = progress.issued;
            disk.order(|order, media| order.acknowledge(media));
        }
    }

    /// Whether the last call recorded something that shows.
    fn has_changed(&self) -> bool {
        matches!(self.kept[..], [.., before, after] if before != after)
    }

    /// Runs one call on the store and the model; its answer, if the store goes on.
    fn step(
        &mut self,
        runner: &mut Runner,
        disk: &SimulatedDisk,
        operation: Operation,
    ) -> Result<Option<Answer>, String> {
        let mut model = self.models.last().cloned().ok_or("no model")?;
        let answer = runner.run(&operation);
        let is_reopened = matches!(operation, Operation::Reopen { .. });
        if !is_reopened && answer == Answer::NoSpace && disk.refusals() > 0 {
            self.counts.refused_calls += 1;
            model.refuse(&operation);
            let now = self.models.len() - 1;
            self.models[now] = model;
            self.compare(&Recorded::of_store(runner.store()), now..=now)?;
            let is_over = matches!(
                operation,
                Operation::Confirm { .. }
                    | Operation::ConfirmWith { .. }
                    | Operation::Commit { .. }
                    | Operation::Prepare { .. }
            );
            // There is space again: what was refused goes through.
            let retried = if is_over { Operation::Sync } else { operation };
            return self.step(runner, disk, retried);
        }
        self.script.push(operation.clone());
        let is_failed = matches!(answer, Answer::Failed(_) | Answer::NoSpace) && disk.has_told();
        let agreed = if is_failed {
            operation.run_on(&mut model);
            Ok(())
        } else {
            let agreed = operation.agree(&mut model, &answer);
            agreed.and_then(|()| runner.check_space(&model))
        };
        self.fingerprints.push(model.fingerprint());
        self.kept.push(self.kept_of(&model));
        self.models.push(model);
        agreed?;
        Ok((!is_failed).then_some(answer))
    }
}

/// The calls of the disk with their numbers, one a line.
fn trace(disk: &SimulatedDisk) -> String {
    let lines = disk.trace().into_iter().enumerate().map(|(at, call)| {
        let failed = if call.is_failed { " FAILED" } else { "" };
        let (kind, name, offset, bytes) = (call.kind, call.name, call.offset, call.bytes);
        format!("  call {at}: {kind:?} {name} {offset}+{bytes}{failed}\n")
    });
    lines.collect()
}

//! One run of the crash loop: lives of a store, snapshots at its calls of the disk, what power cuts
//! leave of them, recovered and compared with the model after each number of calls.
//!
//! Everything is decided by one seed; nothing runs beside it (the keeper is off).

use std::sync::Arc;
use std::time::Duration;

use idjournal::{Options, Store, SyncPolicy};

use super::crash_geometry::{Counts, Geometry};
use super::generator::{Choices, Generator};
use super::media::{Cut, Media};
use super::model::Model;
use super::operation::{Operation, print};
use super::recorded::{Answer, Recorded};
use super::runner::{Opener, Runner, chain};
use super::simulated::{CallKind, Effect, Fault, Progress, SimulatedDisk};
use super::{CountingClock, SeededEntropy};

const LIVES: u64 = 4;
const OPERATIONS_MAX: usize = 120;
const EIO: i32 = 5;

/// One seed's run.
pub struct Run {
    seed: u64,
    pub geometry: Geometry,
    /// How many calls it may make: fewer, to find the shortest that fails.
    limit: usize,
    clock: Arc<CountingClock>,
    openings: u64,
    is_traced: bool,
    /// The number of the state that this life begins with.
    base: usize,
    pub counts: Counts,
    /// The calls of this life and the models before and after each.
    script: Vec<Operation>,
    pub models: Vec<Model>,
    pub fingerprints: Vec<u64>,
    again: Vec<Operation>,
}

impl Run {
    pub fn new(seed: u64, limit: usize) -> Run {
        Run {
            seed,
            geometry: Geometry::of(seed),
            limit,
            clock: Arc::new(CountingClock::default()),
            openings: 0,
            is_traced: false,
            base: 0,
            counts: Counts::default(),
            script: Vec::new(),
            models: Vec::new(),
            fingerprints: Vec::new(),
            again: Vec::new(),
        }
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
    fn begin(&mut self) {
        self.script.clear();
        self.base = self.models.len() - 1;
        for model in &mut self.models {
            model.reopen(self.geometry.profile.settings);
        }
        self.fingerprints = self.models.iter().map(Model::fingerprint).collect();
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
        let runner = Runner::open(opener, self.geometry.profile.settings);
        let runner = runner.map_err(|error| format!("open: {}", chain(&error)))?;
        let result = self.use_store(runner, &disk, &mut generator);
        let result = result.and_then(|()| self.list_all(disk.snapshots(), images_max));
        result.map_err(|text| format!("{text}\n{}", print(&self.script)))
    }

    pub fn options(&mut self) -> Options {
        self.openings += 1;
        let entropy = SeededEntropy::new(self.seed ^ self.openings << 32);
        Options::default()
            .id_cache_size(self.geometry.profile.settings)
            .segment_bytes(self.geometry.segment_bytes)
            .sync_policy(self.geometry.policy)
            .keeper(false)
            .lock_wait(Duration::ZERO)
            .clock(self.clock.clone())
            .entropy(Arc::new(entropy))
    }

    fn opener(&mut self, disk: &SimulatedDisk) -> Opener {
        let mut options: Vec<Options> = (0..=OPERATIONS_MAX).map(|_| self.options()).collect();
        let disk = disk.clone();
        Box::new(move |_| {
            let options = options.pop().expect("as many as there can be openings");
            Store::open_on(disk.clone(), options, &mut |_| {})
        })
    }

    /// One life of the store on this disk, up to a close, a drop or a failed call.
    fn live(&mut self, disk: &SimulatedDisk, generator: &mut Generator) -> Result<(), String> {
        let share = [2, 5, 15, 30][generator.below(4)];
        disk.take_snapshots(share, Generator::new(generator.next()));
        if generator.per_cent(30) {
            let (kind, most) = [
                (CallKind::Sync, 60),
                (CallKind::Sync, 15),
                (CallKind::SyncDirectory, 4),
                (CallKind::Write, 100),
            ][generator.below(4)];
            let nth = 1 + generator.below(most) as u64;
            disk.fail(Fault {
                kind,
                nth,
                is_lasting: false,
                effect: Effect::Fails(EIO),
            });
        }
        disk.set_progress(Progress {
            acknowledged: 0,
            ..Progress::all(self.base)
        });
        let runner = match Runner::open(self.opener(disk), self.geometry.profile.settings) {
            Ok(runner) => Some(runner),
            Err(_) if disk.has_failed() => None,
            Err(error) => return Err(format!("open: {}", chain(&error))),
        };
        if let Some(runner) = runner {
            self.use_store(runner, disk, generator)?;
        }
        disk.take_snapshot();
        self.counts.failures += u64::from(disk.failures() > 0);
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
        self.compare(
            &Recorded::of_store(runner.store(), self.geometry.profile.settings),
            self.base..=self.base,
        )?;
        let mut progress = Progress::all(self.base);
        disk.set_progress(progress);
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
            let is_done = self.step(&mut runner, disk, operation)?;
            if !is_done {
                runner.abandon();
                return Ok(());
            }
            progress.returned = progress.issued;
            if runner.newly_held() > 0 && self.has_changed() {
                covered = progress.issued;
            }
            let is_durable = matches!(
                self.script.last(),
                Some(Operation::Sync | Operation::Reopen { .. })
            );
            group -= 1;
            if group == 0 || is_durable {
                group = 1 + generator.below(8);
                let is_synced = generator.per_cent(20);
                match runner.settle(is_synced) {
                    Ok(()) | Err(idjournal::Error::Rejected { .. }) => {}
                    Err(_) if disk.has_failed() => {
                        runner.abandon();
                        return Ok(());
                    }
                    Err(error) => return Err(format!("wait: {}", chain(&error))),
                }
                if is_durable || self.geometry.policy == SyncPolicy::Always {
                    progress.acknowledged = progress.issued;
                } else if is_synced {
                    progress.acknowledged = progress.acknowledged.max(covered);
                }
                covered = 0;
            }
            disk.set_progress(progress);
        }
        self.end(runner, disk, generator)
    }

    /// Whether the last call recorded something that shows.
    fn has_changed(&self) -> bool {
        matches!(self.fingerprints[..], [.., before, after] if before != after)
    }

    /// Runs one call on the store and the model; whether the store goes on.
    fn step(
        &mut self,
        runner: &mut Runner,
        disk: &SimulatedDisk,
        operation: Operation,
    ) -> Result<bool, String> {
        let mut model = self.models.last().cloned().ok_or("no model")?;
        let answer = runner.run(&operation);
        self.script.push(operation.clone());
        let is_failed = matches!(answer, Answer::Failed(_)) && disk.has_failed();
        let agreed = if is_failed {
            operation.run_on(&mut model);
            Ok(())
        } else {
            operation.agree(&mut model, &answer)
        };
        self.fingerprints.push(model.fingerprint());
        self.models.push(model);
        agreed?;
        Ok(!is_failed)
    }

    fn end(
        &mut self,
        mut runner: Runner,
        disk: &SimulatedDisk,
        generator: &mut Generator,
    ) -> Result<(), String> {
        if generator.per_cent(50) {
            runner.abandon();
            return Ok(());
        }
        match runner.close() {
            Ok(()) => {}
            Err(_) if disk.has_failed() => return Ok(()),
            Err(error) => return Err(format!("close: {}", chain(&error))),
        }
        let all = self.base + self.script.len();
        disk.set_progress(Progress::all(all));
        let closed = disk.snapshot();
        self.counts.closes += 1;
        // A power cut after a clean close takes nothing.
        let image = closed.media().image(Cut::Nothing, &mut Choices::random(0));
        self.recover(image, all..=all, 0)?;
        let store = Store::open_on(closed.clone(), self.options(), &mut |_| {});
        let store = store.map_err(|error| format!("open after close: {}", chain(&error)))?;
        store
            .close()
            .map_err(|error| format!("second close: {}", chain(&error)))?;
        if closed.changes() > 0 {
            return Err("an open that finds nothing to do, and a close, wrote".to_owned());
        }
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

//! Fuzzes lives of a store on the simulated disk of the tests: calls, failing calls of the disk,
//! power cuts and kills, each compared with the model.

#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
mod script;

use std::sync::Arc;

use common::generator::{Choices, Generator};
use common::media::Cut;
use common::model::Model;
use common::operation::Operation;
use common::recorded::{Answer, Recorded};
use common::runner::{Opener, Runner, chain};
use common::said::AtOpen;
use common::simulated::SimulatedDisk;
use common::{CountingClock, SeededEntropy};
use idjournal::{Options, Store, SyncPolicy};
use idjournal_fuzz::memory;
use libfuzzer_sys::fuzz_target;
use script::{End, Life, Script, Step};

const LIVES_MAX: usize = 4;
const CALLS_MAX: usize = 80;
/// Copies of a script.
const BACKUPS_MAX: usize = 2;

fuzz_target!(|script: Script| {
    memory::bounded(64 << 20, || Run::new(&script).run(&script));
});

struct Run {
    options: Arc<dyn Fn() -> Options + Send + Sync>,
    clock: Arc<CountingClock>,
    /// So early that a store stands at its newest time, where no expiry hides in which state it is.
    early: Arc<CountingClock>,
    sector_bytes: usize,
    /// What the options of the next open say.
    at_open: AtOpen,
    backups: usize,
    is_manual: bool,
    /// The states that the store may be in when it is opened next, oldest first.
    models: Vec<Model>,
}

impl Run {
    fn new(script: &Script) -> Run {
        let at_open = AtOpen::from(1 + u64::from(script.capacity % 8));
        let segment_bytes = [1024, 2048, 4096][usize::from(script.segment % 3)];
        let policy = [SyncPolicy::Always, SyncPolicy::Manual][usize::from(script.is_manual)];
        let clock = Arc::new(CountingClock::default());
        let its_clock = Arc::clone(&clock);
        let entropy = Arc::new(SeededEntropy::new(u64::from(script.sector)));
        let options = move || {
            Options::default()
                .segment_bytes(segment_bytes)
                .sync_policy(policy)
                .keeper(false)
                .clock(clock.clone())
                .entropy(entropy.clone())
        };
        Run {
            options: Arc::new(options),
            clock: its_clock,
            early: Arc::new(CountingClock::early()),
            sector_bytes: [128, 256, 512][usize::from(script.sector % 3)],
            at_open,
            backups: 0,
            is_manual: script.is_manual,
            models: vec![Model::new(at_open)],
        }
    }

    fn opener(&self, disk: &SimulatedDisk) -> Opener {
        let (disk, options) = (disk.clone(), self.options.clone());
        Box::new(move |at_open, copy| {
            let options = at_open.options(options());
            match copy {
                Some(copy) => Store::open_on(copy, options, &mut |_| {}),
                None => Store::open_on(disk.clone(), options, &mut |_| {}),
            }
        })
    }

    fn run(&mut self, script: &Script) {
        let mut disk = SimulatedDisk::new(self.sector_bytes);
        for life in script.lives.iter().take(LIVES_MAX) {
            self.look(&disk.snapshot());
            if let Some(planned) = &life.fault {
                disk.fail(planned.fault());
            }
            let reached = self.live(life, &disk);
            disk.heal();
            let (kept, end) = match (reached, &life.end) {
                // It was not open: what the life before left may still be taken back by a power
                // cut, so that only a kill is simple to judge.
                (None, _) => (0, &End::Kill),
                (Some(reached), End::Close | End::Drop | End::Kill) => (reached.kill, &life.end),
                (Some(reached), End::Cut(_) | End::CutInRecovery(_)) => (reached.cut, &life.end),
            };
            self.models.drain(..kept);
            disk = self.end(end, &disk);
        }
        let store = self.open(&disk);
        drop(store);
    }

    /// Opens what must open, in one of the legal states; the others are no longer.
    fn open(&mut self, disk: &SimulatedDisk) -> Store {
        let options = self.at_open.options((self.options)());
        let store = Store::open_on(disk.clone(), options, &mut |_| {});
        let store = store.unwrap_or_else(|error| panic!("refused: {}", chain(&error)));
        self.settle_on(&store, self.clock.step_of(&store));
        store
    }

    /// In which of the states it is.
    fn look(&mut self, disk: &SimulatedDisk) -> Store {
        let options = self.at_open.options((self.options)());
        let options = options.clock(self.early.clone());
        let store = Store::open_on(disk.clone(), options, &mut |_| {});
        let store = store.unwrap_or_else(|error| panic!("refused: {}", chain(&error)));
        self.settle_on(&store, self.early.step_of(&store));
        store
    }

    /// The state that the store has opened in, at its time; it is the only one then.
    fn settle_on(&mut self, store: &Store, now: u64) {
        let found = Recorded::of_opened(store);
        let fingerprint = found.fingerprint();
        let opened = |model: &Model| {
            let whole = model.opened(now);
            match whole.recorded_with_values().fingerprint() == fingerprint {
                true => Some(whole),
                false => model.partly_as(now, fingerprint),
            }
        };
        let Some(mut found_in) = self.models.iter().rev().find_map(opened) else {
            let legal = self.models.iter().map(|model| model.opened(now));
            let legal: Vec<_> = legal
                .map(|model| model.recorded_with_values().to_string())
                .collect();
            panic!(
                "found\n{found}which is none of {} states:\n{}",
                legal.len(),
                legal.join("or\n")
            );
        };
        found_in.begin_call();
        self.models = vec![found_in];
    }

    /// One life up to a failure or the end of its calls.
    fn live(&mut self, life: &Life, disk: &SimulatedDisk) -> Option<Reached> {
        let mut reached = Reached { cut: 0, kill: 0 };
        let (opener, clock) = (self.opener(disk), Arc::clone(&self.clock));
        let mut runner = match Runner::open(opener, clock, self.at_open) {
            Ok(runner) => runner,
            Err(error) => {
                assert!(disk.has_told(), "refused: {}", chain(&error));
                return None;
            }
        };
        let now = self.clock.step_of(runner.store());
        self.settle_on(runner.store(), now);
        let capacity = self.at_open.capacity;
        let calls = life.calls.iter();
        let steps = calls.flat_map(|call| call.operations(capacity));
        for step in steps.take(CALLS_MAX) {
            let operation = match step {
                Step::Call(Operation::Backup) if self.backups == BACKUPS_MAX => continue,
                Step::Call(operation) => operation,
                Step::Reopen(is_closed, at_open) => {
                    // An open that fails may have changed a part of the addresses.
                    let at_open = at_open.filter(|_| life.fault.is_none());
                    self.at_open = at_open.unwrap_or(self.at_open);
                    let settings = self.at_open;
                    Operation::Reopen {
                        is_closed,
                        settings,
                    }
                }
                Step::Settle(is_synced) => {
                    match runner.settle(is_synced) {
                        Ok(()) | Err(idjournal::Error::Rejected { .. }) => {}
                        Err(error) => {
                            assert!(disk.has_told(), "wait: {}", chain(&error));
                            break;
                        }
                    }
                    if !self.is_manual {
                        reached.cut = self.models.len() - 1;
                    }
                    continue;
                }
            };
            let mut model = self.models.last().expect("there is one").clone();
            let answer = runner.run(&operation);
            let is_reopened = matches!(operation, Operation::Reopen { .. });
            if answer == Answer::NoSpace && !is_reopened {
                assert!(disk.has_told(), "{operation:?}: no space, though there was");
                model.refuse(&operation);
                self.models.push(model);
                reached.kill = self.models.len() - 1;
                continue;
            }
            if matches!(answer, Answer::Failed(_) | Answer::NoSpace) {
                assert!(disk.has_told(), "{operation:?}: {answer:?}");
                if operation == Operation::Backup {
                    // A copy that fails is no failure of the store, but where its sync did.
                    self.models.push(model);
                    continue;
                }
                operation.run_on(&mut model);
                self.models.push(model);
                runner.abandon();
                let went_on = disk.changes_after_failure();
                assert_eq!(went_on, 0, "a write or sync after a failed one");
                return Some(reached);
            }
            let agreed = operation.agree(&mut model, &answer);
            agreed.unwrap_or_else(|text| panic!("{operation:?}: {text}"));
            self.models.push(model);
            reached.kill = self.models.len() - 1;
            let is_waited_for =
                !self.is_manual && matches!(operation, Operation::Add { .. }) && self.has_changed();
            self.backups += usize::from(operation == Operation::Backup);
            let is_synced = matches!(
                operation,
                Operation::Sync | Operation::Backup | Operation::Reopen { .. }
            );
            if is_waited_for || is_synced {
                reached.cut = reached.kill;
            }
        }
        self.leave(life, disk, runner, &mut reached);
        Some(reached)
    }

    /// Whether the last call recorded something that shows.
    fn has_changed(&self) -> bool {
        let [.., before, after] = &self.models[..] else {
            return false;
        };
        // What a restart would leave: the rest has no record that is waited for.
        let [before, after] = [before, after].map(|model| model.opened(model.now));
        before.fingerprint() != after.fingerprint()
    }

    fn leave(&self, life: &Life, disk: &SimulatedDisk, mut runner: Runner, reached: &mut Reached) {
        match life.end {
            End::Close => match runner.close() {
                Ok(()) => reached.cut = self.models.len() - 1,
                Err(error) => assert!(disk.has_told(), "close: {}", chain(&error)),
            },
            End::Drop => runner.abandon(),
            // The handles end after their disk was left behind: what they do then is not on it.
            End::Kill | End::Cut(_) | End::CutInRecovery(_) => KILLED.with_borrow_mut(|killed| {
                killed.push(runner);
            }),
        }
    }

    /// What the end of a life leaves of the disk.
    fn end(&mut self, end: &End, disk: &SimulatedDisk) -> SimulatedDisk {
        let left = match *end {
            End::Close | End::Drop | End::Kill => disk.snapshot(),
            End::Cut(seed) => cut(disk, seed),
            End::CutInRecovery(seed) => {
                let killed = disk.snapshot();
                killed.take_snapshots(20, Generator::new(seed));
                let before = self.models.clone();
                let _shown = self.look(&killed);
                let within = killed.snapshots();
                let chosen = usize::try_from(seed % (within.len() as u64 + 1)).unwrap_or(0);
                if chosen < within.len() {
                    self.models = before;
                }
                let media = within
                    .into_iter()
                    .nth(chosen)
                    .map(|snapshot| snapshot.media);
                cut(
                    &media.map_or_else(|| killed.snapshot(), SimulatedDisk::holding),
                    seed,
                )
            }
        };
        KILLED.with_borrow_mut(Vec::clear);
        left
    }
}

thread_local! {
    static KILLED: std::cell::RefCell<Vec<Runner>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// The first of the states that may be found after a power cut, and after a kill.
struct Reached {
    cut: usize,
    kill: usize,
}

fn cut(disk: &SimulatedDisk, seed: u64) -> SimulatedDisk {
    let mut choices = Choices::random(seed);
    let cut = Cut::any(&mut choices);
    SimulatedDisk::holding(disk.media().image(cut, &mut choices))
}

//! Fuzzes lives of a store on the simulated disk of the tests: calls, failing calls of the disk,
//! power cuts and kills, each compared with the model.

#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

use std::sync::Arc;

use arbitrary::Arbitrary;
use common::generator::{Choices, Generator};
use common::media::Cut;
use common::model::Model;
use common::operation::Operation;
use common::recorded::{Answer, CACHES, Recorded, pool};
use common::runner::{Opener, Runner, chain};
use common::simulated::{CallKind, Effect, Fault, SimulatedDisk};
use common::{CountingClock, SeededEntropy};
use idjournal::{Options, Store, SyncPolicy};
use idjournal_fuzz::memory;
use libfuzzer_sys::fuzz_target;

const LIVES_MAX: usize = 4;
const CALLS_MAX: usize = 80;

#[derive(Arbitrary, Debug)]
struct Script {
    segment: u8,
    sector: u8,
    capacity: u8,
    is_manual: bool,
    lives: Vec<Life>,
}

#[derive(Arbitrary, Debug)]
struct Life {
    fault: Option<Planned>,
    calls: Vec<Call>,
    end: End,
}

/// A call of the disk that fails: one kind, the n-th of it, once or from there on.
#[derive(Arbitrary, Debug)]
struct Planned {
    kind: u8,
    nth: u8,
    is_lasting: bool,
    effect: u8,
}

#[derive(Arbitrary, Debug)]
enum End {
    Close,
    Drop,
    Kill,
    /// A power cut, of which this seed decides what it leaves.
    Cut(u64),
    /// A kill, a recovery, and a power cut within it or after it.
    CutInRecovery(u64),
}

#[derive(Arbitrary, Clone, Debug)]
enum Call {
    Add(u8, u8),
    Submit(u8, u8),
    Reserve(u8, u8, u8),
    Confirm(u8),
    Release(u8),
    Keep(u8),
    Begin(bool, u8),
    TransactionAdd(u8, u8, u8),
    TransactionRemove(u8, u8, u8),
    Commit(u8),
    RollBack(u8),
    Remove(u8, u8),
    Clear(u8),
    DropAddress(u8),
    SetCapacity(u8, u8),
    Contains(u8, u8),
    State(u8, u8),
    Compact,
    Sync,
    Reopen(bool),
    /// Adds of all IDs to one cache, so that segments fill.
    Many(u8),
    /// Waits for all receipts so far, and for the disk if told so.
    Settle(bool),
}

fuzz_target!(|script: Script| {
    memory::bounded(64 << 20, || Run::new(&script).run(&script));
});

struct Run {
    options: Arc<dyn Fn() -> Options + Send + Sync>,
    sector_bytes: usize,
    settings: u64,
    is_manual: bool,
    /// The states that the store may be in when it is opened next, oldest first.
    models: Vec<Model>,
}

impl Run {
    fn new(script: &Script) -> Run {
        let settings = 1 + u64::from(script.capacity % 8);
        let segment_bytes = [1024, 2048, 4096][usize::from(script.segment % 3)];
        let policy = [SyncPolicy::Always, SyncPolicy::Manual][usize::from(script.is_manual)];
        let clock = Arc::new(CountingClock::default());
        let entropy = Arc::new(SeededEntropy::new(u64::from(script.sector)));
        let options = move || {
            Options::default()
                .id_cache_size(settings)
                .segment_bytes(segment_bytes)
                .sync_policy(policy)
                .keeper(false)
                .clock(clock.clone())
                .entropy(entropy.clone())
        };
        Run {
            options: Arc::new(options),
            sector_bytes: [128, 256, 512][usize::from(script.sector % 3)],
            settings,
            is_manual: script.is_manual,
            models: vec![Model::new(settings)],
        }
    }

    fn opener(&self, disk: &SimulatedDisk) -> Opener {
        let (disk, options) = (disk.clone(), self.options.clone());
        Box::new(move |_| Store::open_on(disk.clone(), options(), &mut |_| {}))
    }

    fn run(&mut self, script: &Script) {
        let mut disk = SimulatedDisk::new(self.sector_bytes);
        for life in script.lives.iter().take(LIVES_MAX) {
            self.models
                .iter_mut()
                .for_each(|model| model.reopen(self.settings));
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
        self.models
            .iter_mut()
            .for_each(|model| model.reopen(self.settings));
        let store = self.open(&disk);
        drop(store);
    }

    /// Opens what must open, in one of the legal states; the others are no longer.
    fn open(&mut self, disk: &SimulatedDisk) -> Store {
        let store = Store::open_on(disk.clone(), (self.options)(), &mut |_| {});
        let store = store.unwrap_or_else(|error| panic!("refused: {}", chain(&error)));
        self.settle_on(&Recorded::of_store(&store, self.settings));
        store
    }

    fn settle_on(&mut self, found: &Recorded) {
        let fingerprint = found.fingerprint();
        let states = self.models.iter();
        let at = states
            .rev()
            .position(|model| model.fingerprint() == fingerprint);
        let Some(at) = at else {
            let legal: Vec<_> = self
                .models
                .iter()
                .map(|model| model.recorded().to_string())
                .collect();
            panic!(
                "found\n{found}which is none of {} states:\n{}",
                legal.len(),
                legal.join("or\n")
            );
        };
        let at = self.models.len() - 1 - at;
        self.models = vec![self.models[at].clone()];
    }

    /// One life up to a failure or the end of its calls.
    fn live(&mut self, life: &Life, disk: &SimulatedDisk) -> Option<Reached> {
        let mut reached = Reached { cut: 0, kill: 0 };
        let mut runner = match Runner::open(self.opener(disk), self.settings) {
            Ok(runner) => runner,
            Err(error) => {
                assert!(life.may_fail(disk), "refused: {}", chain(&error));
                return None;
            }
        };
        self.settle_on(&Recorded::of_store(runner.store(), self.settings));
        let calls = life.calls.iter().flat_map(Call::operations).take(CALLS_MAX);
        for step in calls {
            let operation = match step {
                Step::Call(operation) => operation,
                Step::Reopen(is_closed) => {
                    let settings = self.settings;
                    Operation::Reopen {
                        is_closed,
                        settings,
                    }
                }
                Step::Settle(is_synced) => {
                    match runner.settle(is_synced) {
                        Ok(()) | Err(idjournal::Error::Rejected { .. }) => {}
                        Err(error) => {
                            assert!(life.may_fail(disk), "wait: {}", chain(&error));
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
            if matches!(answer, Answer::Failed(_)) {
                assert!(life.may_fail(disk), "{operation:?}: {answer:?}");
                operation.run_on(&mut model);
                self.models.push(model);
                runner.abandon();
                let went_on = disk.changes_after_failure();
                assert!(
                    went_on == 0 || life.lacks_space(),
                    "a write or sync after a failed one"
                );
                return Some(reached);
            }
            let agreed = operation.agree(&mut model, &answer);
            agreed.unwrap_or_else(|text| panic!("{operation:?}: {text}"));
            self.models.push(model);
            reached.kill = self.models.len() - 1;
            let is_waited_for =
                !self.is_manual && matches!(operation, Operation::Add { .. }) && self.has_changed();
            let is_synced = matches!(operation, Operation::Sync | Operation::Reopen { .. });
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
        before.fingerprint() != after.fingerprint()
    }

    fn leave(&self, life: &Life, disk: &SimulatedDisk, mut runner: Runner, reached: &mut Reached) {
        match life.end {
            End::Close => match runner.close() {
                Ok(()) => reached.cut = self.models.len() - 1,
                Err(error) => assert!(life.may_fail(disk), "close: {}", chain(&error)),
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
                self.models
                    .iter_mut()
                    .for_each(|model| model.reopen(self.settings));
                let before = self.models.clone();
                let store = Store::open_on(killed.clone(), (self.options)(), &mut |_| {});
                let store = store.unwrap_or_else(|error| panic!("refused: {}", chain(&error)));
                let within = killed.snapshots();
                let chosen = usize::try_from(seed % (within.len() as u64 + 1)).unwrap_or(0);
                if chosen == within.len() {
                    self.settle_on(&Recorded::of_store(&store, self.settings));
                } else {
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

impl Planned {
    fn fault(&self) -> Fault {
        let kinds = [
            CallKind::Write,
            CallKind::Sync,
            CallKind::SyncDirectory,
            CallKind::Create,
            CallKind::Rename,
            CallKind::Remove,
            CallKind::Open,
            CallKind::Read,
            CallKind::List,
            CallKind::Length,
        ];
        let kind = kinds[usize::from(self.kind) % kinds.len()];
        // EIO, ENOSPC, EMFILE; a short write.
        let effect = match (self.effect % 4, kind) {
            (3, CallKind::Write) => Effect::Short(1 + usize::from(self.nth) / 2),
            (number, _) => Effect::Fails([5, 28, 24, 5][usize::from(number)]),
        };
        Fault {
            kind,
            nth: 1 + u64::from(self.nth),
            is_lasting: self.is_lasting,
            effect,
        }
    }
}

impl Life {
    /// Whether a call of the store may fail by now.
    fn may_fail(&self, disk: &SimulatedDisk) -> bool {
        let is_final = |kind| {
            matches!(
                kind,
                CallKind::Write | CallKind::Sync | CallKind::SyncDirectory
            )
        };
        let fault = self.fault.as_ref().map(Planned::fault);
        fault.is_some_and(|fault| !is_final(fault.kind) || disk.failures() > 0)
    }

    /// Whether the fault is a write that finds no space, after which a store goes on.
    fn lacks_space(&self) -> bool {
        let fault = self.fault.as_ref().map(Planned::fault);
        fault
            .is_some_and(|fault| (fault.kind, fault.effect) == (CallKind::Write, Effect::Fails(28)))
    }
}

enum Step {
    Call(Operation),
    Reopen(bool),
    Settle(bool),
}

impl Call {
    fn operations(&self) -> Vec<Step> {
        let cache = |number: u8| usize::from(number) % CACHES.len();
        let id = |number: u8| u8::try_from(usize::from(number) % pool().len()).unwrap_or(0);
        let which = usize::from;
        let one = match *self {
            Call::Add(c, i) => Operation::Add {
                cache: cache(c),
                id: id(i),
            },
            Call::Submit(c, i) => Operation::Submit {
                cache: cache(c),
                id: id(i),
            },
            Call::Reserve(c, i, o) => Operation::Reserve {
                cache: cache(c),
                id: id(i),
                owner: u64::from(o),
            },
            Call::Confirm(w) => Operation::Confirm { which: which(w) },
            Call::Release(w) => Operation::Release { which: which(w) },
            Call::Keep(w) => Operation::Keep { which: which(w) },
            Call::Begin(is_skipping, o) => Operation::Begin {
                is_skipping,
                owner: u64::from(o),
            },
            Call::TransactionAdd(w, c, i) => Operation::TransactionAdd {
                which: which(w),
                cache: cache(c),
                id: id(i),
            },
            Call::TransactionRemove(w, c, i) => Operation::TransactionRemove {
                which: which(w),
                cache: cache(c),
                id: id(i),
            },
            Call::Commit(w) => Operation::Commit { which: which(w) },
            Call::RollBack(w) => Operation::RollBack { which: which(w) },
            Call::Remove(c, i) => Operation::Remove {
                cache: cache(c),
                id: id(i),
            },
            Call::Clear(c) => Operation::Clear { cache: cache(c) },
            Call::DropAddress(a) => Operation::Drop {
                address: usize::from(a) % 3,
            },
            Call::SetCapacity(c, n) => Operation::SetCapacity {
                cache: cache(c),
                capacity: u64::from(n % 16),
            },
            Call::Contains(c, i) => Operation::Contains {
                cache: cache(c),
                id: id(i),
            },
            Call::State(c, i) => Operation::State {
                cache: cache(c),
                id: id(i),
            },
            Call::Compact => Operation::Compact,
            Call::Sync => Operation::Sync,
            Call::Reopen(is_closed) => return vec![Step::Settle(false), Step::Reopen(is_closed)],
            Call::Settle(is_synced) => return vec![Step::Settle(is_synced)],
            Call::Many(c) => {
                let ids = 0..u8::try_from(pool().len()).unwrap_or(u8::MAX);
                let add = |id| {
                    Step::Call(Operation::Add {
                        cache: cache(c),
                        id,
                    })
                };
                return ids.map(add).collect();
            }
        };
        vec![Step::Call(one)]
    }
}

//! A consumer that calls the verbs when Camel's does.

use std::cell::RefCell;

use idjournal::camel::Repository;
use idjournal::{MemoryStorage, Options, Owner, Result, Store, SyncPolicy};

use super::support::{killed, open, small};

pub(crate) const ID: &str = "order-1842";

/// One setting of a repository and of its consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Combination {
    /// Camel's own way.
    pub(crate) records_on_add: bool,
    pub(crate) is_eager: bool,
    pub(crate) removes_on_failure: bool,
    /// Completion at the end of the block, not at that of the route.
    pub(crate) completes_early: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The consumer looks whether the message is new.
    Look,
    /// What stands in the consumer's block.
    Block,
    /// The consumer learns how it went.
    Complete,
    /// What stands behind the block.
    Rest,
    /// The sender is told, and sends no more.
    Acknowledge,
}

/// How often each part of the route was gone through, outside of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) blocks: usize,
    pub(crate) rests: usize,
}

/// What becomes of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Acknowledged,
    Failed,
    Died,
}

/// What happens to the first delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Fails(Step),
    /// The same, and then the store is closed and opened again.
    FailsBeforeRestart(Step),
    DiesAfter(Step),
    /// A second copy comes at the same time.
    TwoAtOnce,
}

impl Combination {
    pub(crate) fn all() -> impl Iterator<Item = Combination> {
        (0..16).map(|bits: u32| Combination {
            records_on_add: bits & 8 != 0,
            is_eager: bits & 4 == 0,
            removes_on_failure: bits & 2 == 0,
            completes_early: bits & 1 != 0,
        })
    }

    pub(crate) fn steps(self) -> [Step; 5] {
        use Step::{Acknowledge, Block, Complete, Look, Rest};
        match self.completes_early {
            true => [Look, Block, Complete, Rest, Acknowledge],
            false => [Look, Block, Rest, Complete, Acknowledge],
        }
    }

    pub(crate) fn repository(self, store: &Store) -> Repository {
        let repository = Repository::new(store.cache("orders").unwrap(), Owner(1));
        match self.records_on_add {
            true => repository.recording_on_add(),
            false => repository,
        }
    }

    /// What the consumer asks first: whether the message is new.
    pub(crate) fn look(self, repository: &Repository) -> Result<bool> {
        match self.is_eager {
            true => repository.add(ID),
            false => Ok(!repository.contains(ID)?),
        }
    }

    /// What it says at the end, where all went well.
    pub(crate) fn complete(self, repository: &Repository) -> Result<()> {
        if !self.is_eager {
            repository.add(ID)?;
        }
        repository.confirm(ID).map(drop)
    }

    /// And where it did not.
    fn fail(self, repository: &Repository) -> Result<()> {
        if self.removes_on_failure {
            repository.remove(ID)?;
        }
        Ok(())
    }
}

/// A process that has a store open, and may die.
pub(crate) struct Process {
    combination: Combination,
    storage: MemoryStorage,
    store: Store,
    pub(crate) effects: RefCell<Effects>,
}

/// Segments of a size for tests; an acknowledgement waits for the disk.
pub(crate) fn options() -> Options {
    small(4096).sync_policy(SyncPolicy::Always)
}

impl Process {
    pub(crate) fn new(combination: Combination) -> Process {
        let storage = MemoryStorage::new();
        Process {
            combination,
            store: open(storage.clone(), options()).unwrap(),
            storage,
            effects: RefCell::default(),
        }
    }

    /// The one that is started after a death that left `store`, and these effects.
    pub(crate) fn going_on(combination: Combination, store: Store, effects: Effects) -> Process {
        Process {
            combination,
            storage: MemoryStorage::new(),
            store,
            effects: RefCell::new(effects),
        }
    }

    /// Dies, and is started again with what is left.
    fn die(&mut self) {
        self.storage = killed(&self.storage);
        self.store = open(self.storage.clone(), options()).unwrap();
    }

    fn restart(&mut self) {
        self.store.close().unwrap();
        self.store = open(self.storage.clone(), options()).unwrap();
    }

    /// Goes through the route once; `fails` before what that step does, dies after it.
    fn deliver(&self, event: Option<Event>) -> End {
        let (combination, repository) =
            (self.combination, self.combination.repository(&self.store));
        let mut is_completed = false;
        for step in combination.steps() {
            let fails = match event {
                Some(Event::Fails(at) | Event::FailsBeforeRestart(at)) => at == step,
                _ => false,
            };
            if fails {
                if !is_completed {
                    combination.fail(&repository).unwrap();
                }
                return End::Failed;
            }
            match step {
                Step::Look if !combination.look(&repository).unwrap() => return End::Acknowledged,
                Step::Look | Step::Acknowledge => {}
                Step::Block => self.effects.borrow_mut().blocks += 1,
                Step::Rest => self.effects.borrow_mut().rests += 1,
                Step::Complete => {
                    combination.complete(&repository).unwrap();
                    is_completed = true;
                }
            }
            if event == Some(Event::DiesAfter(step)) {
                return End::Died;
            }
        }
        End::Acknowledged
    }

    /// Two copies go through the route, step by step.
    fn deliver_two(&self) {
        let (combination, repository) =
            (self.combination, self.combination.repository(&self.store));
        let looks = [(); 2].map(|()| combination.look(&repository).unwrap());
        for step in combination.steps() {
            for _ in looks.iter().filter(|is_new| **is_new) {
                match step {
                    Step::Look | Step::Acknowledge => {}
                    Step::Block => self.effects.borrow_mut().blocks += 1,
                    Step::Rest => self.effects.borrow_mut().rests += 1,
                    Step::Complete => combination.complete(&repository).unwrap(),
                }
            }
        }
    }

    /// Delivers until a delivery is acknowledged, and then one copy more.
    pub(crate) fn deliver_all(&mut self, event: Option<Event>) -> Effects {
        match event {
            Some(Event::TwoAtOnce) => self.deliver_two(),
            _ => match self.deliver(event) {
                End::Acknowledged => {}
                End::Died => self.die(),
                End::Failed if matches!(event, Some(Event::FailsBeforeRestart(_))) => {
                    self.restart();
                }
                End::Failed => {}
            },
        }
        for _ in 0..2 {
            assert_eq!(self.deliver(None), End::Acknowledged);
        }
        *self.effects.borrow()
    }
}

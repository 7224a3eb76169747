//! mrecordlog: Quickwit's log of several queues, one queue for each address.
//!
//! The windows are in memory beside it; a queue is truncated when an eighth of a window has fallen
//! out of it, since each truncation is a record. Its calls are futures of tokio; they are driven on
//! the calling thread. It never calls `fsync`: what it calls a sync hands the bytes to the system.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::mrecordlog::{MultiRecordLog, SyncPolicy};
use tokio::runtime::{Builder, Runtime};

use crate::ids::Id;
use crate::peer::{Peer, Result, Session, Setup, Survives};
use crate::window::{Slots, Window};

struct RecordLog {
    state: Mutex<State>,
}

struct State {
    runtime: Runtime,
    log: MultiRecordLog,
    queues: Vec<Queue>,
}

struct Queue {
    name: String,
    window: Window,
    size: u64,
    /// Adds with lower ordinals are truncated.
    begin: u64,
}

pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let runtime = Builder::new_current_thread().build()?;
    let policy = match setup.survives {
        Survives::Nothing => SyncPolicy::OnDelay(Duration::from_secs(1)),
        _ => SyncPolicy::OnAppend,
    };
    let mut log = runtime.block_on(MultiRecordLog::open_with_prefs(&setup.directory, policy))?;
    let mut queues = Vec::new();
    for (address, size) in setup.windows.iter().enumerate() {
        let name = format!("address-{address}");
        if !log.queue_exists(&name) {
            runtime.block_on(log.create_queue(&name))?;
        }
        let mut slots = Slots::new(*size);
        let mut begin = None;
        for (ordinal, id) in log.range(&name, ..).map_err(|_| "a queue is missing")? {
            begin.get_or_insert(ordinal);
            slots.put(ordinal, (*id).try_into()?);
        }
        queues.push(Queue {
            name,
            window: slots.into_window()?,
            size: *size as u64,
            begin: begin.unwrap_or(0),
        });
    }
    let state = State {
        runtime,
        log,
        queues,
    };
    Ok(Box::new(RecordLog {
        state: Mutex::new(state),
    }))
}

impl State {
    fn append(&mut self, address: usize, ids: &[Id]) -> Result<()> {
        let queue = &mut self.queues[address];
        let payloads = ids.iter().map(|id| &id[..]);
        self.runtime
            .block_on(self.log.append_records(&queue.name, None, payloads))?;
        let floor = queue.window.added().saturating_sub(queue.size);
        if floor >= queue.begin + queue.size / 8 {
            self.runtime
                .block_on(self.log.truncate(&queue.name, floor - 1))?;
            queue.begin = floor;
        }
        Ok(())
    }
}

impl Peer for RecordLog {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RecordLogSession { peer: self }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(state.runtime.block_on(state.log.sync())?)
    }
}

struct RecordLogSession<'a> {
    peer: &'a RecordLog,
}

impl RecordLogSession<'_> {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.peer
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session for RecordLogSession<'_> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let mut state = self.locked();
        if state.queues[address].window.add(id).is_none() {
            return Ok(false);
        }
        state.append(address, &[*id])?;
        Ok(true)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        let mut state = self.locked();
        let mut ids = vec![Vec::new(); state.queues.len()];
        for (address, id) in adds {
            let is_new = state.queues[*address].window.add(id).is_some();
            if is_new {
                ids[*address].push(*id);
            }
            new.push(is_new);
        }
        for (address, ids) in ids.iter().enumerate() {
            if !ids.is_empty() {
                state.append(address, ids)?;
            }
        }
        Ok(())
    }
}

//! One sync for all adds that wait, for peers that do not do it themselves.
//!
//! The first thread that comes while none is at work takes all that waits and adds it as one batch;
//! each of the others sleeps until its answer is there. Somebody who needs many threads and such a
//! store would have to write this.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use crate::ids::Id;
use crate::peer::{Peer, Result, Session};

const WAITING: u8 = 0;
const LEADS: u8 = 1;
const NEW: u8 = 2;
const DUPLICATE: u8 = 3;
const FAILED: u8 = 4;

pub struct Grouped<'a> {
    queue: Mutex<Queue>,
    worker: Mutex<Worker<'a>>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Request>,
    is_led: bool,
}

struct Request {
    add: (usize, Id),
    waiter: Arc<Waiter>,
}

struct Waiter {
    state: AtomicU8,
    thread: Thread,
}

struct Worker<'a> {
    session: Box<dyn Session + 'a>,
    adds: Vec<(usize, Id)>,
    new: Vec<bool>,
}

impl<'a> Grouped<'a> {
    pub fn new(peer: &'a dyn Peer) -> Result<Grouped<'a>> {
        Ok(Grouped {
            queue: Mutex::default(),
            worker: Mutex::new(Worker {
                session: peer.session()?,
                adds: Vec::new(),
                new: Vec::new(),
            }),
        })
    }

    pub fn session(&self) -> Box<dyn Session + '_> {
        Box::new(GroupedSession {
            grouped: self,
            waiter: Arc::new(Waiter {
                state: AtomicU8::new(WAITING),
                thread: std::thread::current(),
            }),
        })
    }

    /// Adds all that waits, then hands the lead to one that came meanwhile.
    fn lead(&self) {
        let requests = std::mem::take(&mut locked(&self.queue).waiting);
        let mut worker = locked(&self.worker);
        let Worker { session, adds, new } = &mut *worker;
        adds.clear();
        new.clear();
        adds.extend(requests.iter().map(|request| request.add));
        let result = session.add_batch(adds, new);
        let answer = |index: usize| match (&result, new.get(index)) {
            (Ok(()), Some(true)) => NEW,
            (Ok(()), Some(false)) => DUPLICATE,
            _ => FAILED,
        };
        for (index, request) in requests.iter().enumerate() {
            request.waiter.wake(answer(index));
        }
        drop(worker);
        let mut queue = locked(&self.queue);
        match queue.waiting.first() {
            Some(next) => next.waiter.wake(LEADS),
            None => queue.is_led = false,
        }
    }
}

impl Waiter {
    fn wake(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        self.thread.unpark();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct GroupedSession<'a, 'peer> {
    grouped: &'a Grouped<'peer>,
    waiter: Arc<Waiter>,
}

impl Session for GroupedSession<'_, '_> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        self.waiter.state.store(WAITING, Ordering::Relaxed);
        let leads = {
            let mut queue = locked(&self.grouped.queue);
            queue.waiting.push(Request {
                add: (address, *id),
                waiter: Arc::clone(&self.waiter),
            });
            !std::mem::replace(&mut queue.is_led, true)
        };
        if leads {
            self.grouped.lead();
        }
        loop {
            match self.waiter.state.load(Ordering::Acquire) {
                NEW => return Ok(true),
                DUPLICATE => return Ok(false),
                FAILED => return Err("the group failed".into()),
                LEADS => {
                    self.waiter.state.store(WAITING, Ordering::Relaxed);
                    self.grouped.lead();
                }
                _ => std::thread::park(),
            }
        }
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        for (address, id) in adds {
            new.push(self.add(*address, id)?);
        }
        Ok(())
    }
}

//! Waiting for the end of somebody else's claim, with a thread or without.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::error::{Bytes, Result};
use crate::facade::{Condvar, Mutex};
use crate::mutant::{self, Mutant};
use crate::store::Handle;
use crate::store::address::Address;
use crate::store::handle::Cache;
use crate::waits::WaitKey;

/// The wait for the end of a claim; see [`Cache::settled`].
///
/// It is a future for any runtime, and has a blocking form, [`wait`](Settled::wait). Dropping it
/// ends the wait and nothing else.
#[must_use = "it waits only when it is awaited or waited for"]
pub struct Settled {
    handle: Arc<Handle>,
    address: Arc<Address>,
    hash: u64,
    id: Box<[u8]>,
    /// The claim that is waited for; none if there was none.
    token: Option<u64>,
    /// Under which it waits, once it was polled.
    key: Option<WaitKey>,
}

impl Settled {
    pub(crate) fn of(cache: &Cache, id: &[u8]) -> Settled {
        let shared = &cache.handle.shared;
        let hash = shared.hash(id);
        // In a forked child the lock may never be let go; the wait tells.
        let token = shared.check_process().ok().and_then(|()| {
            let state = cache.address.state.lock();
            state.claims.get(hash, id).map(|claim| claim.token)
        });
        Settled {
            handle: Arc::clone(&cache.handle),
            address: Arc::clone(&cache.address),
            hash,
            id: Box::from(id),
            token,
            key: None,
        }
    }

    /// Waits with this thread, for `timeout` at the most; whether the claim has ended.
    ///
    /// The holder of the claim must be another thread: who waits for a claim of its own waits until
    /// the timeout.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`](crate::Error::Closed), [`Error::Poisoned`](crate::Error::Poisoned) and
    /// [`Error::Forked`](crate::Error::Forked), also if that comes while it waits.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> idjournal::Result<()> {
    /// # let store = idjournal::Store::in_memory(Default::default())?;
    /// use idjournal::Reserve;
    /// use std::time::Duration;
    /// let orders = store.cache("orders")?;
    /// let Reserve::Reserved(claim) = orders.reserve("order-1842")? else { return Ok(()) };
    /// assert!(!orders.settled("order-1842").wait(Duration::from_millis(1))?, "still pending");
    /// let holder = std::thread::spawn(move || claim.confirm().wait());
    /// assert!(orders.settled("order-1842").wait(Duration::from_secs(60))?);
    /// # let _ = holder.join();
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait(mut self, timeout: Duration) -> Result<bool> {
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        let handle = Arc::clone(&self.handle);
        let now = || handle.shared.timeline.monotonic();
        let began = now();
        let mut left = timeout;
        loop {
            let Sight::Pending { lease_end } = self.look(&waker)? else {
                return Ok(true);
            };
            if left.is_zero() {
                return Ok(false);
            }
            let lease_left = lease_end.map(|end| end.saturating_sub(now()));
            let pause = lease_left.map_or(left, |lease_left| lease_left.min(left));
            // Counted too, in case the clock stands still or goes back.
            if bell.has_timed_out(pause) {
                left = left.saturating_sub(pause);
            }
            left = left.min(timeout.saturating_sub(now().saturating_sub(began)));
        }
    }

    /// Looks at the claim; `waker` is woken when it has ended, or has another lease.
    fn look(&mut self, waker: &Waker) -> Result<Sight> {
        let shared = &self.handle.shared;
        shared.check_process()?;
        let Some(token) = self.token else {
            return shared.check().map(|()| Sight::Ended);
        };
        let key = *self.key.get_or_insert_with(|| shared.waits.key());
        // Entered before the last look at the store and at the claim: what comes behind that look
        // wakes it.
        shared.waits.for_claim(key, waker);
        shared.check()?;
        let claim = {
            let mut state = self.address.state.lock();
            state.claims.wait(self.hash, &self.id, token, key)
        };
        let lease_end = claim.and_then(|claim| claim.lease_end);
        Ok(match claim {
            None => Sight::Ended,
            Some(claim) if claim.is_over(|| shared.timeline.monotonic()) => Sight::Ended,
            Some(_) => Sight::Pending { lease_end },
        })
    }
}

impl Future for Settled {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let lease_end = match self.look(context.waker()) {
            Ok(Sight::Pending { lease_end }) => lease_end,
            Ok(Sight::Ended) => return Poll::Ready(Ok(())),
            Err(error) => return Poll::Ready(Err(error)),
        };
        let noted = lease_end.filter(|_| !mutant::is(Mutant::LeaseEndNotNoted));
        if let (Some(end), Some(key)) = (noted, self.key) {
            let waits = &self.handle.shared.waits;
            waits.for_lease(key, end);
            waits.call();
        }
        Poll::Pending
    }
}

impl Drop for Settled {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        if shared.check_process().is_err() {
            return;
        }
        if let (Some(token), Some(key)) = (self.token, self.key) {
            let mut state = self.address.state.lock();
            state.claims.forget(self.hash, &self.id, token, key);
            drop(state);
            shared.waits.forget_claim(key);
        }
        shared.registry.let_go(&self.address);
    }
}

impl std::fmt::Debug for Settled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = Bytes::from(&*self.id);
        formatter
            .debug_struct("Settled")
            .field("id", &id)
            .finish_non_exhaustive()
    }
}

/// What a look at a claim shows.
enum Sight {
    /// It has ended, or anybody may end it.
    Ended,
    /// It is its holder's, up to the end of its lease if it has one.
    Pending { lease_end: Option<Duration> },
}

/// Wakes a thread.
#[derive(Default)]
struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    /// Waits until it is rung; whether `pause` has passed before.
    fn has_timed_out(&self, pause: Duration) -> bool {
        let mut is_rung = self.is_rung.lock();
        let mut timed_out = false;
        while !*is_rung && !timed_out {
            timed_out = self.rung.wait_for(&mut is_rung, pause).timed_out();
        }
        *is_rung = false;
        timed_out
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.is_rung.lock() = true;
        self.rung.notify_one();
    }
}

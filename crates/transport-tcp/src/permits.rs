//! The right to an attempt at a connection, which few links have at a time (`proto::attempt_queue`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::proto::attempt_queue::AttemptQueue;

/// The attempts of this PE.
#[derive(Clone)]
pub(crate) struct Permits(Arc<SharedPermits>);

struct SharedPermits {
    start: Instant,
    queue: Mutex<AttemptQueue>,
    /// How many links wait, for threads that look without the lock. Relaxed: a link that is not seen now is seen at the
    /// next turn.
    waiting: AtomicUsize,
}

/// The right of one link to an attempt. It is given back when it is dropped.
pub(crate) struct Permit {
    permits: Permits,
    token: usize,
}

/// The answer to a link that wants to connect.
pub(crate) enum PermitAnswer {
    Granted(Permit),
    /// The link is in the queue, and [`Permits::next`] will name it. If it is alone there, perhaps no thread is about to call that.
    Queued {
        alone: bool,
    },
}

impl Permits {
    pub(crate) fn new(peers: usize, seed: u64) -> Self {
        let queue = Mutex::new(AttemptQueue::new(peers, seed));
        Self(Arc::new(SharedPermits { start: Instant::now(), queue, waiting: AtomicUsize::new(0) }))
    }

    /// The link of this token wants to connect.
    pub(crate) fn begin(&self, token: usize) -> PermitAnswer {
        let now = self.0.start.elapsed();
        let queued = self.change(|queue| (!queue.begin(token, now)).then(|| queue.waiting() == 1));
        match queued {
            None => PermitAnswer::Granted(self.permit(token)),
            Some(alone) => PermitAnswer::Queued { alone },
        }
    }

    /// A link of the queue that may connect now, and its permit.
    pub(crate) fn next(&self) -> Option<(usize, Permit)> {
        if self.0.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let token = self.change(|queue| queue.next(self.0.start.elapsed()))?;
        Some((token, self.permit(token)))
    }

    fn permit(&self, token: usize) -> Permit {
        Permit { permits: self.clone(), token }
    }

    fn change<T>(&self, change: impl FnOnce(&mut AttemptQueue) -> T) -> T {
        let mut queue = self.0.queue.lock();
        let changed = change(&mut queue);
        self.0.waiting.store(queue.waiting(), Ordering::Relaxed);
        changed
    }
}

impl Permit {
    /// Gives it back without an attempt.
    pub(crate) fn withdraw(self) {
        self.permits.change(|queue| queue.withdraw(self.token));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let now = self.permits.0.start.elapsed();
        self.permits.change(|queue| queue.end(self.token, now));
    }
}

//! Who moves the serving worker on: callers that wait, and a thread that steps aside for them.
//!
//! A caller serves while it waits, so that no other thread has to be woken between a question and the one who answers.
//! The thread sleeps in the kernel while nothing happens and serves what comes while nobody polls, so that a PE that
//! computes is reached; while callers poll it only naps.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::net::{Net, lock};

/// Shortest and longest nap of the thread while callers poll.
const NAPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(400));
/// How long the thread sleeps at most while lanes have something under way, and while none has.
const SLEEPS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_secs(1));
/// How long it sleeps where UCX has nothing to wait for.
const BLIND: Duration = Duration::from_millis(1);
/// So many turns in a row before others get a chance.
const TURNS: usize = 64;

/// What the thread does next.
enum Next {
    Serve,
    Watch(RawFd),
    Doze,
}

impl Net {
    /// The thread's life.
    pub(crate) fn work(&self) {
        let (mut seen, mut nap) = (0, NAPS.0);
        while !self.closed.load(Ordering::Acquire) {
            let polls = self.polls.load(Ordering::Relaxed);
            if polls != seen {
                seen = polls;
                std::thread::sleep(nap);
                nap = (nap * 2).min(NAPS.1);
                continue;
            }
            nap = NAPS.0;
            let (_, busy) = self.move_lanes();
            let patience = if busy { SLEEPS.0 } else { SLEEPS.1 };
            match self.turn() {
                Next::Serve => {}
                Next::Watch(descriptor) => watch(descriptor, patience),
                Next::Doze => std::thread::sleep(BLIND),
            }
        }
    }

    /// Serves what there is, and arms the worker when there is nothing.
    fn turn(&self) -> Next {
        let service = lock(&self.service);
        let Some(service) = service.as_ref() else { return Next::Doze };
        if (0..TURNS).any(|_| service.progress() == 0) {
            match service.descriptor() {
                Some(descriptor) if service.arm() => return Next::Watch(descriptor.as_raw_fd()),
                Some(_) => {}
                None => return Next::Doze,
            }
        }
        Next::Serve
    }

    /// Wakes the thread, to see that it is over.
    pub(crate) fn wake(&self) {
        if let Some(service) = lock(&self.service).as_ref() {
            service.wake();
        }
    }
}

/// Sleeps until something happens. The worker, and so the descriptor, lives until the thread has ended.
fn watch(descriptor: RawFd, patience: Duration) {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let patience = libc::c_int::try_from(patience.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one entry, which lives in this function. Whatever it returns, the thread looks again.
    unsafe { libc::poll(&mut poll, 1, patience) };
}

//! Telling the thread that a link has something to send.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::Waker;

/// Whether some link has something to send, and whether the thread has to be woken for it.
///
/// # Memory order
///
/// Dekker's agreement between [`Reminder::remind`] and [`Reminder::sleep`]: each side writes its own flag before it reads the
/// other's, all sequentially consistent. So either the thread sees what is due before it sleeps, or the caller sees that the
/// thread sleeps and wakes it.
pub(crate) struct Reminder {
    /// Some link has something to send.
    due: AtomicBool,
    /// The thread waits in the kernel, or is about to.
    asleep: AtomicBool,
    waker: Waker,
}

impl Reminder {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { due: AtomicBool::new(false), asleep: AtomicBool::new(false), waker }
    }

    /// Something waits to be sent: if the thread is asleep, nobody else may be there to send it.
    pub(crate) fn remind(&self) {
        self.due.store(true, Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst);
        if asleep {
            self.wake();
        }
    }

    /// Whether something waits to be sent; it does not after this call.
    pub(crate) fn take_due(&self) -> bool {
        self.due.load(Ordering::SeqCst) && self.due.swap(false, Ordering::SeqCst)
    }

    /// The thread sleeps in `wait`, for `most` at most, and not at all while something is due.
    pub(crate) fn sleep(&self, most: Duration, wait: impl FnOnce(Duration)) {
        self.asleep.store(true, Ordering::SeqCst);
        wait(if self.due.load(Ordering::SeqCst) { Duration::ZERO } else { most });
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        if let Err(e) = self.waker.wake() {
            tracing::error!("the progress thread cannot be woken: {e}");
        }
    }
}

//! Work on a connection for which the kernel makes no event, and the thread that looks at it next.
//!
//! A message that waits for others to share its frame, an acknowledgement that waits for a message of this PE, frames
//! that came with the end of a handshake: a thread that leaves such work behind sets the [`DueMark`] of its connection.
//! The [`DueBoard`] of all connections says that some mark is set. Callers that poll and the network's thread look at
//! the board, and serve the marked connections under their locks.
//!
//! # The next thread to look
//!
//! A connection is in one of these states:
//!
//! | mark | lock | the next thread to look |
//! |---|---|---|
//! | clear | free | none: nothing is left |
//! | clear | held | the holder, which sees to everything, or sets the mark again |
//! | set | free | the next one that takes the board's flag: a caller that polls, or else the network's thread |
//! | set | held | the same; if it finds the lock held, it sets the board's flag again |
//!
//! Only the holder of the lock clears the mark, and it does so before it looks at what is left. The holder may not serve: it
//! issues, looks at the clock, or asks for the descriptor. So a thread that finds the lock held must not take the mark
//! away: then no thread would look next, and an acknowledgement would stay here until the peer makes a new connection.
//!
//! # Memory order
//!
//! The work itself is under the connection's lock. [`DueBoard::mark`] stores the mark and then swaps the flag, with release;
//! [`DueBoard::take`] swaps the flag, with acquire. A taker whose swap comes later sees the mark; one whose swap comes before
//! leaves the flag set. Between [`DueBoard::mark`] and [`DueBoard::sleep`] stands Dekker's agreement: each side stores its own
//! flag before it reads the other's, with a sequentially consistent fence between. So the thread sees the flag before it sleeps,
//! or the marker sees that it sleeps and wakes it.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering, fence};

/// Whether something is left on one connection.
#[derive(Debug)]
pub struct DueMark(AtomicBool);

/// Whether something is left on some connection, and whether the thread has to be woken for it.
pub struct DueBoard {
    some: AtomicBool,
    /// The thread waits in the kernel, or is about to.
    asleep: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Default for DueMark {
    fn default() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl DueMark {
    /// Whether something is left. A thread that has taken the board's flag sees all marks that were set before.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Clears the mark. The holder of the connection's lock calls this before it looks at what is left.
    pub fn clear(&self) {
        if self.is_set() {
            self.0.store(false, Ordering::Relaxed);
        }
    }

    /// Serves the connection if its lock is free. If it is not, the mark stays and the board says so.
    pub fn try_serve<G, R>(
        &self,
        board: &DueBoard,
        try_lock: impl FnOnce() -> Option<G>,
        serve: impl FnOnce(G) -> R,
    ) -> Option<R> {
        let Some(guard) = try_lock() else {
            if self.is_set() {
                board.mark(self);
            }
            return None;
        };
        self.clear();
        Some(serve(guard))
    }
}

impl DueBoard {
    /// A board without marks. `wake` ends the thread's sleep, also one that begins later.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { some: AtomicBool::new(false), asleep: AtomicBool::new(false), wake: Box::new(wake) }
    }

    /// Sets the mark of a connection on which something is left, and wakes the thread if it sleeps: there may be no
    /// caller that polls.
    pub fn mark(&self, mark: &DueMark) {
        mark.0.store(true, Ordering::Relaxed);
        self.some.swap(true, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Whether something is left on some connection. A caller that gets `true` serves all marked ones.
    pub fn take(&self) -> bool {
        self.some.load(Ordering::Relaxed) && self.some.swap(false, Ordering::Acquire)
    }

    /// The thread sleeps in `wait`, for `most` at most, and not at all while something is left.
    pub fn sleep(&self, most: Duration, wait: impl FnOnce(Duration)) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        wait(if self.some.load(Ordering::Relaxed) { Duration::ZERO } else { most });
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the thread.
    pub fn wake(&self) {
        (self.wake)();
    }
}

#[cfg(all(test, loom))]
mod loom_models;

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
//! leaves the flag set. Between [`DueBoard::mark`] and [`DueBoard::sleep`] stands the agreement of [`SleepMark`].

#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering, fence};

/// Whether the network's thread waits in the kernel, or is about to.
///
/// Between the thread and those that leave it work stands Dekker's agreement: each side stores its own flag before it reads the
/// other's, with a sequentially consistent fence between. So the thread sees the work before it sleeps, or who has left it sees
/// that the thread sleeps and wakes it.
#[derive(Default, Debug)]
pub struct SleepMark(AtomicBool);

/// Whether something is left on one connection.
#[derive(Default, Debug)]
pub struct DueMark(AtomicBool);

/// Whether something is left on some connection, and whether the thread has to be woken for it. It shares its line with nothing else,
/// because each thread that leaves something behind writes it.
#[repr(align(128))]
pub struct DueBoard {
    some: AtomicBool,
    asleep: SleepMark,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl SleepMark {
    /// Calls `wake` if the thread sleeps. The caller has stored before that there is work.
    pub fn remind(&self, wake: impl FnOnce()) {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed) {
            wake();
        }
    }

    /// The thread does `sleep`, which looks whether there is work before it waits.
    pub fn sleep(&self, sleep: impl FnOnce()) {
        self.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        sleep();
        self.0.store(false, Ordering::Relaxed);
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
        Self { some: AtomicBool::new(false), asleep: SleepMark::default(), wake: Box::new(wake) }
    }

    /// Sets the mark of a connection on which something is left, and wakes the thread if it sleeps: there may be no
    /// caller that polls.
    pub fn mark(&self, mark: &DueMark) {
        mark.0.store(true, Ordering::Relaxed);
        self.some.swap(true, Ordering::AcqRel);
        self.asleep.remind(|| self.wake());
    }

    /// Whether something is left on some connection. A caller that gets `true` serves all marked ones.
    pub fn take(&self) -> bool {
        self.some.load(Ordering::Relaxed) && self.some.swap(false, Ordering::Acquire)
    }

    /// The thread sleeps in `wait`, for `most` at most, and not at all while something is left.
    pub fn sleep(&self, most: Duration, wait: impl FnOnce(Duration)) {
        self.asleep.sleep(|| wait(if self.some.load(Ordering::Relaxed) { Duration::ZERO } else { most }));
    }

    /// Wakes the thread.
    pub fn wake(&self) {
        (self.wake)();
    }
}

#[cfg(all(test, loom))]
mod loom_models;

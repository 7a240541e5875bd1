//! Wakes tasks that wait for symmetric variables.
//!
//! Whoever changes a variable is another process with a store, which tells nobody. So one thread looks at all variables
//! that tasks of this PE wait for, and naps between looks: longer the longer nothing happened, a sixteenth of the time
//! waited, so that looking costs next to nothing and adds a few percent to a wait. Without waiting tasks it sleeps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

const SHORTEST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// What one task waits for.
struct Watch {
    id: u64,
    /// Where the variable is, so that the watch ends with its memory.
    address: usize,
    ready: Box<dyn Fn() -> bool + Send>,
    task: Waker,
}

struct Reactor {
    watches: Mutex<Vec<Watch>>,
    /// There is a new one.
    more: Condvar,
}

static REACTOR: OnceLock<Reactor> = OnceLock::new();

/// Names a watch, so that its task can change or end it.
pub(crate) fn new_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    IDS.fetch_add(1, Relaxed)
}

/// Wakes `task` when `ready`. A watch with the same id is replaced. Without a thread to look, the task is woken at once
/// and so looks itself.
pub(crate) fn watch(id: u64, address: usize, ready: impl Fn() -> bool + Send + 'static, task: &Waker) {
    let Some(reactor) = reactor() else { return task.wake_by_ref() };
    let mut watches = reactor.watches();
    watches.retain(|watch| watch.id != id);
    watches.push(Watch { id, address, ready: Box::new(ready), task: task.clone() });
    reactor.more.notify_one();
}

/// Ends a watch.
pub(crate) fn end(id: u64) {
    if let Some(reactor) = REACTOR.get() {
        reactor.watches().retain(|watch| watch.id != id);
    }
}

/// Ends all watches of variables in `memory`, which is about to be freed.
pub(crate) fn forget(memory: *const [u8]) {
    let start = memory.cast::<u8>() as usize;
    if let Some(reactor) = REACTOR.get() {
        reactor.watches().retain(|watch| watch.address.wrapping_sub(start) >= memory.len());
    }
}

/// Ends all watches, because all symmetric memory goes. Their tasks are woken and see for themselves.
pub(crate) fn close() {
    if let Some(reactor) = REACTOR.get() {
        let watches = std::mem::take(&mut *reactor.watches());
        watches.into_iter().for_each(|watch| watch.task.wake());
    }
}

/// The reactor, with its thread.
fn reactor() -> Option<&'static Reactor> {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let reactor = REACTOR.get_or_init(|| Reactor { watches: Mutex::new(Vec::new()), more: Condvar::new() });
    let thread = || std::thread::Builder::new().name("oxshmem watcher".into()).spawn(|| reactor.look());
    STARTED.get_or_init(|| thread().is_ok()).then_some(reactor)
}

impl Reactor {
    fn watches(&self) -> MutexGuard<'_, Vec<Watch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does.
    fn look(&self) {
        let mut quiet_since = Instant::now();
        let mut watches = self.watches();
        loop {
            if watches.is_empty() {
                watches = self.more.wait(watches).unwrap_or_else(PoisonError::into_inner);
                quiet_since = Instant::now();
            }
            let (ready, waiting) = std::mem::take(&mut *watches).into_iter().partition(|watch| (watch.ready)());
            *watches = waiting;
            let ready: Vec<Watch> = ready;
            if !ready.is_empty() {
                // A waker is code of the executor, which may come back with another watch.
                drop(watches);
                ready.into_iter().for_each(|watch| watch.task.wake());
                quiet_since = Instant::now();
                watches = self.watches();
            } else if !watches.is_empty() {
                let nap = (quiet_since.elapsed() / 16).clamp(SHORTEST_NAP, LONGEST_NAP);
                let (guard, slept) = self.more.wait_timeout(watches, nap).unwrap_or_else(PoisonError::into_inner);
                if !slept.timed_out() {
                    quiet_since = Instant::now();
                }
                watches = guard;
            }
        }
    }
}

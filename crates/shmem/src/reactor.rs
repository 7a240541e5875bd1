//! Wakes tasks that wait for symmetric variables.
//!
//! Another process changes a variable with a store, which notifies no waiter. So one thread looks at all variables that
//! tasks of this PE wait for, and sleeps between looks: for a sixteenth of the time waited, so that looking costs next to
//! nothing and adds a few percent to a wait. Without waiting tasks it sleeps. Now and then it asks whether each wait can still end, as
//! calls that wait do: if a PE is gone the job ends with a message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::{Duration, Instant};

use oxshmem_os::signals;
use oxshmem_runtime::calls::p2p;
use oxshmem_runtime::calls::request::{self, RequestHandle};
use parking_lot::{Condvar, Mutex, MutexGuard};

const SHORTEST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);
/// How often the thread asks whether waits can still end: as often as a call that waits.
const CHECK_EVERY: Duration = Duration::from_millis(20);

/// The subject of a wait.
#[derive(Clone, Copy)]
pub(crate) enum Awaited {
    /// A variable at this address, in the name of a call.
    Variable(&'static str, usize),
    /// A collective that has been started.
    Collective(RequestHandle),
}

impl Awaited {
    /// Where the variable is, so that the watch ends with its memory.
    fn address(self) -> usize {
        match self {
            Self::Variable(_, address) => address,
            Self::Collective(_) => 0,
        }
    }
}

/// The condition of one waiting task.
struct Watch {
    id: u64,
    awaited: Awaited,
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
pub(crate) fn watch(id: u64, awaited: Awaited, ready: impl Fn() -> bool + Send + 'static, task: &Waker) {
    let Some(reactor) = reactor() else { return task.wake_by_ref() };
    reactor.take(|watch| watch.id == id);
    reactor.watches().push(Watch { id, awaited, ready: Box::new(ready), task: task.clone() });
    reactor.more.notify_one();
}

/// Ends a watch.
pub(crate) fn end(id: u64) {
    if let Some(reactor) = REACTOR.get() {
        reactor.take(|watch| watch.id == id);
    }
}

/// Ends all watches of variables in `memory`, which is about to be freed.
pub(crate) fn forget(memory: *const [u8]) {
    let start = memory.cast::<u8>() as usize;
    if let Some(reactor) = REACTOR.get() {
        reactor.take(|watch| watch.awaited.address().wrapping_sub(start) < memory.len());
    }
}

/// Ends all watches, because all symmetric memory goes. Their tasks are woken and look themselves.
pub(crate) fn close() {
    if let Some(reactor) = REACTOR.get() {
        reactor.take(|_| true).into_iter().for_each(Watch::wake);
    }
}

/// The reactor, with its thread.
fn reactor() -> Option<&'static Reactor> {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let reactor = REACTOR.get_or_init(|| Reactor { watches: Mutex::new(Vec::new()), more: Condvar::new() });
    let thread = || std::thread::Builder::new().name("oxshmem watcher".into()).spawn(|| reactor.look());
    STARTED.get_or_init(|| signals::keeping_signals(thread).is_ok()).then_some(reactor)
}

impl Watch {
    /// Wakes the task: code of its executor, whose panic is not ours.
    fn wake(self) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.task.wake()));
    }

    /// Ends the job if the wait can never end.
    fn end_if_hopeless(&self) {
        match self.awaited {
            Awaited::Variable(call, address) => p2p::end_if_hopeless(call, address as *mut u8, || (self.ready)()),
            Awaited::Collective(request) => request::end_if_hopeless("shmem_req_wait", request),
        }
    }
}

impl Reactor {
    fn watches(&self) -> MutexGuard<'_, Vec<Watch>> {
        self.watches.lock()
    }

    /// Takes some out. They are dropped without the lock: with its waker a task may go, and what it waits for.
    fn take(&self, which: impl Fn(&Watch) -> bool) -> Vec<Watch> {
        let mut watches = self.watches();
        let (taken, left) = std::mem::take(&mut *watches).into_iter().partition(which);
        *watches = left;
        taken
    }

    /// The loop of the thread.
    fn look(&self) {
        let mut quiet_since = Instant::now();
        let mut checked = quiet_since;
        let mut watches = self.watches();
        loop {
            if watches.is_empty() {
                self.more.wait(&mut watches);
                quiet_since = Instant::now();
                checked = quiet_since;
            }
            let (ready, waiting) = std::mem::take(&mut *watches).into_iter().partition(|watch| (watch.ready)());
            *watches = waiting;
            let ready: Vec<Watch> = ready;
            if !ready.is_empty() {
                // A waker is code of the executor, which may come back with another watch.
                drop(watches);
                ready.into_iter().for_each(Watch::wake);
                quiet_since = Instant::now();
                watches = self.watches();
            } else if !watches.is_empty() {
                // With the lock: neither the variables nor the library go meanwhile.
                if checked.elapsed() >= CHECK_EVERY {
                    watches.iter().for_each(Watch::end_if_hopeless);
                    checked = Instant::now();
                }
                let nap = (quiet_since.elapsed() / 16).clamp(SHORTEST_NAP, LONGEST_NAP);
                if !self.more.wait_for(&mut watches, nap).timed_out() {
                    quiet_since = Instant::now();
                }
            }
        }
    }
}

//! Who moves the endpoint on: callers that wait, and the thread that serves when nobody does.
//!
//! Providers differ in whether a target has to help (`FI_PROGRESS_MANUAL`) and in whether one can sleep until something
//! comes. A target may have to help with whatever is asked of it, so there is always a thread: it sleeps on the queue's
//! descriptor where there is one and naps where there is none (`naps`); while callers poll it stays out of their way.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::{process, sockets};
use oxshmem_transport::OperationLock;
use parking_lot::{Mutex, MutexGuard};

use crate::engine::Engine;
use crate::naps::Naps;
use crate::rails::SPREAD;

/// Shortest and longest nap of the thread while callers poll.
const ASIDE: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(800));

/// What a fabric's parts share.
pub(crate) struct Net {
    pub(crate) me: u32,
    engine: OperationLock<Engine>,
    pub(crate) ordered: bool,
    pub(crate) messages_follow: bool,
    /// The endpoint does the job's atomics.
    pub(crate) atomics: bool,
    pub(crate) atomics_ordered: bool,
    pub(crate) inject: usize,
    /// Transfers from so many bytes on take all rails, if there are several.
    pub(crate) spread: usize,
    /// What to sleep on, if every endpoint that needs looking after has such a thing.
    descriptors: Option<Vec<RawFd>>,
    /// How many reads and writes of peers the endpoint has counted. Changed with the engine locked.
    served: AtomicU64,
    naps: Naps,
    /// How many callers nap between looks, as the thread would: it leaves that to them.
    dozing: AtomicU64,
    /// How often callers have polled: the thread steps aside while it changes.
    polls: AtomicU64,
    /// Letters that wait for the software above. Changed with the engine locked.
    letters: AtomicU64,
    /// Whether the engine is broken. Stored with the engine locked.
    broken: AtomicBool,
    /// Where bytes go that nobody wants.
    scrap: Box<AtomicU64>,
    rest: Mutex<Rest>,
}

/// What the thread remembers between two looks.
struct Rest {
    seen: u64,
    nap: Duration,
    /// Its naps are as short as they should be.
    exact: bool,
}

impl Net {
    pub(crate) fn new(engine: Engine, atomics: bool) -> Self {
        let info = &engine.port.info;
        Self {
            me: engine.me,
            ordered: info.orders_puts(),
            messages_follow: info.orders_messages(),
            atomics,
            atomics_ordered: info.orders_atomics(),
            inject: info.tx().inject_size.min(crate::operation::ROOM),
            spread: if engine.further.is_empty() { usize::MAX } else { SPREAD },
            descriptors: engine.descriptors(),
            served: AtomicU64::new(0),
            naps: Naps::new(),
            dozing: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            letters: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            scrap: Box::default(),
            rest: Mutex::new(Rest { seen: 0, nap: ASIDE.0, exact: false }),
            engine: OperationLock::new(engine),
        }
    }

    /// The endpoint.
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked { net: self, engine: self.engine.lock() }
    }

    /// A caller moves everything on.
    pub(crate) fn drain(&self) -> usize {
        self.drain_with(|_| {})
    }

    /// A caller moves everything on, and then does something more with the endpoint.
    pub(crate) fn drain_with(&self, then: impl FnOnce(&mut Engine)) -> usize {
        self.note_poll();
        let mut engine = self.lock();
        let done = self.serve(&mut engine);
        then(&mut engine);
        done
    }

    /// Moves everything on. Returns how much was done, with what peers have done to our memory if that is counted.
    fn serve(&self, engine: &mut Engine) -> usize {
        let done = engine.drain();
        if self.descriptors.is_some() {
            return done;
        }
        let served = engine.port.served();
        // Relaxed: the engine is locked.
        let before = self.served.swap(served, Ordering::Relaxed);
        let done = done + served.wrapping_sub(before) as usize;
        if done > 0 {
            self.naps.note();
        }
        done
    }

    /// Not exact where callers meet: it is enough that the number changes, and a locked instruction costs a tenth of a put.
    fn note_poll(&self) {
        self.polls.store(self.polls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// A caller sleeps until something comes, for `most` at most, and serves it. Where there is nothing to sleep on, it
    /// looks as often as the thread would. A sleep that the network has ended counts as something done, because serving a
    /// peer completes nothing: the caller stays awake for the next request, which would else find it asleep.
    pub(crate) fn doze(&self, most: Duration) -> usize {
        self.note_poll();
        let mut engine = self.lock();
        let done = self.serve(&mut engine);
        if done > 0 || !engine.mail.is_empty() {
            return done;
        }
        let descriptors = self.descriptors.as_ref();
        if descriptors.is_some() && !engine.may_sleep() {
            return done;
        }
        drop(engine);
        let woken = match descriptors {
            Some(descriptors) => sleep_on(descriptors, most),
            None => {
                // Relaxed: it is only a reason for the thread to nap.
                self.dozing.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(self.naps.next().min(most));
                self.dozing.fetch_sub(1, Ordering::Relaxed);
                false
            }
        };
        self.drain().max(usize::from(woken))
    }

    /// The next letter for the software above, if one has come.
    pub(crate) fn letter(&self) -> Option<(u32, Vec<u8>)> {
        if self.letters.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().mail.pop_front()
    }

    /// The thread's turn: serves, sleeps for `patience` at most, and returns a letter if one has come.
    pub(crate) fn rest(&self, patience: Duration) -> Option<(u32, Vec<u8>)> {
        let mut rest = self.rest.lock();
        let polls = self.polls.load(Ordering::Relaxed);
        if polls != rest.seen || self.dozing.load(Ordering::Relaxed) > 0 {
            // Callers look for what comes, and serve it.
            rest.seen = polls;
            std::thread::sleep(rest.nap.min(patience));
            rest.nap = (rest.nap * 2).min(ASIDE.1);
            return None;
        }
        rest.nap = ASIDE.0;
        let mut engine = self.lock();
        let done = self.serve(&mut engine);
        if let Some(letter) = engine.mail.pop_front() {
            return Some(letter);
        }
        if done > 0 {
            return None;
        }
        let descriptors = self.descriptors.as_ref().filter(|_| engine.may_sleep());
        drop(engine);
        match descriptors {
            Some(descriptors) => drop(sleep_on(descriptors, patience)),
            None => {
                if !std::mem::replace(&mut rest.exact, true)
                    && let Err(error) = process::nap_exactly()
                {
                    tracing::debug!(%error, "short naps take longer");
                }
                std::thread::sleep(self.naps.next().min(patience));
            }
        }
        None
    }

    /// Why the endpoint is of no use any more.
    pub(crate) fn failure(&self) -> Option<Error> {
        if !self.broken.load(Ordering::Acquire) {
            return None;
        }
        self.lock().broken.clone()
    }

    pub(crate) fn scrap(&self) -> *mut u8 {
        self.scrap.as_ptr().cast()
    }
}

/// Sleeps until one of the queues has something; they are open as long as the net to which their ports belong. Returns whether
/// that was why the sleep ended.
fn sleep_on(descriptors: &[RawFd], most: Duration) -> bool {
    // SAFETY: the net owns the ports, which keep these descriptors open.
    let descriptors = descriptors.iter().map(|&descriptor| unsafe { BorrowedFd::borrow_raw(descriptor) });
    sockets::wait_any_readable(descriptors, most).unwrap_or_else(|error| {
        tracing::warn!(%error, "the network's descriptors cannot be waited for");
        false
    })
}

/// The engine while it is held; who lets it go says what others want to know without it.
pub(crate) struct Locked<'n> {
    net: &'n Net,
    engine: MutexGuard<'n, Engine>,
}

impl std::ops::Deref for Locked<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl std::ops::DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.net.letters.store(self.engine.mail.len() as u64, Ordering::Release);
        if self.engine.broken.is_some() {
            self.net.broken.store(true, Ordering::Release);
        }
    }
}

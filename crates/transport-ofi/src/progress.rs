//! The endpoint's lock, and what moves the endpoint on: callers that wait, and the thread ([`Drive`]).
//!
//! Providers differ in whether a target has to help (`FI_PROGRESS_MANUAL`) and in whether a thread can sleep until
//! something comes. A target may have to help with any request, so there is always a thread. It sleeps on the queue's
//! descriptor where there is one, and backs off where there is none (`backoff`), or while callers issue operations and
//! do not poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_transport::progress_thread::{Callers, Drive, NextStep};
use oxshmem_transport::{Losses, OperationLock};
use parking_lot::MutexGuard;

use crate::backoff::Backoff;
use crate::delivery::Delivery;
use crate::engine::Engine;
use crate::message::Message;
use crate::room::ROOM;
use crate::sleep::QueueDescriptors;
use crate::striping::SPREAD;

/// How long the thread sleeps at most.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long the thread does not look while callers issue operations or send messages, and do not poll. Each completion would wake it
/// from a sleep on the queue, and it would take the engine's lock and arm the queue again, between two operations of the caller. A
/// message that waits in a batch goes at the end of this at the latest.
const WHILE_ISSUING: Duration = Duration::from_micros(200);

/// How long the thread sleeps at most while messages wait that its turn has not tried: the queue does not tell that one can go. Chosen: the
/// tries of a turn take some tens of microseconds.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The state that the parts of a fabric share.
pub(crate) struct Net {
    pub(crate) me: u32,
    engine: OperationLock<Engine>,
    pub(crate) ordered: bool,
    pub(crate) messages_follow: bool,
    /// A card moves the data.
    pub(crate) card: bool,
    /// The target's processor takes part in each put and acknowledges it.
    pub(crate) puts_are_acknowledged: bool,
    /// Bytes of the longest active message.
    pub(crate) longest_active_message: usize,
    /// The endpoint does the job's atomics.
    pub(crate) atomics: bool,
    pub(crate) atomics_ordered: bool,
    pub(crate) inject: usize,
    /// Transfers from this many bytes on take all rails, if there are several.
    pub(crate) spread: usize,
    /// The descriptors to sleep on, if every endpoint that needs a thread to make progress has one.
    descriptors: Option<QueueDescriptors>,
    /// How many reads and writes of peers the endpoint has counted. Changed with the engine locked.
    served: AtomicU64,
    backoff: Backoff,
    callers: Callers,
    /// Active messages that wait for the software above. Changed with the engine locked.
    waiting: AtomicU64,
    /// Whether the engine is broken. Stored with the engine locked.
    broken: AtomicBool,
    losses: Arc<Losses>,
    /// The destination of bytes that are not used.
    scrap: Box<AtomicU64>,
}

impl Net {
    pub(crate) fn new(engine: Engine, atomics: bool) -> Self {
        let info = &engine.first.objects.info;
        let descriptors = engine.descriptors().map(QueueDescriptors::new);
        Self {
            me: engine.me,
            ordered: info.orders_puts(),
            messages_follow: info.orders_messages(),
            card: info.endpoint().card,
            puts_are_acknowledged: !info.endpoint().card && info.delivery == Delivery::Complete,
            longest_active_message: engine.first.longest_message() - Message::HEAD,
            atomics,
            atomics_ordered: info.orders_atomics(),
            inject: info.tx().inject_size.min(ROOM),
            spread: if engine.further.is_empty() { usize::MAX } else { SPREAD },
            descriptors,
            served: AtomicU64::new(0),
            backoff: Backoff::new(),
            callers: Callers::default(),
            waiting: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            losses: engine.first.losses.clone(),
            scrap: Box::default(),
            engine: OperationLock::new(engine),
        }
    }

    /// The endpoint.
    pub(crate) fn lock(&self) -> Locked<'_> {
        self.keep(self.engine.lock())
    }

    /// The endpoint, for what changes nothing that others read without the lock.
    #[inline(always)]
    pub(crate) fn lock_briefly(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock()
    }

    /// The endpoint for more than that.
    #[inline(always)]
    pub(crate) fn keep<'n>(&'n self, engine: MutexGuard<'n, Engine>) -> Locked<'n> {
        Locked { net: self, engine }
    }

    /// A caller moves everything on.
    pub(crate) fn drain(&self) -> usize {
        self.drain_with(|_| {})
    }

    /// A caller moves everything on, and then does something more with the endpoint.
    pub(crate) fn drain_with(&self, then: impl FnOnce(&mut Engine)) -> usize {
        self.callers.note();
        let mut engine = self.lock();
        let done = self.serve(&mut engine);
        then(&mut engine);
        done
    }

    /// [`Net::drain_with`] in the fewest instructions, for a caller that waits for completion.
    #[inline(always)]
    pub(crate) fn poll_with(&self, then: impl FnOnce(&mut Engine)) {
        self.callers.note();
        let mut engine = self.lock();
        let done = engine.drain_inline();
        self.with_served(&engine, done);
        then(&mut engine);
    }

    /// Moves everything on. Returns how much was done, with what peers have done to our memory if that is counted.
    #[inline(always)]
    fn serve(&self, engine: &mut Engine) -> usize {
        let done = engine.drain();
        self.with_served(engine, done)
    }

    /// The sum of what was done and what peers have done to our memory, if that is counted.
    #[inline(always)]
    fn with_served(&self, engine: &Engine, done: usize) -> usize {
        if self.descriptors.is_some() { done } else { self.count_served(engine, done) }
    }

    /// The sum of what was done and what peers have done to our memory.
    fn count_served(&self, engine: &Engine, done: usize) -> usize {
        let served = engine.first.objects.served();
        // Relaxed: the engine is locked.
        let before = self.served.swap(served, Ordering::Relaxed);
        let done = done + served.wrapping_sub(before) as usize;
        if done > 0 {
            self.backoff.note();
        }
        done
    }

    /// A caller sleeps until something comes, for `most` at most, and serves it. Where there is nothing to sleep on, it
    /// looks as often as the thread would. A sleep that the network has ended counts as something done, because serving a
    /// peer completes nothing: the caller stays awake for the next request, which would else find it asleep.
    pub(crate) fn doze(&self, most: Duration) -> usize {
        self.callers.note();
        let mut engine = self.lock();
        let done = self.serve(&mut engine);
        if done > 0 || !engine.active_messages.is_empty() {
            return done;
        }
        drop(engine);
        let woken = match &self.descriptors {
            Some(descriptors) => self.may_sleep() && descriptors.doze(most),
            None => {
                self.callers.rest(|| std::thread::sleep(self.backoff.next().min(most)));
                false
            }
        };
        self.drain().max(usize::from(woken))
    }

    /// Whether there is nothing in the queues now.
    fn may_sleep(&self) -> bool {
        self.lock().may_sleep()
    }

    /// Whether the thread's sleep can be ended.
    pub(crate) fn can_be_woken(&self) -> bool {
        self.descriptors.as_ref().is_some_and(QueueDescriptors::can_be_woken)
    }

    /// Whether an active message for the software above has come.
    pub(crate) fn has_active_messages(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// The next active message for the software above, if one has come.
    pub(crate) fn active_message(&self) -> Option<(u32, Vec<u8>)> {
        if !self.has_active_messages() {
            return None;
        }
        self.lock().active_messages.pop_front()
    }

    /// Whether the endpoint can no longer be used.
    #[inline]
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Why the job cannot go on: the endpoint can no longer be used, or an operation of some lane has failed.
    pub(crate) fn failure(&self) -> Option<Error> {
        if !self.is_broken() {
            return self.losses.first().cloned();
        }
        self.lock().broken().cloned()
    }

    pub(crate) fn scrap(&self) -> *mut u8 {
        self.scrap.as_ptr().cast()
    }
}

impl Drive for Net {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    fn turn(&self, _resumed: bool) -> NextStep {
        let mut engine = self.lock();
        let done = self.serve(&mut engine);
        if self.atomics
            && let Some((from, _)) = engine.active_messages.pop_front()
        {
            tracing::warn!(from, "an active message was dropped: the endpoint does the atomics of this job");
        }
        match &self.descriptors {
            _ if done > 0 || !engine.active_messages.is_empty() => NextStep::Again,
            Some(_) if engine.take_issued() => NextStep::Backoff(WHILE_ISSUING),
            Some(_) if engine.has_untried() => NextStep::Sleep(BETWEEN_TRIES),
            Some(_) => NextStep::Sleep(PATIENCE),
            None => NextStep::Backoff(self.backoff.next()),
        }
    }

    fn sleep(&self, most: Duration) {
        let Some(descriptors) = &self.descriptors else { return };
        if self.may_sleep() {
            descriptors.sleep(most);
        }
        descriptors.clear();
    }

    fn wake(&self) {
        if let Some(Err(error)) = self.descriptors.as_ref().map(QueueDescriptors::wake) {
            tracing::warn!(%error, "the progress thread cannot be woken");
        }
    }

    fn backoff_while_sending(&self) -> Option<Duration> {
        Some(WHILE_ISSUING)
    }
}

/// The engine while it is held. When it is let go, the facts that others read without it are stored.
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
        self.net.waiting.store(self.engine.active_messages.len() as u64, Ordering::Release);
        if self.engine.broken().is_some() {
            self.net.broken.store(true, Ordering::Release);
        }
    }
}

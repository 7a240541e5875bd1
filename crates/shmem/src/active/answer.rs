//! The answer to an active message, as a future.

use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context as Task, Poll};

use oxshmem_runtime::calls::amo;
use serde::de::DeserializeOwned;

use super::{ActiveMessages, CALL};
use crate::message::decode;
use crate::reactor::{self, Awaited};
use crate::{Error, ErrorKind, backend};

/// The answer to a request, from [`ActiveMessages::call`]. Dropping it leaves the request as it is: it runs.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let active = world.active_messages(64)?;
/// let double = active.register(|_, number: u64| 2 * number);
/// let answer: oxshmem::ActiveAnswer<'_, '_, u64> = active.call(double, &4, 0);
/// assert_eq!(answer.wait()?, 8);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the answer comes from `wait` or `await`; drop it if it is not needed"]
pub struct ActiveAnswer<'a, 'w, A> {
    pub(super) active: &'a ActiveMessages<'w>,
    pub(super) number: u64,
    /// Why the request was not sent.
    pub(super) refused: Option<Error>,
    /// The reactor's name for it, once it has waited.
    pub(super) watch: Option<u64>,
    pub(super) answer: PhantomData<fn() -> A>,
}

impl<A> fmt::Debug for ActiveAnswer<'_, '_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveAnswer").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A wait for an answer, which ends with this value, in a panic of a handler that it serves too.
struct AnswerWait<'a, 'w> {
    active: &'a ActiveMessages<'w>,
    /// Waits that are around it.
    before: usize,
}

impl<'a, 'w> AnswerWait<'a, 'w> {
    fn begin(active: &'a ActiveMessages<'w>, number: u64) -> Self {
        let mut waits = active.waits.borrow_mut();
        let before = waits.len();
        waits.push(number);
        Self { active, before }
    }
}

impl Drop for AnswerWait<'_, '_> {
    fn drop(&mut self) {
        self.active.waits.borrow_mut().truncate(self.before);
    }
}

impl<A: DeserializeOwned> ActiveAnswer<'_, '_, A> {
    /// Waits for the answer, and serves others meanwhile.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let active = world.active_messages(64)?;
    /// let double = active.register(|_, number: u64| 2 * number);
    /// assert_eq!(active.call(double, &4, 0).wait()?, 8);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn wait(mut self) -> Result<A, Error> {
        let _waits = AnswerWait::begin(self.active, self.number);
        loop {
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            self.active.serve();
        }
    }

    /// The outcome, once it is there.
    fn outcome(&mut self) -> Option<Result<A, Error>> {
        if let Some(error) = self.refused.take() {
            return Some(Err(error));
        }
        let outcome = self.active.awaited.borrow_mut().get_mut(&self.number)?.take()?;
        Some(outcome.map_err(failed).and_then(|bytes| decode(CALL, &bytes)))
    }

    /// Wakes the task when a piece comes, or a slot for which something waits is free.
    fn watch(&mut self, task: &Task<'_>) {
        if backend::look_later() {
            return task.waker().wake_by_ref();
        }
        let pieces = &self.active.pieces;
        let pes = 0..pieces.n_pes();
        let come = pes.clone().map(|pe| (pieces.come[pe].own() as usize, pieces.received(pe) + 1));
        let outbox = self.active.outbox.borrow();
        let waiting = pes.filter(|&pe| !outbox[pe].0.is_empty());
        let free = waiting.map(|pe| (pieces.taken[pe].own() as usize, pieces.sent(pe)));
        let words: Vec<(usize, u64)> = come.chain(free).collect();
        let ready = move || {
            // SAFETY: signals and atomics are words that are read atomically; the watch ends with this future, or if that was
            // forgotten, with the memory of the first of them, which goes first.
            words.iter().any(|&(word, number)| unsafe { <u64 as amo::AmoType>::load(word as *mut u64) } >= number)
        };
        let id = *self.watch.get_or_insert_with(reactor::new_id);
        let awaited = Awaited::Variable(CALL, pieces.come[0].own() as usize);
        reactor::watch(id, awaited, ready, task.waker());
    }
}

impl<A: DeserializeOwned> Future for ActiveAnswer<'_, '_, A> {
    type Output = Result<A, Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        while self.active.progress() > 0 {}
        if let Some(outcome) = self.outcome() {
            return Poll::Ready(outcome);
        }
        self.watch(task);
        Poll::Pending
    }
}

impl<A> Drop for ActiveAnswer<'_, '_, A> {
    fn drop(&mut self) {
        if let Some(id) = self.watch {
            reactor::end(id);
        }
        self.active.awaited.borrow_mut().remove(&self.number);
    }
}

#[cold]
pub(super) fn failed(why: String) -> Error {
    Error::new("a request has no answer")
        .because(why)
        .fix("register the same handlers on all PEs, in the same order, before any is called, and let none wait for itself or panic")
        .of_kind(ErrorKind::InvalidArgument)
}

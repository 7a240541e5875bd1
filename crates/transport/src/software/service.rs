//! Atomics and short puts made of messages: the target's processor executes them ([`Service`]), a lane collects the answers
//! ([`Requester`]).
//!
//! Where messages stay in order, an operation that needs no old value can be *told*: no answer comes unless it fails, and the answer to a later
//! question says that all that was told to this PE before has been done.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::letter::{Letter, TargetTask};
use crate::{Account, Busy, NotIssued, OutOfRange, RegisteredMemory, Width, deliver_old};

/// The least a provider without atomics must have: short messages from PE to PE, each delivered once, in any order.
pub trait Messages: Send + Sync {
    /// Sends a message that is no longer than [`Messages::longest`].
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), NotIssued>;

    /// Bytes of the longest message, at least 64.
    fn longest(&self) -> usize {
        64
    }

    /// Whether messages to a PE stay in order.
    fn in_order(&self) -> bool {
        self.follow_puts()
    }

    /// Whether a message is cheaper than a put as short, because the target's processor takes part in both and acknowledges the put.
    fn beat_puts(&self) -> bool {
        false
    }

    /// The next message and its sender, if one has come.
    fn receive(&self) -> Option<(u32, Vec<u8>)>;

    /// Whether messages to a PE stay in order and arrive after the puts that were issued to it before have taken effect.
    fn follow_puts(&self) -> bool {
        false
    }
}

/// Executes atomics of peers and collects the answers to ours.
pub(super) struct Service {
    messages: Box<dyn Messages>,
    memory: Arc<RegisteredMemory>,
    answers: Mutex<HashMap<u64, Result<u64, OutOfRange>>>,
    /// Answers to peers for which there was no room.
    unsent: Mutex<VecDeque<(u32, Vec<u8>)>>,
    /// The number of them, stored under their lock. Every poll loads it, because a lock would cost a tenth of a short put.
    /// Relaxed: a thread that has added one sends it itself, and one that sees an old number looks again.
    owed: AtomicUsize,
    last: AtomicU64,
}

impl Service {
    pub(super) fn new(messages: Box<dyn Messages>, memory: Arc<RegisteredMemory>) -> Self {
        let (answers, unsent) = (Mutex::default(), Mutex::default());
        Self { messages, memory, answers, unsent, owed: AtomicUsize::new(0), last: AtomicU64::new(0) }
    }

    pub(super) fn messages(&self) -> &dyn Messages {
        &*self.messages
    }

    /// Longest put that one message carries.
    pub(super) fn longest_put(&self) -> usize {
        self.messages.longest() - Letter::HEAD
    }

    /// Takes one message. Returns whether there was one.
    pub(super) fn serve(&self) -> bool {
        let Some((from, letter)) = self.messages.receive() else {
            return self.owed.load(Ordering::Relaxed) > 0 && self.send_unsent();
        };
        match Letter::decode(&letter) {
            Some(Letter::Ask { number, task, answered }) => {
                let outcome = self.execute(task);
                if answered || outcome.is_err() {
                    self.unsent.lock().push_back((from, Letter::Answer { number, outcome }.encode()));
                    self.send_unsent();
                }
            }
            Some(Letter::Answer { number, outcome }) => {
                self.answers.lock().insert(number, outcome);
            }
            None => tracing::warn!(from, "a message that makes no sense was dropped"),
        }
        true
    }

    /// Does what was asked; returns an atomic's old value.
    fn execute(&self, task: TargetTask<'_>) -> Result<u64, OutOfRange> {
        match task {
            TargetTask::Amo { at, width, amo } => self.memory.amo(at.region, at.offset, width, amo),
            TargetTask::Put { to, data, signal } => {
                // Nothing is written if any of it is wrong.
                if let Some((at, _)) = signal {
                    self.memory.object(at.region, at.offset, Width::Eight)?;
                }
                if !data.is_empty() {
                    // SAFETY: the source is a slice.
                    unsafe { self.memory.put(to.region, to.offset, data.as_ptr(), data.len())? };
                }
                if let Some((at, update)) = signal {
                    self.memory.amo(at.region, at.offset, Width::Eight, update.amo())?;
                }
                Ok(0)
            }
            TargetTask::Mark => Ok(0),
        }
    }

    /// Sends answers in the order of the questions, as far as there is room. Returns whether one went.
    fn send_unsent(&self) -> bool {
        let mut unsent = self.unsent.lock();
        let before = unsent.len();
        while let Some((to, answer)) = unsent.front() {
            match self.messages.send(*to, answer) {
                Ok(()) => {}
                Err(NotIssued::Busy) => break,
                Err(NotIssued::Failed(error)) => {
                    tracing::error!(%error, to, "an answer to an atomic could not be sent")
                }
            }
            unsent.pop_front();
        }
        self.owed.store(unsent.len(), Ordering::Relaxed);
        unsent.len() < before
    }
}

/// Questions of one lane that are under way at once. Beyond that the lane is busy: without a bound a caller that never waits is
/// thousands ahead of the target's processor, and whatever others ask comes behind all of it.
const MOST_ASKED: usize = 128;

/// After so many messages to a PE that expect no answer one is asked for: what is under way stays bounded.
const MOST_TOLD: u32 = 32;

/// The requests of one lane to targets' processors.
pub(super) struct Requester {
    service: Arc<Service>,
    pub(super) account: Account,
    questions: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    waiting: HashMap<u64, Waiting>,
    /// How many of them expect no answer of their own.
    told: usize,
    /// How many of them have been told to a PE since it was asked something.
    unasked: HashMap<u32, u32>,
    /// Counts fences.
    era: u64,
}

/// A message that is not known to be done.
struct Waiting {
    pe: u32,
    era: u64,
    width: Width,
    old: *mut u8,
    answered: bool,
}

// SAFETY: `old` belongs to the lane's caller, who keeps it valid until completion on whatever thread.
unsafe impl Send for Waiting {}

impl Requester {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self { service, account: Account::default(), questions: Mutex::default() }
    }

    /// Longest put that one message carries.
    pub(super) fn longest_put(&self) -> usize {
        self.service.longest_put()
    }

    /// Asks a PE; the old value of an atomic goes to `old` unless that is null.
    ///
    /// # Safety
    /// `old` is null or writable, for the width of the atomic, until completion.
    pub(super) unsafe fn ask(&self, pe: u32, task: TargetTask<'_>, old: *mut u8) -> Result<(), Busy> {
        self.send(&mut self.questions.lock(), pe, task, old, true)
    }

    /// Has a PE do something that completes with the answer to a later question.
    pub(super) fn tell(&self, pe: u32, task: TargetTask<'_>) -> Result<(), Busy> {
        let mut questions = self.questions.lock();
        let answered = questions.unasked.get(&pe).is_some_and(|&told| told >= MOST_TOLD);
        if answered {
            // Answers to those before have come meanwhile.
            self.take_answers(&mut questions);
        }
        self.send(&mut questions, pe, task, std::ptr::null_mut(), answered)
    }

    /// Asks each PE whether it has done what it was told, as far as there is room.
    fn mark(&self, questions: &mut Requests) {
        while let Some(&pe) = questions.unasked.keys().next() {
            if self.send(questions, pe, TargetTask::Mark, std::ptr::null_mut(), true).is_err() {
                return;
            }
        }
    }

    fn send(
        &self,
        questions: &mut Requests,
        pe: u32,
        task: TargetTask<'_>,
        old: *mut u8,
        answered: bool,
    ) -> Result<(), Busy> {
        if questions.waiting.len() - questions.told >= MOST_ASKED {
            return Err(Busy);
        }
        let number = self.service.last.fetch_add(1, Ordering::Relaxed);
        // The lock is held until the request is noted: its answer is taken under the same lock.
        let sent = self.service.messages.send(pe, &Letter::Ask { number, task, answered }.encode()).map(|()| {
            self.account.issue(1);
            let era = questions.era;
            let width = if let TargetTask::Amo { width, .. } = task { width } else { Width::Eight };
            questions.waiting.insert(number, Waiting { pe, era, width, old, answered });
            if answered {
                questions.unasked.remove(&pe);
            } else {
                questions.told += 1;
                *questions.unasked.entry(pe).or_default() += 1;
            }
        });
        self.account.settle(sent, ())
    }

    /// Operations issued from now on must not overtake the requests made until now.
    pub(super) fn fence(&self) {
        if self.account.outstanding() > 0 {
            self.questions.lock().era += 1;
        }
    }

    /// Whether something that was asked of `pe` before the last fence could still take effect after what is issued now.
    pub(super) fn may_be_overtaken(&self, pe: u32) -> bool {
        self.account.outstanding() > 0 && {
            let questions = self.questions.lock();
            questions.waiting.values().any(|asked| asked.pe == pe && asked.era < questions.era)
        }
    }

    /// Takes the answers that have come, and asks for those that nobody has asked for; returns how many operations are complete.
    pub(super) fn collect(&self) -> usize {
        self.service.serve();
        if self.account.outstanding() == 0 {
            return 0;
        }
        let mut questions = self.questions.lock();
        self.mark(&mut questions);
        self.take_answers(&mut questions)
    }

    fn take_answers(&self, questions: &mut Requests) -> usize {
        let before = questions.waiting.len();
        // The answers are gone through, not the questions, of which there may be many more.
        self.service.answers.lock().retain(|number, outcome| {
            // An answer without a question of this lane is another lane's.
            let Some(asked) = questions.waiting.remove(number) else { return true };
            match *outcome {
                // SAFETY: the caller of `ask` keeps `old` until completion, which is counted below.
                Ok(value) => unsafe { deliver_old(asked.old, asked.width, value) },
                Err(wrong) => self.account.fail(wrong.error(asked.pe)),
            }
            questions.told -= usize::from(!asked.answered);
            if questions.told > 0 {
                questions.waiting.retain(|other, told| told.answered || told.pe != asked.pe || other > number);
                questions.told = questions.waiting.values().filter(|told| !told.answered).count();
            }
            false
        });
        let done = before - questions.waiting.len();
        self.account.complete(done as u64);
        done
    }
}

#[cfg(test)]
mod tests;

//! Atomics and short puts made of messages: the target's processor executes them, a lane collects the answers
//! ([`requester`](super::requester)).
//!
//! Where messages stay in order, an operation that needs no old value can go *unacknowledged*: no answer comes unless it fails, and the
//! answer to a later question acknowledges all that was sent to this PE before.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use oxshmem_base::planted;
use parking_lot::{Mutex, MutexGuard};

use super::answers::Answers;
use super::coalescer::{BATCH, Coalescer, SendMoment};
use crate::batch::{self, Batch};
use crate::due::SleepMark;
use crate::progress_thread::Drive;
use crate::{ActiveMessage, MessageContent, NotIssued, RegisteredMemory};

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

    /// Whether several short messages to a PE are worth sending as one where no caller waits in between. Then
    /// [`Drive::wake`] ends the sleep of the provider's thread, messages stay in order, and those of programs are acknowledged now and
    /// then, as the runtime's own are.
    fn gather(&self) -> bool {
        false
    }

    /// Whether a message may have come. It is asked at every poll, so the answer takes no lock.
    fn may_have_come(&self) -> bool {
        true
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
    pub(super) messages: Box<dyn Messages>,
    memory: Arc<RegisteredMemory>,
    /// Held by the thread that takes a message, from before it is received until it is done. Callers and the network's thread serve at
    /// the same time. Without the lock a second one could execute a signal, or answer a mark, while the first one still copies the
    /// data of the message before it.
    serving: Mutex<()>,
    pub(super) answers: Answers,
    /// Answers to peers that have not gone.
    unsent: Mutex<UnsentAnswers>,
    /// The number of them, stored under their lock. Every poll loads it, because a lock would cost a tenth of a short put.
    /// Relaxed: a thread that has added one sends it itself, and one that sees an old number looks again.
    owed: AtomicUsize,
    /// Messages that wait for others, where messages gather.
    coalescer: Mutex<Coalescer>,
    pub(super) gathers: bool,
    /// Whether a message waits. Stored under the lock of `coalescer`; relaxed, but for the agreement of [`SleepMark`].
    waits: AtomicBool,
    /// How often messages have been moved on. Relaxed: a message waits once too often or goes by itself once more.
    steps: AtomicU64,
    /// How many fences there have been. Relaxed, likewise.
    fences: AtomicU64,
    /// Whether a caller has sent a message since the thread asked last. Relaxed: the thread backs off or sleeps once too often.
    sent: AtomicBool,
    /// Whether the thread sleeps, and how to wake it.
    asleep: SleepMark,
    thread: OnceLock<Arc<dyn Drive>>,
}

/// Answers with their PEs, in the order of the questions.
#[derive(Default)]
struct UnsentAnswers {
    queue: VecDeque<(u32, UnsentAnswer)>,
    /// The bytes of the last message, for those of the next one.
    message: Vec<u8>,
}

/// An answer, and the bytes of a get.
struct UnsentAnswer {
    head: [u8; ActiveMessage::BYTES],
    fetched: Vec<u8>,
}

impl Service {
    pub(super) fn new(messages: Box<dyn Messages>, memory: Arc<RegisteredMemory>) -> Self {
        Self {
            gathers: messages.gather(),
            coalescer: Mutex::new(Coalescer::new(messages.longest())),
            messages,
            memory,
            serving: Mutex::default(),
            answers: Answers::default(),
            unsent: Mutex::default(),
            owed: AtomicUsize::new(0),
            waits: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            fences: AtomicU64::new(0),
            sent: AtomicBool::new(false),
            asleep: SleepMark::default(),
            thread: OnceLock::new(),
        }
    }

    /// Names the thread that serves while callers compute.
    pub(super) fn expect_thread(&self, drive: Arc<dyn Drive>) {
        // A fabric is connected once.
        let _ = self.thread.set(drive);
    }

    /// Longest put that one message carries.
    pub(super) fn longest_put(&self) -> usize {
        self.messages.longest() - ActiveMessage::BYTES
    }

    /// As [`Service::serve`], for a caller. It waits now, perhaps for the answer to a message of its own, so the next message goes at
    /// once. The thread is woken by messages themselves, and says nothing about callers.
    pub(super) fn serve_caller(&self) -> bool {
        self.begin_step();
        self.serve_with(|| self.serving.try_lock())
    }

    /// The next messages to each PE go at once.
    fn begin_step(&self) {
        self.count(&self.steps);
    }

    /// The next message to each PE may be a flag.
    pub(super) fn note_fence(&self) {
        self.count(&self.fences);
    }

    #[inline]
    fn count(&self, number: &AtomicU64) {
        if self.gathers {
            number.store(number.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    fn moment(&self) -> SendMoment {
        SendMoment { step: self.steps.load(Ordering::Relaxed), fences: self.fences.load(Ordering::Relaxed) }
    }

    /// Sends messages that wait and takes one message. Returns whether there was one. If another thread is serving, the
    /// network's thread waits for it: it may sleep next, and must not leave a message behind. A caller does not wait,
    /// because it looks again later.
    pub(super) fn serve(&self) -> bool {
        self.serve_with(|| Some(self.serving.lock()))
    }

    fn serve_with<'s>(&'s self, turn: impl FnOnce() -> Option<MutexGuard<'s, ()>>) -> bool {
        self.send_waiting();
        let turn = if self.messages.may_have_come() { turn() } else { None };
        let Some((from, message)) = turn.as_ref().and_then(|_| self.messages.receive()) else {
            return self.owed.load(Ordering::Relaxed) > 0 && self.send_unsent();
        };
        let owes = match message.split_first() {
            Some((&BATCH, messages)) => Batch(messages).fold(false, |owes, message| self.take(from, message) | owes),
            _ => self.take(from, &message),
        };
        if owes {
            self.send_unsent();
        }
        true
    }

    /// Does what a message asks for. Returns whether there is an answer to be sent.
    fn take(&self, from: u32, message: &[u8]) -> bool {
        match ActiveMessage::decode(message) {
            Some((ActiveMessage { number, answered, content: MessageContent::Ask(task) }, data)) => {
                let mut fetched = Vec::new();
                let outcome = task.execute(&self.memory, data, &mut fetched);
                let owes = answered || outcome.is_err();
                if owes {
                    let answer = ActiveMessage { number, answered: false, content: MessageContent::Answer(outcome) };
                    self.unsent.lock().queue.push_back((from, UnsentAnswer { head: answer.encode(), fetched }));
                }
                return owes;
            }
            Some((ActiveMessage { number, content: MessageContent::Answer(outcome), .. }, data)) => {
                self.answers.add(number, outcome.map(|old| (old, data.to_vec())));
            }
            Some((ActiveMessage { content: MessageContent::Own(..), .. }, _)) | None => {
                tracing::warn!(from, "a message that makes no sense was dropped");
            }
        }
        false
    }

    /// Sends a message behind those that wait for the same PE. One that `may_wait` may be held back.
    pub(super) fn send(&self, pe: u32, message: &[u8], may_wait: bool) -> Result<(), NotIssued> {
        // A stream of messages writes the line of memory once for each look of the thread.
        if !self.sent.load(Ordering::Relaxed) {
            self.sent.store(true, Ordering::Relaxed);
        }
        if !self.gathers {
            return self.messages.send(pe, message);
        }
        let mut coalescer = self.coalescer.lock();
        let moment = self.moment();
        if may_wait && coalescer.holds_back(pe, moment, message.len()) {
            if coalescer.is_full_for(pe, message) {
                self.send_batch(&mut coalescer, pe)?;
            }
            coalescer.add(pe, moment, message);
            self.waits.store(true, Ordering::Relaxed);
            drop(coalescer);
            // There may be no caller that polls and sends it.
            self.asleep.remind(|| {
                if let Some(thread) = self.thread.get() {
                    thread.wake();
                }
            });
            return Ok(());
        }
        if planted!("message-before-its-batch", true, false) {
            self.send_batch(&mut coalescer, pe)?;
        }
        self.messages.send(pe, message)?;
        if may_wait {
            coalescer.note(pe, moment);
        }
        Ok(())
    }

    /// Whether a message with `n` bytes of data is to wait for others. Otherwise the caller issues it at once, as a message or a put, which
    /// counts in the step.
    pub(super) fn gathers(&self, pe: u32, n: usize) -> bool {
        self.gathers && {
            let moment = self.moment();
            let mut coalescer = self.coalescer.lock();
            let waits = coalescer.holds_back(pe, moment, ActiveMessage::BYTES + n);
            if !waits {
                coalescer.note(pe, moment);
            }
            waits
        }
    }

    /// Sends the messages that wait for a PE.
    fn send_batch(&self, coalescer: &mut Coalescer, pe: u32) -> Result<(), NotIssued> {
        if let Some(message) = coalescer.waiting(pe) {
            self.messages.send(pe, message)?;
            coalescer.clear(pe);
        }
        Ok(())
    }

    /// Sends all messages that wait, as far as there is room.
    fn send_waiting(&self) {
        if !self.waits.load(Ordering::Relaxed) {
            return;
        }
        let mut coalescer = self.coalescer.lock();
        let mut left = false;
        for pe in coalescer.pes() {
            match self.send_batch(&mut coalescer, pe) {
                Ok(()) => coalescer.allow_flags(pe),
                Err(NotIssued::Busy) => left = true,
                Err(NotIssued::Failed(error)) => {
                    tracing::error!(%error, pe, "messages could not be sent");
                    coalescer.clear(pe);
                }
            }
        }
        self.waits.store(left, Ordering::Relaxed);
    }

    /// Whether callers have sent messages since the last call of this. Answers to peers do not count: a thread that backs off for them
    /// would be late for the next question.
    pub(super) fn has_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed) && self.sent.swap(false, Ordering::Relaxed)
    }

    /// The thread sleeps, unless a message waits.
    pub(super) fn sleep(&self, sleep: impl FnOnce()) {
        self.asleep.sleep(|| {
            if !self.waits.load(Ordering::Relaxed) {
                sleep();
            }
        });
    }

    /// Sends answers in the order of the questions, as far as there is room: where messages gather, those to one PE together. Returns whether
    /// one went.
    fn send_unsent(&self) -> bool {
        let mut unsent = self.unsent.lock();
        let before = unsent.queue.len();
        let longest = if self.gathers { self.messages.longest() } else { 0 };
        while let Some((to, many)) = unsent.begin(longest) {
            match self.messages.send(to, &unsent.message) {
                Ok(()) => {}
                Err(NotIssued::Busy) => break,
                Err(NotIssued::Failed(error)) => {
                    tracing::error!(%error, to, "an answer to an atomic could not be sent")
                }
            }
            unsent.queue.drain(..many);
        }
        self.owed.store(unsent.queue.len(), Ordering::Relaxed);
        unsent.queue.len() < before
    }
}

impl UnsentAnswers {
    /// Makes the next message, of at most `longest` bytes if it has several answers. Returns its PE and how many it has.
    fn begin(&mut self, longest: usize) -> Option<(u32, usize)> {
        let Self { queue, message } = self;
        let mut answers = queue.iter();
        let (to, first) = answers.next()?;
        let beside =
            |length: usize, answer: &UnsentAnswer| batch::length(length, answer.head.len() + answer.fetched.len());
        let (mut length, mut many) = (beside(size_of_val(&BATCH), first), 1);
        for (_, answer) in answers.take_while(|(pe, _)| pe == to) {
            length = beside(length, answer);
            if length > longest {
                break;
            }
            many += 1;
        }
        message.clear();
        if many == 1 {
            message.extend_from_slice(&first.head);
            message.extend_from_slice(&first.fetched);
        } else {
            message.push(BATCH);
            queue.iter().take(many).for_each(|(_, answer)| batch::add(message, &answer.head, &answer.fetched));
        }
        Some((*to, many))
    }
}

//! Atomics made of messages: the target's processor executes them ([`Service`]), a lane collects the answers ([`Requester`]).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::{Account, Amo, Busy, NotIssued, OutOfRange, Region, RegisteredMemory, Remote, Width, deliver_old};

/// The least a provider without atomics must have: short messages from PE to PE, each delivered once, in any order.
pub trait Messages: Send + Sync {
    /// Sends at most 64 bytes.
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), NotIssued>;

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

    pub(super) fn follow_puts(&self) -> bool {
        self.messages.follow_puts()
    }

    /// Takes one message. Returns whether there was one.
    pub(super) fn serve(&self) -> bool {
        let Some((from, letter)) = self.messages.receive() else {
            return self.owed.load(Ordering::Relaxed) > 0 && self.send_unsent();
        };
        match Letter::decode(&letter) {
            Some(Letter::Ask { number, region, offset, width, amo }) => {
                let outcome = self.memory.amo(region, offset, width, amo);
                let answer = Letter::Answer { number, region, offset, width, outcome };
                self.unsent.lock().push_back((from, answer.encode()));
                self.send_unsent();
            }
            Some(Letter::Answer { number, outcome, .. }) => {
                self.answers.lock().insert(number, outcome);
            }
            None => tracing::warn!(from, "a message that is no atomic was dropped"),
        }
        true
    }
}

impl Service {
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

/// Atomics of one lane that are under way at once. Beyond that the lane is busy: without a bound a caller that never waits is
/// thousands ahead of the target's processor, and whatever others ask comes behind all of it.
const MOST_ASKED: u64 = 128;

/// The requests of one lane to targets' processors.
pub(super) struct Requester {
    service: Arc<Service>,
    pub(super) account: Account,
    questions: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    waiting: HashMap<u64, Waiting>,
    /// Counts fences.
    era: u64,
}

/// A question without an answer yet.
struct Waiting {
    pe: u32,
    era: u64,
    width: Width,
    old: *mut u8,
}

// SAFETY: `old` belongs to the lane's caller, who keeps it valid until completion on whatever thread.
unsafe impl Send for Waiting {}

impl Requester {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self { service, account: Account::default(), questions: Mutex::default() }
    }

    /// Asks for an atomic; the answer goes to `old` unless that is null.
    ///
    /// # Safety
    /// `old` is null or writable until completion.
    pub(super) unsafe fn ask(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Result<(), Busy> {
        let mut questions = self.questions.lock();
        if questions.waiting.len() as u64 >= MOST_ASKED {
            return Err(Busy);
        }
        let number = self.service.last.fetch_add(1, Ordering::Relaxed);
        let ask = Letter::Ask { number, region: to.region, offset: to.offset, width, amo };
        // The lock is held until the request is noted: its answer is taken under the same lock.
        let sent = self.service.messages.send(to.pe, &ask.encode()).map(|()| {
            self.account.issue(1);
            let era = questions.era;
            questions.waiting.insert(number, Waiting { pe: to.pe, era, width, old });
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

    /// Takes the answers that have come; returns how many.
    pub(super) fn collect(&self) -> usize {
        self.service.serve();
        if self.account.outstanding() == 0 {
            return 0;
        }
        let mut questions = self.questions.lock();
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
            false
        });
        let done = before - questions.waiting.len();
        self.account.complete(done as u64);
        done
    }
}

/// Both kinds have one layout: kind, region, width, operation, then four numbers.
enum Letter {
    Ask { number: u64, region: Region, offset: u64, width: Width, amo: Amo },
    Answer { number: u64, region: Region, offset: u64, width: Width, outcome: Result<u64, OutOfRange> },
}

const ASK: u8 = 1;
const DONE: u8 = 2;
const REFUSED: u8 = 3;

impl Letter {
    fn encode(&self) -> Vec<u8> {
        let (head, numbers) = match *self {
            Self::Ask { number, region, offset, width, amo } => {
                let (kind, value, cond) = amo.to_parts();
                ([ASK, region as u8, width as u8, kind], [number, offset, value, cond])
            }
            Self::Answer { number, region, offset, width, outcome: Ok(old) } => {
                ([DONE, region as u8, width as u8, 0], [number, offset, old, 0])
            }
            Self::Answer { number, region, offset, width, outcome: Err(wrong) } => {
                ([REFUSED, region as u8, width as u8, 0], [number, offset, wrong.registered as u64, 0])
            }
        };
        head.into_iter().chain(numbers.into_iter().flat_map(u64::to_le_bytes)).collect()
    }

    fn decode(letter: &[u8]) -> Option<Self> {
        let (&[kind, region, width, operation], numbers) = letter.split_first_chunk::<4>()?;
        let mut numbers = numbers.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().expect("eight bytes")));
        let (number, offset, first, second) = (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?);
        let (region, width) = (Region::try_from(region).ok()?, Width::try_from(width).ok()?);
        Some(match kind {
            ASK => Self::Ask { number, region, offset, width, amo: Amo::from_parts(operation, first, second)? },
            DONE => Self::Answer { number, region, offset, width, outcome: Ok(first) },
            REFUSED => {
                let wrong =
                    OutOfRange { region, offset, bytes: width.bytes(), registered: usize::try_from(first).ok()? };
                Self::Answer { number, region, offset, width, outcome: Err(wrong) }
            }
            _ => return None,
        })
    }
}

//! The requests of a lane to targets' processors, and the answers to them.

use oxshmem_base::planted;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::active_message::{ActiveMessage, TargetTask};
use super::service::Service;
use crate::limits::{MOST_ASKED, MOST_UNACKNOWLEDGED};
use crate::{Account, Busy, NumberMap, OutOfRange, Width, deliver_old};

/// The requests of one lane to targets' processors.
pub(super) struct Requester {
    pub(super) service: Arc<Service>,
    pub(super) account: Account,
    questions: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    waiting: NumberMap<u64, OpenRequest>,
    /// How many of them expect no answer of their own.
    unacknowledged: usize,
    /// How many of them went to a PE since it was last asked for an answer.
    unasked: NumberMap<u32, u32>,
    /// Counts fences.
    era: u64,
    /// The bytes of the last message, for those of the next one.
    message: Vec<u8>,
}

/// A message that is not known to be done.
struct OpenRequest {
    pe: u32,
    era: u64,
    width: Width,
    old: *mut u8,
    answered: bool,
}

// SAFETY: `old` belongs to the lane's caller, who keeps it valid until completion on whatever thread.
unsafe impl Send for OpenRequest {}

impl Requester {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self { service, account: Account::default(), questions: Mutex::default() }
    }

    /// Asks a PE; the old value of an atomic goes to `old` unless that is null.
    ///
    /// # Safety
    /// `old` is null or writable, for the width of the atomic, until completion.
    pub(super) unsafe fn ask(&self, pe: u32, task: TargetTask<'_>, old: *mut u8) -> Result<(), Busy> {
        self.send(&mut self.questions.lock(), pe, task, old, true)
    }

    /// Has a PE do something that completes with the answer to a later question.
    pub(super) fn send_unacknowledged(&self, pe: u32, task: TargetTask<'_>) -> Result<(), Busy> {
        let mut questions = self.questions.lock();
        let answered = questions.unasked.get(&pe).is_some_and(|&sent| sent >= MOST_UNACKNOWLEDGED);
        if answered {
            // Answers to those before have come meanwhile.
            self.take_answers(&mut questions);
        }
        self.send(&mut questions, pe, task, std::ptr::null_mut(), answered)
    }

    /// Asks each PE to acknowledge what it was sent, as far as there is room. No answer comes over a network that has
    /// failed.
    fn mark(&self, questions: &mut Requests) {
        while let Some(&pe) = questions.unasked.keys().next() {
            let sent = self.send(questions, pe, TargetTask::Mark, std::ptr::null_mut(), true);
            if sent.is_err() || self.account.has_failed() {
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
        if questions.waiting.len() - questions.unacknowledged >= MOST_ASKED {
            return Err(Busy);
        }
        let number = self.service.last.fetch_add(1, Ordering::Relaxed);
        // The lock is held until the request is noted: its answer is taken under the same lock.
        ActiveMessage::Ask { number, task, answered }.encode_to(&mut questions.message);
        let sent = self.service.send(pe, &questions.message, answered).map(|()| {
            self.account.issue(1);
            let era = questions.era;
            let width = if let TargetTask::Amo { width, .. } = task { width } else { Width::Eight };
            questions.waiting.insert(number, OpenRequest { pe, era, width, old, answered });
            if answered {
                questions.unasked.remove(&pe);
            } else {
                questions.unacknowledged += 1;
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

    /// Whether a request to `pe` from before the last fence could still take effect after an operation that is issued
    /// now.
    pub(super) fn may_be_overtaken(&self, pe: u32) -> bool {
        self.account.outstanding() > 0 && {
            let questions = self.questions.lock();
            questions.waiting.values().any(|asked| asked.pe == pe && asked.era < questions.era)
        }
    }

    /// Takes the answers that have come, and asks for those that no request has asked for; returns how many operations
    /// are complete.
    pub(super) fn collect(&self) -> usize {
        self.service.serve_caller();
        if self.account.outstanding() == 0 {
            return 0;
        }
        let mut questions = self.questions.lock();
        self.mark(&mut questions);
        self.take_answers(&mut questions)
    }

    /// Takes the answers that have come. Returns whether an old value is still to come.
    pub(super) fn expects_values(&self) -> bool {
        if self.account.outstanding() == 0 {
            return false;
        }
        let mut questions = self.questions.lock();
        self.take_answers(&mut questions);
        questions.waiting.values().any(|waiting| !waiting.old.is_null())
    }

    fn take_answers(&self, questions: &mut Requests) -> usize {
        let before = questions.waiting.len();
        // The loop is over the answers: there may be many more questions.
        let mut answers = self.service.answers.lock();
        // Errors first: the answer to a later question would acknowledge the message that has failed.
        if answers.values().any(Result::is_err) {
            answers.retain(|&number, outcome| outcome.is_ok() || !self.take_answer(questions, number, *outcome));
        }
        answers.retain(|&number, outcome| !self.take_answer(questions, number, *outcome));
        drop(answers);
        let done = before - questions.waiting.len();
        self.account.complete(done as u64);
        done
    }

    /// Takes an answer, unless it has no question of this lane: then it is another lane's. Returns whether it has.
    fn take_answer(&self, questions: &mut Requests, number: u64, outcome: Result<u64, OutOfRange>) -> bool {
        let Some(asked) = questions.waiting.remove(&number) else { return false };
        match outcome {
            // SAFETY: the caller of `ask` keeps `old` until completion, which is counted by our caller.
            Ok(value) => unsafe { deliver_old(asked.old, asked.width, value) },
            Err(wrong) => self.account.fail(wrong.error(asked.pe)),
        }
        questions.unacknowledged -= usize::from(!asked.answered);
        if questions.unacknowledged > 0 {
            questions.waiting.retain(|&other, earlier| {
                earlier.answered
                    || earlier.pe != asked.pe
                    || planted!("acknowledged-by-an-earlier-question", other > number, false)
            });
            questions.unacknowledged = questions.waiting.values().filter(|sent| !sent.answered).count();
        }
        true
    }
}

#[cfg(test)]
mod tests;

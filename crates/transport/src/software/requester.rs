//! The requests of a lane to targets' processors, and the answers to them.

use oxshmem_base::planted;
use std::sync::Arc;
use std::{mem, ptr};

use parking_lot::Mutex;

use super::answers::{AnswerOutcome, LaneAnswers};
use super::service::Service;
use crate::limits::{MOST_ASKED, MOST_ASKED_IN_BATCHES, MOST_UNACKNOWLEDGED, MOST_UNACKNOWLEDGED_BYTES};
use crate::{
    Account, ActiveMessage, Busy, GetArguments, Lane, MessageContent, NumberMap, TargetTask, Width, deliver_old,
};

/// The requests of one lane to targets' processors.
pub(super) struct Requester {
    pub(super) service: Arc<Service>,
    pub(super) account: Account,
    answers: Arc<LaneAnswers>,
    questions: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    /// Those that expect an answer of their own, at most [`MOST_ASKED_IN_BATCHES`]: a search through them does not grow with the job.
    waiting: NumberMap<u64, OpenRequest>,
    /// How many of them fetch something, and how many are behind the last fence with all that their answers acknowledge.
    fetching: usize,
    behind_fence: usize,
    /// The others that are not known to be done.
    unacknowledged: NumberMap<u64, UnacknowledgedRequest>,
    /// Those of them that went to a PE since it was last asked for an answer.
    unasked: NumberMap<u32, UnaskedRequests>,
    /// Counts fences.
    era: u64,
    /// The bytes of the last message, for those of the next one.
    message: Vec<u8>,
}

/// A request that expects an answer.
struct OpenRequest {
    pe: u32,
    place: AnswerPlace,
    /// The era of the first request that the answer acknowledges, or else its own.
    era: u64,
    /// The last request that the answer acknowledges, or [`NO_REQUEST`]. The others are found from there.
    covers: u64,
}

/// The place of what an answer brings.
#[derive(Clone, Copy)]
enum AnswerPlace {
    Nowhere,
    Old(*mut u8, Width),
    Bytes(*mut u8, usize),
}

/// A request that expects no answer of its own.
struct UnacknowledgedRequest {
    pe: u32,
    /// The one before it that one answer acknowledges with it, or [`NO_REQUEST`].
    before: u64,
}

/// The requests to one PE that one answer will acknowledge.
struct UnaskedRequests {
    count: u64,
    /// The bytes of their data.
    bytes: usize,
    /// The era of the first.
    era: u64,
    last: u64,
}

const NO_REQUEST: u64 = u64::MAX;

// SAFETY: the place belongs to the lane's caller, who keeps it valid until completion on whatever thread.
unsafe impl Send for OpenRequest {}

impl Requester {
    pub(super) fn new(service: Arc<Service>) -> Self {
        let answers = service.answers.of_new_lane();
        Self { service, account: Account::default(), answers, questions: Mutex::default() }
    }

    /// Asks a PE. `data` are those of a put. The old value of an atomic goes to `old` unless that is null.
    ///
    /// # Safety
    /// `old` is null or writable, for the width of the atomic, until completion.
    pub(super) unsafe fn ask(&self, pe: u32, task: TargetTask, data: &[u8], old: *mut u8) -> Result<(), Busy> {
        let place = match task {
            TargetTask::Amo { width, .. } if !old.is_null() => AnswerPlace::Old(old, width),
            _ => AnswerPlace::Nowhere,
        };
        self.send(&mut self.questions.lock(), pe, task, data, place, true)
    }

    /// Gets bytes from a PE.
    ///
    /// # Safety
    /// The destination is writable until completion.
    pub(super) unsafe fn get(&self, get: &GetArguments) -> Result<(), Busy> {
        let &GetArguments { dest, from, n } = get;
        let task = TargetTask::Get { from: from.position(), n };
        self.send(&mut self.questions.lock(), from.pe, task, &[], AnswerPlace::Bytes(dest, n), true)
    }

    /// Has a PE do something that completes with the answer to a later question.
    pub(super) fn send_unacknowledged(&self, pe: u32, task: TargetTask, data: &[u8]) -> Result<(), Busy> {
        let mut questions = self.questions.lock();
        let answered = questions.unasked.get(&pe).is_some_and(UnaskedRequests::are_many);
        if answered {
            // Answers to those before have come meanwhile.
            self.take_answers(&mut questions);
        }
        self.send(&mut questions, pe, task, data, AnswerPlace::Nowhere, answered)
    }

    /// Asks each PE to acknowledge what it was sent, as far as there is room. These questions follow the puts of `lane`.
    pub(super) fn mark_behind_puts(&self, lane: &dyn Lane) {
        if self.account.outstanding() > 0 {
            self.mark(&mut self.questions.lock(), |pe, send| lane.send_behind_puts(pe, send));
        }
    }

    /// Asks each PE to acknowledge what it was sent, as far as there is room. `by` sends a question by its second argument. No answer comes
    /// over a network that has failed.
    fn mark(
        &self,
        questions: &mut Requests,
        by: impl Fn(u32, &mut dyn FnMut() -> Result<(), Busy>) -> Result<(), Busy>,
    ) {
        while let Some(&pe) = questions.unasked.keys().next() {
            let sent = by(pe, &mut || self.send(questions, pe, TargetTask::Mark, &[], AnswerPlace::Nowhere, true));
            if sent.is_err() || self.account.has_failed() {
                return;
            }
        }
    }

    fn send(
        &self,
        questions: &mut Requests,
        pe: u32,
        task: TargetTask,
        data: &[u8],
        place: AnswerPlace,
        answered: bool,
    ) -> Result<(), Busy> {
        let most = if self.service.gathers { MOST_ASKED_IN_BATCHES } else { MOST_ASKED };
        if questions.waiting.len() as u64 >= most {
            return Err(Busy);
        }
        let number = self.answers.number();
        // The lock is held until the request is noted: its answer is taken under the same lock.
        let message = ActiveMessage { number, answered, content: MessageContent::Ask(task) };
        questions.message.clear();
        questions.message.extend_from_slice(&message.encode());
        questions.message.extend_from_slice(data);
        // A caller mostly waits later for the things that it fetches, and now for a mark.
        let may_wait = !answered || place.is_filled();
        let sent = self.service.send(pe, &questions.message, may_wait).map(|()| {
            self.account.issue(1);
            if answered {
                questions.note(number, pe, place);
            } else {
                questions.note_unacknowledged(number, pe, data.len());
            }
        });
        self.account.settle(sent, ())
    }

    /// Operations issued from now on must not overtake the requests made until now.
    pub(super) fn fence(&self) {
        if self.account.outstanding() > 0 {
            let mut questions = self.questions.lock();
            questions.era += 1;
            questions.behind_fence = 0;
        }
    }

    /// Whether a request to `pe` from before the last fence could still take effect after an operation that is issued
    /// now.
    pub(super) fn may_be_overtaken(&self, pe: u32) -> bool {
        self.account.outstanding() > 0 && {
            let questions = self.questions.lock();
            questions.unasked.get(&pe).is_some_and(|unasked| unasked.era < questions.era)
                || questions.waiting.len() > questions.behind_fence
                    && questions.waiting.values().any(|asked| asked.pe == pe && asked.era < questions.era)
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
        self.mark(&mut questions, |_, send| send());
        self.take_answers(&mut questions)
    }

    /// Takes the answers that have come. Returns whether an old value is still to come.
    pub(super) fn expects_values(&self) -> bool {
        if self.account.outstanding() == 0 {
            return false;
        }
        let mut questions = self.questions.lock();
        self.take_answers(&mut questions);
        questions.fetching > 0
    }

    fn take_answers(&self, questions: &mut Requests) -> usize {
        let before = questions.open();
        // The loop is over the answers: there may be many more questions.
        let mut answers = self.answers.lock();
        // Errors first: the answer to a later question would acknowledge the message that has failed.
        if answers.values().any(Result::is_err) {
            answers.retain(|&number, outcome| outcome.is_ok() || !self.take_answer(questions, number, outcome));
        }
        answers.retain(|&number, outcome| !self.take_answer(questions, number, outcome));
        drop(answers);
        let done = before - questions.open();
        self.account.complete(done as u64);
        done
    }

    /// Takes an answer, unless it has no question of this lane: then it is another lane's, of those that share the map. Returns whether
    /// it has.
    fn take_answer(&self, questions: &mut Requests, number: u64, outcome: &AnswerOutcome) -> bool {
        if let Some(asked) = questions.take(number) {
            match outcome {
                // SAFETY: the caller of `ask` or `get` keeps the place until completion, which is counted by our caller.
                Ok((old, bytes)) => unsafe { asked.place.fill(*old, bytes) },
                Err(wrong) => self.account.fail(wrong.error(asked.pe)),
            }
            questions.acknowledge(asked.covers);
            if planted!("acknowledged-by-an-earlier-question", false, true) {
                let later = questions.unasked.get(&asked.pe).map_or(NO_REQUEST, |unasked| unasked.last);
                questions.acknowledge(later);
            }
            return true;
        }
        // An unacknowledged request has an answer only if it has failed.
        let failed = questions.unacknowledged.get(&number).map(|request| request.pe);
        let (Some(pe), Err(wrong)) = (failed, outcome) else { return failed.is_some() };
        self.account.fail(wrong.error(pe));
        questions.acknowledge(number);
        true
    }
}

impl Requests {
    /// How many are not known to be done.
    fn open(&self) -> usize {
        self.waiting.len() + self.unacknowledged.len()
    }

    /// Notes a request whose answer acknowledges what the PE was sent before.
    fn note(&mut self, number: u64, pe: u32, place: AnswerPlace) {
        // Many lanes send nothing unacknowledged: those of programs where messages do not gather.
        let unasked = if self.unasked.is_empty() { None } else { self.unasked.remove(&pe) };
        let (era, covers) = unasked.map_or((self.era, NO_REQUEST), |unasked| (unasked.era, unasked.last));
        self.fetching += usize::from(place.is_filled());
        self.behind_fence += usize::from(era == self.era);
        self.waiting.insert(number, OpenRequest { pe, place, era, covers });
    }

    /// Takes a request whose answer has come.
    fn take(&mut self, number: u64) -> Option<OpenRequest> {
        let asked = self.waiting.remove(&number)?;
        self.fetching -= usize::from(asked.place.is_filled());
        self.behind_fence -= usize::from(asked.era == self.era);
        Some(asked)
    }

    /// Notes a request with `bytes` bytes of data that expects no answer of its own.
    fn note_unacknowledged(&mut self, number: u64, pe: u32, bytes: usize) {
        let new = UnaskedRequests { count: 0, bytes: 0, era: self.era, last: NO_REQUEST };
        let unasked = self.unasked.entry(pe).or_insert(new);
        unasked.count += 1;
        unasked.bytes += bytes;
        let before = mem::replace(&mut unasked.last, number);
        self.unacknowledged.insert(number, UnacknowledgedRequest { pe, before });
    }

    /// This request is done, and those before it that are acknowledged with it. Where one is known to be done, those before it are, too.
    fn acknowledge(&mut self, mut last: u64) {
        while last != NO_REQUEST {
            last = self.unacknowledged.remove(&last).map_or(NO_REQUEST, |request| request.before);
        }
    }
}

impl AnswerPlace {
    fn is_filled(self) -> bool {
        !matches!(self, Self::Nowhere)
    }

    /// # Safety
    /// The place is writable.
    unsafe fn fill(self, old: u64, bytes: &[u8]) {
        match self {
            Self::Nowhere => {}
            // SAFETY: the place is writable for the width, by the caller's promise.
            Self::Old(place, width) => unsafe { deliver_old(place, width, old) },
            // SAFETY: the place is writable for `n` bytes, by the caller's promise, and no more are copied.
            Self::Bytes(place, n) => unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place, n.min(bytes.len())) },
        }
    }
}

impl UnaskedRequests {
    /// Whether the next request asks for the answer that acknowledges them.
    fn are_many(&self) -> bool {
        self.count >= MOST_UNACKNOWLEDGED || self.bytes >= MOST_UNACKNOWLEDGED_BYTES
    }
}

#[cfg(test)]
mod tests;

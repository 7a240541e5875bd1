//! Answers of the serving worker, kept until UCX has sent them.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_transport::batch;
use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{
    UCP_AM_SEND_FLAG_EAGER, UCP_OP_ATTR_FIELD_FLAGS, Ucx, ucp_ep_h, ucp_request_param_t, ucs_status_t,
};

use crate::message::{ANSWER, Ask, AskMessage, HEADER};
use crate::objects::{blank, finish, meaning, start_owning};

pub(crate) struct SentAnswer {
    pub(crate) header: [u8; HEADER],
    /// Keys, the bytes of a get, or a batch of answers.
    pub(crate) data: Vec<u8>,
}

/// The answers to the questions of a batch, which go in one message.
#[derive(Default)]
pub(crate) struct GatheredAnswers {
    first: Option<SentAnswer>,
    /// All of them, if there are several.
    batch: Vec<u8>,
}

/// How long a batch of answers becomes before it goes. Chosen.
const FULL: usize = 64 << 10;

impl GatheredAnswers {
    /// Adds an answer. Returns whether there is no room for another one.
    pub(crate) fn add(&mut self, answer: SentAnswer) -> bool {
        match self.first.take() {
            None if self.batch.is_empty() => {
                let is_long = answer.data.len() >= FULL;
                self.first = Some(answer);
                return is_long;
            }
            first => first
                .iter()
                .chain([&answer])
                .for_each(|answer| batch::add(&mut self.batch, &answer.header, &answer.data)),
        }
        self.batch.len() >= FULL
    }

    /// Takes all of them as one message of PE `me`.
    pub(crate) fn take(&mut self, me: u32) -> Option<SentAnswer> {
        let many = || AskMessage { pe: me, number: 0, ask: Ask::Many, answered: false }.encode();
        let batch = mem::take(&mut self.batch);
        if batch.is_empty() { self.first.take() } else { Some(SentAnswer { header: many(), data: batch }) }
    }
}

/// An answer that UCX may not have sent, and the count of those that it has not.
struct KeptAnswer {
    answer: SentAnswer,
    unsent: Arc<AtomicU64>,
}

#[derive(Default)]
pub(crate) struct AnswerSender {
    /// The box of the last one, for the next one.
    spare: Cell<Option<Box<KeptAnswer>>>,
    /// Answers that UCX has not sent. Relaxed: the serving worker is locked where it changes.
    unsent: Arc<AtomicU64>,
}

// SAFETY: callbacks of the serving worker alone use the box (`send`), and one thread at a time moves a worker on.
unsafe impl Sync for AnswerSender {}

impl AnswerSender {
    /// Sends an answer.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker, and the endpoint `to` is open.
    pub(crate) unsafe fn send(&self, ucx: &Ucx, to: ucp_ep_h, answer: SentAnswer) {
        let param =
            ucp_request_param_t { op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS, flags: UCP_AM_SEND_FLAG_EAGER, ..blank() };
        let owned = match self.spare.take() {
            Some(mut spare) => {
                spare.answer = answer;
                spare
            }
            None => Box::new(KeptAnswer { answer, unsent: self.unsent.clone() }),
        };
        // SAFETY: `sent` takes a boxed answer, which keeps header and data until UCX has sent them; the endpoint is open, by the
        // caller's promise.
        let (outcome, back) = unsafe {
            start_owning(owned, sent, param, |kept, param| {
                let SentAnswer { header, data } = &(*kept).answer;
                let (header, bytes) = (header.as_ptr().cast(), data.len());
                started((ucx.am_send)(to, ANSWER, header, HEADER, data.as_ptr().cast(), bytes, param))
            })
        };
        self.spare.set(back);
        match outcome {
            Started::Done => {}
            Started::Request(_) => {
                self.unsent.fetch_add(1, Ordering::Relaxed);
            }
            Started::Failed(status) => tracing::warn!("UCX: an answer could not be sent: {}", meaning(ucx, status)),
        }
    }

    /// Whether UCX has answers that it has not sent. The serving worker is locked.
    pub(crate) fn are_under_way(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) > 0
    }

    /// Whether the next answer needs no memory of its own. No callback runs meanwhile.
    #[cfg(test)]
    pub(crate) fn has_spare(&self) -> bool {
        let spare = self.spare.take();
        let is_there = spare.is_some();
        self.spare.set(spare);
        is_there
    }
}

unsafe extern "C" fn sent(request: *mut c_void, status: ucs_status_t, answer: *mut c_void) {
    // SAFETY: `answer` is the box of `send`, which UCX hands back once.
    let kept = unsafe { Box::from_raw(answer.cast::<KeptAnswer>()) };
    kept.unsent.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, |why| tracing::debug!("UCX: an answer was lost: {why}")) };
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::batch::Batch;

    use super::*;
    use crate::message::AnswerMessage;

    #[test]
    fn the_answers_to_a_batch_are_one_message_and_one_alone_is_no_batch() {
        let answer = |number: u8, bytes| SentAnswer { header: [number; HEADER], data: vec![number; bytes] };
        let mut gathered = GatheredAnswers::default();
        assert!(gathered.take(3).is_none());
        assert!(!gathered.add(answer(1, 8)));
        assert_eq!(gathered.take(3).map(|alone| (alone.header, alone.data)), Some(([1; HEADER], vec![1; 8])));
        assert!((1..=3).all(|number| !gathered.add(answer(number, number.into()))));
        let many = gathered.take(3).expect("there are three");
        assert!(AnswerMessage::decode(&many.header).is_none());
        assert!(AskMessage::decode(&many.header).is_some_and(|message| message.ask == Ask::Many && message.pe == 3));
        let lengths: Vec<_> = Batch(&many.data).map(|message| (message[0], message.len() - HEADER)).collect();
        assert_eq!(lengths, [(1, 1), (2, 2), (3, 3)]);
        assert!(gathered.take(3).is_none());
        assert!(gathered.add(answer(1, FULL)), "there is room for no other one");
        assert!(!GatheredAnswers::default().add(answer(1, FULL - 1)));
    }
}

//! Answers of the serving worker, kept until UCX has sent them.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{
    UCP_AM_SEND_FLAG_EAGER, UCP_OP_ATTR_FIELD_FLAGS, Ucx, ucp_ep_h, ucp_request_param_t, ucs_status_t,
};

use crate::message::{ANSWER, HEADER};
use crate::objects::{blank, finish, meaning, start_owning};

pub(crate) struct SentAnswer {
    pub(crate) header: [u8; HEADER],
    pub(crate) keys: Vec<u8>,
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
        // SAFETY: `sent` takes a boxed answer, which keeps header and keys until UCX has sent them; the endpoint is open, by the
        // caller's promise.
        let (outcome, back) = unsafe {
            start_owning(owned, sent, param, |kept, param| {
                let SentAnswer { header, keys } = &(*kept).answer;
                let (header, bytes) = (header.as_ptr().cast(), keys.len());
                started((ucx.am_send)(to, ANSWER, header, HEADER, keys.as_ptr().cast(), bytes, param))
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

//! Answers of the serving worker, kept until UCX has sent them.

use std::cell::Cell;
use std::ffi::c_void;

use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{
    UCP_AM_SEND_FLAG_EAGER, UCP_OP_ATTR_FIELD_FLAGS, Ucx, ucp_ep_h, ucp_request_param_t, ucs_status_t,
};

use crate::message::{ANSWER, HEADER};
use crate::objects::{blank, finish, meaning, start_owning};

/// An answer.
pub(crate) struct SentAnswer {
    pub(crate) header: [u8; HEADER],
    pub(crate) keys: Vec<u8>,
}

/// The sender of answers, with the box of the last one for the next one.
#[derive(Default)]
pub(crate) struct AnswerSender(Cell<Option<Box<SentAnswer>>>);

// SAFETY: callbacks of the serving worker use it only (`send`), and one thread at a time moves a worker on.
unsafe impl Sync for AnswerSender {}

impl AnswerSender {
    /// Sends an answer.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker, and the endpoint `to` is open.
    pub(crate) unsafe fn send(&self, ucx: &Ucx, to: ucp_ep_h, answer: SentAnswer) {
        let param =
            ucp_request_param_t { op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS, flags: UCP_AM_SEND_FLAG_EAGER, ..blank() };
        let owned = match self.0.take() {
            Some(mut spare) => {
                *spare = answer;
                spare
            }
            None => Box::new(answer),
        };
        // SAFETY: `sent` takes a boxed answer, which keeps header and keys until UCX has sent them; the endpoint is open, by the
        // caller's promise.
        let (outcome, back) = unsafe {
            start_owning(owned, sent, param, |answer, param| {
                let (header, keys) = (&(*answer).header, &(*answer).keys);
                let (header, bytes) = (header.as_ptr().cast(), keys.len());
                started((ucx.am_send)(to, ANSWER, header, HEADER, keys.as_ptr().cast(), bytes, param))
            })
        };
        self.0.set(back);
        if let Started::Failed(status) = outcome {
            tracing::warn!("UCX: an answer could not be sent: {}", meaning(ucx, status));
        }
    }

    /// Whether the next answer needs no memory of its own. No callback runs meanwhile.
    #[cfg(test)]
    pub(crate) fn has_spare(&self) -> bool {
        let spare = self.0.take();
        let is_there = spare.is_some();
        self.0.set(spare);
        is_there
    }
}

unsafe extern "C" fn sent(request: *mut c_void, status: ucs_status_t, answer: *mut c_void) {
    // SAFETY: `answer` is the box of `send`, which UCX hands back once.
    drop(unsafe { Box::from_raw(answer.cast::<SentAnswer>()) });
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, |why| tracing::debug!("UCX: an answer was lost: {why}")) };
}

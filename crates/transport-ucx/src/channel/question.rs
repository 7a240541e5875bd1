//! Questions to the target's processor, as active messages, and their answers.

use std::ffi::c_void;
use std::rc::Rc;
use std::slice;

use oxshmem_transport::{Width, deliver_old};
use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{
    UCP_AM_SEND_FLAG_EAGER, UCP_AM_SEND_FLAG_REPLY, UCP_OP_ATTR_FIELD_FLAGS, UCS_OK, ucp_am_recv_param_t,
    ucp_request_param_t, ucs_status_t,
};

use super::{Channel, Inbox, lost};
use crate::message::{ASK, AnswerMessage, Ask, AskMessage, HEADER};
use crate::objects::{blank, finish, start_owning};
use crate::peers::Directory;

/// A question to `pe` whose answer has not come.
pub(super) struct Unanswered {
    pub(super) pe: u32,
    expected: Expected,
}

/// The answer that is expected.
pub(super) enum Expected {
    /// The old value of an atomic, written there unless that is null.
    Old(Width, *mut u8),
    Keys,
    /// That it has been done.
    Word,
}

/// A question, kept until UCX has sent it.
struct SentQuestion {
    header: [u8; HEADER],
    number: u64,
    inbox: Rc<Inbox>,
}

impl Channel {
    /// Sends a question. UCX reads `data` until the answer has come.
    pub(super) fn ask(&mut self, peers: &Directory, pe: u32, ask: Ask, data: &[u8], expected: Expected) {
        let peer = match self.peer(peers, pe) {
            Ok(peer) => peer,
            Err(error) => return self.inbox.note(|| error),
        };
        let number = self.asked;
        self.asked += 1;
        let header = AskMessage { pe: peers.me, number, ask }.encode();
        let question = SentQuestion { header, number, inbox: self.inbox.clone() };
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
            flags: UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER,
            ..blank()
        };
        self.inbox.unanswered.borrow_mut().insert(number, Unanswered { pe, expected });
        let (send, endpoint) = (self.ucx().am_send, self.peers[peer].endpoint);
        // SAFETY: `sent` takes a boxed question; the endpoint is open, and header and data stay until UCX has sent them.
        let (outcome, _) = unsafe {
            start_owning(question, sent, param, |question, param| {
                let header = (*question).header.as_ptr().cast();
                started(send(endpoint, ASK, header, HEADER, data.as_ptr().cast(), data.len(), param))
            })
        };
        if let Started::Failed(status) = outcome {
            self.inbox.unanswered.borrow_mut().remove(&number);
            self.fail(pe, "a message", status);
        }
    }
}

unsafe extern "C" fn sent(request: *mut c_void, status: ucs_status_t, question: *mut c_void) {
    // SAFETY: `question` is the box of `ask`, which UCX hands back once.
    let question = unsafe { Box::from_raw(question.cast::<SentQuestion>()) };
    let failed = |why: &str| {
        if let Some(Unanswered { pe, .. }) = question.inbox.unanswered.borrow_mut().remove(&question.number) {
            question.inbox.note(|| lost(pe, why));
        }
    };
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, failed) };
}

/// Takes an answer.
///
/// # Safety
/// UCX calls it for whole messages; `inbox` is that of the channel whose worker calls.
pub(super) unsafe extern "C" fn on_answer(
    inbox: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the inbox is the channel's, by the promise of this function; UCX's description of the header is valid in the call.
    let (inbox, header) =
        unsafe { (&*inbox.cast::<Inbox>(), slice::from_raw_parts(header.cast::<u8>(), header_length)) };
    let Some(answer) = AnswerMessage::decode(header) else {
        tracing::warn!(bytes = header_length, "UCX: a message that is no answer was dropped");
        return UCS_OK;
    };
    let Some(Unanswered { pe, expected }) = inbox.unanswered.borrow_mut().remove(&answer.number) else { return UCS_OK };
    match (answer.outcome, expected) {
        (Err(wrong), _) => inbox.note(|| wrong.error(pe)),
        // SAFETY: the caller of `amo` keeps `old` until completion, which is now.
        (Ok(value), Expected::Old(width, old)) => unsafe { deliver_old(old, width, value) },
        (Ok(_), Expected::Keys) => {
            // SAFETY: UCX's description of the data is valid in the call; an empty slice needs no address.
            let keys = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), length) } };
            *inbox.keys.borrow_mut() = Some(keys.to_vec());
        }
        (Ok(_), Expected::Word) => {}
    }
    UCS_OK
}

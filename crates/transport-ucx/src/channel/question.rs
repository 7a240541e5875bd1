//! Questions to the target's processor, as active messages, and their answers.
//!
//! An operation that needs no old value can be *told*: no answer comes unless it fails. UCX keeps the order of one endpoint's eager messages, and
//! the target executes each as it comes; so the answer to a question says that all that was told to this PE before has been done.

use std::borrow::Cow;
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
    /// The answer to a later question.
    Later,
}

/// A question, kept until UCX has sent it.
struct SentQuestion {
    header: [u8; HEADER],
    /// A copy of the data, where nobody else keeps it.
    copy: Vec<u8>,
    number: u64,
    inbox: Rc<Inbox>,
}

/// After so many messages that expect no answer one is asked for: what is under way stays bounded.
const MOST_TOLD: u32 = 32;

impl Channel {
    /// Sends what completes with the answer to a later question. UCX reads borrowed data until then.
    pub(super) fn tell(&mut self, peers: &Directory, pe: u32, ask: Ask, data: Cow<'_, [u8]>) {
        let told = match self.peer(peers, pe) {
            Ok(peer) => self.peers[peer].told,
            Err(error) => return self.inbox.note(|| error),
        };
        self.ask(peers, pe, ask, data, if told < MOST_TOLD { Expected::Later } else { Expected::Word });
    }

    /// Asks each peer for whether it has done what it was told.
    pub(super) fn mark(&mut self, peers: &Directory) {
        if self.inbox.told.get() == 0 {
            return;
        }
        for pe in self.peers.iter().filter(|peer| peer.told > 0).map(|peer| peer.pe).collect::<Vec<_>>() {
            self.ask(peers, pe, Ask::Mark, Cow::Borrowed(&[]), Expected::Word);
        }
    }

    /// Sends a question. UCX reads borrowed data until the answer has come.
    pub(super) fn ask(&mut self, peers: &Directory, pe: u32, ask: Ask, data: Cow<'_, [u8]>, expected: Expected) {
        let peer = match self.peer(peers, pe) {
            Ok(peer) => peer,
            Err(error) => return self.inbox.note(|| error),
        };
        let number = self.asked;
        self.asked += 1;
        let answered = !matches!(expected, Expected::Later);
        self.peers[peer].told = if answered { 0 } else { self.peers[peer].told + 1 };
        let header = AskMessage { pe: peers.me, number, ask, answered }.encode();
        let (lent, copy) = match data {
            Cow::Borrowed(data) => (Some(data), Vec::new()),
            Cow::Owned(copy) => (None, copy),
        };
        let question = SentQuestion { header, copy, number, inbox: self.inbox.clone() };
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
            flags: UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER,
            ..blank()
        };
        self.inbox.expect(number, Unanswered { pe, expected });
        let (send, endpoint) = (self.ucx().am_send, self.peers[peer].endpoint);
        // SAFETY: `sent` takes a boxed question; the endpoint is open. The box keeps the header and copied data until UCX has sent
        // them, and the caller what it has lent.
        let (outcome, _) = unsafe {
            start_owning(question, sent, param, |question, param| {
                let header = (*question).header.as_ptr().cast();
                let data = lent.unwrap_or(&(*question).copy);
                started(send(endpoint, ASK, header, HEADER, data.as_ptr().cast(), data.len(), param))
            })
        };
        match outcome {
            Started::Done => {}
            Started::Request(_) => self.inbox.unsent.set(self.inbox.unsent.get() + 1),
            Started::Failed(status) => {
                self.inbox.settle(number);
                self.fail(pe, "a message", status);
            }
        }
    }
}

impl Inbox {
    fn expect(&self, number: u64, question: Unanswered) {
        self.told.set(self.told.get() + u64::from(question.is_told()));
        self.unanswered.borrow_mut().insert(number, question);
    }

    /// The question of this number is over.
    fn settle(&self, number: u64) -> Option<Unanswered> {
        let question = self.unanswered.borrow_mut().remove(&number)?;
        self.told.set(self.told.get() - u64::from(question.is_told()));
        Some(question)
    }

    /// Forgets the questions that are over for another reason than their answer.
    pub(super) fn settle_where(&self, is_over: impl Fn(u64, &Unanswered) -> bool) {
        let mut unanswered = self.unanswered.borrow_mut();
        unanswered.retain(|&number, question| !is_over(number, question));
        self.told.set(unanswered.values().filter(|question| question.is_told()).count() as u64);
    }
}

impl Unanswered {
    fn is_told(&self) -> bool {
        matches!(self.expected, Expected::Later)
    }
}

unsafe extern "C" fn sent(request: *mut c_void, status: ucs_status_t, question: *mut c_void) {
    // SAFETY: `question` is the box of `ask`, which UCX hands back once.
    let question = unsafe { Box::from_raw(question.cast::<SentQuestion>()) };
    let inbox = &question.inbox;
    inbox.unsent.set(inbox.unsent.get() - 1);
    let failed = |why: &str| {
        if let Some(Unanswered { pe, .. }) = inbox.settle(question.number) {
            inbox.note(|| lost(pe, why));
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
    let Some(Unanswered { pe, expected }) = inbox.settle(answer.number) else { return UCS_OK };
    if inbox.told.get() > 0 {
        inbox.settle_where(|number, question| question.is_told() && question.pe == pe && number < answer.number);
    }
    match (answer.outcome, expected) {
        (Err(wrong), _) => inbox.note(|| wrong.error(pe)),
        // SAFETY: the caller of `amo` keeps `old` until completion, which is now.
        (Ok(value), Expected::Old(width, old)) => unsafe { deliver_old(old, width, value) },
        (Ok(_), Expected::Keys) => {
            // SAFETY: UCX's description of the data is valid in the call; an empty slice needs no address.
            let keys = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), length) } };
            *inbox.keys.borrow_mut() = Some(keys.to_vec());
        }
        (Ok(_), Expected::Word | Expected::Later) => {}
    }
    UCS_OK
}

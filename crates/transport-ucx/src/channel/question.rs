//! Questions to the target's processor, as active messages, and their answers.
//!
//! An operation that needs no old value can go *unacknowledged*: no answer comes unless it fails. UCX keeps the order of one endpoint's eager
//! messages, and the target executes each as it comes. So the answer to a question acknowledges all that was sent to this PE before.

use std::ffi::c_void;
use std::rc::Rc;
use std::{mem, ptr, slice};

use oxshmem_transport::batch::Batch;
use oxshmem_transport::{MOST_UNACKNOWLEDGED, TargetTask, Width, deliver_old};
use oxshmem_ucx_sys::inline::{Started, started, ucp_dt_make_iov};
use oxshmem_ucx_sys::{
    UCP_AM_SEND_FLAG_EAGER, UCP_AM_SEND_FLAG_REPLY, UCP_AM_SEND_FLAG_RNDV, UCP_OP_ATTR_FIELD_DATATYPE,
    UCP_OP_ATTR_FIELD_FLAGS, UCS_OK, ucp_am_recv_param_t, ucp_dt_iov_t, ucp_request_param_t, ucp_send_am_flags,
    ucs_status_t,
};

use super::reached::ReachedPeer;
use super::{COPIED, Channel, Inbox};
use crate::message::{ASK, AnswerMessage, Ask, AskMessage, HEADER};
use crate::objects::{blank, finish, start_owning};
use crate::peers::Directory;
use crate::tcp::LISTED;

/// A question to `pe` whose answer has not come.
pub(super) struct OpenQuestion {
    pub(super) pe: u32,
    expected: Expected,
    /// The unacknowledged messages before it, which the answer acknowledges.
    covers: u64,
}

pub(super) enum Expected {
    /// The old value of an atomic, written there unless that is null.
    Old(Width, *mut u8),
    /// The bytes of a get, as many as this number.
    Bytes(*mut u8, u32),
    Keys,
    /// That it has been done.
    Word,
    /// The answer to a later question.
    Later,
}

/// A message, kept until UCX has sent it.
pub(super) struct SentQuestion {
    header: [u8; HEADER],
    /// Short data over TCP, as a list of one piece.
    piece: ucp_dt_iov_t,
    /// A copy of the data, where no caller keeps it or UCX has refused to read it there.
    copy: Vec<u8>,
    pe: u32,
    number: u64,
    inbox: Rc<Inbox>,
}

/// After this many bytes of messages that expect no answer the channel asks for one, as after [`MOST_UNACKNOWLEDGED`] messages.
const MOST_UNACKNOWLEDGED_BYTES: usize = 4 << 20;

const NO_PIECE: ucp_dt_iov_t = ucp_dt_iov_t { buffer: ptr::null_mut(), length: 0 };

/// The data of a message.
pub(super) enum RequestData<'a> {
    /// UCX reads it until the answer has come.
    Borrowed(&'a [u8]),
    Copied(&'a [u8]),
    /// As `Borrowed`, by rendezvous.
    Long(&'a [u8]),
    /// The batch that the peer has not been sent.
    Batch,
}

impl RequestData<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            RequestData::Borrowed(data) | RequestData::Copied(data) | RequestData::Long(data) => data,
            RequestData::Batch => &[],
        }
    }
}

impl Channel {
    /// Sends what completes with the answer to a later question, or with its own where the program is likely to wait for it next.
    pub(super) fn send_unacknowledged(&mut self, peers: &Directory, pe: u32, task: TargetTask, data: RequestData<'_>) {
        let peer = match self.peer(peers, pe) {
            Ok(peer) => peer,
            Err(error) => return self.inbox.note(|| error),
        };
        let ReachedPeer { unacknowledged, unacknowledged_bytes, .. } = self.peers[peer];
        let has_room = unacknowledged < MOST_UNACKNOWLEDGED && unacknowledged_bytes < MOST_UNACKNOWLEDGED_BYTES;
        // On the runtime's own lane callers wait for other things.
        let is_awaited = !self.serves && self.habit.note_message();
        if has_room && self.joins_batch(peer, data.bytes()) {
            return self.add_to_batch(peers, peer, Ask::Task(task), data.bytes());
        }
        let expected = if has_room && !is_awaited { Expected::Later } else { Expected::Word };
        self.send(peers, peer, Ask::Task(task), data, expected);
        self.note_gone(peer);
    }

    /// Asks each peer to acknowledge what it was sent, unless it has been asked.
    pub(super) fn mark(&mut self, peers: &Directory) {
        self.habit.note_wait();
        if self.unmarked == 0 {
            return;
        }
        for pe in self.peers.iter().filter(|peer| peer.unacknowledged > 0).map(|peer| peer.pe).collect::<Vec<_>>() {
            self.ask(peers, pe, Ask::Task(TargetTask::Mark), &[], Expected::Word);
        }
    }

    /// Sends a question. UCX reads the data until the answer has come.
    pub(super) fn ask(&mut self, peers: &Directory, pe: u32, ask: Ask, data: &[u8], expected: Expected) {
        match self.peer(peers, pe) {
            Ok(peer) => self.send(peers, peer, ask, RequestData::Borrowed(data), expected),
            Err(error) => self.inbox.note(|| error),
        }
    }

    /// Asks for what the caller may wait for later, with other questions in a batch. The answer brings `n` bytes beside its header.
    #[inline(never)]
    pub(super) fn fetch(&mut self, peers: &Directory, pe: u32, task: TargetTask, n: usize, expected: Expected) {
        self.habit.note_question();
        match self.peer(peers, pe) {
            Err(error) => self.inbox.note(|| error),
            Ok(peer) if self.joins_batch(peer, &[]) => self.add_question(peers, peer, Ask::Task(task), n, expected),
            Ok(peer) => {
                self.send(peers, peer, Ask::Task(task), RequestData::Borrowed(&[]), expected);
                self.note_gone(peer);
            }
        }
    }

    /// As [`Self::ask`], to a peer by its index.
    pub(super) fn send(&mut self, peers: &Directory, peer: usize, ask: Ask, data: RequestData<'_>, expected: Expected) {
        if self.waiting > 0 && !matches!(data, RequestData::Batch) {
            // The messages of the batch come first.
            self.send_batch(peers, peer);
        }
        let answered = !matches!(expected, Expected::Later);
        let (number, header) = self.number(peers, ask, answered);
        let pe = self.peers[peer].pe;
        let mut question = match self.spare.take() {
            Some(spare) => spare,
            None => Box::new(SentQuestion {
                header,
                piece: NO_PIECE,
                copy: Vec::new(),
                pe,
                number,
                inbox: self.inbox.clone(),
            }),
        };
        (question.header, question.pe, question.number) = (header, pe, number);
        question.copy.clear();
        let bytes = data.bytes().len();
        let way = if matches!(data, RequestData::Long(_)) { UCP_AM_SEND_FLAG_RNDV } else { UCP_AM_SEND_FLAG_EAGER };
        let borrowed = match data {
            RequestData::Borrowed(data) | RequestData::Long(data) => Some(data),
            RequestData::Copied(data) => {
                question.copy.extend_from_slice(data);
                None
            }
            RequestData::Batch => {
                mem::swap(&mut question.copy, &mut self.peers[peer].batch);
                None
            }
        };
        if answered {
            self.note_asked(peer, number, expected);
        } else if !matches!(ask, Ask::Many) {
            self.note_unacknowledged(peer, bytes);
        }
        let most_listed = if self.worker.context.sends_messages { LISTED } else { 0 };
        let (send, endpoint) = (self.ucx().am_send, self.peers[peer].endpoint);
        // SAFETY: `sent` takes a boxed question; the endpoint is open. The box keeps the header, the list and copied data until UCX has sent
        // them, and the caller the borrowed data.
        let (outcome, back) = unsafe {
            start_owning(question, sent, sent_as(way), |question, param| {
                let header = (*question).header.as_ptr().cast();
                let data = borrowed.unwrap_or(&(*question).copy);
                if (1..=most_listed).contains(&data.len()) {
                    (*question).piece = ucp_dt_iov_t { buffer: data.as_ptr().cast_mut().cast(), length: data.len() };
                    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
                    param.datatype = ucp_dt_make_iov();
                    let pieces = &raw const (*question).piece;
                    return started(send(endpoint, ASK, header, HEADER, pieces.cast(), 1, param));
                }
                started(send(endpoint, ASK, header, HEADER, data.as_ptr().cast(), data.len(), param))
            })
        };
        match (outcome, back, borrowed) {
            (Started::Failed(_), Some(question), Some(data)) if (1..=COPIED).contains(&data.len()) => {
                self.send_copy(question, data);
            }
            (outcome, back, _) => self.note_sent(pe, number, outcome, back),
        }
    }

    /// Sends a message with a copy of data that UCX has refused to send from where they are. A card reads memory that is registered, which
    /// the kernel refuses where memory may only be read.
    #[cold]
    fn send_copy(&mut self, mut question: Box<SentQuestion>, data: &[u8]) {
        let (pe, number) = (question.pe, question.number);
        question.copy.extend_from_slice(data);
        let peer = self.index[pe as usize] as usize;
        let (send, endpoint) = (self.ucx().am_send, self.peers[peer].endpoint);
        // SAFETY: `sent` takes a boxed question; the endpoint is open. The box keeps the header and the copy until UCX has sent them.
        let (outcome, back) = unsafe {
            start_owning(question, sent, sent_as(UCP_AM_SEND_FLAG_EAGER), |question, param| {
                let header = (*question).header.as_ptr().cast();
                let copy = &(*question).copy;
                started(send(endpoint, ASK, header, HEADER, copy.as_ptr().cast(), copy.len(), param))
            })
        };
        self.note_sent(pe, number, outcome, back);
    }

    /// The outcome of a message to `pe`, with its box if UCX has none.
    #[inline(always)]
    fn note_sent(&mut self, pe: u32, number: u64, outcome: Started, back: Option<Box<SentQuestion>>) {
        match outcome {
            Started::Done => self.spare = back,
            Started::Request(_) => self.inbox.unsent.set(self.inbox.unsent.get() + 1),
            Started::Failed(status) => {
                self.inbox.settle(number);
                self.fail(pe, "a message", status);
            }
        }
    }

    /// The number and the header of the next question.
    #[inline(always)]
    pub(super) fn number(&mut self, peers: &Directory, ask: Ask, answered: bool) -> (u64, [u8; HEADER]) {
        let number = self.asked;
        self.asked += 1;
        (number, AskMessage { pe: peers.me, number, ask, answered }.encode())
    }

    /// Notes a question whose answer acknowledges what the peer was sent before.
    #[inline(always)]
    pub(super) fn note_asked(&mut self, peer: usize, number: u64, expected: Expected) {
        let peer = &mut self.peers[peer];
        peer.unacknowledged_bytes = 0;
        let covers = mem::take(&mut peer.unacknowledged);
        self.unmarked -= covers;
        self.inbox.ask(number, OpenQuestion { pe: peer.pe, expected, covers });
    }

    pub(super) fn note_unacknowledged(&mut self, peer: usize, bytes: usize) {
        self.peers[peer].unacknowledged += 1;
        self.peers[peer].unacknowledged_bytes += bytes;
        self.unmarked += 1;
        self.inbox.unacknowledged.set(self.inbox.unacknowledged.get() + 1);
    }

    /// Forgets what lost peers have not answered.
    pub(super) fn settle_lost(&mut self) {
        let lost = self.inbox.lost.borrow();
        self.inbox.settle_where(|pe| lost.contains(&pe));
        for peer in self.peers.iter_mut().filter(|peer| lost.contains(&peer.pe)) {
            let unmarked = mem::take(&mut peer.unacknowledged);
            self.unmarked -= unmarked;
            self.inbox.unacknowledged.set(self.inbox.unacknowledged.get() - unmarked);
        }
    }
}

impl Inbox {
    /// Whether the answer to some question goes to a place of the caller's.
    pub(super) fn expects_values(&self) -> bool {
        self.values.get() > 0
    }

    #[inline(always)]
    fn ask(&self, number: u64, question: OpenQuestion) {
        self.values.set(self.values.get() + u64::from(question.fills()));
        self.unanswered.borrow_mut().insert(number, question);
    }

    /// The question of this number is over, and with it what its answer would have acknowledged.
    fn settle(&self, number: u64) -> Option<OpenQuestion> {
        let question = self.unanswered.borrow_mut().remove(&number)?;
        self.count_off(&question);
        Some(question)
    }

    #[inline(always)]
    fn count_off(&self, question: &OpenQuestion) {
        self.unacknowledged.set(self.unacknowledged.get() - question.covers);
        self.values.set(self.values.get() - u64::from(question.fills()));
    }

    /// Forgets the questions to these peers, which are over for another reason than their answer.
    fn settle_where(&self, is_lost: impl Fn(u32) -> bool) {
        self.unanswered.borrow_mut().retain(|_, question| {
            let over = is_lost(question.pe);
            if over {
                self.count_off(question);
            }
            !over
        });
    }

    /// Takes an answer, with its data.
    #[inline(always)]
    fn take(&self, answer: AnswerMessage, data: &[u8]) {
        // An unacknowledged message has an answer only if it has failed.
        let expected = self.settle(answer.number).map_or(Expected::Later, |question| question.expected);
        match (answer.outcome, expected) {
            (Err(wrong), _) => self.note(|| wrong.error(answer.pe)),
            // SAFETY: the caller of `amo` keeps `old` until completion, which is now.
            (Ok(value), Expected::Old(width, old)) => unsafe { deliver_old(old, width, value) },
            // SAFETY: the caller of `get` keeps the destination until completion, which is now. No more than its bytes are copied.
            (Ok(_), Expected::Bytes(dest, n)) => unsafe {
                ptr::copy_nonoverlapping(data.as_ptr(), dest, data.len().min(n as usize))
            },
            (Ok(_), Expected::Keys) => *self.keys.borrow_mut() = Some(data.to_vec()),
            (Ok(_), Expected::Word | Expected::Later) => {}
        }
    }

    /// Takes the answers of a batch.
    #[inline(never)]
    fn take_batch(&self, header: &[u8], data: &[u8]) {
        if !AskMessage::decode(header).is_some_and(|message| matches!(message.ask, Ask::Many)) {
            return tracing::warn!(bytes = header.len(), "UCX: a message that is no answer was dropped");
        }
        Batch(data).filter_map(AnswerMessage::split).for_each(|(answer, data)| self.take(answer, data));
    }
}

impl OpenQuestion {
    /// Whether its answer goes to a place of the caller's.
    #[inline(always)]
    fn fills(&self) -> bool {
        match self.expected {
            Expected::Old(_, old) => !old.is_null(),
            Expected::Bytes(..) => true,
            Expected::Keys | Expected::Word | Expected::Later => false,
        }
    }
}

/// The parameters of a message that goes this way.
fn sent_as(way: ucp_send_am_flags) -> ucp_request_param_t {
    ucp_request_param_t { op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS, flags: UCP_AM_SEND_FLAG_REPLY | way, ..blank() }
}

unsafe extern "C" fn sent(request: *mut c_void, status: ucs_status_t, question: *mut c_void) {
    // SAFETY: `question` is the box of `send` or `send_copy`, which UCX hands back once.
    let question = unsafe { Box::from_raw(question.cast::<SentQuestion>()) };
    let inbox = &question.inbox;
    inbox.unsent.set(inbox.unsent.get() - 1);
    let failed = |why: &str| {
        inbox.settle(question.number);
        inbox.lose(question.pe, why);
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
    // SAFETY: UCX's description of the data is valid in the call; an empty slice needs no address.
    let data = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), length) } };
    match AnswerMessage::decode(header) {
        Some(answer) => inbox.take(answer, data),
        None => inbox.take_batch(header, data),
    }
    UCS_OK
}

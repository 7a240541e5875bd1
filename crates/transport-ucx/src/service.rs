//! The serving side: questions of peers, answered inside the serving worker's progress, by the thread that moves it on.

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;

use oxshmem_base::{Error, planted};
use oxshmem_transport::OutOfRange;
use oxshmem_transport::batch::Batch;
use oxshmem_ucx_sys::{
    UCP_AM_RECV_ATTR_FIELD_REPLY_EP, UCP_AM_RECV_ATTR_FLAG_RNDV, UCS_INPROGRESS, UCS_OK, ucp_am_recv_param_t, ucp_ep_h,
    ucs_status_t,
};

use crate::answer::{GatheredAnswers, SentAnswer};
use crate::backlog::{HeldData, HeldQuestion};
use crate::channel::Channel;
use crate::message::{ASK, AnswerMessage, Ask, AskMessage};
use crate::net::Net;
use crate::receiver::{AnnouncedData, Receiver};
use crate::rendezvous::Receipt;
use crate::shared_channel::SharedChannel;

/// Takes a question and answers it.
///
/// # Safety
/// UCX calls it for whole messages; `arg` is the [`Net`] of the serving worker.
unsafe extern "C" fn on_ask(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: `arg` is the net, by the promise of the code that registered this function; UCX's descriptions of header and
    // parameters are valid in the call.
    let (net, header, param) =
        unsafe { (&*arg.cast::<Net>(), slice::from_raw_parts(header.cast::<u8>(), header_length), &*param) };
    let is_announced = param.recv_attr & u64::from(UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    let can_answer = param.recv_attr & u64::from(UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    let Some(question) = AskMessage::decode(header).filter(|_| can_answer) else {
        tracing::warn!(bytes = header_length, "UCX: a message that is no question was dropped");
        return UCS_OK;
    };
    let (pe, reply) = (question.pe, param.reply_ep);
    net.note_guest(pe);
    let is_behind = planted!("long-put-overtaken", net.backlog.is_due(pe), false);
    if is_behind && net.backlog.has_lost(pe) {
        // UCX drops it. The next wait of this PE ends the job.
        return UCS_OK;
    }
    if is_announced {
        let announced = AnnouncedData { descriptor: data, bytes: length };
        if is_behind {
            net.backlog.add(HeldQuestion { question, reply, data: HeldData::Announced(announced) });
            return UCS_INPROGRESS;
        }
        // SAFETY: this is a callback of the serving worker. UCX keeps the endpoint as long as its PE does, which is until it has its
        // answer.
        let receipt = unsafe { net.receive(question, reply, &announced) };
        // UCX drops what is refused, and what it could not receive.
        return if receipt == Receipt::Coming { UCS_INPROGRESS } else { UCS_OK };
    }
    // SAFETY: UCX's description of the data is valid in the call; an empty slice needs no address.
    let data = if length == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), length) } };
    if is_behind {
        net.backlog.add(HeldQuestion { question, reply, data: HeldData::Here(data.to_vec()) });
    } else {
        // SAFETY: this is a callback of the serving worker, for whose time UCX has named the endpoint to the asking PE.
        unsafe { net.take_all(question, data, reply) };
    }
    UCS_OK
}

impl Net {
    pub(crate) fn open_service(self: &Arc<Self>) -> Result<(), Error> {
        let mut channel = Channel::new(self.context.clone(), self.losses.clone())?;
        channel.serves = true;
        // SAFETY: the net is shared by reference only. It takes its hold on the channel away before it goes (`tear_down`), and a lane
        // that has the channel lets go of it before it lets go of the net.
        unsafe { channel.worker.listen(ASK, Some(on_ask), Arc::as_ptr(self).cast_mut().cast())? };
        self.backlog.receive_by(Receiver::of(&channel.worker));
        *self.service.lock() = Some(Arc::new(SharedChannel::new(channel)));
        Ok(())
    }

    /// Takes a question, or the many that are its data, and answers.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker, and the endpoint `reply` is open.
    pub(crate) unsafe fn take_all(&self, question: AskMessage, data: &[u8], reply: ucp_ep_h) {
        if matches!(question.ask, Ask::Many) {
            // SAFETY: the caller is a callback of the worker, and the endpoint is open, by its promise.
            return unsafe { self.take_many(data, reply) };
        }
        if let Some(answer) = self.take(question, data) {
            // SAFETY: the caller is a callback of the worker, and the endpoint is open, by its promise.
            unsafe { self.answers.send(self.context.ucx, reply, answer) };
        }
    }

    /// Takes the questions of a batch, and answers by as few messages as there can be.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker, and the endpoint `reply` is open.
    #[inline(never)]
    unsafe fn take_many(&self, data: &[u8], reply: ucp_ep_h) {
        let send = |answer: Option<SentAnswer>| {
            if let Some(answer) = answer {
                // SAFETY: the caller is a callback of the worker, and the endpoint is open, by its promise.
                unsafe { self.answers.send(self.context.ucx, reply, answer) };
            }
        };
        let (mut batch, mut gathered) = (Batch(data), GatheredAnswers::default());
        for message in batch.by_ref() {
            match AskMessage::split(message) {
                Some((question, data)) => {
                    if self.take(question, data).is_some_and(|answer| gathered.add(answer)) {
                        send(gathered.take(self.peers.me));
                    }
                }
                None => tracing::warn!(bytes = message.len(), "UCX: a message that is no question was dropped"),
            }
        }
        send(gathered.take(self.peers.me));
        if !batch.0.is_empty() {
            tracing::warn!(bytes = batch.0.len(), "UCX: the rest of a batch was dropped");
        }
    }

    /// Answers a question that cannot be done.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker, and the endpoint `reply` is open.
    pub(crate) unsafe fn refuse(&self, question: AskMessage, wrong: OutOfRange, reply: ucp_ep_h) {
        let header = AnswerMessage { pe: self.peers.me, number: question.number, outcome: Err(wrong) }.encode();
        // SAFETY: the caller is a callback of the worker, and the endpoint is open, by its promise.
        unsafe { self.answers.send(self.context.ucx, reply, SentAnswer { header, data: Vec::new() }) };
    }

    /// Does what a question asks for. Returns the answer, if the asking PE expects one or it has failed.
    #[inline(always)]
    fn take(&self, question: AskMessage, data: &[u8]) -> Option<SentAnswer> {
        let mut fetched = Vec::new();
        let outcome = match question.ask {
            Ask::Task(task) => task.execute(&self.regions.memory, data, &mut fetched),
            Ask::Keys { region, from } => {
                fetched = self.regions.keys(region, from);
                Ok(0)
            }
            Ask::Bye => {
                self.forget_guest(question.pe);
                Ok(0)
            }
            Ask::Many => Ok(0),
        };
        let is_owed = question.answered || outcome.is_err();
        let header = || AnswerMessage { pe: self.peers.me, number: question.number, outcome }.encode();
        is_owed.then(|| SentAnswer { header: header(), data: fetched })
    }
}

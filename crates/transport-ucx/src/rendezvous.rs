//! Long puts of peers, which UCX receives to their places.
//!
//! A long put comes by rendezvous: UCX says that it is there, and receives it where it belongs, with no copy. A question that the same
//! PE asks before it has arrived waits for it (`backlog`), so that the questions of a PE take effect in their order. Behind a put that
//! UCX could not receive they are dropped, and the next wait of this PE ends the job: one of them may be the put's signal.

use std::ffi::c_void;

use oxshmem_base::Error;
use oxshmem_transport::TargetTask;
use oxshmem_ucx_sys::inline::Started;
use oxshmem_ucx_sys::{UCS_OK, ucp_ep_h, ucs_status_t};

use crate::backlog::{HeldData, HeldQuestion};
use crate::message::{Ask, AskMessage};
use crate::net::Net;
use crate::objects::{finish, meaning};
use crate::receiver::AnnouncedData;

/// A receipt, as it has begun.
#[derive(PartialEq, Eq)]
pub(crate) enum Receipt {
    Coming,
    /// The put has been taken.
    Over,
    /// The put is for no place that it may write; UCX has kept its announcement.
    Refused,
    /// UCX could not receive the put.
    Lost,
}

/// A put on its way, as its callback needs it.
struct PutUnderWay {
    net: *const Net,
    question: AskMessage,
    reply: ucp_ep_h,
}

impl Net {
    /// Begins to receive an announced put.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker. The endpoint `reply` is open until the asking PE has its answer.
    pub(crate) unsafe fn receive(&self, question: AskMessage, reply: ucp_ep_h, announced: &AnnouncedData) -> Receipt {
        let (Ask::Task(TargetTask::Put { to, .. }), Some(receiver)) = (question.ask, self.backlog.receiver()) else {
            tracing::warn!("UCX: an announced message that is no put was dropped");
            return Receipt::Refused;
        };
        let place = match self.regions.memory.landing(to.region, to.offset, announced.bytes) {
            Ok(place) => place,
            Err(wrong) => {
                // SAFETY: the caller is a callback of the worker, and the endpoint is open, by its promise.
                unsafe { self.refuse(question, wrong, reply) };
                return Receipt::Refused;
            }
        };
        let coming = Box::new(PutUnderWay { net: self, question, reply });
        // SAFETY: the caller is a callback of the worker. `landing` bounds the place by a segment that its owner keeps mapped, `arrived`
        // takes a boxed `PutUnderWay`, and the net outlives its serving worker.
        match unsafe { receiver.receive(announced, place, coming, arrived) } {
            Started::Request(_) => {
                self.backlog.expect(question.pe, None);
                Receipt::Coming
            }
            Started::Done => {
                // SAFETY: the caller is a callback of the worker, and the endpoint is open, by its promise.
                unsafe { self.take_all(question, &[], reply) };
                Receipt::Over
            }
            Started::Failed(status) => {
                self.note_lost_put(question.pe, &meaning(self.context.ucx, status));
                // SAFETY: the caller is a callback of the worker, by its promise.
                unsafe { self.drop_behind(question.pe) };
                Receipt::Lost
            }
        }
    }

    /// Takes what a PE has asked behind a put that has arrived, up to the next one that has not.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker.
    unsafe fn take_waiting(&self, pe: u32) {
        while let Some(HeldQuestion { question, reply, data }) = self.backlog.next(pe) {
            match data {
                // SAFETY: the caller is a callback of the worker, by its promise. The asking PE keeps its side of the endpoint
                // until it has its answers and has said good-bye.
                HeldData::Here(data) => unsafe { self.take_all(question, &data, reply) },
                HeldData::Announced(announced) => {
                    // SAFETY: the caller is a callback of the worker; the endpoint as above.
                    match unsafe { self.receive(question, reply, &announced) } {
                        Receipt::Coming | Receipt::Lost => return,
                        Receipt::Over => {}
                        Receipt::Refused => {
                            if let Some(receiver) = self.backlog.receiver() {
                                // SAFETY: the caller is a callback of the worker, and the data is not received.
                                unsafe { receiver.release(announced) };
                            }
                        }
                    }
                }
            }
        }
    }

    /// Drops what waits behind a put of this PE that could not be received. Its sender has the memory of an announced put until UCX hears that
    /// the put is not wanted.
    ///
    /// # Safety
    /// The caller is a callback of the serving worker.
    unsafe fn drop_behind(&self, pe: u32) {
        for held in self.backlog.lose(pe) {
            if let (HeldData::Announced(announced), Some(receiver)) = (held.data, self.backlog.receiver()) {
                // SAFETY: the caller is a callback of the worker, by its promise. The data is not received, and the callback for it is over.
                unsafe { receiver.release(announced) };
            }
        }
    }

    /// A put of a PE could not be received.
    fn note_lost_put(&self, pe: u32, why: &str) {
        let error = Error::new(format!("a put of PE {pe} has not arrived over UCX"))
            .because(why)
            .fix("see whether that PE or its node has died; UCX_LOG_LEVEL=info lets UCX say more");
        tracing::error!(%error);
        self.losses.note(&error);
    }
}

unsafe extern "C" fn arrived(request: *mut c_void, status: ucs_status_t, _bytes: usize, coming: *mut c_void) {
    // SAFETY: `coming` is the box of `receive`, which UCX hands back once.
    let PutUnderWay { net, question, reply } = *unsafe { Box::from_raw(coming.cast::<PutUnderWay>()) };
    // SAFETY: the net outlives its serving worker, whose callback this is.
    let net = unsafe { &*net };
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, |why| net.note_lost_put(question.pe, why)) };
    if status != UCS_OK {
        // SAFETY: this is a callback of the serving worker.
        return unsafe { net.drop_behind(question.pe) };
    }
    // SAFETY: this is a callback of the serving worker. The asking PE keeps its side of the endpoint until it has its answer.
    unsafe { net.take_all(question, &[], reply) };
    // SAFETY: this is a callback of the serving worker.
    unsafe { net.take_waiting(question.pe) };
}

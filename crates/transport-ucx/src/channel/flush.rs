//! Flushes complete puts: a flush begins when UCX is done with the puts before it.
//!
//! UCX lets a flush begin behind puts that are under way. Over TCP it then sends a message of its own behind them, and the
//! quiet takes two round trips. A put of TCP's is done when its target has answered, so a flush that begins then has nothing
//! left to do. Puts that come while a flush waits for those before it belong to the next flush; each of the two has a
//! counter of the puts that UCX has not completed.

use std::cell::Cell;
use std::{mem, ptr};

use oxshmem_transport::{AtomicArguments, NotIssued, Position, Remote, SignalUpdate, TargetTask, Width};
use oxshmem_ucx_sys::inline::Started;
use oxshmem_ucx_sys::{UCS_OK, ucs_status_t};

use super::Channel;
use super::question::Expected;
use crate::message::Ask;
use crate::objects::{UcxRequest, meaning};
use crate::peers::Directory;

/// A flush under way: how many puts it completes, and the signals that are sent then.
pub(super) struct Flush {
    /// UCX's, begun when UCX is done with the puts.
    pub(super) request: Option<UcxRequest>,
    pub(super) puts: u64,
    pub(super) then: Vec<LateSignal>,
}

/// The signal of a put with which it cannot travel: it is sent when the put has taken effect.
pub(super) struct LateSignal {
    pub(super) pe: u32,
    pub(super) at: Position,
    pub(super) update: SignalUpdate,
}

impl Channel {
    /// Counts the puts that UCX has not completed, of those that are issued now.
    pub(super) fn gathering(&self) -> &Cell<u64> {
        &self.inbox.puts[self.counter]
    }

    /// Counts those of the flush under way.
    pub(super) fn flushing(&self) -> &Cell<u64> {
        &self.inbox.puts[1 - self.counter]
    }

    /// Begins to complete the puts that were issued, unless it has to wait for those before them.
    pub(super) fn begin_flush(&mut self, peers: &Directory) {
        if self.unflushed == 0 && self.late.is_empty() || self.flush.is_some() {
            return;
        }
        let then = mem::replace(&mut self.late, mem::take(&mut self.spare_late));
        self.flush = Some(Flush { request: None, puts: mem::take(&mut self.unflushed), then });
        // The puts of the flush before are done, so their counter is zero.
        self.counter = 1 - self.counter;
        self.move_flush(peers);
    }

    /// Moves the flush under way on, if there is one.
    #[inline]
    pub(super) fn move_flush(&mut self, peers: &Directory) {
        if self.flush.is_some() {
            self.move_begun(peers);
        }
    }

    fn move_begun(&mut self, peers: &Directory) {
        let Some(mut flush) = self.flush.take() else { return };
        let status = match &flush.request {
            Some(request) => request.outcome(self.ucx()),
            None if self.flushing().get() > 0 => None,
            None => match self.worker.flush() {
                Started::Done => Some(UCS_OK),
                Started::Failed(status) => Some(status),
                Started::Request(request) => {
                    flush.request = Some(UcxRequest(request));
                    None
                }
            },
        };
        let Some(status) = status else {
            self.flush = Some(flush);
            return;
        };
        if let Some(request) = flush.request {
            request.free(self.ucx());
        }
        self.flushed(peers, flush.then, status);
    }

    /// A flush is over: the signals of its puts follow.
    fn flushed(&mut self, peers: &Directory, mut signals: Vec<LateSignal>, status: ucs_status_t) {
        if status != UCS_OK || self.inbox.put_failure.get() != UCS_OK {
            return self.flush_failed(status);
        }
        if signals.is_empty() {
            self.spare_late = signals;
            return;
        }
        // A put that UCX has not even taken is an error of the lane already, and no error of the flush.
        if self.has_failed() {
            return;
        }
        for LateSignal { pe, at, update } in signals.drain(..) {
            if peers.atomics {
                let to = Remote { pe, region: at.region, offset: at.offset };
                // SAFETY: no old value is asked for.
                if unsafe { self.update_straight(to, Width::Eight, update.amo(), ptr::null_mut()) }.is_some() {
                    continue;
                }
                let (width, amo, old) = (Width::Eight, update.amo(), ptr::null_mut());
                // SAFETY: no old value is asked for.
                let issued = unsafe { self.atomic(peers, &AtomicArguments { to, width, amo, old }) };
                // Its keys are at hand.
                if let Err(NotIssued::Failed(error)) = issued {
                    self.inbox.note(|| *error);
                }
                continue;
            }
            let ask = Ask::Task(TargetTask::Amo { at, width: Width::Eight, amo: update.amo() });
            self.ask(peers, pe, ask, &[], Expected::Word);
        }
        self.spare_late = signals;
    }

    /// A flush has failed, or a put: UCX's flush of a worker goes well although an endpoint's has failed, or a put was given back before
    /// it was sent.
    #[cold]
    fn flush_failed(&self, status: ucs_status_t) {
        let outcomes = [("a flush", status), ("a put", self.inbox.put_failure.replace(UCS_OK))];
        if let Some((what, status)) = outcomes.into_iter().find(|&(_, status)| status != UCS_OK) {
            self.note_failure(|ucx| format!("{what}: {}", meaning(ucx, status)));
        }
    }
}

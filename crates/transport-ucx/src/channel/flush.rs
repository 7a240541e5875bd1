//! Flushes complete what was put: a flush begins when UCX is done with the puts before it.
//!
//! UCX lets a flush begin behind puts that are under way. Over TCP it then sends a message of its own behind them, and the
//! quiet takes two round trips. A put of TCP's is done when its target has answered, so a flush that begins then has nothing
//! left to do. Puts that come while a flush waits for those before it belong to the next flush; each of the two has a counter
//! of the puts that UCX is at.

use std::cell::Cell;
use std::{mem, ptr};

use oxshmem_transport::{NotIssued, Remote, SignalUpdate, Width};
use oxshmem_ucx_sys::inline::Started;
use oxshmem_ucx_sys::{UCS_OK, ucs_status_t};

use super::{Channel, What};
use crate::handle::{Request, meaning};
use crate::message::{Ask, Place};
use crate::peers::Directory;

/// A flush under way: how many puts it completes, and what is sent then.
pub(super) struct Flush {
    /// UCX's, begun when UCX is done with the puts.
    request: Option<Request>,
    pub(super) puts: u64,
    pub(super) then: Vec<Late>,
}

/// The signal of a put with which it cannot travel: it is sent when the put has taken effect.
pub(super) struct Late {
    pub(super) pe: u32,
    pub(super) at: Place,
    pub(super) update: SignalUpdate,
}

impl Channel {
    /// Counts the puts that UCX is at, of those that are issued now.
    pub(super) fn gathering(&self) -> &Cell<u64> {
        &self.inbox.puts[self.counter]
    }

    /// Counts those of the flush under way.
    fn flushing(&self) -> &Cell<u64> {
        &self.inbox.puts[1 - self.counter]
    }

    /// Begins to complete the puts that were issued, unless it has to wait for those before them.
    pub(super) fn begin_flush(&mut self, peers: &Directory) {
        if self.unflushed == 0 && self.late.is_empty() || self.flush.is_some() {
            return;
        }
        self.flush =
            Some(Flush { request: None, puts: mem::take(&mut self.unflushed), then: mem::take(&mut self.late) });
        // The puts of the flush before are done, so their counter is zero.
        self.counter = 1 - self.counter;
        self.move_flush(peers);
    }

    /// Moves the flush on.
    pub(super) fn move_flush(&mut self, peers: &Directory) {
        let Some(mut flush) = self.flush.take() else { return };
        let status = match &flush.request {
            Some(request) => request.outcome(self.ucx()),
            None if self.flushing().get() > 0 => None,
            None => match self.worker.flush() {
                Started::Done => Some(UCS_OK),
                Started::Failed(status) => Some(status),
                Started::Request(request) => {
                    flush.request = Some(Request::new(request));
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
    fn flushed(&mut self, peers: &Directory, signals: Vec<Late>, status: ucs_status_t) {
        if status != UCS_OK {
            return self.note_failure(|ucx| format!("a flush: {}", meaning(ucx, status)));
        }
        for Late { pe, at, update } in signals {
            if peers.atomics {
                let to = Remote { pe, region: at.region, offset: at.offset };
                // Its keys are at hand.
                if let Err(NotIssued::Failed(error)) =
                    self.atomic(peers, to, Width::Eight, update.amo(), ptr::null_mut())
                {
                    self.inbox.note(|| error);
                }
                continue;
            }
            self.ask(peers, pe, Ask::Amo { at, width: Width::Eight, amo: update.amo() }, &[], What::Word);
        }
    }
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests {
    use std::sync::Arc;

    use oxshmem_base::Error;
    use oxshmem_base::knobs::Settings;
    use oxshmem_transport::{Cards, Participant, Region, Segment};

    use super::*;
    use crate::devices::Devices;
    use crate::handle::{Context, Worker};
    use crate::message::ASK;
    use crate::net::Net;
    use crate::service::on_ask;

    struct Own(Vec<u8>);

    impl Cards for Own {
        fn card(&self, _pe: u32) -> Result<Vec<u8>, Error> {
            Ok(self.0.clone())
        }
    }

    #[test]
    fn fault_P4_a_flush_begins_behind_puts_that_are_done() {
        const NAME: &str = "fault_P4_a_flush_begins_behind_puts_that_are_done";
        let context = Context::new(Some("tcp"), Devices::with(&[]), 1, false);
        let service = context.and_then(|context| Ok((Worker::new(context.clone())?, context)));
        let (service, context) = match service {
            Ok(made) => made,
            Err(error) => return println!("not run: {NAME}: {error}"),
        };
        let (source, mut target) = (vec![7_u8; 1 << 20], vec![0_u8; 1 << 20]);
        let settings = Settings::default();
        let net = Arc::new(Net::new(&Participant::new(0, 1, &settings, &[0; 48]), context.clone(), false));
        // SAFETY: the net is shared by reference only, and takes the worker down below.
        unsafe { service.listen(ASK, Some(on_ask), Arc::as_ptr(&net).cast_mut().cast()) }.expect("it listens");
        *net.service.lock() = Some(service);
        let segment = Segment { base: target.as_mut_ptr(), len: target.len() };
        net.regions.register(Region::Heap, segment).expect("it registers");
        assert!(net.peers.cards.set(Box::new(Own(net.card()))).is_ok(), "nobody has connected");
        let mut channel = Channel::new(context).expect("there are workers");
        let to = Remote { pe: 0, region: Region::Heap, offset: 0 };
        // SAFETY: the source lives until the channel has nothing outstanding.
        let put = |channel: &mut Channel| unsafe { channel.put(&net.peers, to, source.as_ptr(), source.len()) };
        while put(&mut channel).is_err() {
            channel.step(&net.peers);
            net.serve();
        }
        // UCX may be done at once with what the sockets have room for: so much more is always under way.
        let mut puts = 0;
        let mut fill = |channel: &mut Channel| {
            while channel.gathering().get() < 16 {
                assert!(put(channel).is_ok(), "there is room");
                puts += 1;
                assert!(puts < 2000, "the flush waits for puts that came after it");
            }
        };
        fill(&mut channel);
        channel.begin_flush(&net.peers);
        while let Some(flush) = &channel.flush {
            assert_eq!(flush.request.is_some(), channel.flushing().get() == 0, "puts before the flush decide");
            if flush.request.is_none() {
                fill(&mut channel);
            }
            channel.step(&net.peers);
            net.serve();
        }
        while channel.outstanding() > 0 {
            channel.progress(&net.peers).expect("nothing fails");
            net.serve();
        }
        assert_eq!(target, source);
        drop(channel);
        net.tear_down();
    }
}

//! The operations of one PE: transfers, atomics, order, waits, signals, locks, on lanes of the loopback provider.
//!
//! Signatures are those of the runtime's calls, and so are the promises. Here is what the calls share.

pub(crate) mod amo;
pub(crate) mod lock;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod p2p;
pub(crate) mod rma;
pub(crate) mod signal;

use core::ffi::c_int;

use oxshmem_runtime as runtime;
use oxshmem_runtime::Via;
use oxshmem_transport::{Fabric, Issuer, Lane, Remote};

use super::{ContextStream, ThreadPe, context_number};
use crate::Error;

impl ThreadPe {
    /// Runs `body` with the context that the call names.
    fn on<R>(&self, context: runtime::ContextHandle, body: impl FnOnce(&mut ContextStream) -> R) -> R {
        body(&mut self.streams.borrow_mut()[context_number(context)])
    }

    /// Where the caller's `n` bytes at `address` are on the context's PE `pe`.
    fn remote<V: Via>(&self, via: V, address: *const u8, n: usize, pe: c_int) -> Remote {
        let members = self.on(via.context(), |stream| stream.members.clone());
        let Some(&pe) = usize::try_from(pe).ok().and_then(|pe| members.list.get(pe)) else {
            self.fail(
                &Error::new(format!("{}: PE {pe} does not exist", via.call()))
                    .because(format!("the team of the context has {} PEs", members.list.len()))
                    .fix("pass a PE number of that team"),
            )
        };
        let Some((region, offset)) = self.job.store.locate(self.me, address, n) else {
            self.fail(
                &Error::new(format!("{}: no symmetric object of {n} bytes at {address:p}", via.call()))
                    .because("it is not in this PE's memory")
                    .fix("pass memory that all PEs have allocated"),
            )
        };
        Remote { pe: pe as u32, region, offset }
    }

    /// Issues an operation that the caller does not wait for.
    ///
    /// In a world that has failed nothing happens: PEs end one after the other, and one that is still in an exclusive
    /// epoch keeps its memory until its end.
    fn issue<V: Via>(&self, via: V, operation: impl FnOnce(&Issuer<'_>)) {
        self.issue_and_keep(via, |lane| {
            operation(lane);
            Vec::new()
        });
    }

    /// [`ThreadPe::issue`] of what reads from memory that `operation` returns, which is kept until it is complete.
    fn issue_and_keep<V: Via>(&self, via: V, operation: impl FnOnce(&Issuer<'_>) -> Vec<u8>) {
        if self.turns().failed() {
            return;
        }
        self.on(via.context(), |stream| {
            let source = operation(&self.issuer(&*stream.issued));
            if !source.is_empty() {
                stream.kept.push(source);
            }
        });
        self.turns().changed();
    }

    /// Issues on a lane; where that is busy, the lane alone is moved on.
    fn issuer<'l>(&self, lane: &'l dyn Lane) -> Issuer<'l> {
        Issuer::new(lane, self.fabric().capabilities(), &|attempt| while !attempt() {})
    }

    /// Issues an operation and waits for it alone; after a fence, for what that holds back as well. Nothing, as above.
    fn ask<V: Via>(&self, via: V, operation: impl FnOnce(&Issuer<'_>)) {
        if self.turns().failed() {
            return;
        }
        self.on(via.context(), |stream| {
            if stream.fenced {
                stream.complete(self);
            }
            operation(&self.issuer(&*stream.asked));
            drain(self, &*stream.asked);
        });
        self.turns().changed();
    }

    /// Completes what this PE has issued on all contexts: it ends.
    pub(super) fn complete_all(&self) {
        self.streams.borrow_mut().iter_mut().for_each(|stream| stream.complete(self));
    }
}

impl ContextStream {
    pub(super) fn complete(&mut self, pe: &ThreadPe) {
        drain(pe, &*self.issued);
        self.kept.clear();
        self.fenced = false;
    }
}

fn drain(pe: &ThreadPe, lane: &dyn Lane) {
    while lane.outstanding() > 0 {
        if let Err(error) = lane.progress() {
            pe.fail(&error);
        }
    }
}

//! Atomics that UCX does: by the card where it can, otherwise by its own software inside the target's serving worker. Only
//! these are atomic against each other, so all of the job's are, those of a PE on itself too.
//!
//! Each asks for the old value, also where nobody wants it: the reply shows that it has been done. UCX 1.13 calls an atomic without a reply
//! over at once. Where there was no room for it, over memory that PEs share, UCX sends it later, and a flush does not wait for it.

use std::ffi::c_void;
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_transport::{Amo, AtomicArguments, OutOfRange, Width, deliver_old};
use oxshmem_ucx_sys::inline::{Started, started, ucp_dt_make_contig};
use oxshmem_ucx_sys::{
    UCP_ATOMIC_OP_ADD, UCP_ATOMIC_OP_AND, UCP_ATOMIC_OP_CSWAP, UCP_ATOMIC_OP_OR, UCP_ATOMIC_OP_SWAP, UCP_ATOMIC_OP_XOR,
    UCP_OP_ATTR_FIELD_DATATYPE, UCP_OP_ATTR_FIELD_REPLY_BUFFER, UCS_OK, ucp_atomic_op_t, ucp_request_param_t,
    ucs_status_t,
};

use super::{Channel, Inbox, Issued};
use crate::objects::{blank, finish, start_owning};
use crate::peers::Directory;

/// An atomic under way, kept until UCX is done with it. UCX reads the operand and writes the reply.
pub(super) struct NetworkUpdate {
    pub(super) operand: u64,
    /// The value that a comparison stores if it succeeds; then the old value.
    pub(super) reply: u64,
    pub(super) width: Width,
    pub(super) old: *mut u8,
    /// The channel's.
    pub(super) inbox: *const Inbox,
}

/// An atomic as UCX's call.
pub(super) struct UpdateCall {
    pub(super) op: ucp_atomic_op_t,
    pub(super) operand: u64,
    /// The first contents of the reply.
    pub(super) reply: u64,
}

impl UpdateCall {
    /// The call for an atomic. UCX reads by adding nothing.
    #[inline(always)]
    pub(super) const fn of(amo: Amo) -> Self {
        let (op, operand, reply) = match amo {
            Amo::Fetch => (UCP_ATOMIC_OP_ADD, 0, 0),
            Amo::Swap(value) => (UCP_ATOMIC_OP_SWAP, value, 0),
            Amo::Add(value) => (UCP_ATOMIC_OP_ADD, value, 0),
            Amo::And(value) => (UCP_ATOMIC_OP_AND, value, 0),
            Amo::Or(value) => (UCP_ATOMIC_OP_OR, value, 0),
            Amo::Xor(value) => (UCP_ATOMIC_OP_XOR, value, 0),
            Amo::CompareSwap { cond, value } => (UCP_ATOMIC_OP_CSWAP, cond, value),
        };
        Self { op, operand, reply }
    }
}

impl Channel {
    /// Issues an atomic of UCX's.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    pub(super) unsafe fn atomic(&mut self, peers: &Directory, atomic: &AtomicArguments) -> Issued {
        let &AtomicArguments { to, width, amo, old } = atomic;
        let n = width.bytes();
        if width == Width::Two {
            let error = Error::new(format!("an atomic on {n} bytes of PE {} has come to UCX", to.pe));
            return Err(error.because("its atomics have 4 or 8 bytes").into());
        }
        if !to.offset.is_multiple_of(n as u64) {
            let wrong = OutOfRange { region: to.region, offset: to.offset, bytes: n, registered: usize::MAX };
            return Err(wrong.error(to.pe).into());
        }
        let UpdateCall { op, operand, reply } = UpdateCall::of(amo);
        // Pieces of a region end with a page, so an aligned object is in one of them.
        let issued = self.transfer(peers, to, n, |channel, target, _, _| {
            let update = NetworkUpdate { operand, reply, width, old, inbox: Rc::as_ptr(&channel.inbox) };
            let param = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
                datatype: ucp_dt_make_contig(n),
                ..blank()
            };
            let atomic = channel.ucx().atomic;
            // SAFETY: `updated` takes a boxed update, which keeps operand and reply until UCX is done with them; the endpoint is
            // open and the key is its own.
            let (outcome, update) = unsafe {
                start_owning(Box::new(update), updated, param, |update, param| {
                    param.reply_buffer = (&raw mut (*update).reply).cast();
                    let operand = (&raw const (*update).operand).cast();
                    started(atomic(target.endpoint, op, operand, 1, target.address, target.key, param))
                })
            };
            channel.note_update(to.pe, outcome, update);
        });
        issued.map(drop)
    }

    /// The outcome of an atomic on `pe`, with its box if UCX has none. Returns whether it is under way.
    #[inline(always)]
    pub(super) fn note_update(&mut self, pe: u32, outcome: Started, back: Option<Box<NetworkUpdate>>) -> bool {
        match outcome {
            Started::Request(_) => self.inbox.gets.set(self.inbox.gets.get() + 1),
            Started::Done => back.iter().for_each(|update| update.deliver()),
            Started::Failed(status) => self.fail(pe, "an atomic", status),
        }
        // A failure counts until a caller looks at the lane.
        let under_way = outcome != Started::Done;
        if back.is_some() {
            self.spare_update = back;
        }
        self.straight = self.straight.saturating_sub(under_way.into());
        under_way
    }
}

impl NetworkUpdate {
    /// UCX has done it: the old value goes to the caller, if it wants that.
    #[inline(always)]
    fn deliver(&self) {
        // SAFETY: the caller of `Lane::amo` keeps `old` until completion, which is now.
        unsafe { deliver_old(self.old, self.width, self.reply) };
    }
}

pub(super) unsafe extern "C" fn updated(request: *mut c_void, status: ucs_status_t, update: *mut c_void) {
    // SAFETY: `update` is the box of `atomic` or `update_straight`, which UCX hands back once.
    let update = unsafe { Box::from_raw(update.cast::<NetworkUpdate>()) };
    if status == UCS_OK {
        update.deliver();
    }
    // SAFETY: the inbox is that of the channel whose worker calls.
    let inbox = unsafe { &*update.inbox };
    inbox.gets.set(inbox.gets.get() - 1);
    let failed = |why: &str| inbox.note(|| Error::new("an atomic over UCX has failed").because(why));
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, failed) };
}

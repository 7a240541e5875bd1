//! Atomics that UCX does: by the card where it can, otherwise by its own software inside the target's serving worker. Only
//! these are atomic against each other, so all of the job's are, those of a PE on itself too.

use std::ffi::c_void;
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_transport::{Amo, OutOfRange, Remote, Width, deliver_old};
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
struct NetworkUpdate {
    operand: u64,
    /// The value that a comparison stores if it succeeds; then the old value.
    reply: u64,
    fetches: bool,
    width: Width,
    old: *mut u8,
    inbox: Rc<Inbox>,
}

/// UCX's operation, its operand, and the first contents of the reply. UCX reads by adding nothing.
const fn parts(amo: Amo) -> (ucp_atomic_op_t, u64, u64) {
    match amo {
        Amo::Fetch => (UCP_ATOMIC_OP_ADD, 0, 0),
        Amo::Swap(value) => (UCP_ATOMIC_OP_SWAP, value, 0),
        Amo::Add(value) => (UCP_ATOMIC_OP_ADD, value, 0),
        Amo::And(value) => (UCP_ATOMIC_OP_AND, value, 0),
        Amo::Or(value) => (UCP_ATOMIC_OP_OR, value, 0),
        Amo::Xor(value) => (UCP_ATOMIC_OP_XOR, value, 0),
        Amo::CompareSwap { cond, value } => (UCP_ATOMIC_OP_CSWAP, cond, value),
    }
}

impl Channel {
    /// Issues an atomic of UCX's.
    ///
    /// # Safety
    /// `old` is null, or writable for `width` bytes until completion.
    pub(super) unsafe fn atomic(
        &mut self,
        peers: &Directory,
        to: Remote,
        width: Width,
        amo: Amo,
        old: *mut u8,
    ) -> Issued {
        let n = width.bytes();
        if width == Width::Two {
            return Err({
                Error::new(format!("an atomic on {n} bytes of PE {} has come to UCX", to.pe))
                    .because("its atomics have 4 or 8 bytes")
            }
            .into());
        }
        if !to.offset.is_multiple_of(n as u64) {
            let wrong = OutOfRange { region: to.region, offset: to.offset, bytes: n, registered: usize::MAX };
            return Err(wrong.error(to.pe).into());
        }
        let (op, operand, reply) = parts(amo);
        let fetches = !old.is_null() || matches!(amo, Amo::Swap(_) | Amo::CompareSwap { .. });
        // Pieces of a region end with a page, so an aligned object is in one of them.
        let issued = self.transfer(peers, to, n, |channel, target, _, _| {
            let inbox = channel.inbox.clone();
            let update = NetworkUpdate { operand, reply, fetches, width, old, inbox };
            let reply = if fetches { UCP_OP_ATTR_FIELD_REPLY_BUFFER } else { 0 };
            let param = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_DATATYPE | reply,
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
            match outcome {
                Started::Request(_) if fetches => channel.inbox.gets.set(channel.inbox.gets.get() + 1),
                // The flush completes it.
                Started::Request(_) => channel.unflushed += 1,
                Started::Done => {
                    channel.unflushed += u64::from(!fetches);
                    update.iter().for_each(|update| update.deliver());
                }
                Started::Failed(status) => channel.fail(to.pe, "an atomic", status),
            }
        });
        issued.map(drop)
    }
}

impl NetworkUpdate {
    /// UCX has done it: the fetched value goes to the caller.
    fn deliver(&self) {
        if self.fetches {
            // SAFETY: the caller of `Lane::amo` keeps `old` until completion, which is now.
            unsafe { deliver_old(self.old, self.width, self.reply) };
        }
    }
}

unsafe extern "C" fn updated(request: *mut c_void, status: ucs_status_t, update: *mut c_void) {
    // SAFETY: `update` is the box of `atomic`, which UCX hands back once.
    let update = unsafe { Box::from_raw(update.cast::<NetworkUpdate>()) };
    if status == UCS_OK {
        update.deliver();
    }
    let inbox = &update.inbox;
    if update.fetches {
        inbox.gets.set(inbox.gets.get() - 1);
    }
    let failed = |why: &str| inbox.note(|| Error::new("an atomic over UCX has failed").because(why));
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, failed) };
}

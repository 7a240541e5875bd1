//! The straight way: operations in the fewest instructions, where nothing is unusual. The bytes lie where an operation has been before,
//! nothing stands in the way (`Channel::allow_straight`), and what UCX reads after the call has a place from an operation that is over.
//! Everything else goes the way that `transfer` and `atomic` know, and nothing has happened then.

use std::ffi::c_void;
use std::rc::Rc;
use std::{ptr, slice};

use oxshmem_transport::{Amo, MOST_ASKED, Remote, Width};
use oxshmem_ucx_sys::inline::{Started, started, ucp_dt_make_contig};
use oxshmem_ucx_sys::{
    UCP_OP_ATTR_FIELD_CALLBACK, UCP_OP_ATTR_FIELD_DATATYPE, UCP_OP_ATTR_FIELD_REPLY_BUFFER,
    UCP_OP_ATTR_FIELD_USER_DATA, ucp_request_param_t, ucp_request_param_t__bindgen_ty_1 as Callback,
};

use super::atomic::{NetworkUpdate, UpdateCall, updated};
use super::transfer::{PUT_DONE, RemotePiece, copy_done, got};
use super::{COPIED, Channel, Inbox, MOST_UNDER_WAY};
use crate::objects::{CompletionCallback, blank};

/// The parameters of UCX's calls, filled in but for what is an operation's own.
pub(super) struct PreparedParams {
    /// Of puts, by the counter that they belong to.
    pub(super) puts: [ucp_request_param_t; 2],
    copy: ucp_request_param_t,
    pub(super) get: ucp_request_param_t,
    update: ucp_request_param_t,
}

impl PreparedParams {
    /// `inbox` is the channel's, which lives as long.
    pub(super) fn new(inbox: &Rc<Inbox>) -> Self {
        let with = |over: CompletionCallback, data: *const c_void| ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
            cb: Callback { send: Some(over) },
            user_data: data.cast_mut(),
            ..blank()
        };
        let with_reply = |param: ucp_request_param_t| ucp_request_param_t {
            op_attr_mask: param.op_attr_mask | UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
            ..param
        };
        Self {
            puts: PUT_DONE.map(|over| with(over, Rc::as_ptr(inbox).cast())),
            copy: with(copy_done, ptr::null()),
            get: with(got, Rc::as_ptr(inbox).cast()),
            update: with_reply(with(updated, ptr::null())),
        }
    }
}

impl Channel {
    /// Says how many operations may go the straight way now: none behind a fence, or where puts are messages; otherwise
    /// as many as there is room for before the channel has to be moved on.
    pub(crate) fn allow_straight(&mut self, outstanding: u64) {
        let none = self.longest_message > 0 || self.fenced || self.asked_for() >= MOST_ASKED;
        let room = (MOST_UNDER_WAY / 2).saturating_sub(self.unflushed).min(MOST_UNDER_WAY.saturating_sub(outstanding));
        self.straight = if none { 0 } else { room };
    }

    /// `n` bytes, at least one, of a peer that is connected, if they lie where an operation on that region has been before.
    #[inline(always)]
    pub(super) fn shortcut(&self, Remote { pe, region, offset }: Remote, n: usize) -> Option<RemotePiece> {
        let peer = self.peers.get(*self.index.get(pe as usize)? as usize)?;
        let piece = &peer.shortcuts[region as usize];
        let from = offset.wrapping_sub(piece.start);
        // An offset before the start wraps to more than any length.
        (self.straight > 0 && n > 0 && from < piece.len && n as u64 <= piece.len - from).then_some(RemotePiece {
            endpoint: peer.endpoint,
            address: piece.address.wrapping_add(from),
            key: piece.key,
        })
    }

    /// Puts `n` bytes from where they are. Returns whether it has.
    ///
    /// # Safety
    /// `source` has `n` bytes until completion.
    #[inline(always)]
    pub(crate) unsafe fn put_straight(&mut self, to: Remote, source: *const u8, n: usize) -> bool {
        let Some(RemotePiece { endpoint, address, key }) = self.shortcut(to, n) else { return false };
        self.straight -= 1;
        self.unflushed += 1;
        let param = &raw const self.params.puts[self.counter];
        // SAFETY: the endpoint is open and the key is its own; the source stays until completion, by the caller's promise.
        let put = unsafe { (self.ucx().put)(endpoint, source.cast(), n, address, key, param) };
        put.is_null() || self.note_put_straight(to.pe, started(put))
    }

    /// The outcome of a put that was not complete at once. Returns whether UCX has taken it.
    #[inline]
    fn note_put_straight(&mut self, pe: u32, put: Started) -> bool {
        let is_taken = !matches!(put, Started::Failed(_));
        if is_taken {
            self.note_put(pe, put);
        } else {
            self.straight += 1;
            self.unflushed -= 1;
        }
        is_taken
    }

    /// Puts a copy of `n` bytes. Returns whether it has.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    #[inline(always)]
    pub(crate) unsafe fn put_copy_straight(&mut self, to: Remote, source: *const u8, n: usize) -> bool {
        if n > COPIED {
            return false;
        }
        let Some(RemotePiece { endpoint, address, key }) = self.shortcut(to, n) else { return false };
        let Some(mut copy) = self.spare_copy.take() else { return false };
        copy.bytes.clear();
        // SAFETY: the source has `n` bytes, by the caller's promise.
        copy.bytes.extend_from_slice(unsafe { slice::from_raw_parts(source, n) });
        copy.counter = self.counter;
        self.straight -= 1;
        self.unflushed += 1;
        let copy = Box::into_raw(copy);
        self.params.copy.user_data = copy.cast();
        // SAFETY: the endpoint is open and the key is its own. The box keeps the bytes until UCX hands it to `copy_done`, which it does if
        // the put is under way when the call returns; otherwise it is ours again.
        unsafe {
            let (bytes, param) = ((*copy).bytes.as_ptr(), &raw const self.params.copy);
            let put = started((self.ucx().put)(endpoint, bytes.cast(), n, address, key, param));
            if !matches!(put, Started::Request(_)) {
                self.spare_copy = Some(Box::from_raw(copy));
            }
            if put != Started::Done {
                self.note_put(to.pe, put);
            }
        }
        true
    }

    /// Gets `n` bytes. Returns whether it has, and whether that is under way.
    ///
    /// # Safety
    /// `dest` has `n` bytes until completion.
    #[inline(always)]
    pub(crate) unsafe fn get_straight(&mut self, from: Remote, dest: *mut u8, n: usize) -> Option<bool> {
        let RemotePiece { endpoint, address, key } = self.shortcut(from, n)?;
        let param = &raw const self.params.get;
        // SAFETY: the endpoint is open and the key is its own; the destination stays until completion, by the caller's promise.
        let get = unsafe { (self.ucx().get)(endpoint, dest.cast(), n, address, key, param) };
        if get.is_null() {
            return Some(false);
        }
        self.straight -= 1;
        self.note_get(from.pe, started(get));
        Some(true)
    }

    /// Issues an atomic of UCX's on 4 or 8 bytes; the old value goes to `old` unless that is null. Returns whether it has, and whether
    /// that is under way.
    ///
    /// # Safety
    /// `old` is null, or writable for `width` bytes until completion.
    #[inline(always)]
    pub(crate) unsafe fn update_straight(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Option<bool> {
        let n = width.bytes();
        if n == 2 || to.offset & (n as u64 - 1) != 0 {
            return None;
        }
        let RemotePiece { endpoint, address, key } = self.shortcut(to, n)?;
        let mut update = self.spare_update.take()?;
        let UpdateCall { op, operand, reply } = UpdateCall::of(amo);
        *update = NetworkUpdate { operand, reply, width, old, inbox: update.inbox };
        let update = Box::into_raw(update);
        let param = &mut self.params.update;
        param.datatype = ucp_dt_make_contig(n);
        param.user_data = update.cast();
        // SAFETY: the endpoint is open and the key is its own. The box keeps operand and reply until UCX hands it to `updated`, which it
        // does if the atomic is under way when the call returns; otherwise it is ours again.
        unsafe {
            param.reply_buffer = (&raw mut (*update).reply).cast();
            let (param, operand) = (&raw const self.params.update, (&raw const (*update).operand).cast());
            let outcome = started((self.ucx().atomic)(endpoint, op, operand, 1, address, key, param));
            let back = (!matches!(outcome, Started::Request(_))).then(|| Box::from_raw(update));
            Some(self.note_update(to.pe, outcome, back))
        }
    }
}

//! Puts and gets.

use std::ffi::c_void;
use std::rc::Rc;
use std::slice;

use oxshmem_base::Error;
use oxshmem_transport::{GetArguments, LONGEST_GET, PutArguments, Remote, TargetTask};
use oxshmem_ucx_sys::inline::{Started, started};
use oxshmem_ucx_sys::{ucp_ep_h, ucp_request_param_t, ucp_rkey_h, ucs_status_t};

use super::question::Expected;
use super::{COPIED, Channel, Inbox, Issued};
use crate::objects::{CompletionCallback, blank, finish, start_owning};
use crate::peers::Directory;

#[derive(Clone, Copy)]
pub(super) struct RemotePiece {
    pub(super) endpoint: ucp_ep_h,
    pub(super) address: u64,
    pub(super) key: ucp_rkey_h,
}

impl Channel {
    /// Puts from `source`, which stays until completion. Returns how much was issued.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    pub(crate) unsafe fn put(&mut self, peers: &Directory, put: &PutArguments) -> Issued<usize> {
        let &PutArguments { to, source, n } = put;
        if (1..=self.longest_message).contains(&n) {
            // SAFETY: the source is readable for `n` bytes until completion, by the caller's promise.
            return unsafe { self.put_unacknowledged(peers, put, None) }.map(|()| n);
        }
        self.start(peers)?;
        self.transfer(peers, to, n, |channel, target, start, n| {
            let param = channel.params.puts[channel.counter];
            // SAFETY: the source is readable for this part until completion, by the caller's promise.
            unsafe {
                match channel.put_piece(target, source.add(start), n, &param) {
                    Started::Failed(_) => channel.put_copies(to.pe, target, source.add(start), n),
                    put => channel.note_put(to.pe, put),
                }
            }
        })
    }

    /// Puts a copy of what `source` has, at most [`COPIED`] bytes. Returns how much was issued.
    ///
    /// # Safety
    /// As for `Lane::put`.
    pub(crate) unsafe fn put_copy(&mut self, peers: &Directory, put: &PutArguments) -> Issued<usize> {
        let &PutArguments { to, source, n } = put;
        if self.longest_message > 0 {
            // SAFETY: the source is readable for `n` bytes during the call, by the caller's promise.
            return unsafe { self.put_copy_unacknowledged(peers, put) };
        }
        self.start(peers)?;
        self.transfer(peers, to, n.min(COPIED), |channel, target, start, n| {
            // SAFETY: the source is readable for this part during the call, by the caller's promise.
            unsafe { channel.put_one_copy(to.pe, target, source.add(start), n) };
        })
    }

    /// Puts copies of `n` bytes that UCX has refused to put from where they are. A card reads memory that is registered, which the kernel
    /// refuses where memory may only be read or too much is locked already.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    #[cold]
    unsafe fn put_copies(&mut self, pe: u32, target: RemotePiece, source: *const u8, n: usize) {
        for start in (0..n).step_by(COPIED) {
            let target = RemotePiece { address: target.address.wrapping_add(start as u64), ..target };
            // SAFETY: `start` is below `n`, and the source has `n` bytes, by the caller's promise.
            unsafe { self.put_one_copy(pe, target, source.add(start), COPIED.min(n - start)) };
            if self.has_failed() {
                return;
            }
        }
    }

    /// Puts a copy of `n` bytes.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    unsafe fn put_one_copy(&mut self, pe: u32, target: RemotePiece, source: *const u8, n: usize) {
        // SAFETY: the source has `n` bytes, by the caller's promise.
        let bytes = unsafe { slice::from_raw_parts(source, n) }.to_vec();
        let copy = CopiedPut { bytes, counter: self.counter, inbox: Rc::as_ptr(&self.inbox) };
        // SAFETY: `copy_done` takes a boxed copy, which keeps the bytes until UCX is done with them.
        let (put, back) = unsafe {
            start_owning(Box::new(copy), copy_done, blank(), |copy, param| {
                self.put_piece(target, (*copy).bytes.as_ptr(), n, param)
            })
        };
        if back.is_some() {
            self.spare_copy = back;
        }
        self.note_put(pe, put);
    }

    /// The outcome of a put to `pe`, whose callback counts it off.
    pub(super) fn note_put(&self, pe: u32, put: Started) {
        match put {
            Started::Done => {}
            Started::Request(_) => self.gathering().set(self.gathering().get() + 1),
            Started::Failed(status) => self.fail(pe, "a put", status),
        }
    }

    /// # Safety
    /// The bytes stay until UCX is done with them.
    unsafe fn put_piece(
        &mut self,
        target: RemotePiece,
        from: *const u8,
        n: usize,
        param: &ucp_request_param_t,
    ) -> Started {
        let RemotePiece { endpoint, address, key } = target;
        self.unflushed += 1;
        // SAFETY: the endpoint is open and the key is its own; the bytes stay until UCX is done with them, by the caller's promise.
        unsafe { started((self.ucx().put)(endpoint, from.cast(), n, address, key, param)) }
    }

    /// # Safety
    /// As for `Lane::get_nbi`.
    pub(crate) unsafe fn get(&mut self, peers: &Directory, get: &GetArguments) -> Issued<usize> {
        let &GetArguments { dest, from, n } = get;
        if self.longest_message > 0 && (1..=LONGEST_GET).contains(&n) {
            self.start_message(peers)?;
            let (task, expected) = (TargetTask::Get { from: from.position(), n }, Expected::Bytes(dest, n as u32));
            self.fetch(peers, from.pe, task, n, expected);
            return Ok(n);
        }
        self.start(peers)?;
        self.transfer(peers, from, n, |channel, target, start, n| {
            let RemotePiece { endpoint, address, key } = target;
            let param = channel.params.get;
            // SAFETY: the endpoint is open and the key is its own; the caller keeps the destination until completion.
            let get =
                unsafe { started((channel.ucx().get)(endpoint, dest.add(start).cast(), n, address, key, &param)) };
            channel.note_get(from.pe, get);
        })
    }

    /// The outcome of a get from `pe`, whose callback counts it off.
    pub(super) fn note_get(&self, pe: u32, get: Started) {
        match get {
            Started::Done => {}
            Started::Request(_) => self.inbox.gets.set(self.inbox.gets.get() + 1),
            Started::Failed(status) => self.fail(pe, "a get", status),
        }
    }

    /// Issues an operation for each piece of a remote range; returns how many bytes that is, which is all.
    pub(super) fn transfer(
        &mut self,
        peers: &Directory,
        at: Remote,
        n: usize,
        issue: impl Fn(&mut Self, RemotePiece, usize, usize),
    ) -> Issued<usize> {
        if n == 0 {
            return Ok(0);
        }
        let peer = self.reach(peers, at, n)?;
        self.peers[peer].note_shortcut(at);
        let mut start = 0;
        while start < n {
            let (endpoint, keys) = (self.peers[peer].endpoint, &self.peers[peer].keys);
            let found = keys.find(at.region, at.offset + start as u64);
            let Some(found) = found else { unreachable!("pieces of a region are without gaps") };
            let target = RemotePiece { endpoint, address: found.address, key: found.key.handle };
            let len = usize::try_from(found.room).unwrap_or(usize::MAX).min(n - start);
            issue(self, target, start, len);
            start += len;
        }
        Ok(n)
    }
}

/// A copy of a put's source, kept until UCX is done with it, and where the put counts.
pub(super) struct CopiedPut {
    pub(super) bytes: Vec<u8>,
    pub(super) counter: usize,
    /// The channel's.
    pub(super) inbox: *const Inbox,
}

/// The callbacks of puts, by the counter that a put belongs to. They get the channel's inbox.
pub(super) const PUT_DONE: [CompletionCallback; 2] = [put_done::<0>, put_done::<1>];

pub(super) unsafe extern "C" fn copy_done(request: *mut c_void, status: ucs_status_t, copy: *mut c_void) {
    // SAFETY: `copy` is the box of `put_one_copy`, which UCX hands back once.
    let copy = unsafe { Box::from_raw(copy.cast::<CopiedPut>()) };
    // SAFETY: the inbox is that of the channel whose worker calls.
    let inbox = unsafe { &*copy.inbox };
    // SAFETY: the request is the one of this callback.
    unsafe { inbox.put_is_over(copy.counter, request, status) }
}

unsafe extern "C" fn put_done<const COUNTER: usize>(request: *mut c_void, status: ucs_status_t, inbox: *mut c_void) {
    // SAFETY: `inbox` is that of the channel whose worker calls.
    let inbox = unsafe { &*inbox.cast::<Inbox>() };
    // SAFETY: the request is the one of this callback.
    unsafe { inbox.put_is_over(COUNTER, request, status) }
}

impl Inbox {
    /// UCX is done with a put of this counter. An error is told when the flush is over: by then a lost PE has been named.
    ///
    /// # Safety
    /// UCX has given the request to a callback, which does not use it any more.
    unsafe fn put_is_over(&self, counter: usize, request: *mut c_void, status: ucs_status_t) {
        let puts = &self.puts[counter];
        puts.set(puts.get() - 1);
        // SAFETY: the request is a callback's, by the caller's promise.
        unsafe { finish(request, status, |_| self.put_failure.set(status)) };
    }
}

pub(super) unsafe extern "C" fn got(request: *mut c_void, status: ucs_status_t, inbox: *mut c_void) {
    // SAFETY: `inbox` is that of the channel whose worker calls.
    let inbox = unsafe { &*inbox.cast::<Inbox>() };
    inbox.gets.set(inbox.gets.get() - 1);
    let failed = |why: &str| inbox.note(|| Error::new("a get over UCX has failed").because(why));
    // SAFETY: the request is the one of this callback.
    unsafe { finish(request, status, failed) };
}

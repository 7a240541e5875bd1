//! Puts and gets of lanes, as far as there is room, each in as many of libfabric's operations as it takes.

use std::ffi::c_int;

use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{FoundPiece, NotIssued, Remote};

use super::piece::{Aim, Transfer, refuses_length};
use super::{Endpoint, Issued, RemoteTarget};
use crate::delivery::Delivery;

/// How many of `n` bytes one operation of at most `longest` takes there.
fn longest_at(here: FoundPiece<u64>, n: usize, longest: usize) -> usize {
    n.min(usize::try_from(here.room).unwrap_or(usize::MAX)).min(longest)
}

impl Endpoint {
    /// Issues a transfer in pieces as far as there is room; returns how many bytes from the start that is. All registrations
    /// that hold a part of the range are known; `target` is where it begins.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn transfer(
        &mut self,
        account: u32,
        remote: Remote,
        target: RemoteTarget,
        transfer: Transfer,
        delivery: Delivery,
        n: usize,
    ) -> Issued<usize> {
        let RemoteTarget { peer, mut found } = target;
        let longest = self.longest;
        // Nothing is issued for no bytes, whose buffer may be anywhere.
        if let Some(here) = found
            && n > 0
            && longest_at(here, n, longest) == n
        {
            // SAFETY: the local buffer has `n` bytes, by the caller's promise.
            return unsafe { self.one(Aim { account, pe: remote.pe, peer, here, delivery }, transfer, n) };
        }
        let mut done = 0;
        while done < n {
            let Some(here) = found else { return Err(self.out_of_range(remote, n).into()) };
            let (aim, len) =
                (Aim { account, pe: remote.pe, peer, here, delivery }, longest_at(here, n - done, longest));
            // SAFETY: `done` is below `n`, for which the caller promises that the local buffer is there.
            let local = unsafe { transfer.plus(done) };
            // SAFETY: the local buffer has `len` bytes, by the caller's promise.
            match unsafe { self.one(aim, local, len) } {
                Ok(issued) => done += issued,
                Err(NotIssued::Busy) if done > 0 => return Ok(done),
                Err(refused) => return Err(refused),
            }
            if done < n {
                found = self.found(remote.pe, remote.region, remote.offset + done as u64);
            }
        }
        Ok(n)
    }

    /// Issues one operation in the way that is cheapest for its length; returns how many bytes from the start it has.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    #[inline]
    unsafe fn one(&mut self, aim: Aim, local: Transfer, n: usize) -> Issued<usize> {
        match local {
            // SAFETY: the source has `n` bytes, by the caller's promise.
            Transfer::PutCopied(source) if aim.delivery == Delivery::ReadBack && n <= self.inject => unsafe {
                self.put_and_forget(aim, source, n)
            },
            // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
            _ => unsafe { self.piece(aim, local, n) },
        }
    }

    /// Issues the beginning of a transfer of `n` bytes if this endpoint reaches it and has room now; returns how much.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn try_piece(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        n: usize,
    ) -> Issued<usize> {
        let Some(RemoteTarget { peer, found: Some(here) }) = self.target(remote) else { return Err(NotIssued::Busy) };
        let aim = Aim { account, pe: remote.pe, peer, here, delivery: self.objects.info.delivery };
        // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
        unsafe { self.piece(aim, transfer, longest_at(here, n, self.longest)) }
    }

    /// Issues a short put whose source is free at once and of which nothing is heard again. Where a read behind the puts
    /// tells whether they have arrived, their completions tell nothing and cost as much again.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    unsafe fn put_and_forget(&mut self, aim: Aim, source: *const u8, n: usize) -> Issued<usize> {
        let Aim { pe, peer, here, .. } = aim;
        let ep = self.objects.ep();
        // SAFETY: the endpoint is open; the source has `n` bytes, by the caller's promise, and is copied.
        let code = unsafe { fi_inject_write(ep, source.cast(), n, peer, here.address, here.key) } as c_int;
        if refuses_length(code) {
            self.distrust_inject(n);
            // SAFETY: the source has `n` bytes, by the caller's promise.
            return unsafe { self.piece(aim, Transfer::PutCopied(source), n) };
        }
        self.taken(pe, code).map(|()| n)
    }
}

//! Puts, gets and atomics of lanes, as libfabric's calls.

use std::ffi::{c_int, c_void};
use std::ptr;

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{FoundPiece, NotIssued, Remote};

use super::{Endpoint, Issued, RemoteTarget};
use crate::delivery::{self, Delivery};
use crate::registered::Registration;
use crate::slots::{OperationSlot, ROOM, SlotUse, context};

/// Which way an operation goes, and where its local bytes are.
#[derive(Clone, Copy)]
pub(crate) enum Transfer {
    /// From here, copied if the flag says so.
    Put(*const u8, bool),
    /// To here.
    Get(*mut u8),
}

impl Transfer {
    /// # Safety
    /// `bytes` is not beyond the local buffer's end.
    pub(crate) unsafe fn plus(self, bytes: usize) -> Self {
        // SAFETY: the result is not beyond the buffer's end, by the caller's promise.
        unsafe {
            match self {
                Self::Put(source, copied) => Self::Put(source.add(bytes), copied),
                Self::Get(dest) => Self::Get(dest.add(bytes)),
            }
        }
    }
}

/// The lane that issues an operation, and the remote bytes that it is for.
#[derive(Clone, Copy)]
struct Aim {
    account: u32,
    pe: u32,
    peer: fi::fi_addr_t,
    here: FoundPiece<u64>,
}

/// Whether this answer may mean that the provider does not inject a put of this length.
#[inline]
fn refuses_length(code: c_int) -> bool {
    code < 0 && [fi::FI_EINVAL, libc::EMSGSIZE, fi::FI_ENOSYS, fi::FI_EOPNOTSUPP].contains(&-code)
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
        n: usize,
    ) -> Issued<usize> {
        let RemoteTarget { peer, mut found } = target;
        // Nothing is issued for no bytes, whose buffer may be anywhere.
        if let Some(here) = found
            && n > 0
            && self.longest_at(here, n) == n
        {
            // SAFETY: the local buffer has `n` bytes, by the caller's promise.
            return unsafe { self.one(Aim { account, pe: remote.pe, peer, here }, transfer, n) };
        }
        let mut done = 0;
        while done < n {
            let Some(here) = found else { return Err(self.out_of_range(remote, n).into()) };
            let (aim, len) = (Aim { account, pe: remote.pe, peer, here }, self.longest_at(here, n - done));
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
            Transfer::Put(source, true) if self.forgets && n <= self.inject => unsafe {
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
        let aim = Aim { account, pe: remote.pe, peer, here };
        // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
        unsafe { self.piece(aim, transfer, self.longest_at(here, n)) }
    }

    /// How many of `n` bytes one operation takes.
    fn longest_at(&self, here: FoundPiece<u64>, n: usize) -> usize {
        n.min(usize::try_from(here.room).unwrap_or(usize::MAX)).min(self.longest)
    }

    /// Issues a short put whose source is free at once and of which nothing is heard again. Where a read behind the puts
    /// tells whether they have arrived, their completions tell nothing and cost as much again.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    unsafe fn put_and_forget(&mut self, aim: Aim, source: *const u8, n: usize) -> Issued<usize> {
        let Aim { pe, peer, here, .. } = aim;
        // SAFETY: the endpoint is open; the source has `n` bytes, by the caller's promise, and is copied.
        let code = unsafe { fi_inject_write(self.objects.ep, source.cast(), n, peer, here.address, here.key) } as c_int;
        if refuses_length(code) {
            self.distrust_inject(n);
            // SAFETY: the source has `n` bytes, by the caller's promise.
            return unsafe { self.piece(aim, Transfer::Put(source, true), n) };
        }
        self.taken(pe, code).map(|()| n)
    }

    /// A put of `n` bytes was refused although the provider's `inject_size` allows it (EFA reports a size that holds for
    /// messages only). Puts of this length or more are copied from now on; if the refusal meant something else, the
    /// copied put tells.
    #[cold]
    fn distrust_inject(&mut self, n: usize) {
        self.inject = n / 2;
        self.at_once = self.at_once.min(self.inject);
        tracing::debug!(refused = n, limit = self.inject, "libfabric's provider injects less than it says");
    }

    /// Issues one operation, or one for the beginning of the bytes; returns how many it has.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    unsafe fn piece(&mut self, aim: Aim, transfer: Transfer, n: usize) -> Issued<usize> {
        let transfer = match transfer {
            Transfer::Put(source, false) if self.refused.contains(&source.addr()) => Transfer::Put(source, true),
            usual => usual,
        };
        let slot = self.take(SlotUse::Put { account: aim.account, pe: aim.pe })?;
        // SAFETY: the slot was just taken.
        let room = unsafe { self.slots.room(slot) };
        let mut n = n;
        let injected = matches!(transfer, Transfer::Put(_, true)) && n <= self.inject;
        let (buffer, known) = match transfer {
            // The network has read injected bytes when the call returns. Only a provider that demands registered memory may look at
            // where they are.
            Transfer::Put(source, true) if self.reads_at_once && injected => (source.cast_mut(), None),
            Transfer::Put(source, true) => {
                n = n.min(ROOM);
                // SAFETY: the room has `n` bytes, and the source, by the caller's promise.
                unsafe { ptr::copy_nonoverlapping(source, room, n) };
                (room, self.rooms.as_ref().map(|rooms| rooms.desc))
            }
            Transfer::Put(source, false) => (source.cast_mut(), self.descriptor(source, n)),
            Transfer::Get(dest) => {
                let known = self.descriptor(dest, n);
                let through = self.local && known.is_none() && n <= ROOM;
                let copy_to = if through { dest } else { ptr::null_mut() };
                // SAFETY: the slot was just taken, so nobody else reads or writes it.
                unsafe { (*slot).used_for = SlotUse::Get { account: aim.account, pe: aim.pe, dest: copy_to, n } };
                if through { (room, self.rooms.as_ref().map(|rooms| rooms.desc)) } else { (dest, known) }
            }
        };
        let desc = match known {
            Some(desc) => desc,
            None if !self.local => ptr::null_mut(),
            None => {
                let (access, through_room) = match transfer {
                    Transfer::Put(source, _) => (fi::FI_WRITE, Transfer::Put(source, true)),
                    Transfer::Get(dest) => (fi::FI_READ, Transfer::Get(dest)),
                };
                // SAFETY: the slot was just taken, and libfabric does not have it.
                match unsafe { self.register_for(slot, buffer, n, access) } {
                    Some(desc) => desc,
                    // A further rail leaves it to the others.
                    None if self.receives == 0 => return Err(NotIssued::Busy),
                    // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
                    None => return unsafe { self.piece(aim, through_room, n.min(ROOM)) },
                }
            }
        };
        // SAFETY: the slot was just taken, and libfabric does not have it.
        unsafe { self.slots.moves(slot, n) };
        let Aim { account, pe, peer, here: FoundPiece { address, key, .. } } = aim;
        let (ep, context) = (self.objects.ep, context(slot));
        // SAFETY: the endpoint is open; the buffer stays until the completion, by the caller's promise or because it is the slot's
        // own.
        let code = unsafe {
            match (transfer, self.objects.info.delivery) {
                (Transfer::Get(_), _) => fi_read(ep, buffer.cast(), n, desc, peer, address, key, context),
                (Transfer::Put(..), Delivery::ReadBack) => {
                    fi_write(ep, buffer.cast(), n, desc, peer, address, key, context)
                }
                (Transfer::Put(..), Delivery::Complete) => {
                    let inject = if injected { fi::FI_INJECT } else { 0 };
                    let iov = fi::iovec { iov_base: buffer.cast(), iov_len: n };
                    let remote = fi::fi_rma_iov { addr: address, len: n, key };
                    let mut desc = desc;
                    let message = fi::fi_msg_rma {
                        msg_iov: &raw const iov,
                        desc: &raw mut desc,
                        iov_count: 1,
                        addr: peer,
                        rma_iov: &raw const remote,
                        rma_iov_count: 1,
                        context,
                        data: 0,
                    };
                    fi_writemsg(ep, &raw const message, delivery::COMPLETE | inject)
                }
            }
        };
        if injected && refuses_length(code as c_int) {
            self.distrust_inject(n);
            // SAFETY: libfabric has refused the operation, so it does not have the slot.
            unsafe { self.slots.give_back(slot) };
            // SAFETY: the local buffer has `n` bytes, by the caller's promise.
            return unsafe { self.piece(aim, transfer, n) };
        }
        // A provider that maps local buffers by itself may not be able to: older versions of cxi map all of them for writing, which the
        // kernel refuses where memory may only be read. If the refusal meant something else, the copied put tells.
        if let Transfer::Put(source, false) = transfer
            && ![0, -fi::FI_EAGAIN].contains(&(code as c_int))
        {
            self.refused = source.addr()..source.addr() + n;
            // SAFETY: libfabric has refused the operation, so it does not have the slot.
            unsafe { self.slots.give_back(slot) };
            // SAFETY: the source has `n` bytes, by the caller's promise.
            return unsafe { self.piece(aim, Transfer::Put(source, true), n) };
        }
        self.posted(account, pe, slot, code as c_int).map(|()| n)
    }

    /// Registers local memory for this access, for the operation of this slot alone; returns what libfabric calls it. `None`: it cannot
    /// be registered, because it may only be read or too much is locked already, and the slot is free again. The slots' own bytes
    /// are registered.
    ///
    /// # Safety
    /// The slot is taken, and libfabric does not have it.
    unsafe fn register_for(
        &mut self,
        slot: *mut OperationSlot,
        at: *mut u8,
        n: usize,
        access: u64,
    ) -> Option<*mut c_void> {
        match Registration::new(&mut self.objects, at, n, access) {
            Ok(registration) => {
                let desc = registration.desc;
                // SAFETY: the slot is taken, by the caller's promise, so nobody else reads or writes it.
                unsafe { (*slot).registration = Some(registration) };
                Some(desc)
            }
            Err(error) => {
                tracing::debug!(%error, "local memory is copied");
                // SAFETY: the slot is taken and libfabric does not have it, by the caller's promise.
                unsafe { self.slots.give_back(slot) };
                None
            }
        }
    }

    /// libfabric's descriptor of local memory that is registered as a whole, where that is demanded.
    fn descriptor(&self, at: *const u8, n: usize) -> Option<*mut c_void> {
        if self.local { self.own.descriptor(at, n) } else { None }
    }

    /// The endpoint has taken an operation of a lane, which counts from now on; or has not, and its slot is free again.
    pub(crate) fn posted(&mut self, account: u32, pe: u32, slot: *mut OperationSlot, code: c_int) -> Issued {
        let outcome = self.taken(pe, code);
        match &outcome {
            // Its completion is looked at under the lock that is held here.
            Ok(()) => {
                let account = self.accounts.get(account as usize).and_then(Option::as_ref);
                account.into_iter().for_each(|account| account.issue_locked(1));
            }
            // SAFETY: libfabric has refused the operation, so it does not have the slot.
            Err(_) => unsafe {
                self.slots.give_back(slot);
            },
        }
        outcome
    }
}

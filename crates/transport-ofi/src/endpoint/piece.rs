//! One operation of libfabric for a put or a get, and the other ways for one that is refused.

use std::ffi::{c_int, c_void};
use std::ptr;

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{FoundPiece, NotIssued};

use super::{Endpoint, Issued};
use crate::delivery::{self, Delivery};
use crate::registered::Registration;
use crate::room::ROOM;
use crate::slots::{OperationSlot, SlotUse, context};

/// Which way an operation goes, and where its local bytes are.
#[derive(Clone, Copy)]
pub(crate) enum Transfer {
    /// From here. The source is free when the put is issued.
    PutCopied(*const u8),
    /// From here. The source stays until completion.
    PutInPlace(*const u8),
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
                Self::PutCopied(source) => Self::PutCopied(source.add(bytes)),
                Self::PutInPlace(source) => Self::PutInPlace(source.add(bytes)),
                Self::Get(dest) => Self::Get(dest.add(bytes)),
            }
        }
    }

    pub(crate) fn is_put(self) -> bool {
        !matches!(self, Self::Get(_))
    }

    /// The same transfer; a put is copied.
    fn copied(self) -> Self {
        match self {
            Self::PutInPlace(source) => Self::PutCopied(source),
            usual => usual,
        }
    }
}

/// The lane that issues an operation, and the remote bytes that it is for.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    pub(super) account: u32,
    pub(super) pe: u32,
    pub(super) peer: fi::fi_addr_t,
    pub(super) here: FoundPiece<u64>,
    /// When a put completes.
    pub(super) delivery: Delivery,
}

/// The local memory that libfabric reads or writes for one operation: that of the transfer, or the slot's own bytes.
struct OperationBytes {
    at: *mut u8,
    n: usize,
    /// libfabric's descriptor of a registration that holds them.
    known: Option<*mut c_void>,
    /// They are few enough for a call that has read them when it returns.
    injected: bool,
}

/// The outcome of one attempt at an operation.
enum PieceOutcome {
    /// libfabric has taken it, with so many bytes.
    Issued(usize),
    /// It was refused, and `n` bytes are left another way.
    Again { transfer: Transfer, n: usize },
}

/// The most attempts at an operation. A put goes in place, then as an injected copy, then as a copy in the slot's own bytes. A get
/// goes in place, then by the slot's own bytes. These are registered where that is demanded, and are not injected the last
/// time, so no other way is left.
const MOST_ATTEMPTS: usize = 3;

/// Whether this answer may mean that the provider does not inject a put of this length.
#[inline]
pub(super) fn refuses_length(code: c_int) -> bool {
    code < 0 && [fi::FI_EINVAL, libc::EMSGSIZE, fi::FI_ENOSYS, fi::FI_EOPNOTSUPP].contains(&-code)
}

impl Endpoint {
    /// Issues one operation, or one for the beginning of the bytes; returns how many it has.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(super) unsafe fn piece(&mut self, aim: Aim, transfer: Transfer, n: usize) -> Issued<usize> {
        let (mut transfer, mut n) = match transfer {
            Transfer::PutInPlace(source) if self.refused.contains(&source.addr()) => (Transfer::PutCopied(source), n),
            usual => (usual, n),
        };
        for _ in 0..MOST_ATTEMPTS {
            // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
            let outcome = unsafe { self.attempt(aim, transfer, n)? };
            match outcome {
                PieceOutcome::Issued(issued) => return Ok(issued),
                PieceOutcome::Again { transfer: other, n: rest } => (transfer, n) = (other, rest),
            }
        }
        unreachable!("a transfer by a slot's own bytes, which are not injected, is issued or fails")
    }

    /// One attempt at an operation for these bytes, or for the beginning of them.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    #[inline]
    unsafe fn attempt(&mut self, aim: Aim, transfer: Transfer, n: usize) -> Issued<PieceOutcome> {
        self.find_window(aim.pe, !transfer.is_put(), n)?;
        let slot = self.take(SlotUse::Put { account: aim.account, pe: aim.pe })?;
        // SAFETY: the slot was just taken, and the local buffer has `n` bytes, by the caller's promise.
        let bytes = unsafe { self.choose_bytes(aim, slot, transfer, n) };
        // SAFETY: the slot was just taken, and libfabric does not have it.
        let desc = unsafe { self.find_or_register(slot, transfer, &bytes) };
        let Some(desc) = desc else {
            // A further rail leaves it to the others.
            if self.receives == 0 {
                return Err(NotIssued::Busy);
            }
            return Ok(PieceOutcome::Again { transfer: transfer.copied(), n: n.min(ROOM) });
        };
        // SAFETY: the slot was just taken, and libfabric does not have it.
        unsafe { self.slots.moves(slot, bytes.n) };
        // SAFETY: the slot was just taken. The bytes stay until the completion, by the caller's promise or because they are the slot's
        // own, or are injected.
        let code = unsafe { self.post(aim, slot, transfer, &bytes, desc) };
        if let Some(other) = self.other_way(transfer, &bytes, code) {
            // SAFETY: libfabric has refused the operation, so it does not have the slot.
            unsafe { self.slots.give_back(slot) };
            return Ok(PieceOutcome::Again { transfer: other, n: bytes.n });
        }
        self.posted(aim.account, aim.pe, slot, code).map(|()| PieceOutcome::Issued(bytes.n))
    }

    /// The bytes for one operation: those of the transfer where they are, or the slot's own. The bytes of a copied put are copied now,
    /// and those of a get at its completion.
    ///
    /// # Safety
    /// The slot was just taken, and the local buffer has `n` bytes.
    #[inline]
    unsafe fn choose_bytes(
        &mut self,
        aim: Aim,
        slot: *mut OperationSlot,
        transfer: Transfer,
        n: usize,
    ) -> OperationBytes {
        // SAFETY: the slot was taken, by the caller's promise.
        let room = unsafe { self.slots.room(slot) };
        match transfer {
            Transfer::PutCopied(source) => {
                // An acknowledged put of an endpoint whose others are read back goes from the slot's own bytes.
                let injected = n <= self.inject && aim.delivery == self.objects.info.delivery;
                // The network has read injected bytes when the call returns. Only a provider that demands registered memory may look
                // at where they are.
                if self.reads_at_once && injected {
                    return OperationBytes { at: source.cast_mut(), n, known: None, injected };
                }
                let n = n.min(ROOM);
                // SAFETY: the room has `n` bytes, and the source, by the caller's promise.
                unsafe { ptr::copy_nonoverlapping(source, room, n) };
                OperationBytes { at: room, n, known: self.rooms.as_ref().map(|rooms| rooms.desc), injected }
            }
            Transfer::PutInPlace(source) => {
                OperationBytes { at: source.cast_mut(), n, known: self.descriptor(source, n), injected: false }
            }
            Transfer::Get(dest) => {
                let known = self.descriptor(dest, n);
                let through = self.registers_local && known.is_none() && n <= ROOM;
                let copy_to = if through { dest } else { ptr::null_mut() };
                // SAFETY: the slot was just taken, by the caller's promise, so nobody else reads or writes it.
                unsafe { (*slot).used_for = SlotUse::Get { account: aim.account, pe: aim.pe, dest: copy_to, n } };
                let (at, known) =
                    if through { (room, self.rooms.as_ref().map(|rooms| rooms.desc)) } else { (dest, known) };
                OperationBytes { at, n, known, injected: false }
            }
        }
    }

    /// libfabric's descriptor of these bytes, which are registered now if they have to be and are not yet; null if they need not be.
    /// `None`: they cannot be registered, and the slot is free again.
    ///
    /// # Safety
    /// The slot is taken, and libfabric does not have it.
    #[inline]
    unsafe fn find_or_register(
        &mut self,
        slot: *mut OperationSlot,
        transfer: Transfer,
        bytes: &OperationBytes,
    ) -> Option<*mut c_void> {
        if bytes.known.is_some() {
            return bytes.known;
        }
        if !self.registers_local {
            return Some(ptr::null_mut());
        }
        let access = if transfer.is_put() { fi::FI_WRITE } else { fi::FI_READ };
        // SAFETY: the slot is taken and libfabric does not have it, by the caller's promise.
        unsafe { self.register_for(slot, bytes.at, bytes.n, access) }
    }

    /// Gives an operation to libfabric; returns its answer.
    ///
    /// # Safety
    /// The slot is taken, and libfabric does not have it. The bytes stay until the completion, or until this returns if they are
    /// injected.
    #[inline]
    unsafe fn post(
        &self,
        aim: Aim,
        slot: *mut OperationSlot,
        transfer: Transfer,
        bytes: &OperationBytes,
        desc: *mut c_void,
    ) -> c_int {
        let Aim { peer, here: FoundPiece { address, key, .. }, .. } = aim;
        let &OperationBytes { at, n, injected, .. } = bytes;
        let (ep, context) = (self.objects.ep(), context(slot));
        // SAFETY: the endpoint is open; the bytes stay as long as libfabric uses them, by the caller's promise.
        let code = unsafe {
            match (transfer, aim.delivery) {
                (Transfer::Get(_), _) => fi_read(ep, at.cast(), n, desc, peer, address, key, context),
                (_, Delivery::ReadBack) => fi_write(ep, at.cast(), n, desc, peer, address, key, context),
                (_, Delivery::Complete) => {
                    let inject = if injected { fi::FI_INJECT } else { 0 };
                    let iov = fi::iovec { iov_base: at.cast(), iov_len: n };
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
        code as c_int
    }

    /// Another way for an operation that libfabric has answered with this code; `None` if the answer is its outcome.
    #[inline]
    fn other_way(&mut self, transfer: Transfer, bytes: &OperationBytes, code: c_int) -> Option<Transfer> {
        if bytes.injected && refuses_length(code) {
            self.distrust_inject(bytes.n);
            return Some(transfer);
        }
        match transfer {
            // A provider that maps local buffers by itself may not be able to: older versions of cxi map all of them for writing, which
            // the kernel refuses where memory may only be read. If the refusal meant something else, the copied put tells.
            Transfer::PutInPlace(source) if ![0, -fi::FI_EAGAIN].contains(&code) => {
                self.refused = source.addr()..source.addr() + bytes.n;
                Some(Transfer::PutCopied(source))
            }
            _ => None,
        }
    }

    /// A put of `n` bytes was refused although the provider's `inject_size` allows it (EFA reports a size that holds for
    /// messages only). Puts of this length or more are copied from now on; if the refusal meant something else, the
    /// copied put tells.
    #[cold]
    pub(super) fn distrust_inject(&mut self, n: usize) {
        self.inject = n / 2;
        self.at_once = self.at_once.min(self.inject);
        tracing::debug!(refused = n, limit = self.inject, "libfabric's provider injects less than it says");
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
        if self.registers_local { self.own.descriptor(at, n) } else { None }
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

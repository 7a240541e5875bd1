//! The straight way: operations in the fewest instructions, where nothing is unusual. The bytes lie where an operation has been before,
//! there is a slot, and the endpoint says by itself when an effect can be seen. Everything else goes the way that `issue` and `atomic`
//! know, and nothing has happened then.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{Account, AtomicArguments, GetArguments, PutArguments};

use super::Endpoint;
use crate::atomic::{AtomicCall, COMPARE, Form, OPERAND};
use crate::delivery;
use crate::peers::ReachedBytes;
use crate::room::ROOM;
use crate::slots::{OperationSlot, SlotUse, context};

/// The arguments of libfabric's calls, of which an operation fills in what is its own.
struct CallArguments {
    put: fi::fi_msg_rma,
    from: fi::iovec,
    to: fi::fi_rma_iov,
    update: fi::fi_msg_atomic,
    operand: fi::fi_ioc,
    object: fi::fi_rma_ioc,
    compare: fi::fi_ioc,
    result: fi::fi_ioc,
    /// Of the slots' own bytes; null where local memory is not registered.
    desc: *mut c_void,
}

/// These arguments at a place where they stay, because they point to each other.
pub(super) struct PreparedArguments(NonNull<CallArguments>);

impl PreparedArguments {
    /// `desc` is libfabric's descriptor of the slots' own bytes.
    pub(super) fn new(desc: *mut c_void) -> Self {
        // SAFETY: every member is a number or a pointer, for which zero is a value.
        let blank: CallArguments = unsafe { std::mem::zeroed() };
        let place = Box::into_raw(Box::new(CallArguments { desc, ..blank }));
        // SAFETY: the place was just made, and nobody else has it.
        unsafe {
            (*place).put.msg_iov = &raw const (*place).from;
            (*place).put.desc = &raw mut (*place).desc;
            (*place).put.iov_count = 1;
            (*place).put.rma_iov = &raw const (*place).to;
            (*place).put.rma_iov_count = 1;
            (*place).update.msg_iov = &raw const (*place).operand;
            (*place).update.desc = &raw mut (*place).desc;
            (*place).update.iov_count = 1;
            (*place).update.rma_iov = &raw const (*place).object;
            (*place).update.rma_iov_count = 1;
            (*place).operand.count = 1;
            (*place).object.count = 1;
            (*place).compare.count = 1;
            (*place).result.count = 1;
            Self(NonNull::new_unchecked(place))
        }
    }
}

impl Drop for PreparedArguments {
    fn drop(&mut self) {
        // SAFETY: `new` has leaked the box, and libfabric reads arguments during calls only.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The flags of a put whose bytes libfabric has read when the call returns.
const INJECTED: u64 = delivery::COMPLETE | fi::FI_INJECT;

impl Endpoint {
    /// Puts at least one byte and no more than one operation takes; from a copy if the caller wants its source back. Returns whether it has.
    ///
    /// # Safety
    /// The source has its bytes; until completion unless it is copied.
    #[inline(always)]
    pub(crate) unsafe fn put_straight(&mut self, account: &Account, put: &PutArguments, copied: bool) -> bool {
        let &PutArguments { to, source, n } = put;
        let Some(there) = self.peers.shortcut(to, n).filter(|_| self.broken.is_none()) else { return false };
        let flags = if n <= self.at_once {
            INJECTED
        } else if self.reads_at_once && !copied {
            delivery::COMPLETE
        } else {
            // SAFETY: the source has its bytes as long as our caller promises.
            return unsafe { self.put_copy_straight(account, put, there, copied) };
        };
        let Some(slot) = self.slots.take(SlotUse::Straight { account, pe: to.pe }) else { return false };
        // SAFETY: the slot was just taken. The source stays until completion, by the caller's promise, if it is not injected.
        unsafe { self.write_straight(account, slot, there, source, n, flags) }
    }

    /// [`Endpoint::put_straight`] where libfabric may not read the bytes where they are.
    ///
    /// # Safety
    /// As for [`Endpoint::put_straight`].
    #[inline(never)]
    unsafe fn put_copy_straight(
        &mut self,
        account: &Account,
        put: &PutArguments,
        there: ReachedBytes,
        copied: bool,
    ) -> bool {
        let &PutArguments { to, source, n } = put;
        let injected = n <= self.inject;
        if self.registers_local && !injected && !copied || n > ROOM {
            return false;
        }
        let Some(slot) = self.slots.take(SlotUse::Straight { account, pe: to.pe }) else { return false };
        let flags = if injected { INJECTED } else { delivery::COMPLETE };
        // SAFETY: the slot was just taken, and its room has `n` bytes; so has the source, by the caller's promise. The room is the slot's
        // own until completion.
        unsafe {
            let room = self.slots.room(slot);
            ptr::copy_nonoverlapping(source, room, n);
            self.write_straight(account, slot, there, room, n, flags)
        }
    }

    /// Has libfabric put `n` bytes. Returns whether it has taken them.
    ///
    /// # Safety
    /// The slot was taken for this put. `from` has `n` bytes: until completion, or until this returns if they are injected.
    #[inline(always)]
    unsafe fn write_straight(
        &mut self,
        account: &Account,
        slot: *mut OperationSlot,
        there: ReachedBytes,
        from: *const u8,
        n: usize,
        flags: u64,
    ) -> bool {
        account.issue_locked(1);
        // SAFETY: the engine's lock is held, so nobody else has the arguments; the endpoint is open. The bytes stay as long as libfabric
        // reads them, by the caller's promise.
        let code = unsafe {
            let call = self.arguments.0.as_ptr();
            (*call).from = fi::iovec { iov_base: from.cast_mut().cast(), iov_len: n };
            (*call).to = fi::fi_rma_iov { addr: there.address, len: n, key: there.key };
            (*call).put.addr = there.peer;
            (*call).put.context = context(slot);
            fi_writemsg(self.objects.ep(), &raw const (*call).put, flags)
        };
        // SAFETY: the slot was taken for this operation, which was counted.
        unsafe { self.posted_straight(account, slot, code as c_int) }
    }

    /// Gets at least one byte and no more than one operation takes, where local memory need not be registered. Returns whether it has.
    ///
    /// # Safety
    /// The destination has its bytes until completion.
    #[inline(always)]
    pub(crate) unsafe fn get_straight(&mut self, account: &Account, get: &GetArguments) -> bool {
        let &GetArguments { dest, from, n } = get;
        let usual = self.broken.is_none() && !self.registers_local;
        let Some(there) = self.peers.shortcut(from, n).filter(|_| usual) else { return false };
        let Some(slot) = self.slots.take(SlotUse::Straight { account, pe: from.pe }) else { return false };
        account.issue_locked(1);
        // SAFETY: the endpoint is open, and the destination stays until completion, by the caller's promise.
        let code = unsafe {
            let desc = ptr::null_mut();
            fi_read(self.objects.ep(), dest.cast(), n, desc, there.peer, there.address, there.key, context(slot))
        };
        // SAFETY: the slot was just taken for this operation, which was counted.
        unsafe { self.posted_straight(account, slot, code as c_int) }
    }

    /// Issues an atomic on 4 or 8 bytes; the old value goes to `old` unless that is null. Returns whether it has.
    ///
    /// # Safety
    /// `old` is null or has room for the object until completion.
    #[inline(always)]
    pub(crate) unsafe fn update_straight(&mut self, account: &Account, atomic: &AtomicArguments) -> bool {
        let &AtomicArguments { to, width, amo, old } = atomic;
        let n = width.bytes();
        let usual = self.broken.is_none() && n > 2 && to.offset & (n as u64 - 1) == 0;
        let Some(there) = self.peers.shortcut(to, n).filter(|_| usual) else { return false };
        let used_for = if old.is_null() {
            SlotUse::Straight { account, pe: to.pe }
        } else {
            SlotUse::Fetch { account, pe: to.pe, dest: old, n }
        };
        let Some(slot) = self.slots.take(used_for) else { return false };
        let AtomicCall { op, form, operand, compare } = AtomicCall::of(amo, !old.is_null());
        let ep = self.objects.ep();
        account.issue_locked(1);
        // SAFETY: the slot was just taken; its room is longer than the three words, which are aligned in it, and is its own until the
        // completion. The engine's lock is held, so nobody else has the arguments; the endpoint is open.
        let code = unsafe {
            let (room, call) = (self.slots.room(slot), self.arguments.0.as_ptr());
            room.add(OPERAND).cast::<u64>().write(operand);
            (*call).operand.addr = room.add(OPERAND).cast();
            (*call).object.addr = there.address;
            (*call).object.key = there.key;
            (*call).update.addr = there.peer;
            (*call).update.datatype = if n == 8 { fi::FI_UINT64 } else { fi::FI_UINT32 };
            (*call).update.op = op;
            (*call).update.context = context(slot);
            (*call).result.addr = room.cast();
            let (update, result, desc) = (&raw const (*call).update, &raw mut (*call).result, &raw mut (*call).desc);
            match form {
                Form::Write => fi_atomicmsg(ep, update, delivery::COMPLETE),
                Form::Fetch => fi_fetch_atomicmsg(ep, update, result, desc, 1, fi::FI_COMPLETION),
                Form::Compare => {
                    room.add(COMPARE).cast::<u64>().write(compare);
                    (*call).compare.addr = room.add(COMPARE).cast();
                    let with = &raw const (*call).compare;
                    fi_compare_atomicmsg(ep, update, with, desc, 1, result, desc, 1, fi::FI_COMPLETION)
                }
            }
        };
        // SAFETY: the slot was just taken for this operation, which was counted.
        unsafe { self.posted_straight(account, slot, code as c_int) }
    }

    /// libfabric has taken an operation; or has not, and it does not count, and its slot is free again. It was counted before the call, so
    /// that the call has nothing to keep of the account. Its completion is looked at under the lock that is held here.
    ///
    /// # Safety
    /// The slot was taken for this operation, which the account has counted.
    #[inline(always)]
    unsafe fn posted_straight(&mut self, account: &Account, slot: *mut OperationSlot, code: c_int) -> bool {
        if code == 0 {
            return true;
        }
        account.withdraw_locked();
        // SAFETY: libfabric has refused the operation, so it does not have the slot.
        unsafe { self.slots.give_back(slot) };
        false
    }
}

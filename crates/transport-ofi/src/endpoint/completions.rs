//! Completions: what libfabric says of operations that are over.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{Account, WRONG_ARRAY};

use super::Endpoint;
use crate::message::Message;
use crate::slots::{OperationSlot, SlotUse};

/// A message of a peer, with its sender.
pub(crate) type Heard = (u32, Message);

impl Endpoint {
    /// Takes all completions. Messages that have come go to `heard`. Returns how much was done.
    #[inline(always)]
    pub(crate) fn drain(&mut self, heard: &mut Vec<Heard>) -> usize {
        let mut done = 0;
        loop {
            let mut entries: [MaybeUninit<fi::fi_cq_msg_entry>; 16] = [const { MaybeUninit::uninit() }; 16];
            // SAFETY: the queue is open; there is room for so many entries of the form it was opened with.
            let read = unsafe { fi_cq_read(self.objects.cq(), entries.as_mut_ptr().cast(), entries.len()) };
            if read <= 0 {
                match self.unread(read as c_int, heard) {
                    Some(more) => done += more,
                    None => return done,
                }
                continue;
            }
            let read = read as usize;
            match &entries[..read] {
                // SAFETY: libfabric has written the first `read` entries.
                [entry] => self.succeeded(unsafe { entry.assume_init_ref() }, heard),
                // SAFETY: libfabric has written the first `read` entries.
                entries => unsafe { self.all_succeeded(entries, heard) },
            }
            done += read;
            if read < entries.len() {
                return done;
            }
        }
    }

    /// The queue has given no completion but this code. Returns how much was done, if there may be more to read.
    #[inline(never)]
    fn unread(&mut self, code: c_int, heard: &mut Vec<Heard>) -> Option<usize> {
        if code == -fi::FI_EAGAIN || code == 0 {
            self.post_receives_again();
            return None;
        }
        if code == -(fi::FI_EAVAIL as c_int) {
            let done = self.failure(heard);
            // An error that cannot be read yet is read in the next step.
            return (done > 0).then_some(done);
        }
        self.note_unreadable(code);
        None
    }

    fn note_unreadable(&mut self, code: c_int) {
        let error = Error::new("the network's completions cannot be read")
            .because(self.objects.meaning(code))
            .fix("run the job again; if it fails again, with another transport (SHMEM_TRANSPORT)");
        self.broken.get_or_insert(error);
    }

    /// Takes one error from the queue.
    fn failure(&mut self, heard: &mut Vec<Heard>) -> usize {
        /// Later versions of the library write a longer entry.
        #[repr(C)]
        union Longer {
            entry: fi::fi_cq_err_entry,
            bytes: [u64; 32],
        }
        let mut error = Longer { bytes: [0; 32] };
        // SAFETY: the queue is open; the entry is longer than any version's, and all zero as the provider expects.
        let read = unsafe { fi_cq_readerr(self.objects.cq(), &raw mut error.entry, 0) };
        if read <= 0 {
            let code = read as c_int;
            if code != 0 && code != -fi::FI_EAGAIN {
                self.note_unreadable(code);
            }
            return 0;
        }
        // SAFETY: the provider has written the entry, for which every bit pattern is a value.
        let entry = unsafe { &error.entry };
        let why = self.objects.queue_meaning(entry);
        self.completed(entry.op_context.cast(), 0, Some((entry.err, why)), heard);
        1
    }

    /// Several operations have gone well.
    ///
    /// # Safety
    /// The entries are written.
    #[inline(never)]
    unsafe fn all_succeeded(&mut self, entries: &[MaybeUninit<fi::fi_cq_msg_entry>], heard: &mut Vec<Heard>) {
        for entry in entries {
            // SAFETY: the entries are written, by the caller's promise.
            self.succeeded(unsafe { entry.assume_init_ref() }, heard);
        }
    }

    /// An operation has gone well.
    #[inline(always)]
    fn succeeded(&mut self, entry: &fi::fi_cq_msg_entry, heard: &mut Vec<Heard>) {
        let (slot, len): (*mut OperationSlot, usize) = (entry.op_context.cast(), entry.len);
        // SAFETY: libfabric gives back the context that it was given, null or a slot of ours.
        let account = match unsafe { slot.as_ref() }.map(|slot| &slot.used_for) {
            Some(&SlotUse::Straight { account, .. }) => account,
            Some(&SlotUse::Fetch { account, dest, n: 8, .. }) => {
                // SAFETY: the slot is ours, and its room longer than 8 bytes; the lane's caller keeps the destination until completion,
                // which is now.
                unsafe { dest.cast::<u64>().write_unaligned(self.slots.room(slot).cast::<u64>().read()) };
                account
            }
            Some(&SlotUse::Put { account, .. }) => return self.put_is_over(slot, account),
            _ => return self.completed(slot, len, None, heard),
        };
        // SAFETY: the slot is ours, and the operation is over, which was of the straight way: it has nothing else. `accounts` keeps what
        // it counts on until this count.
        unsafe {
            self.slots.put_back(slot);
            (*account).complete_locked(1);
        }
    }

    /// A put of the general way has gone well.
    #[inline(never)]
    fn put_is_over(&mut self, slot: *mut OperationSlot, account: u32) {
        // SAFETY: libfabric gives back the context that it was given, a slot of ours, and with it the operation ends.
        unsafe { self.slots.give_back(slot) };
        if let Some(account) = self.account(account) {
            account.complete_locked(1);
        }
    }

    fn account(&self, number: u32) -> Option<&Account> {
        self.accounts.get(number as usize)?.as_deref()
    }

    /// An operation is over.
    fn completed(
        &mut self,
        slot: *mut OperationSlot,
        len: usize,
        failed: Option<(c_int, String)>,
        heard: &mut Vec<Heard>,
    ) {
        if slot.is_null() {
            // The entry does not tell which lane issued the put.
            if let Some((_, why)) = failed.filter(|_| !self.peers.leaving) {
                let error = Error::new("a put has failed that the network had taken").because(why).fix(WRONG_ARRAY);
                self.broken.get_or_insert(error);
            }
            return;
        }
        // SAFETY: libfabric gives back the context that it was given, which is a slot of ours.
        if let SlotUse::Receive = unsafe { &(*slot).used_for } {
            return self.received(slot, len, failed, heard);
        }
        // SAFETY: libfabric gives back the context that it was given, a slot of ours, and with it the operation ends.
        let (used_for, room) = unsafe {
            let room = self.slots.room(slot);
            (self.slots.give_back(slot), room)
        };
        let is_good = failed.is_none();
        let deliver = |dest: *mut u8, n: usize| {
            if is_good && !dest.is_null() {
                // SAFETY: the lane's caller keeps the destination until completion, which is now; the slot is free but nobody has
                // taken it yet.
                unsafe { ptr::copy_nonoverlapping(room, dest, n) };
            }
        };
        let (account, pe) = match used_for {
            SlotUse::Put { account, pe } => (self.account(account), pe),
            SlotUse::Get { account, pe, dest, n } => {
                deliver(dest, n);
                (self.account(account), pe)
            }
            // SAFETY: `accounts` keeps it while anything that counts there is under way, as this operation is until it is counted.
            SlotUse::Straight { account, pe } => (unsafe { account.as_ref() }, pe),
            SlotUse::Fetch { account, pe, dest, n } => {
                deliver(dest, n);
                // SAFETY: `accounts` keeps it, as that of a straight transfer.
                (unsafe { account.as_ref() }, pe)
            }
            SlotUse::Send { pe } => {
                self.sending -= 1;
                if let Some((code, why)) = failed {
                    self.undelivered(pe, code, &why);
                }
                return;
            }
            SlotUse::Free | SlotUse::Receive => return,
        };
        let error = failed.map(|(code, why)| self.unreachable_by(pe, code, &why));
        error.iter().for_each(|error| self.losses.note(error));
        if let Some(account) = account {
            error.into_iter().for_each(|error| account.fail(error));
            account.complete_locked(1);
        }
    }

    /// A slot that waits for messages has got one, or is given back for another reason. With a message that could not be received an answer
    /// or a question is lost, for which some PE would wait for ever.
    fn received(
        &mut self,
        slot: *mut OperationSlot,
        len: usize,
        failed: Option<(c_int, String)>,
        heard: &mut Vec<Heard>,
    ) {
        match failed {
            None => {
                // SAFETY: the slot's room holds the message, which was written before the completion.
                let bytes =
                    unsafe { std::slice::from_raw_parts(self.slots.room(slot), len.min(self.slots.room_length())) };
                match Message::decode(bytes) {
                    Some(message) => heard.push(message),
                    None => tracing::warn!(bytes = bytes.len(), "a message that makes no sense was dropped"),
                }
            }
            Some((fi::FI_ECANCELED, _)) => return,
            Some((_, why)) => {
                if !self.peers.leaving {
                    let error = Error::new("a message of another PE could not be received over libfabric")
                        .because(why)
                        .fix("look whether all nodes are alive and their network up; SHMEM_TRANSPORT=tcp goes another way");
                    self.broken.get_or_insert(error);
                }
                // An endpoint that gives all slots back with errors would give back this one as well, without end.
                return;
            }
        }
        if self.broken.is_none() {
            self.post_receive(slot);
        }
    }

    /// A message could not be delivered. A peer that has disconnected is not missed.
    fn undelivered(&mut self, pe: u32, code: c_int, why: &str) {
        if self.peers.has_left(pe) || self.peers.leaving {
            self.peers.note_disconnect(pe);
            return;
        }
        let error = self.unreachable_by(pe, code, why);
        self.broken.get_or_insert(error);
    }
}

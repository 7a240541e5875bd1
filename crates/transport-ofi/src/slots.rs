//! The slots of an endpoint's operations: each operation has one, which stays where it is until the completion names it.

use std::ffi::c_void;
use std::ptr;

use oxshmem_libfabric_sys as fi;
use oxshmem_transport::Account;

use crate::registered::Registration;

/// The slots that operations on one PE may have, of all, where they take those that are kept. Chosen.
const KEPT_EACH: usize = 4;

#[derive(Clone, Copy)]
pub(crate) enum SlotUse {
    /// Nothing: the slot is free.
    Free,
    /// A put of this account.
    Put { account: u32, pe: u32 },
    /// A get of this account; if `dest` is not null, from the operation's own room to there.
    Get { account: u32, pe: u32, dest: *mut u8, n: usize },
    /// A transfer of the straight way, or an atomic that brings nothing back. The endpoint keeps the account while anything that counts
    /// there is under way. Nothing else belongs to the slot: no registration, no bytes that are counted.
    Straight { account: *const Account, pe: u32 },
    /// An atomic of the straight way, likewise, whose old value goes from the operation's own room to `dest`.
    Fetch { account: *const Account, pe: u32, dest: *mut u8, n: usize },
    /// A message on its way.
    Send { pe: u32 },
    /// Room for a message to come.
    Receive,
}

impl SlotUse {
    /// The PE that the operation is on, or whose message it is.
    fn pe(&self) -> Option<u32> {
        match *self {
            Self::Put { pe, .. }
            | Self::Get { pe, .. }
            | Self::Straight { pe, .. }
            | Self::Fetch { pe, .. }
            | Self::Send { pe } => Some(pe),
            Self::Free | Self::Receive => None,
        }
    }
}

/// One slot. Its address goes to libfabric as the operation's context, of which the provider may use the first part.
#[repr(C)]
pub(crate) struct OperationSlot {
    context: fi::fi_context2,
    pub(crate) used_for: SlotUse,
    /// Local memory that was registered for this operation alone.
    pub(crate) registration: Option<Registration>,
    /// Bytes of the put or get, if they are counted.
    moves: usize,
    /// Its own bytes.
    room: *mut u8,
    /// The next free slot, while this one is free.
    next: *mut OperationSlot,
}

/// All slots, and the bytes that belong to them.
///
/// The last ones are kept for PEs that have few slots. Operations on PEs that are stopped may have all the others for as long as these are.
/// Operations of other threads, and the answers to other PEs, go on by those that are kept. A stopped PE that has others gets none of them: a
/// node may have as many PEs as slots are kept.
pub(crate) struct OperationSlots {
    slots: *mut OperationSlot,
    count: usize,
    /// The first of those that are kept.
    first_kept: *mut OperationSlot,
    /// The first free one of those; null: none is.
    kept: *mut OperationSlot,
    bytes: *mut u8,
    /// Bytes of each, at least [`ROOM`].
    room: usize,
    /// The first free slot; null: none is. It was the last in use, so it is in the processor's cache.
    free: *mut OperationSlot,
    taken: usize,
    /// Bytes of all puts and gets that are counted.
    moving: usize,
}

// SAFETY: the slots and their bytes are reached under the engine's lock only.
unsafe impl Send for OperationSlots {}

impl OperationSlots {
    /// `usual` slots, and those that are kept.
    pub(crate) fn new(usual: usize, kept: usize, room: usize) -> Self {
        let count = usual + kept;
        let bytes: *mut u8 = Box::leak(vec![0u64; count * (room / 8)].into_boxed_slice()).as_mut_ptr().cast();
        let empty = |number: usize| OperationSlot {
            context: fi::fi_context2 { internal: [ptr::null_mut(); 8] },
            used_for: SlotUse::Free,
            registration: None,
            moves: 0,
            room: bytes.wrapping_add(number * room),
            next: ptr::null_mut(),
        };
        let slots = Box::leak((0..count).map(empty).collect::<Box<[_]>>()).as_mut_ptr();
        let first_kept = slots.wrapping_add(usual);
        let (kept, free) = (ptr::null_mut(), ptr::null_mut());
        let mut all = Self { slots, count, first_kept, kept, bytes, room, free, taken: count, moving: 0 };
        for number in (0..count).rev() {
            // SAFETY: the slot is one of those that were just made, and nobody has it.
            unsafe { all.give_back(slots.add(number)) };
        }
        all
    }

    /// The bytes of all slots, to be registered once where the provider demands that.
    pub(crate) fn bytes(&self) -> (*mut u8, usize) {
        (self.bytes, self.count * self.room)
    }

    /// A free slot, which now has this use.
    #[inline(always)]
    pub(crate) fn take(&mut self, used_for: SlotUse) -> Option<*mut OperationSlot> {
        let slot = self.free;
        if slot.is_null() {
            return None;
        }
        // SAFETY: the slot is free, so neither libfabric nor anybody else has it.
        unsafe {
            self.free = (*slot).next;
            (*slot).used_for = used_for;
        }
        self.taken += 1;
        Some(slot)
    }

    /// One of the slots that are kept, for a PE that has few slots.
    #[cold]
    pub(crate) fn take_kept(&mut self, used_for: SlotUse) -> Option<*mut OperationSlot> {
        let pe = used_for.pe()?;
        let slot = self.kept;
        if slot.is_null() {
            return None;
        }
        let its = self.in_use().filter(|(used_for, _)| used_for.pe() == Some(pe)).take(KEPT_EACH).count();
        if its == KEPT_EACH {
            return None;
        }
        // SAFETY: the slot is free, so neither libfabric nor anybody else has it.
        unsafe {
            self.kept = (*slot).next;
            (*slot).used_for = used_for;
        }
        self.taken += 1;
        Some(slot)
    }

    /// The operation is over; returns the use of its slot.
    ///
    /// # Safety
    /// `slot` came from `take` or `take_kept`, and libfabric has given it back or never had it.
    #[inline(always)]
    pub(crate) unsafe fn give_back(&mut self, slot: *mut OperationSlot) -> SlotUse {
        // SAFETY: the slot came from `take` and libfabric does not have it, by the caller's promise; the engine's lock is held.
        unsafe {
            let used_for = std::mem::replace(&mut (*slot).used_for, SlotUse::Free);
            if (*slot).registration.is_some() {
                (*slot).registration = None;
            }
            self.moving -= std::mem::take(&mut (*slot).moves);
            if slot < self.first_kept {
                self.put_back(slot);
            } else {
                (*slot).next = self.kept;
                self.kept = slot;
                self.taken -= 1;
            }
            used_for
        }
    }

    /// The slot is free, as it is.
    ///
    /// # Safety
    /// The slot came from `take`, neither an operation nor libfabric uses it any more, and it has no registration and no bytes
    /// that are counted.
    #[inline(always)]
    pub(crate) unsafe fn put_back(&mut self, slot: *mut OperationSlot) {
        // SAFETY: nobody else has the slot, by the caller's promise.
        unsafe { (*slot).next = self.free };
        self.free = slot;
        self.taken -= 1;
    }

    /// How many are taken.
    pub(crate) fn under_way(&self) -> usize {
        self.taken
    }

    /// The operation puts or gets `n` bytes.
    ///
    /// # Safety
    /// `operation` came from `take`, and libfabric does not have it.
    pub(crate) unsafe fn moves(&mut self, operation: *mut OperationSlot, n: usize) {
        // SAFETY: the slot came from `take` and libfabric does not have it, by the caller's promise.
        let before = unsafe { std::mem::replace(&mut (*operation).moves, n) };
        self.moving = self.moving - before + n;
    }

    /// The uses of all slots that are taken, each with the bytes of its operation, as far as they are counted.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = (SlotUse, usize)> {
        // SAFETY: the slots are ours as long as `self`, and libfabric writes the contexts alone.
        let slot = move |number| unsafe { ((*self.slots.add(number)).used_for, (*self.slots.add(number)).moves) };
        (0..self.count).map(slot)
    }

    /// Bytes of all puts and gets that are not complete.
    pub(crate) fn moving(&self) -> usize {
        self.moving
    }

    /// The operation's own bytes.
    ///
    /// # Safety
    /// `slot` came from `take`.
    #[inline(always)]
    pub(crate) unsafe fn room(&self, slot: *const OperationSlot) -> *mut u8 {
        // SAFETY: the slot came from `take`, by the caller's promise, so it is one of ours.
        unsafe { (*slot).room }
    }

    /// The length of an operation's own bytes.
    pub(crate) fn room_length(&self) -> usize {
        self.room
    }
}

impl Drop for OperationSlots {
    fn drop(&mut self) {
        let rooms = ptr::slice_from_raw_parts_mut(self.bytes.cast::<u64>(), self.count * (self.room / 8));
        let slots = ptr::slice_from_raw_parts_mut(self.slots, self.count);
        // SAFETY: `new` has leaked both with these lengths, and the endpoint that might have used them is closed.
        unsafe {
            drop(Box::from_raw(slots));
            drop(Box::from_raw(rooms));
        }
    }
}

/// The context that libfabric is given, and gives back.
pub(crate) fn context(operation: *mut OperationSlot) -> *mut c_void {
    operation.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each got some more of those that are kept, so that the PEs of a node that was stopped had all.
    #[test]
    fn pes_that_have_many_slots_get_none_of_those_that_are_kept() {
        const STOPPED: u32 = 8;
        const USUAL: usize = STOPPED as usize * KEPT_EACH;
        let mut slots = OperationSlots::new(USUAL, 2 * KEPT_EACH, 64);
        let find = |slots: &mut OperationSlots, used_for| slots.take(used_for).or_else(|| slots.take_kept(used_for));
        let put = |pe| SlotUse::Put { account: 0, pe };
        let theirs: Vec<_> =
            (0..STOPPED).cycle().take(USUAL).map(|pe| find(&mut slots, put(pe)).expect("there is room")).collect();
        for pe in 0..STOPPED {
            assert!(find(&mut slots, put(pe)).is_none() && find(&mut slots, SlotUse::Send { pe }).is_none(), "PE {pe}");
        }
        let answer = SlotUse::Send { pe: STOPPED };
        let answers: Vec<_> =
            (0..KEPT_EACH).map(|_| find(&mut slots, answer).expect("slots are kept for answers")).collect();
        assert!(find(&mut slots, answer).is_none(), "the others are for other PEs");
        assert!(find(&mut slots, put(STOPPED + 1)).is_some());
        for slot in answers {
            // SAFETY: the slot was taken, and libfabric has never had it.
            unsafe { slots.give_back(slot) };
        }
        assert_eq!(slots.under_way(), USUAL + 1);
        assert!(slots.take(answer).is_none(), "they are kept again");
        // SAFETY: the slot was taken, and libfabric has never had it.
        unsafe { slots.give_back(theirs[0]) };
        assert_eq!(slots.take(put(0)), Some(theirs[0]));
    }
}

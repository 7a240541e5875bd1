//! The slots of an endpoint's operations: each operation has one, which stays where it is until the completion names it.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use crate::registered::Registration;

/// Bytes that an operation can keep of its own: a copied source, a destination that is not registered.
pub(crate) const ROOM: usize = 4096;

/// The same for a message where the network's software carries it: such rooms need no memory that is locked.
pub(crate) const LONG_ROOM: usize = 16 << 10;

/// The use of a slot.
pub(crate) enum Use {
    /// Nothing: the slot is free.
    Free,
    /// A put of this account.
    Put { account: u32, pe: u32 },
    /// A get of this account; if `dest` is not null, from the operation's own room to there.
    Get { account: u32, pe: u32, dest: *mut u8, n: usize },
    /// A message on its way.
    Send { pe: u32 },
    /// Room for a message to come.
    Receive,
}

/// One slot. Its address goes to libfabric as the operation's context, of which the provider may use the first part.
#[repr(C)]
pub(crate) struct OperationSlot {
    context: fi::fi_context2,
    pub(crate) used_for: Use,
    /// Local memory that was registered for this operation alone.
    pub(crate) registration: Option<Registration>,
    /// Bytes of the put or get.
    moves: usize,
    number: usize,
}

/// All slots, and the bytes that belong to them.
pub(crate) struct OperationSlots {
    slots: Box<[UnsafeCell<OperationSlot>]>,
    bytes: *mut u8,
    /// Bytes of each, at least [`ROOM`].
    room: usize,
    free: Vec<usize>,
    /// Bytes of all puts and gets.
    moving: usize,
}

// SAFETY: the slots and their bytes are reached under the engine's lock only.
unsafe impl Send for OperationSlots {}

impl OperationSlots {
    pub(crate) fn new(count: usize, room: usize) -> Self {
        let empty = |number| {
            let context = fi::fi_context2 { internal: [ptr::null_mut(); 8] };
            UnsafeCell::new(OperationSlot { context, used_for: Use::Free, registration: None, moves: 0, number })
        };
        let bytes = Box::leak(vec![0u64; count * (room / 8)].into_boxed_slice()).as_mut_ptr().cast();
        Self { slots: (0..count).map(empty).collect(), bytes, room, free: (0..count).rev().collect(), moving: 0 }
    }

    /// The bytes of all slots, to be registered once where the provider demands that.
    pub(crate) fn bytes(&self) -> (*mut u8, usize) {
        (self.bytes, self.slots.len() * self.room)
    }

    /// A free slot, which now has this use.
    pub(crate) fn take(&mut self, used_for: Use) -> Option<*mut OperationSlot> {
        let operation = self.slots[self.free.pop()?].get();
        // SAFETY: the slot is free, so neither libfabric nor anybody else has it.
        unsafe { (*operation).used_for = used_for };
        Some(operation)
    }

    /// The operation is over; returns the use of its slot.
    ///
    /// # Safety
    /// `operation` came from `take`, and libfabric has given it back or never had it.
    pub(crate) unsafe fn give_back(&mut self, operation: *mut OperationSlot) -> Use {
        // SAFETY: the slot came from `take` and libfabric does not have it, by the caller's promise; the engine's lock is held.
        let operation = unsafe { &mut *operation };
        operation.registration = None;
        self.moving -= std::mem::take(&mut operation.moves);
        self.free.push(operation.number);
        std::mem::replace(&mut operation.used_for, Use::Free)
    }

    /// How many are taken.
    pub(crate) fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The operation puts or gets so many bytes.
    ///
    /// # Safety
    /// `operation` came from `take`, and libfabric does not have it.
    pub(crate) unsafe fn moves(&mut self, operation: *mut OperationSlot, n: usize) {
        // SAFETY: the slot came from `take` and libfabric does not have it, by the caller's promise.
        let before = unsafe { std::mem::replace(&mut (*operation).moves, n) };
        self.moving = self.moving - before + n;
    }

    /// Bytes of all puts and gets that are not complete.
    pub(crate) fn moving(&self) -> usize {
        self.moving
    }

    /// The operation's own bytes.
    ///
    /// # Safety
    /// `operation` came from `take`.
    pub(crate) unsafe fn room(&self, operation: *const OperationSlot) -> *mut u8 {
        // SAFETY: the slot came from `take`, by the caller's promise, so its number is below the count.
        unsafe { self.bytes.add((*operation).number * self.room) }
    }

    /// The length of an operation's own bytes.
    pub(crate) fn room_length(&self) -> usize {
        self.room
    }
}

impl Drop for OperationSlots {
    fn drop(&mut self) {
        let rooms = ptr::slice_from_raw_parts_mut(self.bytes.cast::<u64>(), self.slots.len() * (self.room / 8));
        // SAFETY: `new` has leaked the bytes with this length, and the endpoint that might have used them is closed.
        drop(unsafe { Box::from_raw(rooms) });
    }
}

/// The context that libfabric is given, and gives back.
pub(crate) fn context(operation: *mut OperationSlot) -> *mut c_void {
    operation.cast()
}

//! Operations that the endpoint has, each with a place of its own that stays where it is until the completion names it.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use crate::port::Registration;

/// Bytes that an operation can keep of its own: a copied source, a destination that is not registered, a message.
pub(crate) const ROOM: usize = 4096;

/// What an operation is for.
pub(crate) enum Purpose {
    /// Nothing: the place is free.
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

/// One place. Its address goes to libfabric as the operation's context, of which the provider may use the first part.
#[repr(C)]
pub(crate) struct Operation {
    context: fi::fi_context2,
    pub(crate) purpose: Purpose,
    /// Local memory that was registered for this operation alone.
    pub(crate) registration: Option<Registration>,
    number: usize,
}

/// All places, and the bytes that belong to them.
pub(crate) struct Operations {
    places: Box<[UnsafeCell<Operation>]>,
    bytes: *mut u8,
    free: Vec<usize>,
}

// SAFETY: the places and their bytes are reached under the engine's lock only.
unsafe impl Send for Operations {}

impl Operations {
    pub(crate) fn new(count: usize) -> Self {
        let empty = |number| {
            let context = fi::fi_context2 { internal: [ptr::null_mut(); 8] };
            UnsafeCell::new(Operation { context, purpose: Purpose::Free, registration: None, number })
        };
        let bytes = Box::leak(vec![[0u64; ROOM / 8]; count].into_boxed_slice()).as_mut_ptr().cast();
        Self { places: (0..count).map(empty).collect(), bytes, free: (0..count).rev().collect() }
    }

    /// The bytes of all places, to be registered once where the provider demands that.
    pub(crate) fn bytes(&self) -> (*mut u8, usize) {
        (self.bytes, self.places.len() * ROOM)
    }

    /// A free place, which now has this purpose.
    pub(crate) fn take(&mut self, purpose: Purpose) -> Option<*mut Operation> {
        let operation = self.places[self.free.pop()?].get();
        // SAFETY: free, so neither libfabric nor anybody else has it.
        unsafe { (*operation).purpose = purpose };
        Some(operation)
    }

    /// The operation is over; returns what it was for.
    ///
    /// # Safety
    /// `operation` came from `take`, and libfabric has given it back or never had it.
    pub(crate) unsafe fn give_back(&mut self, operation: *mut Operation) -> Purpose {
        // SAFETY: the caller's promise; the lock is held.
        let operation = unsafe { &mut *operation };
        operation.registration = None;
        self.free.push(operation.number);
        std::mem::replace(&mut operation.purpose, Purpose::Free)
    }

    /// How many are taken.
    pub(crate) fn under_way(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The operation's own bytes.
    ///
    /// # Safety
    /// `operation` came from `take`.
    pub(crate) unsafe fn room(&self, operation: *const Operation) -> *mut u8 {
        // SAFETY: the caller's promise; the number is below the count.
        unsafe { self.bytes.add((*operation).number * ROOM) }
    }
}

impl Drop for Operations {
    fn drop(&mut self) {
        let rooms = ptr::slice_from_raw_parts_mut(self.bytes.cast::<[u64; ROOM / 8]>(), self.places.len());
        // SAFETY: leaked by `new` with this length; the endpoint that might have used them is closed.
        drop(unsafe { Box::from_raw(rooms) });
    }
}

/// What libfabric is given, and gives back.
pub(crate) fn context(operation: *mut Operation) -> *mut c_void {
    operation.cast()
}

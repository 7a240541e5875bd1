//! The memory of one member in the place of an active set (see `collectives::active_set`).

use super::Slot;
use super::eager::EagerMemory;
#[cfg(not(loom))]
use super::lines::TeamLines;
use crate::sync::{Apart, AtomicU32};

/// A place's entry for seat number i: the slot of member i, and the mark of the PE in window i.
///
/// Seats begin pages, because processors prefetch lines that follow each other, and a line that is fetched too early is
/// taken away from the PE that is about to write it.
#[cfg_attr(not(loom), repr(C, align(4096)))]
#[cfg_attr(loom, repr(C, align(128)))]
pub(crate) struct Seat {
    pub(crate) slot: Slot,
    /// How many threads of the PE are inside.
    pub(crate) mark: Apart<AtomicU32>,
    /// The lines that the member writes where the set meets level by level.
    #[cfg(not(loom))]
    pub(crate) lines: TeamLines,
    pub(crate) eager: EagerMemory,
}

impl Seat {
    /// The seat by its slot.
    ///
    /// # Safety
    /// The slot is that of a seat.
    #[inline(always)]
    pub(crate) unsafe fn of(slot: &'static Slot) -> &'static Self {
        // SAFETY: the caller promises the slot of a seat, and a seat begins with its slot.
        unsafe { &*core::ptr::from_ref(slot).cast() }
    }
}

const _: () = assert!(core::mem::offset_of!(Seat, slot) == 0);

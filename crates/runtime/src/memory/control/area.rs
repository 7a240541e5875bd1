//! The memory that the schedules of a team need in the control window of each member.

use core::cell::UnsafeCell;

use oxshmem_schedule::way::size_limits::{AREA_SCRATCH, AREA_SIGNAL_SET_WORDS, AREA_WORDS};

use super::signals::ScheduleSignals;

/// Slots below this number have an area: as many as fit into 4 GiB of addresses.
pub(crate) const AREAS: u32 = 448;

/// Signals and scratch of one member in one slot.
#[repr(C, align(4096))]
pub(crate) struct Area {
    pub(crate) signals: ScheduleSignals<AREA_WORDS, AREA_SIGNAL_SET_WORDS>,
    /// Scratch, by parity; accessed as plain memory under the schedules' protocol.
    scratch: [ScratchBuffer; 2],
}

#[repr(C, align(4096))]
struct ScratchBuffer(UnsafeCell<[u8; AREA_SCRATCH]>);

// SAFETY: scratch are reached through raw pointers only, and schedules are proven free of races.
unsafe impl Sync for Area {}

impl Area {
    /// Where the scratch of a call of this parity starts.
    #[inline]
    pub(crate) fn scratch(&self, parity: usize) -> *mut u8 {
        self.scratch[parity].0.get().cast()
    }
}

//! The memory of a leader to which others put while a schedule runs.

use oxshmem_transport::Region;

use crate::memory::control;

/// Where other leaders have the caller's dest.
#[derive(Clone, Copy)]
pub(super) enum There {
    /// They cannot reach it.
    Nowhere,
    /// In symmetric memory; its owner has entered.
    Dest(Region, u64),
    /// It is a buffer of the leaders, so far behind the start of every PE's control window. Source is there, too.
    Buffer(u64),
}

impl There {
    /// Room of the caller's own control window.
    pub(super) fn of_buffer(buffer: *mut u8) -> Self {
        Self::Buffer((buffer as usize).wrapping_sub(control::own()) as u64)
    }
}

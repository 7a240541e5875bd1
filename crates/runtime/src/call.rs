//! One call of a collective.

use crate::diagnose;
use crate::fast::{FAST, near};
use crate::team::TeamState;

/// Slices begin at cache lines.
const LINE: usize = 64;

/// One collective call of one team, as the caller makes it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) team: &'a TeamState,
    /// Name of the C call, for messages.
    pub(crate) name: &'static str,
}

impl Call<'_> {
    /// Whether the member is on the caller's node.
    pub(crate) fn is_here(self, member: u32) -> bool {
        self.team.span.as_ref().is_none_or(|span| span.node_of(member) == span.node())
    }

    /// Where member `member` has the caller's symmetric `address`.
    #[inline(always)]
    pub(crate) fn at(self, member: u32, address: *const u8, bytes: usize) -> *mut u8 {
        match near(address, bytes, self.team.world(member)) {
            Some(there) => there,
            None => self.at_checked(member, address, bytes),
        }
    }

    /// What names the caller's symmetric `address` on all members.
    pub(crate) fn name_of(self, address: *const u8, bytes: usize) -> u64 {
        let at = address as usize;
        FAST.name(at, bytes).unwrap_or_else(|| diagnose::not_symmetric(self.name, at, bytes))
    }

    #[cold]
    #[inline(never)]
    fn at_checked(self, member: u32, address: *const u8, bytes: usize) -> *mut u8 {
        let at = address as usize;
        let extent = if FAST.heap.holds(at, bytes) {
            diagnose::check_block(self.name, at, bytes);
            &FAST.heap
        } else if FAST.statics.holds(at, bytes) {
            &FAST.statics
        } else {
            diagnose::not_symmetric(self.name, at, bytes)
        };
        extent.in_window(at, self.team.window(member)) as *mut u8
    }
}

/// The elements that member `my` of `members` works on: begin and end.
pub(crate) fn slice(n: usize, size: usize, my: usize, members: usize) -> (usize, usize) {
    let step = (LINE / size).max(1);
    let share = n.div_ceil(members).next_multiple_of(step);
    ((my * share).min(n), ((my + 1) * share).min(n))
}

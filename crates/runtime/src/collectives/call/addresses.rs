//! Where the members of a call have its arrays, and which elements each of them works on.

use super::Call;
use crate::diagnosis::errors;
use crate::memory::direct::{FAST, near};
use crate::transfers::range;

/// Shares begin at cache lines.
const LINE: usize = 64;

impl Call<'_> {
    /// Where member `member` has the caller's symmetric `address`.
    #[inline(always)]
    pub(crate) fn at(self, member: u32, address: *const u8, bytes: usize) -> *mut u8 {
        match near(address, bytes, self.team.world(member)) {
            Some(there) => there,
            None => self.at_checked(member, address, bytes),
        }
    }

    /// The name of the caller's symmetric `address` on all members.
    pub(crate) fn name_of(self, address: *const u8, bytes: usize) -> u64 {
        let at = address as usize;
        FAST.name(at, bytes).unwrap_or_else(|| errors::not_symmetric(self.name, "", at, bytes))
    }

    /// The same for a comparison of the members' names: `address` need not be symmetric.
    pub(crate) fn compared_name(self, address: *const u8) -> u64 {
        FAST.compared_name(address as usize)
    }

    /// Where the caller has the `bytes` bytes at `offset` of its symmetric array `dest`, which reaches at least to their end.
    #[inline(always)]
    pub(crate) fn part_of_dest(self, dest: *mut u8, offset: usize, bytes: usize) -> *mut u8 {
        match near(dest.wrapping_add(offset), bytes, self.team.world(self.team.my)) {
            Some(there) => there,
            None => self.part_checked(dest, offset, bytes),
        }
    }

    /// The end of one object may be the beginning of the next one, so `SHMEM_CHECK=2` looks at the array from its beginning on.
    #[cold]
    #[inline(never)]
    fn part_checked(self, dest: *mut u8, offset: usize, bytes: usize) -> *mut u8 {
        let (extent, _) = range::symmetric_argument(self.name, "dest", dest as usize, offset.saturating_add(bytes));
        extent.in_window(dest.wrapping_add(offset) as usize, self.team.window(self.team.my)) as *mut u8
    }

    #[cold]
    #[inline(never)]
    fn at_checked(self, member: u32, address: *const u8, bytes: usize) -> *mut u8 {
        let at = address as usize;
        let (extent, _) = range::symmetric(self.name, at, bytes);
        extent.in_window(at, self.team.window(member)) as *mut u8
    }
}

/// The share of `n` elements, of `size` bytes each, that member `my` of `members` works on: begin and end.
pub(crate) fn member_share(n: usize, size: usize, my: usize, members: usize) -> (usize, usize) {
    let step = (LINE / size).max(1);
    let share = n.div_ceil(members).next_multiple_of(step);
    ((my * share).min(n), ((my + 1) * share).min(n))
}

//! Which addresses of which PEs can be reached, and how; and the cache calls of machines that are gone.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use crate::start::{job, state};
use crate::teams::team::TeamHandle;
use crate::transfers::range;

/// An address for direct loads and stores of `pe`'s copy of `dest`, or null. An access through the address
/// races with all other accesses to the object.
pub fn ptr(dest: *const c_void, pe: c_int) -> *mut c_void {
    pointer("shmem_ptr", dest, TeamHandle::world(), pe)
}

/// [`ptr`] with a PE number of `team`.
///
/// # Safety
/// The handle is a constant, or of a team that has not been destroyed.
pub unsafe fn team_ptr(team: TeamHandle, dest: *const c_void, pe: c_int) -> *mut c_void {
    pointer("shmem_team_ptr", dest, team, pe)
}

fn pointer(call: &str, dest: *const c_void, team: TeamHandle, pe: c_int) -> *mut c_void {
    let Some(team) = team.named(call, "team").filter(|team| (pe as u32) < team.size) else { return null_mut() };
    let Some((extent, _)) = range::holder(dest as usize, 1) else { return null_mut() };
    if pe as u32 == team.my {
        return dest.cast_mut();
    }
    let window = job::window_of(team.world(pe as u32));
    window.map_or(null_mut(), |window| extent.in_window(dest as usize, window) as *mut c_void)
}

/// Whether `pe` is a PE of the job that can be reached.
pub fn pe_accessible(pe: c_int) -> c_int {
    exists(pe).into()
}

fn exists(pe: c_int) -> bool {
    state::is_open() && (pe as u32) < job::identity().map_or(0, |(_, pes)| pes)
}

/// Whether `address` is symmetric and can be reached on `pe`.
pub fn addr_accessible(address: *const c_void, pe: c_int) -> c_int {
    (exists(pe) && range::holder(address as usize, 1).is_some()).into()
}

macro_rules! cache_calls {
    ($($name:ident($($line:ident)?))*) => {$(
        /// Does nothing: caches are coherent on every machine this library runs on.
        pub fn $name($($line: *mut c_void)?) {}
    )*};
}

cache_calls! {
    set_cache_inv() set_cache_line_inv(_dest) clear_cache_inv() clear_cache_line_inv(_dest)
    udcflush() udcflush_line(_dest)
}

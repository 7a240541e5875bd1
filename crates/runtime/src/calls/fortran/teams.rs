//! Fortran's handles of teams.

use oxshmem_base::fortran_teams;

use crate::calls::team_extension;
use crate::teams::team::TeamHandle;

/// The team of an 8-byte handle. Predefined teams have the numbers of [`fortran_teams`], and a team that a split has made has the handle
/// that it has in C.
///
/// # Safety
/// `handle` is readable.
pub unsafe fn team(handle: *const i64) -> TeamHandle {
    const _: () = assert!(size_of::<TeamHandle>() == size_of::<i64>());
    // SAFETY: the caller promises that `handle` is readable. A split has written every handle that is not predefined,
    // unless it is zero, which stands for no team.
    unsafe {
        match handle.read() {
            fortran_teams::WORLD => TeamHandle::world(),
            fortran_teams::SHARED => TeamHandle::shared(),
            fortran_teams::NODE => TeamHandle::node(),
            _ => handle.cast::<TeamHandle>().read(),
        }
    }
}

/// Ends a team and the caller's handle of it.
///
/// # Safety
/// `handle` is readable, and writable unless it is one of the constants, with which the call does not return.
pub unsafe fn team_destroy(name: &'static str, handle: *mut i64) {
    // SAFETY: the caller promises that `handle` is readable, and writable where the call returns.
    unsafe {
        let mut team = team(handle);
        team_extension::destroy(name, &raw mut team);
        handle.cast::<TeamHandle>().write(team);
    }
}

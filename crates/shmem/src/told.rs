//! The runtime's calls once more, each with a report to the race detector (feature `race`).
//!
//! They have the names, the signatures and the promises of the runtime's, so that [`crate::backend`] uses either set. What is told of
//! each is what `crates/api/src/generate/race/hooks.rs` has for the call in C. A place is told by the address of the caller's
//! [`Location`], which is a constant of the program and needs no debug information.
//!
//! The threads of a PE count as one: the detector does not see the locks of Rust's library, by which they may order what they do.

mod atomics;
mod detector;
mod meetings;
mod transfers;

use core::ffi::{c_int, c_void};
use core::panic::Location;
use core::ptr;

use oxshmem_runtime::calls::request;
use oxshmem_runtime::{ContextHandle, TeamHandle, Via};

pub(crate) use atomics::{amo, p2p};
pub(crate) use detector::begin;
pub(crate) use meetings::{binding, collective, context, init, lock, memory, order, team, team_extension};
pub(crate) use transfers::{rma, signal};

/// Whether the detector is told of what the caller does. The accesses of a collective that does not wait are reported where it begins and
/// where it ends: the library chooses when its steps run.
fn is_told() -> bool {
    !request::is_in_one()
}

/// Where a call of the API is made.
#[track_caller]
fn site() -> *const c_void {
    ptr::from_ref(Location::caller()).cast()
}

/// A context as the detector names it.
fn context_of(via: impl Via) -> *const c_void {
    // SAFETY: a handle is one address, which a pointer may hold; the detector compares it, or gives it back to the library.
    unsafe { core::mem::transmute::<ContextHandle, *const c_void>(via.context()) }
}

/// A team as the detector names it.
fn named(team: TeamHandle) -> *const c_void {
    // SAFETY: a handle is one address, which a pointer may hold; the detector compares it, or gives it back to the library.
    unsafe { core::mem::transmute::<TeamHandle, *const c_void>(team) }
}

/// The program reads or writes bytes of this PE's memory.
#[track_caller]
pub(crate) fn access(address: usize, len: usize, writes: bool) {
    if is_told() && len > 0 {
        // SAFETY: the detector dereferences no address of the program, and writes nothing where it may not.
        unsafe { detector::race_plain(address, len, writes.into(), site(), ptr::null_mut()) }
    }
}

/// The program has seen the value of an atomic or a signal.
pub(crate) fn seen(variable: usize, len: usize) {
    if is_told() {
        detector::race_wait(variable, len);
    }
}

/// A collective of the team that does not wait begins; 0 if there is no detector.
pub(crate) fn started(team: TeamHandle) -> u64 {
    if is_told() { detector::race_enter_team(named(team), 0, NO_ROOT) } else { 0 }
}

/// A scan of the team begins; 0 if there is no detector.
pub(crate) fn scan_started(team: TeamHandle) -> u64 {
    if is_told() { detector::race_enter_scan(named(team)) } else { 0 }
}

/// A collective is over.
pub(crate) fn over(meeting: u64) {
    if meeting != 0 {
        detector::race_leave(meeting);
    }
}

/// All members order each other.
const NO_ROOT: c_int = -1;

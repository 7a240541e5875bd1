//! Words to the race detector about what passes no call of the runtime. Builds without the feature `race` report nothing, and neither do
//! worlds of threads.

use oxshmem_runtime::TeamHandle;

#[cfg(feature = "race")]
use crate::{threads, told};

/// All PEs run this program, so the detectors can begin; all PEs call.
pub(crate) fn begin() {
    #[cfg(feature = "race")]
    if threads::here().is_none() {
        told::begin();
    }
}

/// The program reads `count` elements of this PE's memory.
#[inline(always)]
#[cfg_attr(feature = "race", track_caller)]
#[cfg_attr(not(feature = "race"), expect(unused_variables, reason = "nobody is told"))]
pub(crate) fn reads<T>(start: *const T, count: usize) {
    #[cfg(feature = "race")]
    if threads::here().is_none() {
        told::access(start as usize, count * size_of::<T>(), false);
    }
}

/// The program writes `count` elements of this PE's memory.
#[inline(always)]
#[cfg_attr(feature = "race", track_caller)]
#[cfg_attr(not(feature = "race"), expect(unused_variables, reason = "nobody is told"))]
pub(crate) fn writes<T>(start: *const T, count: usize) {
    #[cfg(feature = "race")]
    if threads::here().is_none() {
        told::access(start as usize, count * size_of::<T>(), true);
    }
}

/// The program has looked at an atomic or a signal of its own.
#[inline(always)]
#[cfg_attr(not(feature = "race"), expect(unused_variables, reason = "nobody is told"))]
pub(crate) fn sees<T>(variable: *const T) {
    #[cfg(feature = "race")]
    if threads::here().is_none() {
        told::seen(variable as usize, size_of::<T>());
    }
}

/// A collective of the team that does not wait begins. Returns the meeting, for [`over`]; 0 if there is no detector.
#[inline(always)]
pub(crate) fn started(team: TeamHandle) -> u64 {
    #[cfg(feature = "race")]
    {
        told::started(team)
    }
    #[cfg(not(feature = "race"))]
    {
        let _ = team;
        0
    }
}

/// The program knows that the collective is over.
#[inline(always)]
pub(crate) fn over(meeting: u64) {
    #[cfg(feature = "race")]
    told::over(meeting);
    #[cfg(not(feature = "race"))]
    let _ = meeting;
}

//! The team calls.

use core::ffi::{c_int, c_long};
use core::sync::atomic::Ordering::Relaxed;

use crate::diagnose;
use crate::slot;
use crate::team::{Team, TeamState};

const NUM_CONTEXTS: c_long = 1;

/// `shmem_team_config_t` of the header.
#[repr(C)]
pub struct Config {
    num_contexts: c_int,
}

/// The caller's number in the team, or -1.
pub unsafe fn my_pe(team: Team) -> c_int {
    team.state().map_or(-1, |team| team.my as c_int)
}

/// The number of members, or -1.
pub unsafe fn n_pes(team: Team) -> c_int {
    team.state().map_or(-1, |team| team.size as c_int)
}

/// The number that `source`'s member `pe` has in `dest`, or -1.
pub unsafe fn translate_pe(source: Team, pe: c_int, dest: Team) -> c_int {
    let (Some(source), Some(dest)) = (source.state(), dest.state()) else { return -1 };
    if pe as u32 >= source.size {
        return -1;
    }
    dest.member(source.world(pe as u32)).map_or(-1, |member| member as c_int)
}

/// The configuration of a team.
///
/// # Safety
/// `config` is writable unless `mask` is 0.
pub unsafe fn get_config(team: Team, mask: c_long, config: *mut Config) -> c_int {
    let Some(team) = team.state() else { return -1 };
    if mask & NUM_CONTEXTS != 0 {
        // SAFETY: the caller's promise.
        unsafe { (*config).num_contexts = team.contexts_wanted.load(Relaxed) };
    }
    0
}

/// Waits for all members.
pub unsafe fn sync(team: Team) -> c_int {
    slot::synchronise(live("shmem_team_sync", team), "shmem_team_sync");
    0
}

/// The team behind a handle that must have one.
pub(crate) fn live(call: &'static str, team: Team) -> &'static TeamState {
    team.state().unwrap_or_else(|| {
        if team == Team::INVALID {
            diagnose::invalid_handle(call, "team")
        }
        diagnose::not_initialised(call)
    })
}

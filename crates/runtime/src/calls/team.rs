//! The team calls.

use core::ffi::{c_int, c_long};
use core::sync::atomic::Ordering::Relaxed;

use crate::collectives::call::Call;
use crate::collectives::signature::CallKind;
use crate::collectives::{self, node_exchange};
use crate::diagnosis::{errors, outside};
use crate::start::state;
use crate::teams::context::ContextHandle;
use crate::teams::leasing::{self, Lease};
use crate::teams::members::Members;
use crate::teams::split_arguments::{self, SplitArguments};
use crate::teams::team::{TeamHandle, TeamLeases, TeamState};

const NUM_CONTEXTS: c_long = 1;
/// The result of a split that made no team.
const FAILED: c_int = -1;

/// `shmem_team_config_t` of the header.
#[repr(C)]
pub struct Config {
    num_contexts: c_int,
}

/// The caller's number in the team, or -1.
///
/// # Safety
/// The handle is a constant, or of a team that has not been destroyed.
pub unsafe fn my_pe(team: TeamHandle) -> c_int {
    const NAME: &str = "shmem_team_my_pe";
    team.named(NAME, "team").map_or_else(|| without_team(NAME), |team| team.my as c_int)
}

/// The number of members, or -1.
///
/// # Safety
/// The handle is a constant, or of a team that has not been destroyed.
pub unsafe fn n_pes(team: TeamHandle) -> c_int {
    const NAME: &str = "shmem_team_n_pes";
    team.named(NAME, "team").map_or_else(|| without_team(NAME), |team| team.size as c_int)
}

/// The number that `source`'s member `pe` has in `dest`, or -1.
///
/// # Safety
/// See [`my_pe`], for both.
pub unsafe fn translate_pe(source: TeamHandle, pe: c_int, dest: TeamHandle) -> c_int {
    const NAME: &str = "shmem_team_translate_pe";
    let teams = (source.named(NAME, "src_team"), dest.named(NAME, "dest_team"));
    let (Some(source), Some(dest)) = teams else { return without_team(NAME) };
    if pe as u32 >= source.size {
        return -1;
    }
    dest.member(source.world(pe as u32)).map_or(-1, |member| member as c_int)
}

/// Whether a handle may be asked about its team: no call would refuse it in its own name. For tools between the program and the library.
pub fn is_handle(team: TeamHandle) -> bool {
    team.is_listed()
}

/// The result for `SHMEM_TEAM_INVALID`. Without the library no handle has a team.
#[cold]
fn without_team(call: &str) -> c_int {
    if state::is_open() { -1 } else { outside::no_number(call) }
}

/// The configuration of a team. `name` is that of the routine, for messages.
///
/// # Safety
/// `config` is writable unless `mask` is 0.
pub unsafe fn get_config(name: &'static str, team: TeamHandle, mask: c_long, config: *mut Config) -> c_int {
    let Some(team) = team.named(name, "team") else { return without_team(name) };
    if mask & NUM_CONTEXTS != 0 {
        if config.is_null() {
            no_config(name, "config");
        }
        // SAFETY: the caller promises that `config` is writable if the mask names a field.
        unsafe { (*config).num_contexts = team.contexts_wanted.load(Relaxed) };
    }
    0
}

/// Waits for all members.
///
/// # Safety
/// See [`my_pe`]; all members call, one thread of each at a time.
pub unsafe fn sync(team: TeamHandle) -> c_int {
    let call = Call::new(live("shmem_team_sync", team), "shmem_team_sync");
    let record = call.record_late(0);
    collectives::barrier::meet(call.with_late_record(&record));
    0
}

/// Makes a team of the members `start + i * stride` of the parent, all of whose members call.
///
/// # Safety
/// `config` is readable unless `mask` is 0; `new_team` is writable.
pub unsafe fn split_strided(
    parent: TeamHandle,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const Config,
    mask: c_long,
    new_team: *mut TeamHandle,
) -> c_int {
    const NAME: &str = "shmem_team_split_strided";
    if new_team.is_null() {
        errors::null(NAME, "new_team");
    }
    // SAFETY: the caller promises that `new_team` is writable.
    unsafe { new_team.write(TeamHandle::INVALID) };
    let Some(parent) = splitting(NAME, parent) else { return FAILED };
    check_config(NAME, "config", config, mask);
    // All members have the same arguments, so all see the same mistake: nothing has to be sent.
    let Some(child) = parent.numbers().split_strided(start.into(), stride.into(), size.into()) else { return FAILED };
    let my = child.number(parent.my.into());
    let Some(lease) = leasing::lease_collectively(NAME, parent, my.is_some()) else { return FAILED };
    split_arguments::require_equal(NAME, parent, &lease, SplitArguments::Strided { start, stride, size });
    match my {
        // SAFETY: the caller promises that `new_team` is writable; `make` and `require_contexts` read `config` only if the
        // mask names a field.
        Some(my) => unsafe {
            require_contexts(NAME, "config", config, mask);
            new_team.write(make(parent.subset(&child), child.size, my, lease, config, mask));
        },
        None => leasing::decline(lease),
    }
    0
}

/// Makes the rows and columns of a grid: every member of the parent is in one of each.
///
/// # Safety
/// As for [`split_strided`], twice.
pub unsafe fn split_2d(
    parent: TeamHandle,
    xrange: c_int,
    x_config: *const Config,
    x_mask: c_long,
    x_team: *mut TeamHandle,
    y_config: *const Config,
    y_mask: c_long,
    y_team: *mut TeamHandle,
) -> c_int {
    const NAME: &str = "shmem_team_split_2d";
    for (name, team) in [("xaxis_team", x_team), ("yaxis_team", y_team)] {
        if team.is_null() {
            errors::null(NAME, name);
        }
    }
    // SAFETY: the caller promises that `x_team` and `y_team` are writable.
    unsafe {
        x_team.write(TeamHandle::INVALID);
        y_team.write(TeamHandle::INVALID);
    }
    let Some(parent) = splitting(NAME, parent) else { return FAILED };
    check_config(NAME, "xaxis_config", x_config, x_mask);
    check_config(NAME, "yaxis_config", y_config, y_mask);
    let Some(grid) = parent.numbers().split_2d(xrange.into(), parent.my) else { return FAILED };
    // Two leases, whatever the shape: rows have no member in common, nor have columns.
    let Some(x_lease) = leasing::lease_collectively(NAME, parent, true) else { return FAILED };
    let Some(y_lease) = leasing::lease_collectively(NAME, parent, true) else {
        leasing::decline(x_lease);
        return FAILED;
    };
    split_arguments::require_equal(NAME, parent, &x_lease, SplitArguments::Grid { xrange });
    // SAFETY: the caller promises that `x_team` and `y_team` are writable; `make` and `require_contexts` read the configs only
    // if their masks name a field.
    unsafe {
        require_contexts(NAME, "xaxis_config", x_config, x_mask);
        require_contexts(NAME, "yaxis_config", y_config, y_mask);
        x_team.write(make(parent.subset(&grid.row), grid.row.size, grid.x, x_lease, x_config, x_mask));
        y_team.write(make(parent.subset(&grid.column), grid.column.size, grid.y, y_lease, y_config, y_mask));
    }
    0
}

/// The parent of a split, unless it is `SHMEM_TEAM_INVALID`, for which the standard has a result. Without the library there is no parent:
/// the job ends with a message.
fn splitting(call: &'static str, parent: TeamHandle) -> Option<&'static TeamState> {
    (parent != TeamHandle::INVALID).then(|| live_argument(call, "parent_team", parent))
}

/// From `SHMEM_CHECK=2` on: ends the job if the mask names a field and the configuration is NULL. Otherwise the field keeps its default, as
/// the number of contexts is only a wish.
fn check_config(call: &'static str, argument: &str, config: *const Config, mask: c_long) {
    if mask & NUM_CONTEXTS != 0 && config.is_null() && state::is_checked() {
        no_config(call, argument);
    }
}

#[cold]
fn no_config(call: &str, argument: &str) -> ! {
    errors::fail(
        &oxshmem_base::Error::new(format!("{call}: {argument} is NULL"))
            .because("the mask has SHMEM_TEAM_NUM_CONTEXTS, which names a field of that configuration")
            .fix(format!("pass the address of a shmem_team_config_t for {argument}, or 0 as its mask")),
    )
}

/// Ends the job with a message if a member asks for a negative number of contexts. PEs that are no members may pass a configuration that they
/// have not filled in.
///
/// # Safety
/// `config` is readable unless `mask` is 0.
unsafe fn require_contexts(call: &'static str, argument: &str, config: *const Config, mask: c_long) {
    if mask & NUM_CONTEXTS == 0 || config.is_null() {
        return;
    }
    // SAFETY: the caller promises that `config` is readable if the mask names a field.
    let wanted = unsafe { (*config).num_contexts };
    if wanted < 0 {
        errors::bad_argument(call, &format!("num_contexts of {argument}"), wanted.into(), "0 and more");
    }
}

/// A team on a leased slot.
///
/// # Safety
/// `config` is readable unless `mask` is 0.
pub(crate) unsafe fn make(
    members: Members,
    size: u32,
    my: u32,
    mut lease: Lease,
    config: *const Config,
    mask: c_long,
) -> TeamHandle {
    let held = TeamLeases::inherited(&mut lease);
    let team = TeamState::new(members, size, my, lease.slot.into(), lease.base).holding(held).called(lease.name_hash);
    if mask & NUM_CONTEXTS != 0 && !config.is_null() {
        // SAFETY: the caller promises that `config` is readable if the mask names a field.
        team.contexts_wanted.store(unsafe { (*config).num_contexts }, Relaxed);
    }
    TeamHandle::enlist(Box::new(team))
}

/// Ends a team; all its members call.
///
/// # Safety
/// See [`my_pe`]; all members call, and no thread uses the team or a context of it any more.
pub unsafe fn destroy(team: TeamHandle) {
    const NAME: &str = "shmem_team_destroy";
    match team.named(NAME, "team") {
        // SAFETY: all members call, and no thread uses the team any more, by the caller's promise.
        Some(state) if state.handle() == team => unsafe { end(NAME, team, state) },
        None if team == TeamHandle::INVALID || team.is_predefined() => {}
        // Garbage, or without the library, where there is no team: in the child of a fork for example.
        _ => errors::dead_handle(NAME, "team", "team", team.0 as usize),
    }
}

/// Ends a live team in the name of `call`.
///
/// # Safety
/// This PE does not use the team any more.
pub(crate) unsafe fn end(call: &'static str, team: TeamHandle, state: &TeamState) {
    if team.is_predefined() {
        errors::fail(
            &oxshmem_base::Error::new(format!("{call}: the team is predefined"))
                .because("SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED and SHMEM_TEAM_NODE live until the last shmem_finalize")
                .fix("destroy only teams that a split has made"),
        );
    }
    // Its shareable contexts end with it, so what is under way on them must be complete (CTX-5).
    let contexts: Vec<_> = state.contexts.lock().iter().map(|live| ContextHandle(live.object())).collect();
    contexts.into_iter().for_each(|context| context.quiet(call));
    // No member may still read this member's last payload when the slot passes to another team.
    let meeting = Call::of(state, call, CallKind::Destroy).declare_splits(CallKind::Destroy);
    let recorded = meeting.record(0);
    node_exchange::synchronise(meeting);
    drop(recorded);
    // SAFETY: all members have called, so none uses the team any more; this PE's threads do not, by the promise.
    if let Some(state) = unsafe { team.delist(call) } {
        leasing::give_back(call, &state);
    }
}

/// The team behind a handle that must have one.
#[inline(always)]
pub(crate) fn live(call: &'static str, team: TeamHandle) -> &'static TeamState {
    live_argument(call, "team", team)
}

/// [`live`] of the argument with this name. A team knows its handle, which the memory behind a handle of garbage does not, also where
/// handles are believed.
#[inline(always)]
pub(crate) fn live_argument(call: &'static str, argument: &str, team: TeamHandle) -> &'static TeamState {
    match team.named(call, argument) {
        Some(state) if state.handle() == team => state,
        _ => dead(call, argument, team),
    }
}

#[cold]
#[inline(never)]
fn dead(call: &'static str, argument: &str, team: TeamHandle) -> ! {
    if team == TeamHandle::INVALID {
        errors::invalid_handle(call, argument, "SHMEM_TEAM_INVALID")
    }
    errors::dead_handle(call, argument, "team", team.0 as usize)
}

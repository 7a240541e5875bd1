//! Contexts: make, destroy, ask.

use core::ffi::{c_int, c_long};

use crate::calls::order;
use crate::diagnosis::errors;
use crate::start::state;
use crate::teams::context::ContextHandle;
use crate::teams::live_contexts::LiveContext;
use crate::teams::team::{TeamHandle, TeamState};
use crate::teams::via::On;

/// Makes a context on the world.
///
/// # Safety
/// `context` is writable. The functions below ask the same.
pub unsafe fn create(options: c_long, context: *mut ContextHandle) -> c_int {
    const NAME: &str = "shmem_ctx_create";
    let Some(world) = TeamHandle::world().state() else { errors::not_initialised(NAME) };
    if context.is_null() {
        errors::null(NAME, "ctx");
    }
    let made = on(world, options);
    // SAFETY: the caller promises that `context` is writable.
    unsafe { context.write(made.unwrap_or(ContextHandle::INVALID)) };
    if made.is_some() { 0 } else { -1 }
}

/// Makes a context on a team; its PE numbers are the team's. `name` is that of the routine, for messages.
///
/// # Safety
/// See [`create`].
pub unsafe fn team_create_ctx(
    name: &'static str,
    team: TeamHandle,
    options: c_long,
    context: *mut ContextHandle,
) -> c_int {
    if context.is_null() {
        errors::null(name, "ctx");
    }
    let made = match team.named(name, "team") {
        Some(state) => on(state, options),
        // For this one the standard has a result.
        None if team == TeamHandle::INVALID => None,
        // Without the library there is no team.
        None => errors::dead_handle(name, "team", "team", team.0 as usize),
    };
    // SAFETY: the caller promises that `context` is writable.
    unsafe { context.write(made.unwrap_or(ContextHandle::INVALID)) };
    if made.is_some() { 0 } else { -1 }
}

/// `None` if there are as many as `SHMEM_MAX_CTX` allows.
fn on(team: &'static TeamState, options: c_long) -> Option<ContextHandle> {
    let most = state::current().and_then(|life| life.settings.max_contexts).unwrap_or(u64::MAX);
    let live = LiveContext::unless_full(most, || ContextHandle::create(team, options).0)?;
    let context = ContextHandle(live.object());
    context.enlist(&mut team.contexts.lock(), live);
    Some(context)
}

/// Completes what was issued on the context, and ends it.
///
/// # Safety
/// The handle is valid or invalid by value, and is not used again.
pub unsafe fn destroy(context: ContextHandle) {
    const NAME: &str = "shmem_ctx_destroy";
    // Without the library, in the child of a fork say, its lane belongs to another process.
    if !context.is_valid() || context == ContextHandle::default_context() || !state::is_open() {
        return;
    }
    let context = context.checked(NAME);
    // Without its team it has nothing under way: below level 2 of `SHMEM_CHECK` it may be destroyed after it.
    if let Some(team) = context.team() {
        // SAFETY: `quiet` needs a context that has its team, which was found above.
        unsafe { order::quiet(On(context, NAME)) };
        context.delist(&mut team.contexts.lock());
    }
    // SAFETY: not the default context, so it came from `create`, and the list has forgotten it.
    unsafe { context.free(NAME) };
}

/// The team that the context was made on. `name` is that of the routine, for messages.
///
/// # Safety
/// `team` is writable.
pub unsafe fn get_team(name: &'static str, context: ContextHandle, team: *mut TeamHandle) -> c_int {
    if team.is_null() {
        errors::null(name, "team");
    }
    let found = context.checked(name).team().map(TeamState::handle);
    // SAFETY: the caller promises that `team` is writable.
    unsafe { team.write(found.unwrap_or(TeamHandle::INVALID)) };
    if found.is_some() { 0 } else { -1 }
}

/// Whether a handle may be asked about its context: no call would refuse it in its own name. For tools between the program and the library.
pub fn is_handle(context: ContextHandle) -> bool {
    context.is_listed()
}

//! The routines of the library that the detector itself calls, by their profiling names.

use std::ffi::{c_int, c_void};

/// A team's handle.
pub(crate) type Team = *const c_void;
/// A context's handle.
pub(crate) type Context = *const c_void;

unsafe extern "C" {
    pub(crate) safe fn pshmem_my_pe() -> c_int;
    pub(crate) safe fn pshmem_n_pes() -> c_int;
    pub(crate) safe fn pshmem_barrier_all();
    pub(crate) fn pshmem_query_thread(provided: *mut c_int);
    pub(crate) fn pshmem_query_initialized(initialized: *mut c_int);
    pub(crate) fn pshmem_malloc(size: usize) -> *mut c_void;
    pub(crate) fn pshmem_free(block: *mut c_void);
    pub(crate) fn pshmem_getmem(dest: *mut c_void, source: *const c_void, len: usize, pe: c_int);
    pub(crate) fn pshmem_ptr(address: *const c_void, pe: c_int) -> *mut c_void;
    pub(crate) fn pshmem_team_my_pe(team: Team) -> c_int;
    pub(crate) fn pshmem_team_n_pes(team: Team) -> c_int;
    pub(crate) fn pshmem_team_translate_pe(team: Team, pe: c_int, other: Team) -> c_int;
    pub(crate) fn pshmem_ctx_get_team(ctx: Context, team: *mut Team) -> c_int;
    pub(crate) static oxshmem_team_world: u8;
    pub(crate) static oxshmem_team_shared: u8;
    pub(crate) static oxshmem_team_node: u8;
    pub(crate) static oxshmem_context_default: u8;
}

/// The team of all PEs.
pub(crate) fn world() -> Team {
    (&raw const oxshmem_team_world).cast()
}

/// The team of the node's PEs.
pub(crate) fn shared() -> Team {
    (&raw const oxshmem_team_shared).cast()
}

/// The team of the PEs that share memory, by the extension.
pub(crate) fn node() -> Team {
    (&raw const oxshmem_team_node).cast()
}

/// Whether it is the default context.
pub(crate) fn is_default(ctx: Context) -> bool {
    std::ptr::eq(ctx, (&raw const oxshmem_context_default).cast())
}

/// The world number of a team's member.
pub(crate) fn world_pe(team: Team, pe: c_int) -> c_int {
    // SAFETY: the program has passed the handle to a routine that asks for a team's; translation accepts any number.
    unsafe { pshmem_team_translate_pe(team, pe, world()) }
}

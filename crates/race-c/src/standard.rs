//! The library that is looked at: the routines that the detector itself calls, and what the program's language adds to reports.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};

/// A team's handle.
pub(crate) type Team = *const c_void;
/// A context's handle.
pub(crate) type Context = *const c_void;

/// All that the detector asks of the library and of the program's language: the shim fills it in C, the crate `oxshmem` in Rust.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WatchedLibrary {
    /// `shmem_my_pe`
    pub my_pe: unsafe extern "C" fn() -> c_int,
    /// `shmem_n_pes`
    pub n_pes: unsafe extern "C" fn() -> c_int,
    /// `shmem_barrier_all`
    pub barrier_all: unsafe extern "C" fn(),
    /// `shmem_query_thread`
    pub query_thread: unsafe extern "C" fn(*mut c_int),
    /// `shmem_query_initialized`
    pub query_initialized: unsafe extern "C" fn(*mut c_int),
    /// `shmem_malloc`
    pub allocate: unsafe extern "C" fn(usize) -> *mut c_void,
    /// `shmem_free`
    pub release: unsafe extern "C" fn(*mut c_void),
    /// `shmem_getmem`
    pub getmem: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int),
    /// `shmem_ptr`
    pub address_of: unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void,
    /// `shmem_addr_accessible`
    pub accessible: unsafe extern "C" fn(*const c_void, c_int) -> c_int,
    /// `shmem_team_my_pe`
    pub team_my_pe: unsafe extern "C" fn(*const c_void) -> c_int,
    /// `shmem_team_n_pes`
    pub team_n_pes: unsafe extern "C" fn(*const c_void) -> c_int,
    /// `shmem_team_translate_pe`
    pub team_translate_pe: unsafe extern "C" fn(*const c_void, c_int, *const c_void) -> c_int,
    /// `shmem_ctx_get_team`
    pub team_of: unsafe extern "C" fn(*const c_void, *mut *const c_void) -> c_int,
    /// Not 0: the library would not refuse this handle of a team, where it checks handles, in the name of a call that asks about it.
    pub is_team: unsafe extern "C" fn(*const c_void) -> c_int,
    /// The same of a context.
    pub is_context: unsafe extern "C" fn(*const c_void) -> c_int,
    /// `SHMEM_TEAM_WORLD`
    pub world: *const c_void,
    /// `SHMEM_TEAM_SHARED`
    pub shared: *const c_void,
    /// `SHMEM_TEAM_NODE`
    pub node: *const c_void,
    /// `SHMEM_CTX_DEFAULT`
    pub default_context: *const c_void,
    /// The name of a call by its number; null if it has none. Numbers 0 and 1 are a load and a store.
    pub call_name: unsafe extern "C" fn(u16) -> *const c_char,
    /// The caller's thread, by a number that others join it with.
    pub this_thread: unsafe extern "C" fn() -> u64,
    /// The caller is another strand from now on.
    pub is_another: unsafe extern "C" fn(),
    /// Lets this process end with a status that tells of races.
    pub found: unsafe extern "C" fn(c_int),
    /// Not 0: the program is in Rust. Its call sites are addresses of [`Location`](std::panic::Location)s, and its threads count as one.
    pub in_rust: c_int,
}

/// The library of this process, once a life of it has begun. It stays where it is.
static LIBRARY: AtomicPtr<WatchedLibrary> = AtomicPtr::new(ptr::null_mut());

/// This is the library of the process.
///
/// # Safety
/// It is filled, lives as long as the process, and its functions do what the standard's of their names do.
pub(crate) unsafe fn watch(library: *const WatchedLibrary) {
    LIBRARY.store(library.cast_mut(), Release);
}

#[inline]
fn library() -> Option<&'static WatchedLibrary> {
    // SAFETY: it is null, or what `watch` was given, which lives as long as the process and is never written again.
    unsafe { LIBRARY.load(Acquire).as_ref() }
}

/// Whether the program is in Rust.
pub(crate) fn in_rust() -> bool {
    library().is_some_and(|library| library.in_rust != 0)
}

/// The name of a call.
pub(crate) fn call_name(call: u16) -> Option<&'static str> {
    // SAFETY: the function takes any number.
    let name = unsafe { (library()?.call_name)(call) };
    // SAFETY: a name that is there is a string that lives as long as the process.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?;
    name.to_str().ok()
}

/// The caller's thread.
pub(crate) fn this_thread() -> u64 {
    // SAFETY: the function asks for nothing.
    library().map_or(0, |library| unsafe { (library.this_thread)() })
}

/// The caller is another strand.
pub(crate) fn is_another() {
    if let Some(library) = library() {
        // SAFETY: the function forgets a pointer of the caller's.
        unsafe { (library.is_another)() }
    }
}

/// A race was reported.
pub(crate) fn found(status: c_int) {
    if let Some(library) = library() {
        // SAFETY: the function stores a number.
        unsafe { (library.found)(status) }
    }
}

pub(crate) fn pshmem_my_pe() -> c_int {
    // SAFETY: the routine asks for nothing.
    library().map_or(-1, |library| unsafe { (library.my_pe)() })
}

pub(crate) fn pshmem_n_pes() -> c_int {
    // SAFETY: the routine asks for nothing.
    library().map_or(-1, |library| unsafe { (library.n_pes)() })
}

/// All PEs call it, one thread of each.
pub(crate) fn pshmem_barrier_all() {
    if let Some(library) = library() {
        // SAFETY: the detector meets in the first init, where one thread of each PE is.
        unsafe { (library.barrier_all)() }
    }
}

/// # Safety
/// `provided` is writable.
pub(crate) unsafe fn pshmem_query_thread(provided: *mut c_int) {
    if let Some(library) = library() {
        // SAFETY: the caller promises that `provided` is writable.
        unsafe { (library.query_thread)(provided) }
    }
}

/// # Safety
/// `initialized` is writable.
pub(crate) unsafe fn pshmem_query_initialized(initialized: *mut c_int) {
    if let Some(library) = library() {
        // SAFETY: the caller promises that `initialized` is writable.
        unsafe { (library.query_initialized)(initialized) }
    }
}

/// # Safety
/// All PEs call with the same argument, one thread of each.
pub(crate) unsafe fn pshmem_malloc(size: usize) -> *mut c_void {
    // SAFETY: the caller promises what the routine asks.
    library().map_or(ptr::null_mut(), |library| unsafe { (library.allocate)(size) })
}

/// # Safety
/// All PEs call with the same block, one thread of each, and no PE uses it any more.
pub(crate) unsafe fn pshmem_free(block: *mut c_void) {
    if let Some(library) = library() {
        // SAFETY: the caller promises what the routine asks.
        unsafe { (library.release)(block) }
    }
}

/// # Safety
/// `len` bytes at `source` are symmetric, and as many at `dest` are writable.
pub(crate) unsafe fn pshmem_getmem(dest: *mut c_void, source: *const c_void, len: usize, pe: c_int) {
    if let Some(library) = library() {
        // SAFETY: the caller promises what the routine asks of both sides.
        unsafe { (library.getmem)(dest, source, len, pe) }
    }
}

/// # Safety
/// The library is initialised.
pub(crate) unsafe fn pshmem_ptr(address: *const c_void, pe: c_int) -> *mut c_void {
    // SAFETY: the routine takes any address.
    library().map_or(ptr::null_mut(), |library| unsafe { (library.address_of)(address, pe) })
}

/// Whether the caller's copy of what may be symmetric memory is in use.
pub(crate) fn is_accessible(address: usize) -> bool {
    // SAFETY: the routine takes any address, and the caller's number.
    library().is_some_and(|library| unsafe { (library.accessible)(address as _, (library.my_pe)()) } != 0)
}

/// # Safety
/// The handle is that of a team that has not been destroyed.
pub(crate) unsafe fn pshmem_team_my_pe(team: Team) -> c_int {
    // SAFETY: the caller promises that the team has not been destroyed.
    library().map_or(-1, |library| unsafe { (library.team_my_pe)(team) })
}

/// # Safety
/// The handle is that of a team that has not been destroyed.
pub(crate) unsafe fn pshmem_team_n_pes(team: Team) -> c_int {
    // SAFETY: the caller promises that the team has not been destroyed.
    library().map_or(-1, |library| unsafe { (library.team_n_pes)(team) })
}

/// # Safety
/// The handle is that of a context that has not been destroyed, and `team` is writable.
pub(crate) unsafe fn pshmem_ctx_get_team(ctx: Context, team: *mut Team) -> c_int {
    // SAFETY: the caller promises that the context has not been destroyed, and that `team` is writable.
    library().map_or(-1, |library| unsafe { (library.team_of)(ctx, team) })
}

/// Whether a team may be asked about. If not, the call that has its handle refuses it, and the detector leaves the call alone.
pub(crate) fn is_team(team: Team) -> bool {
    // SAFETY: the function takes any handle.
    library().is_some_and(|library| unsafe { (library.is_team)(team) } != 0)
}

/// Whether a context may be asked about, as [`is_team`].
pub(crate) fn is_context(ctx: Context) -> bool {
    // SAFETY: the function takes any handle.
    library().is_some_and(|library| unsafe { (library.is_context)(ctx) } != 0)
}

/// The team of all PEs.
pub(crate) fn world() -> Team {
    library().map_or(ptr::null(), |library| library.world)
}

/// `SHMEM_TEAM_SHARED`, the PEs that share memory, which are those of the node.
pub(crate) fn shared() -> Team {
    library().map_or(ptr::null(), |library| library.shared)
}

/// `SHMEM_TEAM_NODE` of the extension, the PEs of the node.
pub(crate) fn node() -> Team {
    library().map_or(ptr::null(), |library| library.node)
}

/// Whether it is the default context.
pub(crate) fn is_default(ctx: Context) -> bool {
    library().is_some_and(|library| ptr::eq(ctx, library.default_context))
}

/// The world number of a team's member.
pub(crate) fn world_pe(team: Team, pe: c_int) -> c_int {
    // SAFETY: the program has passed the handle to a routine that asks for a team's; translation accepts any number.
    library().map_or(-1, |library| unsafe { (library.team_translate_pe)(team, pe, library.world) })
}

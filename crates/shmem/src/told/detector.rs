//! The race detector's functions, and what it asks of the library and of the program.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr;
use std::process;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::{Once, OnceLock};

use oxshmem_race_c::{WatchedLibrary, race_begin_with};
use oxshmem_runtime::calls::{context, init, locality, memory, order, rma, team};
use oxshmem_runtime::{ContextHandle, InWorld, TeamHandle};

// They are those of `crates/race-c/shim/race.h`, and take addresses of the program as numbers.
unsafe extern "C" {
    pub(super) safe fn race_allocated(block: *mut c_void, size: usize, pc: *const c_void, call: u16);
    pub(super) safe fn race_freed(block: *mut c_void);
    pub(super) safe fn race_transfer(
        ctx: *const c_void,
        dest: usize,
        source: usize,
        len: usize,
        pe: c_int,
        is_put: c_int,
        nonblocking: c_int,
        pc: *const c_void,
        call: u16,
    );
    pub(super) safe fn race_blocks(
        ctx: *const c_void,
        dest: usize,
        source: usize,
        dst: isize,
        sst: isize,
        block: usize,
        count: usize,
        pe: c_int,
        is_put: c_int,
        pc: *const c_void,
        call: u16,
    );
    pub(super) safe fn race_put_signal(
        ctx: *const c_void,
        dest: usize,
        source: usize,
        len: usize,
        signal: usize,
        pe: c_int,
        nonblocking: c_int,
        pc: *const c_void,
        call: u16,
    );
    pub(super) safe fn race_update(
        ctx: *const c_void,
        dest: usize,
        len: usize,
        pe: c_int,
        does: c_int,
        pc: *const c_void,
        call: u16,
    );
    pub(super) safe fn race_fetch(
        ctx: *const c_void,
        place: usize,
        len: usize,
        pe: c_int,
        does: c_int,
        pc: *const c_void,
        call: u16,
    );
    pub(super) safe fn race_fill(ctx: *const c_void, fetch: usize, len: usize, pc: *const c_void, call: u16);
    pub(super) safe fn race_fetched(ctx: *const c_void, place: usize, len: usize, pe: c_int);
    pub(super) safe fn race_wait(ivar: usize, len: usize);
    /// `status` is null or has `nelems` elements.
    pub(super) fn race_wait_all(ivars: usize, nelems: usize, status: *const c_int, len: usize);
    /// `indices` has `count` elements.
    pub(super) fn race_wait_some(ivars: usize, indices: *const usize, count: usize, len: usize);
    pub(super) safe fn race_fence(ctx: *const c_void);
    pub(super) safe fn race_quiet(ctx: *const c_void);
    /// `pes` has `count` elements.
    pub(super) fn race_pe_quiet(ctx: *const c_void, pes: *const c_int, count: usize);
    pub(super) safe fn race_locked(lock: usize);
    pub(super) safe fn race_unlocking(lock: usize);
    pub(super) safe fn race_enter_world(completes: c_int) -> u64;
    pub(super) safe fn race_enter_team(team: *const c_void, completes: c_int, root: c_int) -> u64;
    pub(super) safe fn race_enter_scan(team: *const c_void) -> u64;
    pub(super) safe fn race_leave(meeting: u64);
    pub(super) safe fn race_ending() -> u64;
    pub(super) safe fn race_ended(meeting: u64);
    pub(super) safe fn race_split(parent: *const c_void, one: *const c_void, other: *const c_void);
    pub(super) safe fn race_team_ends(team: *const c_void);
    pub(super) safe fn race_contexts_over();
    pub(super) safe fn race_use(
        dest: usize,
        dest_len: usize,
        source: usize,
        source_len: usize,
        pc: *const c_void,
        call: u16,
    );
    pub(super) safe fn race_use_strided(
        dest: usize,
        dst: isize,
        source: usize,
        sst: isize,
        len: usize,
        count: usize,
        pc: *const c_void,
        call: u16,
    );
    /// `view` is null.
    pub(super) fn race_plain(address: usize, len: usize, kind: c_int, pc: *const c_void, view: *mut c_void);
}

/// The names of calls in reports. Whatever they stand for, the first two are the program's own accesses.
const NAMES: [&CStr; 45] = [
    c"a load",
    c"a store",
    c"Symmetric::put",
    c"Symmetric::get",
    c"Symmetric::put_slice",
    c"Symmetric::get_slice",
    c"Symmetric::get_vec",
    c"Symmetric::put_strided",
    c"Symmetric::get_strided",
    c"Symmetric::put_blocks",
    c"Symmetric::get_blocks",
    c"Symmetric::put_owned",
    c"Symmetric::get_owned",
    c"Symmetric::put_signal",
    c"Symmetric::update",
    c"Symmetric::fetch",
    c"Symmetric::set",
    c"Symmetric::swap",
    c"Symmetric::compare_swap",
    c"Symmetric::fetch_inc",
    c"Symmetric::inc",
    c"Symmetric::fetch_add",
    c"Symmetric::add",
    c"Symmetric::fetch_and",
    c"Symmetric::and",
    c"Symmetric::fetch_or",
    c"Symmetric::or",
    c"Symmetric::fetch_xor",
    c"Symmetric::xor",
    c"Atomic::store",
    c"Scope::put",
    c"Scope::get",
    c"Scope::put_signal",
    c"Scope::fetch",
    c"Scope::swap",
    c"Scope::compare_swap",
    c"Scope::fetch_inc",
    c"Scope::fetch_add",
    c"Scope::fetch_and",
    c"Scope::fetch_or",
    c"Scope::fetch_xor",
    c"World::allocate",
    c"Team::collect",
    c"Team::alltoallv",
    // All whose arrays are told: their lines say which one it is.
    c"a collective",
];

/// The number of a call that has this name; one that has no name if it is none of [`NAMES`].
pub(super) fn number(call: &str) -> u16 {
    NAMES.iter().position(|name| name.to_bytes() == call.as_bytes()).map_or(u16::MAX, |number| number as u16)
}

extern "C" fn call_name(call: u16) -> *const c_char {
    NAMES.get(usize::from(call)).map_or(ptr::null(), |name| name.as_ptr())
}

/// The exit status of a process that has reported a race and would have ended with 0; 0 if it has reported none.
static FOUND: AtomicI32 = AtomicI32::new(0);

extern "C" fn found(status: c_int) {
    FOUND.store(status, Relaxed);
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn exit(status: c_int) -> !;
}

/// The process of the PE; 0 before init.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The status with which the process ends where the program says this one. What a PE forks ends as it likes.
pub(super) fn status_of(status: c_int) -> c_int {
    if status == 0 && PROCESS.load(Relaxed) == process::id() { FOUND.load(Relaxed) } else { status }
}

/// The end of a process.
extern "C" fn tell(status: c_int, _: *mut c_void) {
    let instead = status_of(status);
    if instead != status {
        // SAFETY: glibc goes on with the functions that were registered before this one, and takes the status of the last call.
        // (That of Rust's library does not let itself be called twice.)
        unsafe { exit(instead) }
    }
}

/// The library is about to be initialised: the function that changes the status is registered before the library's own, and so runs after
/// that.
pub(super) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        PROCESS.store(process::id(), Relaxed);
        // SAFETY: the function takes any status, and leaves its other argument alone.
        unsafe { on_exit(tell, ptr::null_mut()) };
    });
}

/// `oxshmem sim --race` looks for this section.
#[used]
#[unsafe(link_section = ".oxshmem.race")]
static MARK: u8 = 1;

/// Looks for races from now on. All PEs call, one thread of each, and they run the same program.
pub(crate) fn begin() {
    /// The address of the table, which stays for all lives of the library.
    static TABLE: OnceLock<usize> = OnceLock::new();
    // SAFETY: it is a byte of this program. Reading it keeps the linker from leaving the section out.
    let _mark = unsafe { (&raw const MARK).read_volatile() };
    let table = *TABLE.get_or_init(|| Box::into_raw(Box::new(library())).expose_provenance());
    // SAFETY: the table is filled and leaked, and the caller says that all PEs call.
    unsafe { race_begin_with(ptr::with_exposed_provenance(table)) };
}

fn library() -> WatchedLibrary {
    WatchedLibrary {
        my_pe,
        n_pes,
        barrier_all,
        query_thread,
        query_initialized,
        allocate,
        release,
        getmem,
        address_of,
        accessible,
        team_my_pe,
        team_n_pes,
        team_translate_pe,
        team_of,
        is_team: is_handle,
        is_context: is_handle,
        world: super::named(TeamHandle::world()),
        shared: super::named(TeamHandle::shared()),
        node: super::named(TeamHandle::node()),
        default_context: super::context_of(InWorld("")),
        call_name,
        this_thread,
        is_another,
        found,
        in_rust: 1,
    }
}

/// The detector has no state for threads here, as they count as one.
extern "C" fn this_thread() -> u64 {
    0
}

extern "C" fn is_another() {}

extern "C" fn my_pe() -> c_int {
    init::my_pe()
}

extern "C" fn n_pes() -> c_int {
    init::n_pes()
}

extern "C" fn address_of(address: *const c_void, pe: c_int) -> *mut c_void {
    locality::ptr(address, pe)
}

/// Teams and contexts of the API are there as long as their handles.
extern "C" fn is_handle(_: *const c_void) -> c_int {
    1
}

extern "C" fn accessible(address: *const c_void, pe: c_int) -> c_int {
    locality::addr_accessible(address, pe)
}

/// A routine of the standard that asks for promises and hands its arguments on to the runtime.
macro_rules! routines {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $call:expr;)*) => {$(
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the detector keeps the promises of the standard's routine of this name, which are those of the runtime's call.
            unsafe { $call }
        }
    )*};
}

routines! {
    barrier_all() => order::barrier_all();
    query_thread(provided: *mut c_int) => init::query_thread(provided);
    query_initialized(initialized: *mut c_int) => init::query_initialized(initialized);
    allocate(size: usize) -> *mut c_void => memory::malloc("shmem_malloc", size);
    release(block: *mut c_void) => memory::free("shmem_free", block);
    getmem(dest: *mut c_void, source: *const c_void, len: usize, pe: c_int) =>
        rma::get(InWorld("shmem_getmem"), dest.cast::<u8>(), source.cast::<u8>(), len, pe);
    team_my_pe(of: *const c_void) -> c_int => team::my_pe(transmute::<*const c_void, TeamHandle>(of));
    team_n_pes(of: *const c_void) -> c_int => team::n_pes(transmute::<*const c_void, TeamHandle>(of));
    team_translate_pe(from: *const c_void, pe: c_int, to: *const c_void) -> c_int =>
        team::translate_pe(transmute::<*const c_void, TeamHandle>(from), pe, transmute::<*const c_void, TeamHandle>(to));
    team_of(of: *const c_void, found: *mut *const c_void) -> c_int =>
        context::get_team("shmem_ctx_get_team", transmute::<*const c_void, ContextHandle>(of), found.cast::<TeamHandle>());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_names_that_their_numbers_stand_for() {
        for (number_of, name) in NAMES.iter().enumerate() {
            assert_eq!(usize::from(number(name.to_str().expect("plain text"))), number_of);
        }
        assert_eq!(number("World::quiet"), u16::MAX);
        assert!(call_name(u16::MAX).is_null());
    }
}

//! The C library's routines that this library calls, found by the loader.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use oxshmem_base::fortran_teams;

use crate::routine::WrappedRoutine;

unsafe extern "C" {
    static oxprof_count: usize;
    static oxprof_routines: WrappedRoutine;
    static mut oxprof_real: *mut c_void;
}

/// The routines and objects of the C library that this library itself uses.
#[derive(Debug)]
pub(crate) struct WrappedLibrary {
    initialized: unsafe extern "C" fn(*mut c_int),
    team_my_pe: unsafe extern "C" fn(*const c_void) -> c_int,
    team_n_pes: unsafe extern "C" fn(*const c_void) -> c_int,
    translate: unsafe extern "C" fn(*const c_void, c_int, *const c_void) -> c_int,
    team_of: unsafe extern "C" fn(*const c_void, *mut *const c_void) -> c_int,
    line: unsafe extern "C" fn() -> *mut *const c_char,
    high_water: unsafe extern "C" fn() -> u64,
    /// Handles of the default context, the world and the two teams of the node's PEs.
    default_context: usize,
    world: usize,
    shared: usize,
    node: usize,
}

/// The library; found at the first call of a wrapper.
static LIBRARY: OnceLock<WrappedLibrary> = OnceLock::new();

/// The library. The first call finds every routine that is wrapped.
pub(crate) fn library() -> &'static WrappedLibrary {
    LIBRARY.get_or_init(|| {
        // SAFETY: the name is a string; the flag asks for what is loaded already, wherever a program has it from.
        let handle = unsafe { libc::dlopen(c"liboxshmem.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            give_up(
                c"oxshmem: the library of --profile is loaded without liboxshmem.so.1: link the program with that (oshcc does), \
                  or start it without --profile\n",
            );
        }
        // SAFETY: the generated file defines tables of so many routines and places for their addresses. `get_or_init` lets
        // one thread write, and a wrapper uses its place after the first call of this function has ended.
        unsafe {
            let (routines, real) = (&raw const oxprof_routines, &raw mut oxprof_real);
            for number in 0..oxprof_count {
                *real.add(number) = address(handle, (*routines.add(number)).symbol());
            }
        }
        // SAFETY: the fields have the types of the routines and objects of these names.
        unsafe {
            WrappedLibrary {
                initialized: function(handle, c"pshmem_query_initialized"),
                team_my_pe: function(handle, c"pshmem_team_my_pe"),
                team_n_pes: function(handle, c"pshmem_team_n_pes"),
                translate: function(handle, c"pshmem_team_translate_pe"),
                team_of: function(handle, c"pshmem_ctx_get_team"),
                line: function(handle, c"oxshmem_program_line"),
                high_water: function(handle, c"oxshmem_heap_high_water"),
                default_context: object(handle, c"SHMEM_CTX_DEFAULT"),
                world: object(handle, c"SHMEM_TEAM_WORLD"),
                shared: object(handle, c"SHMEM_TEAM_SHARED"),
                node: object(handle, c"SHMEM_TEAM_NODE"),
            }
        }
    })
}

/// Whether the program has the race detector, whose definitions of the routines stand between it and the library.
pub(crate) fn has_race_detector() -> bool {
    // SAFETY: the name is a string; the flag asks for what is loaded already.
    let detector = unsafe { libc::dlopen(c"liboxshmem-race.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    !detector.is_null()
}

/// The library's function of this name.
///
/// # Safety
/// `F` is the type of a pointer to it.
unsafe fn function<F: Copy>(handle: *mut c_void, name: &CStr) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let found = address(handle, name);
    // SAFETY: the address is that of a function of this type, by the caller's promise, and as long as the pointer.
    unsafe { std::mem::transmute_copy(&found) }
}

/// The value of the library's object of this name.
///
/// # Safety
/// The object is a handle, which never changes.
unsafe fn object(handle: *mut c_void, name: &CStr) -> usize {
    // SAFETY: the address is that of a handle, by the caller's promise.
    unsafe { *address(handle, name).cast::<usize>() }
}

fn address(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the handle is that of a loaded library, and the name is a string.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if found.is_null() {
        give_up(c"oxshmem: liboxshmem.so.1 is of another build than the library of --profile: install both together\n");
    }
    found
}

/// Ends the process: a program cannot go on without its routines.
fn give_up(why: &CStr) -> ! {
    // SAFETY: the text is valid memory of that length.
    unsafe {
        libc::write(2, why.as_ptr().cast(), why.count_bytes());
        libc::_exit(1)
    }
}

impl WrappedLibrary {
    /// Whether the library is initialised.
    pub(crate) fn is_initialized(&self) -> bool {
        let mut initialized = 0;
        // SAFETY: the function can be called at any time, and `initialized` is writable.
        unsafe { (self.initialized)(&raw mut initialized) };
        initialized != 0
    }

    /// Whether the predefined teams are there, of an initialised library.
    pub(crate) fn has_teams(&self) -> bool {
        // SAFETY: the handle of a predefined team may be asked about at any time. Init makes this team last.
        unsafe { (self.team_n_pes)(self.node as *const c_void) > 0 }
    }

    /// The PE's number and how many there are.
    pub(crate) fn place(&self) -> (u32, u32) {
        let world = self.world as *const c_void;
        // SAFETY: the predefined handles are those of valid teams whenever a ledger is opened.
        unsafe { ((self.team_my_pe)(world) as u32, (self.team_n_pes)(world) as u32) }
    }

    /// World number of the first PE of the node.
    pub(crate) fn node(&self) -> u32 {
        // SAFETY: the predefined handles are those of valid teams while the library is initialised.
        unsafe { (self.translate)(self.shared as *const c_void, 0, self.world as *const c_void) as u32 }
    }

    /// How many members a team has; 0 for a handle of no team.
    pub(crate) fn size(&self, team: usize) -> c_int {
        // SAFETY: the program has just used the handle in a call that accepted it.
        unsafe { (self.team_n_pes)(team as *const c_void).max(0) }
    }

    /// World numbers of a team's members; nothing for a handle of no team.
    pub(crate) fn members(&self, team: usize) -> Vec<u32> {
        let world = self.world as *const c_void;
        // SAFETY: the program has just used the handle in a call that accepted it.
        let translated = |member| unsafe { (self.translate)(team as *const c_void, member, world) as u32 };
        (0..self.size(team)).map(translated).collect()
    }

    /// The word in which the calling thread's line is, if it interprets a program.
    pub(crate) fn line(&self) -> CallerLine {
        // SAFETY: the function takes nothing and can be called at any time.
        CallerLine(unsafe { (self.line)() })
    }

    /// How far the symmetric heap has ever been used, in bytes.
    pub(crate) fn heap_high_water(&self) -> u64 {
        // SAFETY: the function takes nothing and can be called at any time.
        unsafe { (self.high_water)() }
    }

    /// The team of a context.
    pub(crate) fn team_of(&self, context: usize) -> Option<usize> {
        let mut team = std::ptr::null();
        // SAFETY: the program has just used the context in a call that accepted it, and `team` is writable.
        let status = unsafe { (self.team_of)(context as *const c_void, &raw mut team) };
        (status == 0 && !team.is_null()).then_some(team as usize)
    }

    /// Whether PE numbers on this context are those of the world. A program has its own copy of the object where it was
    /// linked to a fixed address; its context is found to be that of the world like any other one.
    pub(crate) fn is_default(&self, context: usize) -> bool {
        context == 0 || context == self.default_context
    }

    /// The team of a Fortran handle.
    pub(crate) fn fortran_team(&self, handle: i64) -> usize {
        match handle {
            fortran_teams::WORLD => self.world,
            fortran_teams::SHARED => self.shared,
            fortran_teams::NODE => self.node,
            other => other as usize,
        }
    }

    /// The predefined teams, that of all PEs first.
    pub(crate) fn predefined(&self) -> [usize; 3] {
        [self.world, self.shared, self.node]
    }

    /// The team of all PEs.
    pub(crate) fn world(&self) -> usize {
        self.world
    }
}

/// The word of a thread that holds the line of an interpreted program, or null. Only that thread uses it.
#[derive(Clone, Copy)]
pub(crate) struct CallerLine(*const *const c_char);

impl CallerLine {
    /// That of a thread of a test, which interprets nothing.
    #[cfg(test)]
    pub(crate) fn of_nothing() -> Self {
        Self(Box::leak(Box::new(std::ptr::null())))
    }

    /// The address of the text.
    #[inline]
    pub(crate) fn address(self) -> Option<usize> {
        // SAFETY: the word lives as long as its thread, which is the one that reads it: a ledger has one thread.
        let text = unsafe { *self.0 };
        (!text.is_null()).then_some(text as usize)
    }

    /// The text, which stays as long as the process.
    pub(crate) fn text(self) -> Option<&'static CStr> {
        // SAFETY: the writer of the word promises a string that stays.
        self.address().map(|text| unsafe { CStr::from_ptr(text as *const c_char) })
    }
}

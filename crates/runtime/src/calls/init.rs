//! Start, end, and who am I.

mod forked_child;
pub(crate) mod lifetime;

use core::ffi::{c_char, c_int};
use core::sync::atomic::Ordering::Relaxed;

use oxshmem_base::Error;

use crate::diagnosis::{errors, outside};
use crate::start::job;
use crate::start::state::{self, OtherCalls};
use crate::start::threads::{MULTIPLE, SINGLE};

/// Initialises the library, or deepens the initialisation.
///
/// # Safety
/// All PEs call. No other thread is in a call of the library.
pub unsafe fn init() {
    if let Err(error) = lifetime::init(SINGLE) {
        errors::fail(&error);
    }
}

/// [`init`] with a thread level. The first init is granted what it asks for; a later one gets the level of the first.
///
/// # Safety
/// `provided` is writable or null.
pub unsafe fn init_thread(requested: c_int, provided: *mut c_int) -> c_int {
    let result = if (SINGLE..=MULTIPLE).contains(&requested) {
        lifetime::init(requested)
    } else {
        Err(Error::new(format!("shmem_init_thread: the requested level is {requested}"))
            .because("the levels are SHMEM_THREAD_SINGLE (0) to SHMEM_THREAD_MULTIPLE (3)")
            .fix("pass one of them"))
    };
    match result {
        Ok(level) => {
            if !provided.is_null() {
                // SAFETY: the caller promises that `provided` is writable, and it is not null.
                unsafe { provided.write(level) };
            }
            0
        }
        Err(error) => {
            errors::note(&error.to_string());
            1
        }
    }
}

/// Takes back one initialisation; the last one ends the library's life.
///
/// # Safety
/// All PEs call, and no thread uses symmetric memory, teams or contexts after the last one.
pub unsafe fn finalize() {
    lifetime::finalize("shmem_finalize", OtherCalls::Done);
}

/// The oldest way to begin; the process's exit is the finalize.
///
/// # Safety
/// See [`init`].
pub unsafe fn start_pes(_npes: c_int) {
    if !state::is_open() {
        // SAFETY: the caller promises what `init` asks: all PEs call, and no other thread is in a call of the library.
        unsafe { init() };
        lifetime::end_at_exit();
    }
}

/// Ends all PEs.
pub fn global_exit(status: c_int) -> ! {
    if job::is_forked_child() {
        errors::ignored_in_child("shmem_global_exit");
    }
    job::abort(status, "")
}

/// The caller's number, or -1 outside init and finalize.
#[inline(always)]
pub fn my_pe() -> c_int {
    match job::MY_PE.load(Relaxed) {
        ..0 => outside::no_number("shmem_my_pe"),
        pe => pe,
    }
}

/// The number of PEs, or -1 outside init and finalize.
#[inline(always)]
pub fn n_pes() -> c_int {
    match job::N_PES.load(Relaxed) {
        ..0 => outside::no_number("shmem_n_pes"),
        pes => pes,
    }
}

/// Ends the job if the program has given no place for a result.
fn demand_place<T>(call: &str, argument: &str, place: *mut T) {
    if place.is_null() {
        errors::null(call, argument);
    }
}

/// The granted thread level.
///
/// # Safety
/// `provided` is writable.
pub unsafe fn query_thread(provided: *mut c_int) {
    demand_place("shmem_query_thread", "provided", provided);
    // SAFETY: the caller promises that `provided` is writable.
    unsafe { provided.write(state::current().map_or(SINGLE, |life| life.thread_level)) }
}

/// Whether the library is initialised.
///
/// # Safety
/// `initialized` is writable.
pub unsafe fn query_initialized(initialized: *mut c_int) {
    demand_place("shmem_query_initialized", "initialized", initialized);
    // SAFETY: the caller promises that `initialized` is writable.
    unsafe { initialized.write(state::is_open().into()) }
}

/// The version of the standard.
///
/// # Safety
/// Both are writable.
pub unsafe fn info_get_version(major: *mut c_int, minor: *mut c_int) {
    const NAME: &str = "shmem_info_get_version";
    demand_place(NAME, "major", major);
    demand_place(NAME, "minor", minor);
    // SAFETY: the caller promises that `major` and `minor` are writable.
    unsafe {
        major.write(crate::MAJOR_VERSION);
        minor.write(crate::MINOR_VERSION);
    }
}

/// The vendor string.
///
/// # Safety
/// `name` has room for `SHMEM_MAX_NAME_LEN` characters.
pub unsafe fn info_get_name(name: *mut c_char) {
    const _: () = assert!(crate::VENDOR.len() < 256);
    demand_place("shmem_info_get_name", "name", name);
    // SAFETY: the caller promises room for `SHMEM_MAX_NAME_LEN` characters at `name`; the string and its end are shorter.
    unsafe {
        name.copy_from_nonoverlapping(crate::VENDOR.as_ptr().cast(), crate::VENDOR.len());
        name.add(crate::VENDOR.len()).write(0);
    }
}

/// The level of `shmem_pcontrol` at which the recorder pauses.
const RECORDER_PAUSES: c_int = -1;

/// The profiling control: for tools that define this routine themselves, and for the recorder of the last calls.
pub fn pcontrol(level: c_int) {
    lifetime::record(level != RECORDER_PAUSES);
}

/// Whether the library is initialised, as other libraries ask.
pub fn initialized() -> c_int {
    state::is_open().into()
}

/// Whether the library has been initialised and is not any more.
pub fn finalized() -> c_int {
    (!state::is_open() && state::has_begun_a_life()).into()
}

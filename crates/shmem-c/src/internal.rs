//! Functions for other parts of the installation: the Python module, the Fortran module, the race detector and the recorder of profiles. No
//! header declares them.

use core::ffi::{CStr, c_char, c_int};

use oxshmem_runtime::calls::{binding, context, fortran, request, team};
use oxshmem_runtime::{ContextHandle, TeamHandle};

/// The word of the calling thread in which an interpreter says where in its program it is: see [`oxshmem_runtime::program_line`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_program_line() -> *mut *const c_char {
    oxshmem_runtime::program_line()
}

/// The word of the calling thread for an interpreter's function that runs handlers: see [`oxshmem_runtime::interrupts`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_interrupt_check() -> *mut Option<oxshmem_runtime::interrupts::InterruptCheck> {
    oxshmem_runtime::interrupts::check_word()
}

/// Whether an interrupt only ends a call: see [`oxshmem_runtime::interrupts`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_interrupt_only_ends_calls(yes: c_int) {
    oxshmem_runtime::interrupts::set_only_end_calls(yes != 0);
}

/// The end of the highest block that the PE's symmetric heap has ever had, in bytes; 0 outside of the library's life.
#[unsafe(no_mangle)]
extern "C" fn oxshmem_heap_high_water() -> u64 {
    oxshmem_runtime::heap_high_water()
}

/// Whether a context may be asked about: see [`context::is_handle`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_is_context(handle: ContextHandle) -> c_int {
    context::is_handle(handle).into()
}

/// Whether a team may be asked about: see [`team::is_handle`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_is_team(handle: TeamHandle) -> c_int {
    team::is_handle(handle).into()
}

/// The language of the program collects memory: see [`oxshmem_runtime::heap_is_collected`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_heap_is_collected() {
    oxshmem_runtime::heap_is_collected();
}

/// Where the PE's symmetric heap begins, during the library's life.
#[unsafe(no_mangle)]
extern "C" fn oxshmem_heap_start() -> usize {
    oxshmem_runtime::heap_start()
}

/// The language has collected all arrays of a life that has ended: see [`oxshmem_runtime::release_heap`].
///
/// # Safety
/// See there.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_release_heap(start: usize) {
    // SAFETY: our caller has made the same promise.
    unsafe { oxshmem_runtime::release_heap(start) }
}

/// The next allocation is a trial, whose refusal is not printed: see [`oxshmem_runtime::try_next_allocation`].
#[unsafe(no_mangle)]
extern "C" fn oxshmem_try_next_allocation() {
    oxshmem_runtime::try_next_allocation();
}

/// Whether the elements of an array follow each other, which was passed to a routine of the Fortran module: see
/// [`fortran::lie_together`].
///
/// # Safety
/// See there.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_lie_together(array: *const isize, dimensions: c_int) -> c_int {
    // SAFETY: the caller passes an array's descriptor and the number of its dimensions.
    c_int::from(unsafe { fortran::lie_together(array, dimensions.max(0) as usize) })
}

/// A section whose elements lie apart was passed to a routine of the Fortran module: see [`fortran::lies_apart`].
///
/// # Safety
/// Both are strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_lies_apart(routine: *const c_char, argument: *const c_char) -> ! {
    // SAFETY: the caller passes strings.
    let [routine, argument] = unsafe { [CStr::from_ptr(routine), CStr::from_ptr(argument)] };
    fortran::lies_apart(&routine.to_string_lossy(), &argument.to_string_lossy())
}

/// An array that was passed to a routine of the Fortran module is too short: see [`fortran::too_short`].
///
/// # Safety
/// All pointers lead to strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_too_short(
    routine: *const c_char,
    argument: *const c_char,
    deciding: *const c_char,
    count: *const c_char,
    has: usize,
    needs: usize,
) {
    // SAFETY: the caller passes strings.
    let [routine, names @ ..] =
        [routine, argument, deciding, count].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    fortran::too_short(&routine, names.each_ref().map(|name| &**name), has, needs);
}

/// A call of a routine of the Fortran module without a number of elements has an array without one: see [`fortran::no_number`].
///
/// # Safety
/// All pointers lead to strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_no_number(routine: *const c_char, deciding: *const c_char, count: *const c_char) -> ! {
    // SAFETY: the caller passes strings.
    let [routine, names @ ..] =
        [routine, deciding, count].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    fortran::no_number(&routine, names.each_ref().map(|name| &**name))
}

/// An array that was passed to an exchange of the Fortran module has no equal parts: see [`fortran::left_over`].
///
/// # Safety
/// All pointers lead to strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_left_over(
    routine: *const c_char,
    deciding: *const c_char,
    count: *const c_char,
    has: usize,
    pes: usize,
) {
    // SAFETY: the caller passes strings.
    let [routine, names @ ..] =
        [routine, deciding, count].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    fortran::left_over(&routine, names.each_ref().map(|name| &**name), has, pes);
}

/// The sum of what the members of a team bring. A binding asks for it before a collect, whose sizes may differ.
///
/// # Safety
/// All members call, one thread of each, in the same order among the team's collectives.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_sum_over(team: TeamHandle, bytes: u64) -> u64 {
    let mut sum = 0_u64;
    // SAFETY: all members make this call in one order among the team's collectives, as this function demands.
    unsafe {
        binding::exchange(team, "shmem_collectmem", SUM, size_of_val(&bytes), &[bytes], |_, theirs| {
            sum = sum.saturating_add(theirs[0])
        })
    };
    sum
}

/// Tells this exchange from those of other bindings.
const SUM: u8 = 0xff;

/// `shmemx_collectmem_nb` into a destination of `room` bytes: more end the job.
///
/// # Safety
/// As for `shmemx_collectmem_nb`.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_collect_nb(
    team: TeamHandle,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    room: usize,
    request: *mut request::RequestHandle,
) -> c_int {
    // SAFETY: the caller keeps the promises of the call.
    unsafe { request::collect_into(team, dest, source, bytes, room, request) }
}

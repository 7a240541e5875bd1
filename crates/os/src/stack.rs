//! The call stack of the calling thread, as return addresses.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use crate::library;

/// The unwinder's own state.
#[repr(C)]
struct Unwinding {
    _private: [u8; 0],
}

/// The unwinder's words for "go on" and "stop".
const GO_ON: c_int = 0;
const STOP: c_int = 4;

// The unwinder that the standard library is linked with.
unsafe extern "C" {
    fn _Unwind_Backtrace(step: extern "C" fn(*mut Unwinding, *mut c_void) -> c_int, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(unwinding: *mut Unwinding) -> usize;
}

/// Return addresses that have been found.
struct FoundFrames<'a> {
    frames: &'a mut [usize],
    count: usize,
    /// Where the object that asks is loaded, unless that is the executable: its frames are not wanted.
    skipped: Option<usize>,
}

/// The return addresses of the calling thread in the program, the innermost first; zero: no more. Frames of the library that
/// asks are left out if it is a shared library.
#[cold]
#[inline(never)]
pub fn callers<const N: usize>() -> [usize; N] {
    let mut frames = [0; N];
    let own = library::base_at(callers::<N> as *const () as usize);
    let skipped = own.filter(|own| library::executable_base() != Some(*own));
    let mut found = FoundFrames { frames: &mut frames, count: 0, skipped };
    // SAFETY: the unwinder calls `step` with a state of its own and with the pointer it was given, while `found` is alive.
    unsafe { _Unwind_Backtrace(step, (&raw mut found).cast()) };
    frames
}

extern "C" fn step(unwinding: *mut Unwinding, found: *mut c_void) -> c_int {
    // SAFETY: `callers` passes its own `FoundFrames`, which nobody else touches while the unwinder runs.
    let found = unsafe { &mut *found.cast::<FoundFrames<'_>>() };
    // SAFETY: the unwinder passes its state, which is valid during this call.
    let address = unsafe { _Unwind_GetIP(unwinding) };
    if address == 0 || found.count == found.frames.len() {
        return STOP;
    }
    // A return address is behind the call, which may end its function.
    if found.skipped.is_none() || library::base_at(address - 1) != found.skipped {
        found.frames[found.count] = address;
        found.count += 1;
    }
    GO_ON
}

/// The search for the caller of the code in `inside`.
struct CallerSearch<'a> {
    inside: &'a Range<usize>,
    /// A frame of that code has been seen.
    entered: bool,
    caller: Option<usize>,
}

/// The address to which that code returns: the innermost return address behind its frames. Nothing if it is not on the stack.
#[cold]
#[inline(never)]
pub fn caller_of(inside: &Range<usize>) -> Option<usize> {
    let mut search = CallerSearch { inside, entered: false, caller: None };
    // SAFETY: the unwinder calls `outward` with a state of its own and with the pointer it was given, while `search` is alive.
    unsafe { _Unwind_Backtrace(outward, (&raw mut search).cast()) };
    search.caller
}

extern "C" fn outward(unwinding: *mut Unwinding, search: *mut c_void) -> c_int {
    // SAFETY: `caller_of` passes its own `CallerSearch`, which nobody else touches while the unwinder runs.
    let search = unsafe { &mut *search.cast::<CallerSearch<'_>>() };
    // SAFETY: the unwinder passes its state, which is valid during this call.
    let address = unsafe { _Unwind_GetIP(unwinding) };
    let is_inside = search.inside.contains(&address);
    search.entered |= is_inside;
    if !search.entered || is_inside {
        return GO_ON;
    }
    search.caller = (address != 0).then_some(address);
    STOP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_has_frames_of_this_program() {
        let frames = callers::<8>();
        assert!(frames.iter().take(3).all(|frame| *frame != 0), "{frames:x?}");
        assert_eq!(library::base_at(frames[0]), library::executable_base());
    }

    #[inline(never)]
    fn who_has_called() -> (Range<usize>, Option<usize>) {
        let start = who_has_called as *const () as usize;
        let own = start..start + 1024;
        let caller = caller_of(&own);
        (own, caller)
    }

    #[test]
    fn the_caller_of_some_code_is_outside_of_it() {
        let (own, caller) = who_has_called();
        assert!(caller.is_some_and(|caller| !own.contains(&caller)), "{own:x?} {caller:x?}");
        assert_eq!(caller_of(&(0..1)), None);
    }

    #[test]
    fn a_short_array_takes_the_innermost_frames() {
        assert!(callers::<1>()[0] != 0);
        assert_eq!(callers::<0>(), [0; 0]);
    }
}

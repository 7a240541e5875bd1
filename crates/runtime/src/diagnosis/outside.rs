//! Calls outside of init and finalize that cannot fail: those that ask for a number, which have a result there, too, and a finalize too
//! many.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use oxshmem_base::Error;

use crate::diagnosis::errors;
use crate::start::{job, state};

/// -1, with a message about the first such call: the program goes on, most likely with a wrong number.
#[cold]
#[inline(never)]
pub(crate) fn no_number(call: &str) -> c_int {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) && !job::is_forked_child() {
        let error = Error::new(format!("{call}: the library is not initialised, so the result is -1"))
            .because("the call does not come between shmem_init and the last shmem_finalize")
            .fix("call shmem_init first, and keep the number if it is needed after shmem_finalize");
        errors::note(&format!("{error}{}", errors::place()));
    }
    -1
}

/// A message about the first finalize that has no initialisation to take back: the program goes on, as there is nothing to end.
#[cold]
#[inline(never)]
pub(crate) fn nothing_to_end(call: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Relaxed) {
        return;
    }
    let why = if state::has_begun_a_life() {
        "the program has finalized as often as it has initialised"
    } else {
        "neither shmem_init nor shmem_init_thread was called"
    };
    let error = Error::new(format!("{call}: the library is not initialised, so the call does nothing"))
        .because(why)
        .fix("call shmem_finalize once for each call of shmem_init or shmem_init_thread");
    errors::note(&format!("{error}{}", errors::place()));
}

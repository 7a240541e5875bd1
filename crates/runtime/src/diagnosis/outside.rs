//! Numbers that are asked for outside of init and finalize. The calls cannot fail, so they have a result there, too.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use oxshmem_base::Error;

use crate::diagnosis::errors;
use crate::start::job;

/// -1, with a message about the first such call: the program goes on, most likely with a wrong number.
#[cold]
#[inline(never)]
pub(crate) fn no_number(call: &str) -> c_int {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) && !job::is_stranger() {
        let error = Error::new(format!("{call}: the library is not initialised, so the result is -1"))
            .because("the call does not come between shmem_init and the last shmem_finalize")
            .fix("call shmem_init first, and keep the number if it is needed after shmem_finalize");
        errors::note(&format!("{error}{}", errors::place()));
    }
    -1
}

//! Opens UCX, and takes back what it does to the process on the way.
//!
//! When UCX is loaded it installs handlers for SIGSEGV and its like, which print a backtrace in the name of UCX and, with
//! some settings, wait for a debugger. Crashes belong to the program and to who launched it, so the handlers that were
//! there before are put back; a user who sets `UCX_ERROR_SIGNALS` or `UCX_HANDLE_ERRORS` wants UCX's and keeps them. No
//! environment variable has to be changed for this, which would be unsound once the process has threads.
//!
//! UCX's memory hooks stay as UCX wants them: transports that register the user's buffers keep a cache of registrations,
//! and without the hooks a buffer that is unmapped and mapped again would keep a registration of pages it no longer has.
//! The hooks see what goes through the C library, and so do all our mappings.

use std::mem::MaybeUninit;

use oxshmem_base::Error;
use oxshmem_ucx_sys::Ucx;

/// The signals that UCX handles by itself.
const SIGNALS: [libc::c_int; 4] = [libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE];

/// The library, opened once in a process.
pub(crate) fn library() -> Result<&'static Ucx, Error> {
    static OPENED: std::sync::Once = std::sync::Once::new();
    let mut opened = None;
    OPENED.call_once(|| {
        let wanted = ["UCX_ERROR_SIGNALS", "UCX_HANDLE_ERRORS"].iter().any(|name| std::env::var_os(name).is_some());
        let before = SIGNALS.map(|signal| (signal, handler(signal)));
        opened = Some(Ucx::open());
        if !wanted {
            before.iter().filter_map(|(signal, action)| Some((*signal, (*action)?))).for_each(put_back);
        }
    });
    opened.unwrap_or_else(Ucx::open).map_err(|missing| {
        Error::new("UCX cannot be used")
            .because(missing)
            .fix("install UCX (Debian: libucx0), or use another SHMEM_TRANSPORT")
    })
}

fn handler(signal: libc::c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::uninit();
    // SAFETY: without a new action the call only asks; the place is large enough, and filled if the call succeeds.
    (unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } == 0)
        // SAFETY: filled, as just checked.
        .then(|| unsafe { action.assume_init() })
}

fn put_back((signal, action): (libc::c_int, libc::sigaction)) {
    // SAFETY: the action was in force before, so its handler is the program's own.
    if unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } != 0 {
        tracing::warn!(signal, "a signal handler of UCX stays: {}", std::io::Error::last_os_error());
    }
}

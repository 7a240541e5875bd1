//! Opens UCX, and takes back what it does to the process on the way.
//!
//! When UCX is loaded it installs handlers for SIGSEGV and its like, which print a backtrace in the name of UCX and, with
//! some settings, wait for a debugger. Crashes belong to the program and to its launcher, so the handlers that were
//! there before are put back; a user who sets `UCX_ERROR_SIGNALS` or `UCX_HANDLE_ERRORS` wants UCX's and keeps them. No
//! environment variable has to be changed for this, which would be unsound once the process has threads.
//!
//! UCX's memory hooks stay as UCX wants them: transports that register the user's buffers keep a cache of registrations,
//! and without the hooks a buffer that is unmapped and mapped again would keep a registration of pages it no longer has.
//! The hooks see what goes through the C library, and so do all our mappings.

use std::sync::OnceLock;

use oxshmem_base::Error;
use oxshmem_os::signals;
use oxshmem_ucx_sys::Ucx;

/// The library, opened once in a process.
pub(crate) fn library() -> Result<&'static Ucx, Error> {
    static OPENED: OnceLock<Result<&'static Ucx, Error>> = OnceLock::new();
    let open = || {
        let wanted = ["UCX_ERROR_SIGNALS", "UCX_HANDLE_ERRORS"].iter().any(|name| std::env::var_os(name).is_some());
        let opened = if wanted { Ucx::open() } else { signals::keeping_handlers(Ucx::open) };
        opened.map_err(|missing| {
            Error::new("UCX cannot be used")
                .because(missing)
                .fix("install UCX (Debian: libucx0), or use another SHMEM_TRANSPORT")
        })
    };
    OPENED.get_or_init(open).clone()
}

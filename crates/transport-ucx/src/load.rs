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
//!
//! Under ThreadSanitizer they crash: a thread that ends gives its stack back when the sanitizer has forgotten it already, and the hook takes
//! a lock, which the sanitizer watches. UCX then does without hooks and without the cache.

use std::sync::OnceLock;

use oxshmem_base::Error;
use oxshmem_os::{library, process, signals};
use oxshmem_ucx_sys::Ucx;

/// The variable of UCX for its hooks of memory. UCX reads it when it is loaded, and no function sets it later.
const HOOKS: &str = "UCX_MEM_EVENTS";

/// The library, opened once in a process.
pub(crate) fn library() -> Result<&'static Ucx, Error> {
    static OPENED: OnceLock<Result<&'static Ucx, Error>> = OnceLock::new();
    let open = || {
        // The race detector of `oshcc --race` has `__tsan_init` too, but not this function.
        if library::of_any(c"__tsan_get_current_report").is_some() {
            without_hooks(process::set_variable_if_alone)?;
        }
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

/// Switches the hooks off, unless the user has decided. `set` sets a variable that is not set, if that is safe, and tells whether it is set.
fn without_hooks(set: impl FnOnce(&str, &str) -> bool) -> Result<(), Error> {
    if set(HOOKS, "n") {
        return Ok(());
    }
    Err(Error::new("UCX cannot be used under ThreadSanitizer")
        .because("its hooks of memory crash there, and the process has several threads, so that the library cannot switch them off")
        .fix(format!("set {HOOKS}=n, or use another SHMEM_TRANSPORT")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_off_or_the_user_is_asked() {
        assert!(without_hooks(|name, value| (name, value) == ("UCX_MEM_EVENTS", "n")).is_ok());
        let error = without_hooks(|_, _| false).expect_err("it is not set").to_string();
        assert!(error.contains("set UCX_MEM_EVENTS=n"), "{error}");
    }
}

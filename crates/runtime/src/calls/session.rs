//! Sessions of contexts: the program announces a phase of similar operations.
//!
//! A session is a hint. No lane needs it: operations gather in batches until their caller waits, with a session and without one.

use core::ffi::c_long;

use crate::teams::context::ContextHandle;

/// `shmem_ctx_session_config_t` of the header.
#[repr(C)]
pub struct SessionConfig {
    _total_ops: usize,
}

/// Announces a phase of similar operations.
///
/// # Safety
/// The handle is a constant, or of a context that has not been destroyed.
pub unsafe fn start(context: ContextHandle, _options: c_long, _config: *const SessionConfig, _config_mask: c_long) {
    context.checked("shmem_ctx_session_start");
}

/// Ends the phase.
///
/// # Safety
/// The handle is a constant, or of a context that has not been destroyed.
pub unsafe fn stop(context: ContextHandle) {
    context.checked("shmem_ctx_session_stop");
}

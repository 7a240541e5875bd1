//! Sessions of contexts: the program announces a phase of similar operations.

use core::ffi::c_long;

use crate::teams::context::ContextHandle;

const SESSION_TOTAL_OPS: c_long = 1;

/// `shmem_ctx_session_config_t` of the header.
#[repr(C)]
pub struct SessionConfig {
    total_ops: usize,
}

/// Announces a phase of similar operations.
///
/// # Safety
/// `config` is readable unless `config_mask` is 0.
pub unsafe fn start(context: ContextHandle, options: c_long, config: *const SessionConfig, config_mask: c_long) {
    let has_total = config_mask & SESSION_TOTAL_OPS != 0 && !config.is_null();
    // SAFETY: the caller promises that `config` is readable if the mask names a field.
    let total = has_total.then(|| unsafe { (*config).total_ops } as u64);
    context.checked("shmem_ctx_session_start").start_session(options, total);
}

/// Ends the phase.
///
/// # Safety
/// The handle is a constant, or of a context that has not been destroyed.
pub unsafe fn stop(context: ContextHandle) {
    context.checked("shmem_ctx_session_stop").stop_session();
}

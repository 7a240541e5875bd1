//! UCX: its types as bindgen wrote them, its functions found at run time, its inline functions ported.
//!
//! Structs of UCX say which of their members are set, and only ever grow at their ends, so one build serves every version
//! from 1.10 on, which brought the calls that end in `nbx`.
//!
//! A signature that is not the header's does not compile:
//!
//! ```
//! const _: unsafe extern "C" fn(oxshmem_ucx_sys::ucp_worker_h) -> u32 = oxshmem_ucx_sys::ucp_worker_progress;
//! ```
//! ```compile_fail,E0308
//! const _: unsafe extern "C" fn(oxshmem_ucx_sys::ucp_worker_h) -> u64 = oxshmem_ucx_sys::ucp_worker_progress;
//! ```

#[allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, clippy::all)]
mod bindings;
pub mod inline;

use core::ffi::{c_char, c_int, c_uint, c_void};

pub use bindings::*;

/// Declares the table, and compares each signature with the header's declaration in a constant that is not linked.
macro_rules! functions {
    ($($(#[$note:meta])* $field:ident: $signature:ty, $declared:ident $name:literal;)*) => {
        $(const _: $signature = bindings::$declared;)*

        oxshmem_os::function_table! {
            /// The functions of UCX that we call. Its plug-ins look for the symbols of their parents in the global scope.
            pub struct Ucx of c"libucp.so.0", Global {
                $($(#[$note])* $field: $signature, $name;)*
            }
        }
    };
}

type Request = *const ucp_request_param_t;

functions! {
    /// The purpose for which the library was built.
    lib_query: unsafe extern "C" fn(*mut ucp_lib_attr_t) -> ucs_status_t, ucp_lib_query c"ucp_lib_query";
    /// Its version, as text.
    version: unsafe extern "C" fn() -> *const c_char, ucp_get_version_string c"ucp_get_version_string";
    /// The text for an error.
    status_string: unsafe extern "C" fn(ucs_status_t) -> *const c_char, ucs_status_string c"ucs_status_string";
    /// Reads the environment.
    config_read: unsafe extern "C" fn(*const c_char, *const c_char, *mut *mut ucp_config_t) -> ucs_status_t,
        ucp_config_read c"ucp_config_read";
    /// Changes one setting.
    config_modify: unsafe extern "C" fn(*mut ucp_config_t, *const c_char, *const c_char) -> ucs_status_t,
        ucp_config_modify c"ucp_config_modify";
    /// Frees a configuration.
    config_release: unsafe extern "C" fn(*mut ucp_config_t), ucp_config_release c"ucp_config_release";
    /// A context; see [`inline::ucp_init`].
    init_version: unsafe extern "C" fn(
        c_uint, c_uint, *const ucp_params_t, *const ucp_config_t, *mut ucp_context_h,
    ) -> ucs_status_t, ucp_init_version c"ucp_init_version";
    /// Frees a context.
    cleanup: unsafe extern "C" fn(ucp_context_h), ucp_cleanup c"ucp_cleanup";
    /// A worker.
    worker_create: unsafe extern "C" fn(ucp_context_h, *const ucp_worker_params_t, *mut ucp_worker_h) -> ucs_status_t,
        ucp_worker_create c"ucp_worker_create";
    /// Frees a worker.
    worker_destroy: unsafe extern "C" fn(ucp_worker_h), ucp_worker_destroy c"ucp_worker_destroy";
    /// A worker's address.
    worker_query: unsafe extern "C" fn(ucp_worker_h, *mut ucp_worker_attr_t) -> ucs_status_t,
        ucp_worker_query c"ucp_worker_query";
    /// Frees an address.
    worker_release_address: unsafe extern "C" fn(ucp_worker_h, *mut ucp_address_t),
        ucp_worker_release_address c"ucp_worker_release_address";
    /// Moves a worker's operations on.
    worker_progress: unsafe extern "C" fn(ucp_worker_h) -> c_uint, ucp_worker_progress c"ucp_worker_progress";
    /// The descriptor to poll for a worker.
    worker_get_efd: unsafe extern "C" fn(ucp_worker_h, *mut c_int) -> ucs_status_t,
        ucp_worker_get_efd c"ucp_worker_get_efd";
    /// Asks for a sign of the next event.
    worker_arm: unsafe extern "C" fn(ucp_worker_h) -> ucs_status_t, ucp_worker_arm c"ucp_worker_arm";
    /// Wakes who polls.
    worker_signal: unsafe extern "C" fn(ucp_worker_h) -> ucs_status_t, ucp_worker_signal c"ucp_worker_signal";
    /// Completes what a worker has issued.
    worker_flush: unsafe extern "C" fn(ucp_worker_h, Request) -> ucs_status_ptr_t,
        ucp_worker_flush_nbx c"ucp_worker_flush_nbx";
    /// The handler of active messages.
    worker_set_am_recv_handler: unsafe extern "C" fn(ucp_worker_h, *const ucp_am_handler_param_t) -> ucs_status_t,
        ucp_worker_set_am_recv_handler c"ucp_worker_set_am_recv_handler";
    /// An endpoint.
    ep_create: unsafe extern "C" fn(ucp_worker_h, *const ucp_ep_params_t, *mut ucp_ep_h) -> ucs_status_t,
        ucp_ep_create c"ucp_ep_create";
    /// Ends an endpoint.
    ep_close: unsafe extern "C" fn(ucp_ep_h, Request) -> ucs_status_ptr_t, ucp_ep_close_nbx c"ucp_ep_close_nbx";
    /// A key as an endpoint uses it.
    ep_rkey_unpack: unsafe extern "C" fn(ucp_ep_h, *const c_void, *mut ucp_rkey_h) -> ucs_status_t,
        ucp_ep_rkey_unpack c"ucp_ep_rkey_unpack";
    /// Frees a key.
    rkey_destroy: unsafe extern "C" fn(ucp_rkey_h), ucp_rkey_destroy c"ucp_rkey_destroy";
    /// A key as it travels.
    rkey_pack: unsafe extern "C" fn(ucp_context_h, ucp_mem_h, *mut *mut c_void, *mut usize) -> ucs_status_t,
        ucp_rkey_pack c"ucp_rkey_pack";
    /// Frees a packed key.
    rkey_buffer_release: unsafe extern "C" fn(*mut c_void), ucp_rkey_buffer_release c"ucp_rkey_buffer_release";
    /// Registers memory.
    mem_map: unsafe extern "C" fn(ucp_context_h, *const ucp_mem_map_params_t, *mut ucp_mem_h) -> ucs_status_t,
        ucp_mem_map c"ucp_mem_map";
    /// Ends a registration.
    mem_unmap: unsafe extern "C" fn(ucp_context_h, ucp_mem_h) -> ucs_status_t, ucp_mem_unmap c"ucp_mem_unmap";
    /// Writes remote memory.
    put: unsafe extern "C" fn(ucp_ep_h, *const c_void, usize, u64, ucp_rkey_h, Request) -> ucs_status_ptr_t,
        ucp_put_nbx c"ucp_put_nbx";
    /// Reads remote memory.
    get: unsafe extern "C" fn(ucp_ep_h, *mut c_void, usize, u64, ucp_rkey_h, Request) -> ucs_status_ptr_t,
        ucp_get_nbx c"ucp_get_nbx";
    /// Updates remote memory.
    atomic: unsafe extern "C" fn(
        ucp_ep_h, ucp_atomic_op_t, *const c_void, usize, u64, ucp_rkey_h, Request,
    ) -> ucs_status_ptr_t, ucp_atomic_op_nbx c"ucp_atomic_op_nbx";
    /// Sends an active message.
    am_send: unsafe extern "C" fn(
        ucp_ep_h, c_uint, *const c_void, usize, *const c_void, usize, Request,
    ) -> ucs_status_ptr_t, ucp_am_send_nbx c"ucp_am_send_nbx";
    /// Receives the data of an active message that came by rendezvous.
    am_recv_data: unsafe extern "C" fn(
        ucp_worker_h, *mut c_void, *mut c_void, usize, Request,
    ) -> ucs_status_ptr_t, ucp_am_recv_data_nbx c"ucp_am_recv_data_nbx";
    /// Drops the data of such a message.
    am_data_release: unsafe extern "C" fn(ucp_worker_h, *mut c_void), ucp_am_data_release c"ucp_am_data_release";
    /// Whether a request is complete.
    request_check_status: unsafe extern "C" fn(*mut c_void) -> ucs_status_t,
        ucp_request_check_status c"ucp_request_check_status";
    /// Frees a request.
    request_free: unsafe extern "C" fn(*mut c_void), ucp_request_free c"ucp_request_free";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_here_is_new_enough_to_answer() {
        let ucx = match Ucx::open() {
            Ok(ucx) => ucx,
            Err(missing) => return println!("not run: {missing} (package libucx0)"),
        };
        // SAFETY: it has no preconditions and returns a constant string.
        let version = unsafe { core::ffi::CStr::from_ptr((ucx.version)()) }.to_string_lossy().into_owned();
        let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
        assert!(numbers >= vec![1, 10], "UCX {version}");
    }
}

//! PMIx: its types as bindgen wrote them, its functions found at run time, and a client that is safe to use.
//!
//! A signature that is not the header's does not compile:
//!
//! ```
//! const _: unsafe extern "C" fn() -> i32 = oxshmem_pmix_sys::PMIx_Commit;
//! ```
//! ```compile_fail,E0308
//! const _: unsafe extern "C" fn() -> i64 = oxshmem_pmix_sys::PMIx_Commit;
//! ```

#[allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, clippy::all)]
mod bindings;
mod client;

use core::ffi::{c_char, c_int, c_void};

pub use bindings::*;
pub use client::{Client, NoConnection};

/// All processes of a job at once: what concerns the job and not one of them. A macro that bindgen cannot evaluate.
pub const PMIX_RANK_WILDCARD: pmix_rank_t = u32::MAX - 1;

type Init = unsafe extern "C" fn(*mut pmix_proc_t, *mut pmix_info_t, usize) -> pmix_status_t;
type Finalize = unsafe extern "C" fn(*const pmix_info_t, usize) -> pmix_status_t;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut pmix_proc_t, usize) -> pmix_status_t;
type Put = unsafe extern "C" fn(pmix_scope_t, *const c_char, *mut pmix_value_t) -> pmix_status_t;
type Commit = unsafe extern "C" fn() -> pmix_status_t;
type Fence = unsafe extern "C" fn(*const pmix_proc_t, usize, *const pmix_info_t, usize) -> pmix_status_t;
type Get = unsafe extern "C" fn(
    *const pmix_proc_t,
    *const c_char,
    *const pmix_info_t,
    usize,
    *mut *mut pmix_value_t,
) -> pmix_status_t;
type Text = unsafe extern "C" fn(pmix_status_t) -> *const c_char;
type Version = unsafe extern "C" fn() -> *const c_char;
type RegisterHandler = unsafe extern "C" fn(
    *mut pmix_status_t,
    usize,
    *mut pmix_info_t,
    usize,
    pmix_notification_fn_t,
    pmix_hdlr_reg_cbfunc_t,
    *mut c_void,
) -> pmix_status_t;

// Compared with the headers' declarations; an unused constant is not linked.
const _: Init = bindings::PMIx_Init;
const _: Finalize = bindings::PMIx_Finalize;
const _: Abort = bindings::PMIx_Abort;
const _: Put = bindings::PMIx_Put;
const _: Commit = bindings::PMIx_Commit;
const _: Fence = bindings::PMIx_Fence;
const _: Get = bindings::PMIx_Get;
const _: Text = bindings::PMIx_Error_string;
const _: Version = bindings::PMIx_Get_version;
const _: RegisterHandler = bindings::PMIx_Register_event_handler;

oxshmem_os::function_table! {
    /// The functions of PMIx that a client calls. Its plug-ins expect the library's symbols to be global.
    pub struct Pmix of c"libpmix.so.2", Global {
        /// Connects to the server that the environment names.
        init: Init, c"PMIx_Init";
        /// Leaves the job.
        finalize: Finalize, c"PMIx_Finalize";
        /// Ends processes of the job.
        abort: Abort, c"PMIx_Abort";
        /// Keeps a value to be published.
        put: Put, c"PMIx_Put";
        /// Publishes what was kept.
        commit: Commit, c"PMIx_Commit";
        /// Waits for processes of the job.
        fence: Fence, c"PMIx_Fence";
        /// Looks up a value.
        get: Get, c"PMIx_Get";
        /// The text for a status.
        error_string: Text, c"PMIx_Error_string";
        /// Which PMIx this is.
        version: Version, c"PMIx_Get_version";
        /// Asks to be told of an event.
        register_event_handler: RegisterHandler, c"PMIx_Register_event_handler";
    }
}

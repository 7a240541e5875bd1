//! The headers' inline functions and macros that we use, in Rust.

use core::ffi::{c_uint, c_void};

use crate::{
    UCP_API_MAJOR, UCP_API_MINOR, UCS_ERR_LAST, UCS_INPROGRESS, UCS_OK, Ucx, ucp_config_t, ucp_context_h, ucp_params_t,
    ucs_status_ptr_t, ucs_status_t,
};

/// The oldest version of the interface that has all that we call. UCX warns if it is asked for a newer one than its own, and the bindings'
/// may be newer.
const OLDEST: (c_uint, c_uint) = (1, 10);
const _: () = assert!(OLDEST.0 == UCP_API_MAJOR && OLDEST.1 <= UCP_API_MINOR);

/// `ucp_init`: a context, by the oldest version of the interface that we need.
///
/// # Safety
/// As for `ucp_init_version`: valid parameters, a configuration of `ucp_config_read`, a place for the handle.
pub unsafe fn ucp_init(
    ucx: &Ucx,
    params: *const ucp_params_t,
    config: *const ucp_config_t,
    context: *mut ucp_context_h,
) -> ucs_status_t {
    // SAFETY: the parameters are valid, the configuration came from `ucp_config_read`, and the handle has a place.
    unsafe { (ucx.init_version)(OLDEST.0, OLDEST.1, params, config, context) }
}

/// The outcome of a non-blocking call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// It is complete.
    Done,
    /// It is under way; the request is to be freed.
    Request(*mut c_void),
    /// It failed.
    Failed(ucs_status_t),
}

/// `UCS_PTR_IS_ERR`, `UCS_PTR_IS_PTR` and `UCS_PTR_RAW_STATUS` at once: a pointer near the end of the address space is an
/// error, null is success, everything else is a request.
pub fn started(pointer: ucs_status_ptr_t) -> Started {
    match pointer.addr() {
        0 => Started::Done,
        bits if bits >= (UCS_ERR_LAST as isize).cast_unsigned() => Started::Failed(bits as ucs_status_t),
        _ => Started::Request(pointer),
    }
}

/// `UCS_PTR_STATUS`.
pub fn status(pointer: ucs_status_ptr_t) -> ucs_status_t {
    match started(pointer) {
        Started::Done => UCS_OK,
        Started::Request(_) => UCS_INPROGRESS,
        Started::Failed(status) => status,
    }
}

/// `ucp_dt_make_contig`: elements of `size` bytes.
pub const fn ucp_dt_make_contig(size: usize) -> crate::ucp_datatype_t {
    // The class of contiguous types is 0, in the low three bits.
    (size as crate::ucp_datatype_t) << 3
}

/// `ucp_dt_make_iov`: a list of pieces.
pub const fn ucp_dt_make_iov() -> crate::ucp_datatype_t {
    // The class of lists is 2, in the low three bits.
    2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UCS_ERR_UNREACHABLE;

    /// UCX 1.12 warned of the bindings' version in each process.
    #[test]
    fn the_version_that_ucx_is_asked_for_is_the_one_that_the_page_names() {
        let page = include_str!("../../../crates/transport-ucx/README.md");
        let (major, minor) = OLDEST;
        assert!(page.contains(&format!("(`libucp.so.0`, {major}.{minor} or later")));
    }

    #[test]
    fn a_pointer_says_how_it_went() {
        let pointer = |bits: isize| core::ptr::without_provenance_mut::<c_void>(bits.cast_unsigned());
        assert_eq!(status(pointer(0)), UCS_OK);
        assert_eq!(status(pointer(UCS_ERR_UNREACHABLE.into())), UCS_ERR_UNREACHABLE);
        assert_eq!(status(pointer(UCS_ERR_LAST.into())), UCS_ERR_LAST);
        assert_eq!(started(pointer(0x7000_1230)), Started::Request(pointer(0x7000_1230)));
        assert_eq!(status(pointer(isize::from(UCS_ERR_LAST) - 1)), UCS_INPROGRESS);
    }
}

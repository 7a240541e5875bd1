//! libfabric: its types as bindgen wrote them, its functions found at run time, its inline functions ported.
//!
//! The library exports few functions; everything else goes through tables in the objects, which [`inline`] does as the
//! C headers do. Structs and tables have only ever grown at their ends, so one build serves every version from 1.5 on;
//! what asks for a version asks for [`VERSION`] or a later one, and members that came later are not touched.
//!
//! A signature that is not the header's does not compile:
//!
//! ```
//! const _: unsafe extern "C" fn() -> u32 = oxshmem_libfabric_sys::fi_version;
//! ```
//! ```compile_fail,E0308
//! const _: unsafe extern "C" fn() -> u64 = oxshmem_libfabric_sys::fi_version;
//! ```

#[allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, clippy::all)]
mod bindings;
pub mod inline;

use core::ffi::{c_char, c_int, c_void};

pub use bindings::*;

/// The oldest version of the interface that has all that we call: what old installations of Cray have.
pub const VERSION: u32 = 1 << 16 | 15;
/// An address that is not known.
pub const FI_ADDR_UNSPEC: fi_addr_t = u64::MAX;
/// A key that the provider is to choose.
pub const FI_KEY_NOTAVAIL: u64 = u64::MAX;

type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut fi_info);
type DupInfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type OpenFabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
type StrError = unsafe extern "C" fn(c_int) -> *const c_char;
type Version = unsafe extern "C" fn() -> u32;

// Compared with the headers' declarations; an unused constant is not linked.
const _: GetInfo = bindings::fi_getinfo;
const _: FreeInfo = bindings::fi_freeinfo;
const _: DupInfo = bindings::fi_dupinfo;
const _: OpenFabric = bindings::fi_fabric;
const _: StrError = bindings::fi_strerror;
const _: Version = bindings::fi_version;

oxshmem_os::function_table! {
    /// The functions of libfabric that are called by name. The symbols are versioned and plain `dlsym` would give the
    /// newest, whose
    /// structs may be longer than ours; the versions named here are the ones of the bindings, and every later library
    /// keeps them.
    pub struct Libfabric of c"libfabric.so.1", Local {
        /// Lists what providers offer.
        getinfo: GetInfo, c"fi_getinfo" c"FABRIC_1.3";
        /// Frees such a list.
        freeinfo: FreeInfo, c"fi_freeinfo" c"FABRIC_1.3";
        /// Copies an entry; of null it makes an empty one.
        dupinfo: DupInfo, c"fi_dupinfo" c"FABRIC_1.3";
        /// Opens a fabric.
        fabric: OpenFabric, c"fi_fabric" c"FABRIC_1.1";
        /// The text for an error.
        strerror: StrError, c"fi_strerror" c"FABRIC_1.0";
        /// The version of the library.
        version: Version, c"fi_version" c"FABRIC_1.0";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_here_is_new_enough_to_answer() {
        let library = match Libfabric::open() {
            Ok(library) => library,
            Err(missing) => return println!("not run: {missing} (package libfabric1)"),
        };
        // SAFETY: it has no preconditions.
        let version = unsafe { (library.version)() };
        assert!(version >= VERSION, "libfabric {}.{}", version >> 16, version & 0xFFFF);
        // SAFETY: null asks for an empty entry.
        let hints = unsafe { (library.dupinfo)(core::ptr::null()) };
        assert!(!hints.is_null());
        // SAFETY: an entry that libfabric made and nobody else has.
        unsafe {
            assert!((*hints).next.is_null() && !(*hints).ep_attr.is_null() && !(*hints).domain_attr.is_null());
            (library.freeinfo)(hints);
        }
    }
}

//! The parts of hwloc 2 that oxshmem uses: its types as bindgen wrote them, its functions found at run time, its inline
//! functions ported. See the README.
//!
//! A signature that is not the header's does not compile:
//!
//! ```
//! const _: unsafe extern "C" fn() -> u32 = oxshmem_hwloc2_sys::hwloc_get_api_version;
//! ```
//! ```compile_fail,E0308
//! const _: unsafe extern "C" fn() -> u64 = oxshmem_hwloc2_sys::hwloc_get_api_version;
//! ```

#[allow(missing_docs, non_camel_case_types, non_upper_case_globals, clippy::all)]
mod bindings;
mod inlines;

use core::ffi::{c_char, c_int, c_uint, c_ulong};
use std::fmt;

pub use bindings::*;
pub use inlines::*;

oxshmem_os::function_table! {
    /// The functions of hwloc that we call.
    pub struct Functions of c"libhwloc.so.15", Local {
        /// The version of the interface: the major one in the upper 16 bits.
        api_version: unsafe extern "C" fn() -> c_uint, c"hwloc_get_api_version";
        /// Makes an empty topology.
        init: unsafe extern "C" fn(*mut hwloc_topology_t) -> c_int, c"hwloc_topology_init";
        /// Takes the description from text in hwloc's XML.
        set_xmlbuffer: unsafe extern "C" fn(hwloc_topology_t, *const c_char, c_int) -> c_int,
            c"hwloc_topology_set_xmlbuffer";
        /// Takes the description from a text like `package:2 core:4 pu:2`.
        set_synthetic: unsafe extern "C" fn(hwloc_topology_t, *const c_char) -> c_int,
            c"hwloc_topology_set_synthetic";
        /// Says what else counts.
        set_flags: unsafe extern "C" fn(hwloc_topology_t, c_ulong) -> c_int, c"hwloc_topology_set_flags";
        /// Leaves parts of hwloc out (since 2.1).
        set_components: unsafe extern "C" fn(hwloc_topology_t, c_ulong, *const c_char) -> c_int,
            c"hwloc_topology_set_components";
        /// Says which objects of a type are kept.
        set_type_filter: unsafe extern "C" fn(hwloc_topology_t, hwloc_obj_type_t, hwloc_type_filter_e) -> c_int,
            c"hwloc_topology_set_type_filter";
        /// The same for bridges, PCI devices and what the system makes of them.
        set_io_types_filter: unsafe extern "C" fn(hwloc_topology_t, hwloc_type_filter_e) -> c_int,
            c"hwloc_topology_set_io_types_filter";
        /// Looks at the machine, or at the description.
        load: unsafe extern "C" fn(hwloc_topology_t) -> c_int, c"hwloc_topology_load";
        /// Frees a topology and all its objects.
        destroy: unsafe extern "C" fn(hwloc_topology_t), c"hwloc_topology_destroy";
        /// At which depth objects of a type are; negative for memory and devices.
        type_depth: unsafe extern "C" fn(hwloc_topology_t, hwloc_obj_type_t) -> c_int, c"hwloc_get_type_depth";
        /// How many objects a depth has.
        count_at_depth: unsafe extern "C" fn(hwloc_topology_t, c_int) -> c_uint, c"hwloc_get_nbobjs_by_depth";
        /// One of them, or null.
        object_at_depth: unsafe extern "C" fn(hwloc_topology_t, c_int, c_uint) -> hwloc_obj_t,
            c"hwloc_get_obj_by_depth";
        /// The next number in a set after the given one (-1 for the first), or -1.
        bitmap_next: unsafe extern "C" fn(hwloc_const_bitmap_t, c_int) -> c_int, c"hwloc_bitmap_next";
        /// The distances between objects of one type.
        distances_by_type: unsafe extern "C" fn(
            hwloc_topology_t,
            hwloc_obj_type_t,
            *mut c_uint,
            *mut *mut hwloc_distances_s,
            c_ulong,
            c_ulong,
        ) -> c_int, c"hwloc_distances_get_by_type";
        /// Gives distances back.
        distances_release: unsafe extern "C" fn(hwloc_topology_t, *mut hwloc_distances_s),
            c"hwloc_distances_release";
    }
}

/// The table above, filled with what bindgen found in hwloc's headers: a wrong signature does not compile. It is never
/// called, so that nothing is linked.
const _: fn() -> Functions = || Functions {
    api_version: hwloc_get_api_version,
    init: hwloc_topology_init,
    set_xmlbuffer: hwloc_topology_set_xmlbuffer,
    set_synthetic: hwloc_topology_set_synthetic,
    set_flags: hwloc_topology_set_flags,
    set_components: hwloc_topology_set_components,
    set_type_filter: hwloc_topology_set_type_filter,
    set_io_types_filter: hwloc_topology_set_io_types_filter,
    load: hwloc_topology_load,
    destroy: hwloc_topology_destroy,
    type_depth: hwloc_get_type_depth,
    count_at_depth: hwloc_get_nbobjs_by_depth,
    object_at_depth: hwloc_get_obj_by_depth,
    bitmap_next: hwloc_bitmap_next,
    distances_by_type: hwloc_distances_get_by_type,
    distances_release: hwloc_distances_release,
};

/// The major version of hwloc's interface that the bindings are for.
const MAJOR: u32 = 2;

/// hwloc's functions, if it is installed and speaks our version.
pub fn functions() -> Result<&'static Functions, Unusable> {
    let functions = Functions::open().map_err(|missing| Unusable(missing.to_string()))?;
    // SAFETY: the function takes no arguments and only returns the version of the library's interface.
    let version = unsafe { (functions.api_version)() };
    accept(version)?;
    Ok(functions)
}

fn accept(version: u32) -> Result<(), Unusable> {
    match version >> 16 {
        MAJOR => Ok(()),
        other => Err(Unusable(format!("libhwloc.so.15 speaks version {other} of its interface, {MAJOR} is needed"))),
    }
}

/// Why hwloc cannot be used here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unusable(String);

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_two_is_accepted() {
        assert_eq!(accept(0x0002_0800), Ok(()));
        for other in [0x0001_0b00, 0x0003_0000] {
            assert!(accept(other).unwrap_err().to_string().contains("2 is needed"));
        }
    }

    #[test]
    fn the_bindings_are_those_of_the_installed_library() {
        match functions() {
            // SAFETY: the function takes no arguments and only returns a number.
            Ok(functions) => assert_eq!(unsafe { (functions.api_version)() } >> 16, HWLOC_API_VERSION >> 16),
            Err(why) => println!("not run: {why}"),
        }
    }
}

//! Inline functions of hwloc's headers, which no library exports.

use core::ffi::CStr;

use crate::{hwloc_obj, hwloc_obj_t};

/// The value of the first piece of information with this name.
///
/// # Safety
/// The object belongs to a topology that outlives `'o` unchanged.
pub unsafe fn info_by_name<'o>(object: &'o hwloc_obj, name: &CStr) -> Option<&'o CStr> {
    (0..object.infos_count as usize).find_map(|place| {
        // SAFETY: hwloc keeps `infos_count` pairs of strings there for as long as the object lives.
        let (key, value) = unsafe {
            let info = &*object.infos.add(place);
            (CStr::from_ptr(info.name), CStr::from_ptr(info.value))
        };
        (key == name).then_some(value)
    })
}

/// The nearest object around a device that is no device itself: it has sets of processors and NUMA nodes.
///
/// # Safety
/// As for [`info_by_name`].
pub unsafe fn non_io_ancestor(object: &hwloc_obj) -> Option<&hwloc_obj> {
    let mut above: hwloc_obj_t = object.parent;
    loop {
        // SAFETY: parents belong to the same topology; the root's is null.
        let object = unsafe { above.as_ref() }?;
        if !object.cpuset.is_null() {
            return Some(object);
        }
        above = object.parent;
    }
}

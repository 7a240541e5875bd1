//! Reads a node with hwloc: this machine, hwloc's XML, or a synthetic description.
#![allow(unsafe_code, reason = "hwloc is a C library")]

use core::ffi::{CStr, c_int};
use core::ptr::null_mut;
use std::ffi::CString;

use oxshmem_base::Error;
use oxshmem_hwloc2_sys::{self as sys, Functions, functions, hwloc_obj, hwloc_topology_t};

use crate::node::{FoundDevice, FoundMemory, FoundProcessor, LoaderFindings};

/// The machine that hwloc is to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HwlocView<'t> {
    /// This machine.
    Here,
    /// A text in hwloc's XML.
    Xml(&'t str),
    /// A text like `package:2 core:4 pu:2`.
    Synthetic(&'t str),
}

/// The node as hwloc sees it, without the fabric devices that it does not know.
pub(crate) fn found(look: HwlocView<'_>) -> Result<LoaderFindings, Error> {
    let failed = |why: &str| Error::new("hwloc cannot describe the machine").because(why);
    let functions = functions().map_err(|why| failed(&why.to_string()))?;
    Topology::load(functions, look).map(|topology| topology.found()).map_err(|why| failed(&why))
}

/// Parts of hwloc that stay off: those that would learn about GPUs in the user's process, and the one that moves the
/// calling thread over all processors to ask each for its properties.
const UNWANTED: [&CStr; 7] = [c"cuda", c"nvml", c"opencl", c"rsmi", c"levelzero", c"gl", c"x86"];

/// A loaded topology. It does not change any more.
struct Topology {
    functions: &'static Functions,
    handle: hwloc_topology_t,
}

impl Topology {
    fn load(functions: &'static Functions, look: HwlocView<'_>) -> Result<Topology, String> {
        let asked = |what: &'static str| move |result: c_int| if result == 0 { Ok(()) } else { Err(last_error(what)) };
        let mut handle = null_mut();
        // SAFETY: writes a handle, which is ours until it is destroyed.
        asked("hwloc_topology_init")(unsafe { (functions.init)(&mut handle) })?;
        let topology = Topology { functions, handle };
        match look {
            HwlocView::Here => topology.leave_out(&UNWANTED),
            HwlocView::Xml(text) => {
                let text = CString::new(text).map_err(|_| "the XML has a zero byte in it".to_owned())?;
                let length = c_int::try_from(text.as_bytes_with_nul().len()).map_err(|_| "the XML is too long")?;
                // SAFETY: a C string of that length, its end included; hwloc reads it here.
                let result = unsafe { (functions.set_xmlbuffer)(handle, text.as_ptr(), length) };
                asked("it is no XML of hwloc 2")(result)?;
            }
            HwlocView::Synthetic(text) => {
                let text = CString::new(text).map_err(|_| "the description has a zero byte in it".to_owned())?;
                // SAFETY: a C string, which hwloc copies.
                let result = unsafe { (functions.set_synthetic)(handle, text.as_ptr()) };
                asked("it is no synthetic description of hwloc")(result)?;
            }
        }
        let nothing = sys::HWLOC_TYPE_FILTER_KEEP_NONE;
        let unused = [sys::HWLOC_OBJ_L1CACHE, sys::HWLOC_OBJ_L2CACHE, sys::HWLOC_OBJ_L1ICACHE, sys::HWLOC_OBJ_MISC];
        for kind in unused {
            // SAFETY: the handle is not loaded yet; types that cannot be left out are refused, which costs only time.
            unsafe { (functions.set_type_filter)(handle, kind, nothing) };
        }
        // The whole machine, not the part this process may use: PEs may have different parts.
        let whole = sys::HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED.into();
        // SAFETY: the handle is not loaded yet.
        asked("hwloc_topology_set_flags")(unsafe { (functions.set_flags)(handle, whole) })?;
        let important = sys::HWLOC_TYPE_FILTER_KEEP_IMPORTANT;
        // SAFETY: the topology was initialised above and is not loaded yet, as hwloc demands of this call.
        asked("hwloc_topology_set_io_types_filter")(unsafe { (functions.set_io_types_filter)(handle, important) })?;
        // SAFETY: the topology was initialised above, and this is the only load of it.
        asked("hwloc_topology_load")(unsafe { (functions.load)(handle) })?;
        Ok(topology)
    }

    /// Parts of hwloc that are not to run. Those that are not installed are refused, which is as good.
    fn leave_out(&self, parts: &[&CStr]) {
        let out = sys::HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST.into();
        for part in parts {
            // SAFETY: the topology is not loaded yet; a C string.
            unsafe { (self.functions.set_components)(self.handle, out, part.as_ptr()) };
        }
    }

    fn found(&self) -> LoaderFindings {
        let memories: Vec<&hwloc_obj> = self.objects(sys::HWLOC_OBJ_NUMANODE).collect();
        LoaderFindings {
            processors: self.objects(sys::HWLOC_OBJ_PU).map(|object| self.processor(object)).collect(),
            distances: self.distances(&memories),
            memories: memories.iter().map(|object| self.memory(object)).collect(),
            devices: self.objects(sys::HWLOC_OBJ_OS_DEVICE).filter_map(|object| self.device(object)).collect(),
        }
    }

    /// All objects of a type, in hwloc's order.
    fn objects(&self, kind: sys::hwloc_obj_type_t) -> impl Iterator<Item = &hwloc_obj> {
        // SAFETY: the topology is loaded.
        let depth = unsafe { (self.functions.type_depth)(self.handle, kind) };
        // SAFETY: the topology is loaded; a depth that does not exist has no objects.
        let count = unsafe { (self.functions.count_at_depth)(self.handle, depth) };
        // SAFETY: objects live as long as the topology, which is borrowed, and hwloc changes them no more.
        (0..count)
            .filter_map(move |place| unsafe { (self.functions.object_at_depth)(self.handle, depth, place).as_ref() })
    }

    /// A processor and the things around it, known by hwloc's own numbers.
    fn processor(&self, unit: &hwloc_obj) -> FoundProcessor {
        let mut found = FoundProcessor { cpu: unit.os_index, core: unit.gp_index, l3: None, package: 0 };
        let mut above = unit.parent;
        // SAFETY: parents belong to the same topology; the root's is null.
        while let Some(object) = unsafe { above.as_ref() } {
            match object.type_ {
                sys::HWLOC_OBJ_CORE => found.core = object.gp_index,
                sys::HWLOC_OBJ_L3CACHE => found.l3 = Some(object.gp_index),
                sys::HWLOC_OBJ_PACKAGE => found.package = object.gp_index,
                _ => {}
            }
            above = object.parent;
        }
        found
    }

    fn memory(&self, object: &hwloc_obj) -> FoundMemory {
        // SAFETY: NUMA nodes have attributes, of this kind.
        let bytes = unsafe { object.attr.as_ref().map_or(0, |attributes| attributes.numanode.local_memory) };
        FoundMemory { number: object.os_index, cpus: self.numbers(object.cpuset), bytes }
    }

    /// The numbers in a set.
    fn numbers(&self, set: sys::hwloc_const_bitmap_t) -> Vec<u32> {
        let next = |after: c_int| {
            // SAFETY: a set of the topology; what does not exist is null and is not asked.
            let next = if set.is_null() { -1 } else { unsafe { (self.functions.bitmap_next)(set, after) } };
            Some(next).filter(|&next| next >= 0)
        };
        std::iter::successors(next(-1), |&last| next(last)).map(|number| number as u32).collect()
    }

    /// The firmware's distances between the NUMA nodes, in the order given; empty if there are none.
    fn distances(&self, memories: &[&hwloc_obj]) -> Vec<u16> {
        let mut count = 1;
        let mut found = null_mut();
        let latency = (sys::HWLOC_DISTANCES_KIND_FROM_OS | sys::HWLOC_DISTANCES_KIND_MEANS_LATENCY).into();
        let kind = sys::HWLOC_OBJ_NUMANODE;
        // SAFETY: the topology is loaded; at most `count` pointers are written, and `count` says how many there are.
        let result =
            unsafe { (self.functions.distances_by_type)(self.handle, kind, &mut count, &mut found, latency, 0) };
        // SAFETY: hwloc has written one pointer, valid until it is released.
        let Some(matrix) = (unsafe { found.as_ref() }).filter(|_| result == 0 && count > 0) else { return Vec::new() };
        let n = matrix.nbobjs as usize;
        // SAFETY: a matrix has `n` objects and `n * n` values.
        let (objects, values) =
            unsafe { (core::slice::from_raw_parts(matrix.objs, n), core::slice::from_raw_parts(matrix.values, n * n)) };
        let place = |memory: &&hwloc_obj| objects.iter().position(|&object| core::ptr::eq(object, *memory));
        let places: Option<Vec<usize>> = memories.iter().map(place).collect();
        let ordered = places.map(|places| {
            let pairs = places.iter().flat_map(|&from| places.iter().map(move |&to| values[from * n + to]));
            pairs.map(|value| u16::try_from(value).unwrap_or(u16::MAX)).collect()
        });
        // SAFETY: ours to give back, and not used any more.
        unsafe { (self.functions.distances_release)(self.handle, found) };
        ordered.unwrap_or_default()
    }

    /// Interfaces and fabric devices on PCI cards.
    fn device(&self, device: &hwloc_obj) -> Option<FoundDevice> {
        // SAFETY: OS devices have attributes, of this kind.
        let kind = unsafe { device.attr.as_ref()?.osdev.type_ };
        let fabric = match kind {
            sys::HWLOC_OBJ_OSDEV_NETWORK => false,
            sys::HWLOC_OBJ_OSDEV_OPENFABRICS => true,
            _ => return None,
        };
        // SAFETY: an object's parent lives as long as the object.
        let card = unsafe { device.parent.as_ref() }.filter(|parent| parent.type_ == sys::HWLOC_OBJ_PCI_DEVICE)?;
        // SAFETY: PCI devices have attributes, of this kind.
        let address = unsafe { card.attr.as_ref()?.pcidev };
        // SAFETY: devices have names, which live as long as they.
        let name = unsafe { device.name.as_ref().map(|name| CStr::from_ptr(name)) }?.to_string_lossy().into_owned();
        // SAFETY: the topology is borrowed and does not change.
        let near = unsafe { sys::non_io_ancestor(card) }.map(|place| self.numbers(place.nodeset)).unwrap_or_default();
        // SAFETY: the object belongs to the topology that `self` borrows, so hwloc keeps it and its children alive.
        let states = (1..=8_u8).filter_map(|port| unsafe {
            let key = CString::new(format!("Port{port}State")).ok()?;
            sys::info_by_name(device, &key)
        });
        let states: Vec<&CStr> = states.collect();
        let sys::hwloc_obj_attr_u_hwloc_pcidev_attr_s { domain, bus, dev, func, .. } = address;
        Some(FoundDevice {
            name,
            fabric,
            bus: format!("{domain:04x}:{bus:02x}:{dev:02x}.{func:x}"),
            near,
            up: (!states.is_empty()).then(|| states.contains(&c"4")),
        })
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and no object of it is borrowed any more.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

fn last_error(what: &str) -> String {
    format!("{what}: {}", std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;

    #[test]
    fn synthetic_machines_are_what_they_say() {
        if let Err(why) = functions() {
            return oxshmem_test_folder::not_run(why);
        }
        let found = found(HwlocView::Synthetic("package:2 numa:2 l3:2 core:4 pu:2")).unwrap();
        let node = Node::assemble(found).unwrap();
        assert_eq!(node.describe(), "2 packages, 4 NUMA nodes, 8 L3s, 32 cores, 64 processors");
        assert_eq!(node.memories.iter().map(|memory| memory.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(node.processor(17).map(|p| [p.core, p.l3, p.numa, p.package]), Some([8, 2, 1, 0]));
        let refused = |look| super::found(look).unwrap_err().to_string();
        let wrong = refused(HwlocView::Synthetic("package:none"));
        assert!(wrong.contains("no synthetic description"), "{wrong}");
        let wrong = refused(HwlocView::Xml("<topology/>"));
        assert!(wrong.starts_with("hwloc cannot describe the machine\n  because: "), "{wrong}");
    }
}

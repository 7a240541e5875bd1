//! The list of endpoints, which has one.

use std::ffi::{CStr, c_int};
use std::mem::zeroed;
use std::ptr;

use oxshmem_libfabric_sys as fi;

/// An entry with its attributes; the entry comes first, so that its address is the whole's.
#[repr(C)]
struct InstantEntry {
    info: fi::fi_info,
    tx: fi::fi_tx_attr,
    rx: fi::fi_rx_attr,
    ep: fi::fi_ep_attr,
    domain: fi::fi_domain_attr,
    fabric: fi::fi_fabric_attr,
}

const NAME: &CStr = c"instant";

/// Longest put that is injected, as of Slingshot.
const INJECT: usize = 192;

/// Operations under way, which are over at once.
const DEPTH: usize = 1024;

/// # Safety
/// `info` is null or an entry of this library.
pub(crate) unsafe fn copy(info: *const fi::fi_info) -> *mut fi::fi_info {
    // SAFETY: every member is a number or a pointer, for which zero is a value; an entry of this library is whole.
    unsafe {
        let from = info.cast::<InstantEntry>();
        let entry: &mut InstantEntry = Box::leak(Box::new(if from.is_null() { zeroed() } else { ptr::read(from) }));
        entry.info.next = ptr::null_mut();
        entry.info.tx_attr = &raw mut entry.tx;
        entry.info.rx_attr = &raw mut entry.rx;
        entry.info.ep_attr = &raw mut entry.ep;
        entry.info.domain_attr = &raw mut entry.domain;
        entry.info.fabric_attr = &raw mut entry.fabric;
        ptr::from_mut(entry).cast()
    }
}

/// # Safety
/// `info` is null or an entry of this library that nobody else has.
pub(crate) unsafe fn free(info: *mut fi::fi_info) {
    if !info.is_null() {
        // SAFETY: `copy` has leaked it from a box.
        drop(unsafe { Box::from_raw(info.cast::<InstantEntry>()) });
    }
}

/// # Safety
/// `hints` is an entry of this library; `list` is writable.
pub(crate) unsafe fn list(hints: *const fi::fi_info, list: *mut *mut fi::fi_info) -> c_int {
    // SAFETY: an entry of this library, which has all attributes.
    unsafe {
        let entry = copy(hints);
        let whole = &mut *entry.cast::<InstantEntry>();
        let order = fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW | fi::FI_ORDER_RAW | fi::FI_ORDER_WAR;
        whole.info.caps |= fi::FI_MSG | fi::FI_RMA | fi::FI_REMOTE_COMM;
        whole.tx.inject_size = INJECT;
        (whole.tx.size, whole.rx.size) = (DEPTH, DEPTH);
        (whole.tx.msg_order, whole.rx.msg_order) = (order, order);
        whole.ep.max_msg_size = usize::MAX >> 1;
        whole.ep.max_order_waw_size = usize::MAX;
        whole.ep.max_order_raw_size = usize::MAX;
        whole.ep.max_order_war_size = usize::MAX;
        whole.domain.mr_mode = fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY;
        (whole.domain.data_progress, whole.domain.control_progress) = (fi::FI_PROGRESS_AUTO, fi::FI_PROGRESS_AUTO);
        whole.domain.name = NAME.as_ptr().cast_mut();
        whole.fabric.name = NAME.as_ptr().cast_mut();
        whole.fabric.prov_name = NAME.as_ptr().cast_mut();
        *list = entry;
    }
    0
}

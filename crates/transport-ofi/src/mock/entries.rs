//! The mock's list of what it offers.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::zeroed;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use super::nature::Nature;
use super::natures::NATURES;

/// An entry with its attributes; the entry comes first, so that its address is the whole's.
#[repr(C)]
struct MockEntry {
    pub(super) info: fi::fi_info,
    pub(super) tx: fi::fi_tx_attr,
    pub(super) rx: fi::fi_rx_attr,
    pub(super) ep: fi::fi_ep_attr,
    pub(super) domain: fi::fi_domain_attr,
    pub(super) fabric: fi::fi_fabric_attr,
    pub(super) nic: fi::fid_nic,
    pub(super) device: fi::fi_device_attr,
}

fn entry(from: Option<&MockEntry>) -> *mut fi::fi_info {
    // SAFETY: all-zero attributes are an empty entry; copies share nothing but strings, which stay.
    unsafe {
        let entry: &mut MockEntry = Box::leak(Box::new(from.map_or_else(|| zeroed(), |entry| ptr::read(entry))));
        entry.info.next = ptr::null_mut();
        entry.info.tx_attr = &raw mut entry.tx;
        entry.info.rx_attr = &raw mut entry.rx;
        entry.info.ep_attr = &raw mut entry.ep;
        entry.info.domain_attr = &raw mut entry.domain;
        entry.info.fabric_attr = &raw mut entry.fabric;
        entry.info.nic = &raw mut entry.nic;
        entry.nic.device_attr = &raw mut entry.device;
        ptr::from_mut(entry).cast()
    }
}

pub(super) unsafe extern "C" fn dupinfo(info: *const fi::fi_info) -> *mut fi::fi_info {
    // SAFETY: null or an entry of the mock.
    entry(unsafe { info.cast::<MockEntry>().as_ref() })
}

pub(super) unsafe extern "C" fn freeinfo(info: *mut fi::fi_info) {
    let mut info = info;
    while !info.is_null() {
        // SAFETY: entries of the mock, leaked from boxes.
        let whole = unsafe { Box::from_raw(info.cast::<MockEntry>()) };
        info = whole.info.next;
    }
}

pub(super) unsafe extern "C" fn getinfo(
    asked: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const fi::fi_info,
    list: *mut *mut fi::fi_info,
) -> c_int {
    assert_eq!(asked, fi::VERSION);
    // SAFETY: hints are an entry of the mock.
    let hints = unsafe { &*hints.cast::<MockEntry>() };
    let wanted = hints.fabric.prov_name;
    let mut next = ptr::null_mut();
    let all = NATURES.iter().flat_map(|nature| (0..nature.cards).map(move |card| (nature, card)));
    for (nature, card) in all.rev() {
        // SAFETY: null or a string.
        let named = wanted.is_null() || unsafe { CStr::from_ptr(wanted) } == nature.name;
        let delivers = nature.delivers || hints.tx.op_flags & fi::FI_DELIVERY_COMPLETE == 0;
        let ordered = hints.tx.msg_order & !(nature.order | nature.claimed) == 0;
        if !named || !delivers || !ordered || nature.mr_mode & !hints.domain.mr_mode != 0 {
            continue;
        }
        let info = entry(Some(hints));
        // SAFETY: just made.
        let whole = unsafe { &mut *info.cast::<MockEntry>() };
        whole.info.caps = fi::FI_MSG | fi::FI_RMA | fi::FI_REMOTE_COMM | hints.info.caps & fi::FI_ATOMIC;
        whole.info.next = next;
        whole.tx.inject_size = nature.inject;
        whole.tx.size = nature.queue;
        whole.rx.size = nature.queue;
        whole.tx.msg_order = nature.order | nature.claimed;
        whole.rx.msg_order = nature.order | nature.claimed;
        whole.ep.protocol = nature.protocol;
        whole.ep.max_msg_size = nature.longest;
        whole.ep.max_order_waw_size = nature.waw;
        whole.ep.max_order_raw_size = nature.raw;
        whole.ep.max_order_war_size = nature.waw;
        whole.domain.mr_mode = nature.mr_mode;
        let progress = if nature.by_software { fi::FI_PROGRESS_MANUAL } else { fi::FI_PROGRESS_AUTO };
        (whole.domain.data_progress, whole.domain.control_progress) = (progress, progress);
        whole.domain.name = domain_name(nature, card).into_raw();
        whole.device.name = CString::new(card_name(nature, card)).expect("no zero byte").into_raw();
        whole.fabric.name = CString::from(nature.name).into_raw();
        whole.fabric.prov_name = CString::from(nature.name).into_raw();
        next = info;
    }
    // SAFETY: the caller's variable.
    unsafe { *list = next };
    if next.is_null() { -fi::FI_ENODATA } else { 0 }
}

pub(super) fn domain_name(nature: &Nature, card: usize) -> CString {
    CString::new(card_name(nature, card) + nature.word).expect("no zero byte")
}

fn card_name(nature: &Nature, card: usize) -> String {
    let name = nature.name.to_string_lossy();
    if card == 0 { name.into_owned() } else { format!("{name}_{card}") }
}

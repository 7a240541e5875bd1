//! The only provider, in the form in which the mock lists its own (`src/mock/entries.rs`).

use std::ffi::{CStr, c_int};

use oxshmem_libfabric_sys as fi;

/// The demands and promises of the provider that its entry tells.
pub(super) struct Nature {
    pub(super) name: &'static CStr,
    pub(super) mr_mode: c_int,
    pub(super) inject: usize,
    pub(super) injects: usize,
    pub(super) order: u64,
    pub(super) claimed: u64,
    pub(super) protocol: u32,
    pub(super) waw: usize,
    pub(super) raw: usize,
    pub(super) delivers: bool,
    pub(super) queue: usize,
    pub(super) longest: usize,
    pub(super) lacks: &'static [fi::fi_op],
    pub(super) by_software: bool,
    pub(super) maps_for_writing: bool,
    pub(super) word: &'static str,
    pub(super) cards: usize,
}

pub(super) const NATURES: &[Nature] = &[Nature {
    name: c"instant",
    mr_mode: fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
    // As of Slingshot.
    inject: 192,
    injects: 192,
    order: fi::FI_ORDER_SAS
        | fi::FI_ORDER_SAW
        | fi::FI_ORDER_WAW
        | fi::FI_ORDER_RAR
        | fi::FI_ORDER_RAW
        | fi::FI_ORDER_WAR,
    claimed: 0,
    protocol: 0,
    waw: usize::MAX,
    raw: usize::MAX,
    delivers: true,
    // Operations under way, which are over at once.
    queue: 1024,
    longest: usize::MAX >> 1,
    lacks: &[],
    by_software: false,
    maps_for_writing: false,
    word: "",
    cards: 1,
}];

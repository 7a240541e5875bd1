//! The natures of the mock's providers.

use std::ffi::{CStr, c_int};

use oxshmem_libfabric_sys as fi;

/// The demands and promises of one of the mock's providers.
pub(super) struct Nature {
    pub(super) name: &'static CStr,
    pub(super) mr_mode: c_int,
    pub(super) inject: usize,
    /// Orderings that it keeps, and up to which length for puts.
    pub(super) order: u64,
    pub(super) waw: usize,
    /// Whether it can complete a put when its effect is there.
    pub(super) delivers: bool,
    pub(super) queue: usize,
    pub(super) longest: usize,
    /// An atomic that it has not got.
    pub(super) lacks: Option<fi::fi_op>,
    /// Domains that it offers: `NAME`, `NAME_1`, ... All but the first are slow; the third registers three
    /// pieces of memory and no more, the fourth cannot be opened.
    pub(super) cards: usize,
}

pub(super) const NATURES: &[Nature] = &[
    // Slingshot: keys of its own, registrations that belong to an endpoint, order of messages but not of long puts.
    Nature {
        name: c"mock_slingshot",
        mr_mode: fi::FI_MR_ENDPOINT | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 192,
        order: fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW,
        waw: 192,
        delivers: true,
        queue: 256,
        longest: (1 << 32) - 1,
        lacks: None,
        cards: 4,
    },
    // Cards that want every local buffer registered and acknowledge before the data is there.
    Nature {
        name: c"mock_local",
        mr_mode: fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 32,
        order: fi::FI_ORDER_RAW,
        waw: 0,
        delivers: false,
        queue: 16,
        longest: 1000,
        lacks: None,
        cards: 2,
    },
    // Nothing is demanded and everything kept.
    Nature {
        name: c"mock_orderly",
        mr_mode: 0,
        inject: 0,
        order: fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW | fi::FI_ORDER_RAW | fi::FI_ORDER_WAR,
        waw: usize::MAX,
        delivers: true,
        queue: 64,
        longest: usize::MAX,
        lacks: None,
        cards: 2,
    },
    // Some atomics and not all.
    Nature {
        name: c"mock_incomplete",
        mr_mode: 0,
        inject: 0,
        order: 0,
        waw: 0,
        delivers: true,
        queue: 64,
        longest: usize::MAX,
        lacks: Some(fi::FI_BXOR),
        cards: 1,
    },
];

//! The only provider.

use oxshmem_libfabric_sys as fi;

use crate::nature::{EVERY_ORDER, Nature, USUAL};

pub(super) const NATURES: &[Nature] = &[Nature {
    name: c"instant",
    mr_mode: fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
    // As of Slingshot.
    inject: 192,
    injects: 192,
    order: EVERY_ORDER,
    waw: usize::MAX,
    // Operations under way, which are over at once.
    queue: 1024,
    longest: usize::MAX >> 1,
    cards: 1,
    ..USUAL
}];

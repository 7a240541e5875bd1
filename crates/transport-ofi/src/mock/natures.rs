//! The natures of the mock's providers.

use oxshmem_libfabric_sys as fi;

use super::nature::{EVERY_ORDER, Nature, USUAL};

pub(super) const NATURES: &[Nature] = &[
    // Slingshot: keys of its own, registrations that belong to an endpoint, order of messages but not of long puts; floods of messages
    // stop it for a while.
    Nature {
        name: c"mock_slingshot",
        mr_mode: fi::FI_MR_ENDPOINT | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 192,
        injects: 192,
        order: fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW,
        waw: 192,
        queue: 256,
        longest: (1 << 32) - 1,
        maps_for_writing: true,
        recovers_for: 30,
        cards: 4,
        ..USUAL
    },
    // Cards that want every local buffer registered and acknowledge before the data is there; a get may overtake the longest puts.
    Nature {
        name: c"mock_local",
        mr_mode: fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 32,
        injects: 32,
        order: fi::FI_ORDER_RAW,
        raw: 800,
        delivers: false,
        early: true,
        queue: 16,
        longest: 1000,
        ..USUAL
    },
    // Nothing is demanded and everything kept.
    Nature { name: c"mock_orderly", order: EVERY_ORDER, waw: usize::MAX, ..USUAL },
    // Some atomics and not all.
    Nature { name: c"mock_incomplete", lacks: &[fi::FI_BXOR], cards: 1, ..USUAL },
    // EFA: inject_size holds for messages and not for puts; no atomics; no order at all; a put that is delivered was executed by
    // the target's software; descriptors for little at a time.
    Nature {
        name: c"mock_efa",
        mr_mode: fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 32,
        queue: 8,
        longest: 64 << 10,
        lacks: ALL_ATOMICS,
        by_software: true,
        word: "-rdm",
        ..USUAL
    },
    // Verbs by ofi_rxm: fewer bytes are injected than reported, and a completed put may not be there.
    Nature {
        name: c"mock_verbs",
        mr_mode: fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 64,
        injects: 20,
        order: fi::FI_ORDER_SAS | fi::FI_ORDER_RAW,
        delivers: false,
        early: true,
        queue: 16,
        longest: 1 << 30,
        lacks: ALL_ATOMICS,
        connects_for: 3,
        ..USUAL
    },
    // The provider for one host's memory: software moves everything, a completed put may not be there unless it asks for that, and the first
    // operations to a peer are dropped.
    Nature {
        name: c"mock_shm",
        mr_mode: fi::FI_MR_VIRT_ADDR,
        inject: 4096,
        injects: 4096,
        order: EVERY_ORDER,
        waw: usize::MAX,
        queue: 4,
        early: true,
        by_software: true,
        connects_for: 20,
        cards: 1,
        ..USUAL
    },
    // Datagrams by ofi_rxd: software moves everything, keeps none of the orders that it promises, and comes to a standstill
    // where the window to a peer is full.
    Nature {
        name: c"mock_datagrams",
        inject: 64,
        injects: 64,
        claimed: EVERY_ORDER,
        protocol: 12,
        window: 80,
        waw: usize::MAX,
        by_software: true,
        cards: 1,
        ..USUAL
    },
];

const ALL_ATOMICS: &[fi::fi_op] =
    &[fi::FI_ATOMIC_READ, fi::FI_ATOMIC_WRITE, fi::FI_SUM, fi::FI_BAND, fi::FI_BOR, fi::FI_BXOR, fi::FI_CSWAP];

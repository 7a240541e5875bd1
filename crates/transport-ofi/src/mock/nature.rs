//! The natures of the mock's providers.

use std::ffi::{CStr, c_int};

use oxshmem_libfabric_sys as fi;

/// The demands and promises of one of the mock's providers.
pub(super) struct Nature {
    pub(super) name: &'static CStr,
    pub(super) mr_mode: c_int,
    /// `inject_size` as it is reported, and as it holds for puts: a longer one is refused.
    pub(super) inject: usize,
    pub(super) injects: usize,
    /// Orderings that it keeps, and up to which length for puts.
    pub(super) order: u64,
    /// Orderings that it promises and does not keep, and libfabric's number for the protocol of which that is known.
    pub(super) claimed: u64,
    pub(super) protocol: u32,
    /// How many datagrams of `inject` bytes may be under way to a peer and back, of operations that are issued here; 0: any number.
    pub(super) window: usize,
    pub(super) waw: usize,
    /// The longest put behind which it keeps a get.
    pub(super) raw: usize,
    /// Whether it can complete a put when its effect is there.
    pub(super) delivers: bool,
    pub(super) queue: usize,
    pub(super) longest: usize,
    /// Atomics that it has not got.
    pub(super) lacks: &'static [fi::fi_op],
    /// Puts and gets are messages to the target's software: they take effect when the target looks at its completions.
    pub(super) by_software: bool,
    /// How many operations to each peer are answered with `FI_EAGAIN` while a connection is made.
    pub(super) connects_for: usize,
    /// It maps local buffers by itself, for writing as well, and refuses a put from memory that may only be read.
    pub(super) maps_for_writing: bool,
    /// How many looks at its completions it takes to recover from a flood of messages; until then it takes no room for others.
    pub(super) recovers_for: usize,
    /// The word that its domains have behind the names of their cards.
    pub(super) word: &'static str,
    /// Cards that it offers: `NAME`, `NAME_1`, ... All but the first are slow; the third registers three
    /// pieces of memory and no more, the fourth cannot be opened.
    pub(super) cards: usize,
}

/// The effect of an operation, as far as order goes.
#[derive(Clone, Copy)]
pub(super) enum OrderPlace {
    /// A put of this many bytes.
    Put(usize),
    Get,
    Message,
    Atomic {
        reads: bool,
    },
}

impl Nature {
    /// Whether the later one of two operations to one peer takes effect behind the earlier one, as this provider promises.
    pub(super) fn follows(&self, later: OrderPlace, earlier: OrderPlace) -> bool {
        let keeps = |order: u64| self.order & order == order;
        let written = |n: usize| keeps(fi::FI_ORDER_WAW) && n <= self.waw;
        match (later, earlier) {
            // An atomic writes, and may read as well.
            (OrderPlace::Atomic { reads }, OrderPlace::Put(n)) => written(n) && (!reads || keeps(fi::FI_ORDER_RAW)),
            (OrderPlace::Put(n), OrderPlace::Atomic { reads }) => written(n) && (!reads || keeps(fi::FI_ORDER_WAR)),
            (OrderPlace::Atomic { reads }, OrderPlace::Atomic { reads: did_read }) => {
                written(8) && (!(reads && did_read) || keeps(fi::FI_ORDER_RAR))
            }
            (OrderPlace::Get, OrderPlace::Atomic { .. }) => keeps(fi::FI_ORDER_RAW),
            (OrderPlace::Put(n), OrderPlace::Put(_)) => written(n),
            (OrderPlace::Message, OrderPlace::Message) => keeps(fi::FI_ORDER_SAS),
            (OrderPlace::Message, OrderPlace::Put(_)) => keeps(fi::FI_ORDER_SAW),
            (OrderPlace::Get, OrderPlace::Put(n)) => keeps(fi::FI_ORDER_RAW) && n <= self.raw,
            _ => false,
        }
    }
}

/// A provider that demands nothing and keeps no order. The others say in what they differ from it.
const USUAL: Nature = Nature {
    name: c"",
    mr_mode: 0,
    inject: 0,
    injects: 0,
    order: 0,
    claimed: 0,
    protocol: 0,
    window: 0,
    waw: 0,
    raw: usize::MAX,
    delivers: true,
    queue: 64,
    longest: usize::MAX,
    lacks: &[],
    by_software: false,
    connects_for: 0,
    maps_for_writing: false,
    recovers_for: 0,
    word: "",
    cards: 2,
};

/// Messages, puts, gets and atomics to one peer stay in order.
const EVERY_ORDER: u64 =
    fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW | fi::FI_ORDER_RAR | fi::FI_ORDER_RAW | fi::FI_ORDER_WAR;

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
        queue: 16,
        longest: 1 << 30,
        lacks: ALL_ATOMICS,
        connects_for: 3,
        ..USUAL
    },
    // The provider for one host's memory: software moves everything, and the first operations to a peer are dropped.
    Nature {
        name: c"mock_shm",
        mr_mode: fi::FI_MR_VIRT_ADDR,
        inject: 4096,
        injects: 4096,
        order: EVERY_ORDER,
        waw: usize::MAX,
        queue: 4,
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

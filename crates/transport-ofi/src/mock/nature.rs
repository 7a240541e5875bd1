//! The nature of a provider that plays one of libfabric's.

use std::ffi::{CStr, c_int};

use oxshmem_libfabric_sys as fi;

/// The demands and promises of a provider.
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
    /// Whether it completes a put before its effect is there, unless the put asks for that.
    pub(super) early: bool,
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
pub(super) const USUAL: Nature = Nature {
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
    early: false,
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
pub(super) const EVERY_ORDER: u64 =
    fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW | fi::FI_ORDER_RAR | fi::FI_ORDER_RAW | fi::FI_ORDER_WAR;

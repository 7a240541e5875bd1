//! When a put is complete, and how that is asked of libfabric: the use of `FI_DELIVERY_COMPLETE`.
//!
//! `verbs;ofi_rxm` grants that flag, and completes a put when the target's card has acknowledged it. The bytes may still be on
//! the way from that card to the memory then. Whatever the target hears through the same card comes behind them, because a
//! card's writes stay in order on their bus. UCX relies on the same acknowledgement.

use oxshmem_libfabric_sys as fi;

/// The moment at which the endpoint completes an operation of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    /// When its effect can be seen at the target.
    Complete,
    /// When the target's card has it: a read behind it makes sure.
    ReadBack,
}

/// The flags of an operation that completes when its effect can be seen.
pub(crate) const COMPLETE: u64 = fi::FI_COMPLETION | fi::FI_DELIVERY_COMPLETE;

/// Our wishes for an endpoint's completions and ordering, the best first. The first wish is for endpoints whose
/// target's software would have to acknowledge every put; a card does that by itself.
pub(crate) const WISHES: &[(Delivery, u64)] = &[
    (Delivery::ReadBack, fi::FI_ORDER_RAW | fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS),
    (Delivery::Complete, fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS),
    (Delivery::Complete, 0),
    (Delivery::ReadBack, fi::FI_ORDER_RAW | fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS),
    (Delivery::ReadBack, fi::FI_ORDER_RAW),
];

impl Delivery {
    /// The flags with which an endpoint is asked for.
    pub(crate) const fn hint(self) -> u64 {
        match self {
            Self::Complete => fi::FI_DELIVERY_COMPLETE,
            Self::ReadBack => 0,
        }
    }
}

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

/// When the operations of an endpoint are to complete, and in which order they are to take effect.
pub(crate) struct EndpointWish {
    pub(crate) delivery: Delivery,
    /// libfabric's flags of ordering.
    pub(crate) order: u64,
    /// Only endpoints count whose target's software takes part in every operation.
    pub(crate) only_software: bool,
}

/// Our wishes for an endpoint, the best first. The first wish is for endpoints whose target's software would have to acknowledge
/// every put; a card does that by itself.
pub(crate) const WISHES: &[EndpointWish] = &[
    EndpointWish { delivery: Delivery::ReadBack, order: READS_TOO, only_software: true },
    EndpointWish { delivery: Delivery::Complete, order: WRITES_AND_SENDS, only_software: false },
    EndpointWish { delivery: Delivery::Complete, order: 0, only_software: false },
    EndpointWish { delivery: Delivery::ReadBack, order: READS_TOO, only_software: false },
    EndpointWish { delivery: Delivery::ReadBack, order: fi::FI_ORDER_RAW, only_software: false },
];

/// Writes and messages take effect in the order in which they were issued.
const WRITES_AND_SENDS: u64 = fi::FI_ORDER_WAW | fi::FI_ORDER_SAW | fi::FI_ORDER_SAS;
/// Reads take effect behind the writes before them, too.
const READS_TOO: u64 = fi::FI_ORDER_RAW | WRITES_AND_SENDS;

impl Delivery {
    /// The flags with which an endpoint is asked for.
    pub(crate) const fn hint(self) -> u64 {
        match self {
            Self::Complete => fi::FI_DELIVERY_COMPLETE,
            Self::ReadBack => 0,
        }
    }
}

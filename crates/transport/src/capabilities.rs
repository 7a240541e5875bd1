//! The properties of a provider.

bitflags::bitflags! {
    /// Yes-or-no properties of a provider.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Features: u32 {
        /// Operations of one lane to one PE take effect in the order in which they were issued, so a fence is free.
        const ORDERED = 1 << 0;
        /// Each look ([`crate::Fabric::progress`]) is a call of the kernel, and counts all that it does for peers.
        const COSTLY_LOOKS = 1 << 1;
        /// The target is served without a thread or a call of its own: the network card does it.
        const ONE_SIDED = 1 << 2;
        /// Memory must have its pages before it is registered, and keeps them: a region is registered as it grows.
        const PINS = 1 << 4;
    }
}

/// Which other accesses the provider's atomics are atomic with respect to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AmoDomain {
    /// Against the processors of the target's node: the target's processor executes them, or the card is coherent with
    /// it. On-node PEs may then use processor atomics on the same object.
    Processor,
    /// Against other atomics of the same card only. All PEs must go through the card, also for their own memory; their
    /// processors may read what it updates. Its objects have 4 or 8 bytes.
    Network,
    /// The provider has none; software above it makes them of the target's processor.
    None,
}

/// The properties of a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Yes-or-no properties.
    pub features: Features,
    /// Which other accesses its atomics, of every kind and of 4 and 8 bytes, are atomic with respect to.
    pub amo: AmoDomain,
    /// From this length on a put that copies its source ([`crate::Lane::put`]) costs more than to wait until the target has
    /// it.
    pub inject: usize,
    /// Longest [`crate::Lane::put_signal`]; what is longer is a put, a fence and an atomic ([`crate::Issuer`]). `None` if
    /// the provider has no such operation.
    pub signal: Option<usize>,
}

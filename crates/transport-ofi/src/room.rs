//! The bytes that belong to a slot, for data that an operation has copied and for messages.

/// Bytes that an operation can keep of its own: a copied source, a destination that is not registered.
pub(crate) const ROOM: usize = 4096;

/// The same for a message where the network's software carries it: such rooms need no memory that is locked. It has 16 KiB of data behind
/// its heads. Two nodes over TCP: a put of 16 KiB with a signal took 12.7 us instead of 16.6, broadcasts of it 9.3 instead of 11.6.
pub(crate) const LONG_ROOM: usize = (16 << 10) + 64;

/// Bytes of the room of a message that this provider's software carries: no more than the layer `ofi_rxm` sends eagerly, because a put
/// and a message behind it take a third of the time of its rendezvous.
pub(crate) fn message_room(provider: &str, longest_eager: usize) -> usize {
    let most = if provider.contains("ofi_rxm") { longest_eager } else { usize::MAX };
    LONG_ROOM.min(most / 8 * 8).max(ROOM)
}

//! Sizes at which a collective does a part of its way differently. `oxshmem_schedule::way::size_limits` has those by which the way
//! is chosen. All numbers are the same on all members.

/// Bytes of an exchange that go in inline messages among few nodes. Longer ones need buffers.
pub(crate) const SHORT: usize = 256;

/// Bytes of the caller that a run puts from, up to which it ends when they are complete locally. After more it ends when the targets
/// have them, because two that send to each other without that get out of step, and then one sends at a third of the speed: between two
/// nodes of one machine over libfabric a maximum of 512 KiB took 116 to 186 us instead of 138 to 149, one of 1 MiB 318 to 358 instead
/// of 243 to 292.
pub(crate) const LOCAL_COMPLETION: usize = 256 << 10;

/// Bytes of operands that a member has at a time where sums are folded in team order.
pub(crate) const WORKING: usize = 1 << 20;

/// Elements of other nodes that lie so many bytes apart are fetched one by one: a message costs less than that.
pub(crate) const FAR_APART: usize = 1 << 10;

/// Bytes of strided pieces that are under way at once.
pub(crate) const PIECES: usize = 16 << 20;

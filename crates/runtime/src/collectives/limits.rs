//! Sizes at which a collective does a part of its way differently. `oxshmem_schedule::way::size_limits` has those by which the way
//! is chosen. All numbers are the same on all members.

/// Bytes of an exchange that go in inline messages among few nodes. Longer ones need buffers.
pub(crate) const SHORT: usize = 256;

/// Bytes of operands that a member has at a time where sums are folded in team order.
pub(crate) const WORKING: usize = 1 << 20;

/// Elements of other nodes that lie so many bytes apart are fetched one by one: a message costs less than that.
pub(crate) const FAR_APART: usize = 1 << 10;

/// Bytes of strided pieces that are under way at once.
pub(crate) const PIECES: usize = 16 << 20;

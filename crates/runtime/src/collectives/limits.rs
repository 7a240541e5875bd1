//! Up to which sizes a collective takes which way. All numbers are the same on all members, so that all choose alike.

use crate::memory::control::PAYLOAD_WORDS;
use crate::memory::control::leaders::{COPIES, GATHER};

/// Bytes that travel with an exchange: such collectives cost what a barrier costs.
pub(crate) const PAYLOAD_BYTES: usize = PAYLOAD_WORDS * 8;

/// Bytes of an exchange that go in inline messages among few nodes. Longer ones need buffers.
pub(crate) const SHORT: usize = 256;

/// Bytes of the arrays of a node up to which its leader combines them alone.
pub(crate) const LEADER_COMBINES: usize = 128 << 10;

/// Bytes of an array up to which a reduction between so many nodes is eager as a whole: each round keeps a copy of what goes.
pub(crate) const fn eager_reduction(nodes: u32) -> usize {
    let copies = COPIES / nodes.next_power_of_two().trailing_zeros() as usize;
    let most = if copies < 64 << 10 { copies } else { 64 << 10 };
    if most > 32 << 10 { most } else { 32 << 10 }
}
const _: () = assert!(eager_reduction(2) <= GATHER);

/// Nodes up to which a longer reduction in any order goes eagerly in slices: each sends one message to each.
pub(crate) const SLICED_NODES: u32 = 8;

/// Pieces of one call at most. Longer arrays have longer pieces.
pub(crate) const MOST_PIECES: u64 = 1 << 15;

/// Bytes of a broadcast between nodes whose root does not wait.
pub(crate) const EAGER_BROADCAST: usize = 64 << 10;

/// Bytes of the caller that a run puts from, up to which it ends when they are complete locally. After more it ends when the targets
/// have them, because a sender that runs ahead of its receiver by more than that is slower where the host's congestion control
/// paces: with BBR between two nodes of one machine over libfabric a maximum of 512 KiB took 175 us instead of 133 (107 and 133 with
/// Cubic), and one of 256 KiB 75 instead of 100.
pub(crate) const LOCAL_COMPLETION: usize = 256 << 10;

/// Bytes of operands that a member has at a time where sums are folded in team order.
pub(crate) const WORKING: usize = 1 << 20;

/// Elements of other nodes that lie so many bytes apart are fetched one by one: a message costs less than that.
pub(crate) const FAR_APART: usize = 1 << 10;

/// Bytes of strided pieces that are under way at once.
pub(crate) const PIECES: usize = 16 << 20;

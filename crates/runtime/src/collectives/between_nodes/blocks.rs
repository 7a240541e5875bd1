//! Blocks of all members for all members: long gathers and all-to-alls of teams that span nodes.

use core::ops::Range;
use core::ptr;

use oxshmem_schedule::way::size_limits::PART_HEAD;
use oxshmem_schedule::way::{CollectiveWay, PartExchange};

use super::bytes::{copy_from_leader, fetch, fetched, there};
use super::parts::NodeParts;
use super::{InFlightBytes, There, eager, gather_parts, leaders_meet, meet_here};
use crate::collectives::call::Call;
use crate::teams::span::Span;

/// Every member's block, of which that of member i goes to byte `place(i)` of `dest` and ends at `place(i + 1)`. Unless it is
/// gathered in the leaders' buffers, the members have entered.
///
/// # Safety
/// `dest` is symmetric and has all blocks; `source` has the caller's block.
#[cold]
pub(crate) unsafe fn gather(
    call: Call<'_>,
    span: &Span,
    way: CollectiveWay,
    dest: *mut u8,
    source: *const u8,
    place: impl Fn(u32) -> usize,
) {
    // The blocks go into the leaders' destinations, by a schedule or by gets, and to the other members from there.
    let way = match way {
        // SAFETY: the caller promises both arrays.
        CollectiveWay::Gathered(way) => return unsafe { eager::gather_blocks(call, span, way, dest, source, place) },
        CollectiveWay::Rendezvous(way) => Some(way),
        CollectiveWay::Members => None,
        way => unreachable!("a gather between nodes does not go by {way:?}"),
    };
    let (team, leader) = (call.team, span.my_leader());
    let (mine, total) = (place(team.my), place(team.size));
    let result = call.at(leader, dest, total);
    // SAFETY: the leader has entered, so its destination may be written; this part of it is ours.
    unsafe { ptr::copy(source, result.wrapping_add(mine), place(team.my + 1) - mine) };
    meet_here(call, span);
    let start = |node: u32| place(span.start(node)) as u64;
    let in_flight = match way {
        // SAFETY: the node's blocks are there.
        Some(way) => unsafe { gather_parts(call, span, way, start, dest, There::Dest(there(call, span, dest, total))) },
        None => {
            // SAFETY: the node's blocks are there, because its members have met.
            unsafe { fetch_blocks(call, span, dest, place) };
            InFlightBytes::default()
        }
    };
    // SAFETY: the caller promises that `dest` is symmetric and has all blocks.
    unsafe { copy_from_leader(call, span, dest, total, in_flight) };
}

/// The leaders fetch the blocks of other nodes one by one from those nodes' leaders.
///
/// # Safety
/// As for [`gather`]; the blocks of each node are with its leader.
unsafe fn fetch_blocks(call: Call<'_>, span: &Span, dest: *mut u8, place: impl Fn(u32) -> usize) {
    leaders_meet(call, span);
    if call.team.my == span.my_leader() {
        for node in (0..span.nodes()).filter(|&node| node != span.node()) {
            for member in span.on(node) {
                let (at, bytes) = (dest.wrapping_add(place(member)), place(member + 1) - place(member));
                if bytes > 0 {
                    // SAFETY: `dest` has the blocks, which stay where they are until `fetched` has returned.
                    unsafe { fetch(call, span.leader(node), at, at, bytes) };
                }
            }
        }
        fetched(call);
    }
    // No member leaves while others still read from its leader.
    leaders_meet(call, span);
}

/// An all-to-all whose blocks of `bytes` bytes travel together from node to node, in as many pieces of whole elements as the parts have no
/// room for them at once. `write` writes these bytes of the block for a member to its last argument, `take` reads those of the block of a member
/// from there.
#[cold]
pub(crate) fn alltoall(
    call: Call<'_>,
    span: &Span,
    parts: PartExchange,
    (bytes, element): (usize, usize),
    write: impl Fn(u32, Range<usize>, *mut u8),
    take: impl Fn(u32, Range<usize>, *const u8),
) {
    let most = span.most() as usize;
    let mine = (span.place(call.team.my) - span.start(span.node())) as usize;
    // Every part has room for the blocks of the largest node.
    let room = (parts.part as usize - PART_HEAD) / (most * most) / element * element;
    let block = |from: usize, to: usize| (from * most + to) * room.min(bytes);
    for start in (0..bytes).step_by(room) {
        let piece = || start..bytes.min(start + room);
        let parts = NodeParts::begin(call, span, parts);
        for node in 0..span.nodes() {
            for (to, member) in span.on(node).enumerate() {
                // This part of the outgoing buffer is the caller's; its last user has left it, as for every buffer of an exchange.
                write(member, piece(), parts.to(node).wrapping_add(block(mine, to)));
            }
        }
        parts.count_in();
        // SAFETY: all members of the node have laid down their blocks.
        unsafe { parts.exchange() };
        parts.release();
        for node in 0..span.nodes() {
            for (from, member) in span.on(node).enumerate() {
                take(member, piece(), parts.from(node).wrapping_add(block(from, mine)));
            }
        }
    }
}

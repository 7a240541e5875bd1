//! Blocks of all members for all members: long gathers and all-to-alls of teams that span nodes.

use core::ops::Range;
use core::ptr;

use oxshmem_schedule::way::size_limits::PART_HEAD;
use oxshmem_schedule::way::{CollectiveWay, LeaderSchedule, PartExchange};
use oxshmem_transport::{Region, Remote};

use super::bytes::{copy_from_leader, fetched, there};
use super::parts::NodeParts;
use super::{InFlightBytes, There, eager, gather_parts, leaders_meet, meet_here};
use crate::collectives::call::Call;
use crate::network::lane;
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
    // SAFETY: the caller promises both arrays.
    unsafe {
        match way {
            CollectiveWay::Gathered(way) => eager::gather_blocks(call, span, way, dest, source, place),
            CollectiveWay::Rendezvous(way) => gather_in_dest(call, span, Some(way), dest, source, place),
            CollectiveWay::Members => gather_in_dest(call, span, None, dest, source, place),
            way => unreachable!("a gather between nodes does not go by {way:?}"),
        }
    }
}

/// The blocks go into the leaders' destinations, by a schedule or by gets, and to the other members from there.
///
/// # Safety
/// As for [`gather`]; the members have entered.
unsafe fn gather_in_dest(
    call: Call<'_>,
    span: &Span,
    way: Option<LeaderSchedule>,
    dest: *mut u8,
    source: *const u8,
    place: impl Fn(u32) -> usize,
) {
    let (team, leader) = (call.team, span.my_leader());
    let (mine, total) = (place(team.my), place(team.size));
    let dest_there = there(call, span, dest, total);
    let result = call.at(leader, dest, total);
    // SAFETY: the leader has entered, so its destination may be written; this part of it is ours.
    unsafe { ptr::copy(source, result.wrapping_add(mine), place(team.my + 1) - mine) };
    meet_here(call, span);
    let start = |node: u32| place(span.start(node)) as u64;
    let in_flight = match way {
        // SAFETY: the node's blocks are there.
        Some(way) => unsafe { gather_parts(call, span, way, start, dest, There::Dest(dest_there)) },
        None => {
            // SAFETY: the node's blocks are there, because its members have met.
            unsafe { fetch_blocks(call, span, dest, dest_there, place) };
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
unsafe fn fetch_blocks(
    call: Call<'_>,
    span: &Span,
    dest: *mut u8,
    (region, start): (Region, u64),
    place: impl Fn(u32) -> usize,
) {
    leaders_meet(call, span);
    if call.team.my == span.my_leader() {
        for node in (0..span.nodes()).filter(|&node| node != span.node()) {
            let pe = call.team.world(span.leader(node));
            for member in span.on(node) {
                let (at, bytes) = (place(member), place(member + 1) - place(member));
                if bytes > 0 {
                    let from = Remote { pe, region, offset: start + at as u64 };
                    // SAFETY: inside the symmetric array; `dest` stays until `fetched` has returned.
                    lane::issue(call.name, |lane| unsafe { lane.get_nbi(dest.add(at), from, bytes) });
                }
            }
        }
        fetched(call);
    }
    // No member leaves while others still read from its leader.
    leaders_meet(call, span);
}

/// An all-to-all whose blocks of `bytes` bytes travel together from node to node, in as many pieces as the parts have no room for
/// them at once. `lay` writes these bytes of the block for a member to its last argument, `take` reads those of the block of a member
/// from there.
#[cold]
pub(crate) fn alltoall(
    call: Call<'_>,
    span: &Span,
    parts: PartExchange,
    bytes: usize,
    lay: impl Fn(u32, Range<usize>, *mut u8),
    take: impl Fn(u32, Range<usize>, *const u8),
) {
    let most = span.most() as usize;
    let mine = (span.place(call.team.my) - span.start(span.node())) as usize;
    // Every part has room for the blocks of the largest node.
    let room = (parts.part as usize - PART_HEAD) / (most * most);
    let block = |from: usize, to: usize| (from * most + to) * room.min(bytes);
    for start in (0..bytes).step_by(room) {
        let piece = || start..bytes.min(start + room);
        let parts = NodeParts::begin(call, span, parts);
        for node in 0..span.nodes() {
            for (to, member) in span.on(node).enumerate() {
                // This part of the outgoing buffer is the caller's; its last user has left it, as for every buffer of an exchange.
                lay(member, piece(), parts.to(node).wrapping_add(block(mine, to)));
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

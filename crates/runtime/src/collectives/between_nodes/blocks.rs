//! Blocks of all members for all members: long gathers and all-to-alls of teams that span nodes.

use core::ptr;

use oxshmem_schedule::algorithm::Collective;
use oxshmem_schedule::step::Plan;
use oxshmem_transport::{Region, Remote};

use super::bytes::{copy_from_leader, fetched, there};
use super::{
    HEADER, NO_ARRAYS, NO_SHARE, Reach, There, gather, gather_parts, gathering, leaders_meet, lending, meet_here,
    release, run, slot_of, way,
};
use crate::collectives::call::Call;
use crate::collectives::executor::Arrays;
use crate::collectives::signature::signature_of;
use crate::memory::control;
use crate::memory::control::mail::OPEN_BOARD;
use crate::network::lane;
use crate::teams::span::Span;

/// Every member's block, of which that of member i goes to byte `place(i)` of `dest` and ends at `place(i + 1)`. The
/// members have entered.
///
/// # Safety
/// `dest` is symmetric and has all blocks; `source` has the caller's block.
#[cold]
pub(crate) unsafe fn gather_blocks(
    call: Call<'_>,
    span: &Span,
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
    let lent = match gathering(call, span, start, Reach::Results).filter(|_| span.in_order()) {
        // SAFETY: the node's blocks are there.
        Some(way) => unsafe { gather_parts(call, span, way, start, dest, There::Dest(dest_there.0, dest_there.1)) },
        None => {
            // SAFETY: the node's blocks are there, because its members have met.
            unsafe { fetch_blocks(call, span, dest, dest_there, place) };
            false
        }
    };
    // SAFETY: the caller promises that `dest` is symmetric and has all blocks.
    unsafe { copy_from_leader(call, span, dest, total, lent) };
}

/// The leaders fetch the blocks of other nodes one by one from those nodes' leaders.
///
/// # Safety
/// As for [`gather_blocks`]; the blocks of each node are with its leader.
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
    // Nobody leaves while others still read from its leader.
    leaders_meet(call, span);
}

/// An all-to-all whose blocks travel together from node to node: the members of a node lay their blocks on their
/// leader's board, the leaders exchange what each has for the other, the members take theirs. Returns whether it was
/// done, on all members alike: the nodes must have equally many members and the boards the room.
///
/// # Safety
/// As for `collectives::alltoall`.
#[cold]
pub(crate) unsafe fn alltoall_by_nodes(
    call: Call<'_>,
    span: &Span,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) -> bool {
    let (team, nodes, each) = (call.team, span.nodes(), span.count(0) as usize);
    let even = (0..nodes).all(|node| span.count(node) as usize == each);
    // The part of one node for another: a header with the signature of the call, then all blocks.
    let pair = each.saturating_mul(each).saturating_mul(bytes).saturating_add(HEADER);
    if !even || pair.saturating_mul(nodes as usize) > OPEN_BOARD {
        return false;
    }
    let Some(zone) = lending::zone(call, span) else { return false };
    let plan = Plan::new(nodes, pair as u64);
    let way = way(call, Collective::Alltoall, &plan, 1, plan.count, Reach::Results);
    let Some(way) = way.filter(|way| way.piece == plan.count) else { return false };
    // Finds out whether the arrays are symmetric.
    call.at(team.my, source, bytes * team.size as usize);
    call.at(team.my, dest, bytes * team.size as usize);
    let number = team.next_exchange();
    let (parity, window) = (number as usize & 1, team.window(span.my_leader()));
    let (going, coming) = (control::board(window, slot_of(team), parity), control::zones(window, zone).board(parity));
    let mine = (span.place(team.my) - span.start(span.node())) as usize;
    let block = |board: *mut u8, node: u32, from: usize, to: usize| {
        board.wrapping_add(node as usize * pair + HEADER + (from * each + to) * bytes)
    };
    let header = |board: *mut u8, node: u32| board.wrapping_add(node as usize * pair).cast::<u64>();
    let stamp = call.signature.stamp(number);
    for node in 0..nodes {
        for (to, member) in span.on(node).enumerate() {
            // SAFETY: this part of the board is ours; its last user has left it, as for every board.
            unsafe {
                let from = source.add(member as usize * bytes);
                ptr::copy_nonoverlapping(from, block(going, node, mine, to), bytes);
            }
        }
    }
    gather(call, span, number);
    let leads = team.my == span.my_leader();
    if leads {
        // SAFETY: the boards are this leader's, and have room for each node's part.
        (0..nodes).for_each(|node| unsafe { header(going, node).write_unaligned(stamp) });
    }
    let arrays = Arrays { dest: coming, room: pair * nodes as usize, source: going, ..NO_ARRAYS };
    // SAFETY: all members of the node have laid down their blocks; nobody looks at what comes before the release.
    if unsafe { run(call, span, way, plan, NO_SHARE, arrays, There::of_board(coming)) } {
        fetched(call);
    }
    if leads {
        // SAFETY: the network has written all parts of this leader's board, each with its header.
        let theirs = |node: u32| unsafe { header(coming, node).read_unaligned() };
        if let Some(node) = (0..nodes).find(|&node| theirs(node) != stamp) {
            call.differs(Some(span.leader(node)), signature_of(theirs(node)));
        }
    }
    release(call, span, number, |words| &words.released);
    for node in 0..nodes {
        for (from, member) in span.on(node).enumerate() {
            // SAFETY: everything has come; the destination has a block for each member.
            unsafe {
                let to = dest.add(member as usize * bytes);
                ptr::copy_nonoverlapping(block(coming, node, from, mine), to, bytes);
            }
        }
    }
    true
}

//! Collectives that move more than lines, for teams that span nodes.
//!
//! As on one node, nobody writes into another member's memory before that member has entered, and nobody leaves before
//! what it gave has been read. What is alike for all members of a node crosses the network once, to the leader's
//! destination, by the schedule that the table says; the others copy it from there.
//!
//! Sums whose order counts are folded in team order, so that their bits are those of one node: every member fetches one
//! slice of all operands, and puts its result to everybody.

use core::ptr;

use oxshmem_reduce::{Kernel, Operand, Or, Store, Sum};
use oxshmem_schedule::algorithm::{Collective, Operator};
use oxshmem_schedule::step::Plan;
use oxshmem_transport::{Region, Remote};

use super::{
    HEADER, NO_ARRAYS, NO_SHARE, There, combine, gather, gather_parts, gathering, leaders_meet, lending, meet_here,
    release, run, slot_of, way,
};
use crate::collectives::call::{Call, slice};
use crate::collectives::executor::Arrays;
use crate::collectives::signature::signature_of;
use crate::memory::control;
use crate::memory::control::PAYLOAD_WORDS;
use crate::memory::control::mail::OPEN_BOARD;
use crate::network::lane;
use crate::teams::span::Span;
use crate::transfers::indirect::{Found, on_world_pe};

/// Where the members of other nodes have the caller's symmetric array.
fn there(call: Call<'_>, span: &Span, array: *const u8, bytes: usize) -> (Region, u64) {
    let elsewhere = span.leader(u32::from(span.node() == 0));
    match on_world_pe(call.name, array as usize, bytes, call.team.world(elsewhere)) {
        Found::There(Remote { region, offset, .. }) => (region, offset),
        Found::Here(_) => unreachable!("another node's leader is elsewhere"),
    }
}

/// Begins to copy `bytes` bytes of a member's symmetric `from`, which is ready, to `to`; they are there after
/// [`fetched`].
///
/// # Safety
/// `to` is writable for `bytes` bytes until then.
#[cold]
pub(crate) unsafe fn fetch(call: Call<'_>, member: u32, from: *const u8, to: *mut u8, bytes: usize) {
    match on_world_pe(call.name, from as usize, bytes, call.team.world(member)) {
        // SAFETY: found mapped; the caller vouches for the rest.
        Found::Here(from) => unsafe { ptr::copy(from as *const u8, to, bytes) },
        // SAFETY: inside a region; the caller vouches for the rest.
        Found::There(from) => lane::issue(call.name, |lane| unsafe { lane.get_nbi(to, from, bytes) }),
    }
}

/// Returns when everything that [`fetch`] has begun is there, and everything given has arrived.
#[cold]
pub(crate) fn fetched(call: Call<'_>) {
    lane::complete(call.name);
}

/// Copies `bytes` bytes to a member's symmetric `to`, which may be written; they are there after [`fetched`].
///
/// # Safety
/// `from` is readable for `bytes` bytes.
unsafe fn give(call: Call<'_>, member: u32, to: *mut u8, from: *const u8, bytes: usize) {
    match on_world_pe(call.name, to as usize, bytes, call.team.world(member)) {
        // SAFETY: found mapped; the caller vouches for the rest.
        Found::Here(to) => unsafe { ptr::copy(from, to as *mut u8, bytes) },
        // SAFETY: inside a region; `put` is done with the source when it returns.
        Found::There(to) => lane::issue(call.name, |lane| unsafe { lane.put(to, from, bytes) }),
    }
}

/// A broadcast of at most a payload: everybody's words or-ed, all but the root's zero. Returns whether it was done, on all
/// members alike.
///
/// # Safety
/// As for `on_node::broadcast`.
pub(crate) unsafe fn broadcast_short(
    call: Call<'_>,
    span: &Span,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: u32,
    to_root: bool,
) -> bool {
    if bytes > 8 * PAYLOAD_WORDS {
        return false;
    }
    let is_root = call.team.my == root;
    let mut words = [0_u64; PAYLOAD_WORDS];
    let payload: *mut u8 = words.as_mut_ptr().cast();
    let n = bytes.div_ceil(8);
    // SAFETY: at most a payload.
    unsafe {
        if is_root {
            ptr::copy_nonoverlapping(source, payload, bytes);
        }
        if !combine(call, span, Operator::Idempotent, (Kernel::of::<Or, u64>(), 8), payload, payload, n) {
            return false;
        }
        if !is_root || to_root {
            ptr::copy_nonoverlapping(payload, dest, bytes);
        }
    }
    true
}

/// A broadcast of any length. Returns whether it was done, on all members alike.
///
/// # Safety
/// As for `on_node::broadcast`.
#[cold]
pub(crate) unsafe fn broadcast(
    call: Call<'_>,
    span: &Span,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: u32,
    to_root: bool,
) -> bool {
    lending::zone(call, span);
    let root_node = span.node_of(root);
    let plan = Plan { root: root_node, root_apart: !to_root, ..Plan::new(span.nodes(), bytes as u64) };
    let way = way(call, Collective::Broadcast, &plan, 1, plan.count, true);
    let Some(way) = way.filter(|way| way.piece == plan.count) else { return false };
    let (my, leader) = (call.team.my, span.my_leader());
    let dest_there = there(call, span, dest, bytes);
    call.enter_to_write(dest, bytes);
    let original = |address| if span.node() == root_node { call.at(root, address, bytes) } else { ptr::null_mut() };
    let arrays = Arrays { dest, room: bytes, source: original(source), ..NO_ARRAYS };
    // SAFETY: all have entered and name the same destination, so all of them may be written; the root's source lies in memory of its node.
    let lent = unsafe { run(call, span, way, plan, NO_SHARE, arrays, There::Dest(dest_there.0, dest_there.1)) };
    if span.node() != root_node {
        meet_here(call, span);
    }
    let from = if span.node() == root_node { original(source) } else { call.at(leader, dest, bytes) };
    let has_it = ptr::eq(from, dest) || my == leader && span.node() != root_node || my == root && !to_root;
    if !has_it {
        // SAFETY: the source, or what the leader has got, is ready; nobody changes it before the members have met.
        unsafe { ptr::copy(from, dest, bytes) };
    }
    if lent {
        fetched(call);
    }
    meet_here(call, span);
    true
}

/// A reduction by an operator that minds no order: slices on the node, then a schedule between the leaders. Returns
/// whether it was done, on all members alike.
///
/// # Safety
/// As for `on_node::reduce`.
#[cold]
pub(crate) unsafe fn reduce_by_nodes(
    call: Call<'_>,
    span: &Span,
    operator: Operator,
    (kernel, element): (Kernel, usize),
    dest: *mut u8,
    source: *const u8,
    n: usize,
) -> bool {
    lending::zone(call, span);
    let plan = Plan::new(span.nodes(), n as u64);
    let Some(way) = way(call, Collective::Reduce(operator), &plan, element, plan.count, true) else { return false };
    let (bytes, leader) = (n * element, span.my_leader());
    let dest_there = there(call, span, dest, bytes);
    call.enter_to_write(dest, bytes);
    let here = span.count(span.node());
    let mine = span.place(call.team.my) - span.start(span.node());
    let (begin, end) = slice(n, element, mine as usize, here as usize);
    if begin < end {
        let sum = call.at(leader, dest, bytes).wrapping_add(begin * element);
        let operands: Vec<*const u8> = span
            .here()
            .map(|member| call.at(member, source, bytes).wrapping_add(begin * element).cast_const())
            .collect();
        // SAFETY: all have entered; of this slice nobody else reads a source or writes the leader's destination.
        unsafe { kernel.fold(sum, &operands, end - begin, Store::Cached) };
    }
    meet_here(call, span);
    let mut lent = false;
    for at in (0..plan.count).step_by(way.piece as usize) {
        let piece = Plan { count: way.piece.min(plan.count - at), ..plan };
        let offset = at as usize * element;
        let dest = dest.wrapping_add(offset);
        let room = piece.count as usize * element;
        let arrays = Arrays { dest, room, source: dest, element, kernel: Some(kernel) };
        let there = There::Dest(dest_there.0, dest_there.1 + offset as u64);
        // SAFETY: the leader's destination holds the node's result, and is reduced in place.
        lent |= unsafe { run(call, span, way, piece, NO_SHARE, arrays, there) };
    }
    // SAFETY: all members of the node have read what they needed of everybody's source.
    unsafe { copy_from_leader(call, span, dest, bytes, lent) };
    true
}

/// The members of the node take what their leader has in `dest`, and the leader, if it has `lent`, waits for the network.
///
/// # Safety
/// `dest` is symmetric, has `bytes` bytes and may be written.
unsafe fn copy_from_leader(call: Call<'_>, span: &Span, dest: *mut u8, bytes: usize, lent: bool) {
    meet_here(call, span);
    if call.team.my != span.my_leader() {
        // SAFETY: the caller's promise; the leader does not leave before all have met again.
        unsafe { ptr::copy_nonoverlapping(call.at(span.my_leader(), dest, bytes), dest, bytes) };
    }
    if lent {
        fetched(call);
    }
    meet_here(call, span);
}

/// Bytes of operands that a member has at a time.
const WORKING: usize = 1 << 20;

/// A reduction in team order: every member folds one slice of all operands.
///
/// # Safety
/// As for `on_node::reduce`.
#[cold]
pub(crate) unsafe fn reduce_in_order(
    call: Call<'_>,
    (kernel, element): (Kernel, usize),
    dest: *mut u8,
    source: *const u8,
    n: usize,
) {
    // SAFETY: passed on.
    unsafe {
        by_slices(call, element, dest, source, n, |operands, results, count| {
            let result = results[0];
            kernel.fold(result, operands, count, Store::Cached);
            results.fill(result);
        });
    }
}

/// Prefix sums, in team order.
///
/// # Safety
/// As for `on_node::scan`.
#[cold]
pub(crate) unsafe fn scan<T: Operand<Sum>>(call: Call<'_>, dest: *mut T, source: *const T, n: usize, inclusive: bool) {
    // SAFETY: passed on.
    unsafe {
        by_slices(call, size_of::<T>(), dest.cast(), source.cast(), n, |operands, results, count| {
            let kernel = Kernel::of::<Sum, T>();
            for member in 0..results.len() {
                let last = if inclusive { member } else { member.wrapping_sub(1) };
                match operands.get(last) {
                    None => ptr::write_bytes(results[member], 0, count * size_of::<T>()),
                    Some(_) if last == 0 => kernel.fold(results[member], &operands[..1], count, Store::Cached),
                    // The sum up to the member before, and one more.
                    Some(&operand) => {
                        let before = results[member - 1];
                        kernel.fold(results[member], &[before, operand], count, Store::Cached);
                    }
                }
            }
        });
    }
}

/// Each member fetches its slice of all sources, `work`s out what each member's destination is to have there, and gives
/// it to them. `work` gets the operands, room for each result, and how many elements there are; it may let results
/// point elsewhere.
///
/// # Safety
/// As for `on_node::reduce`.
unsafe fn by_slices(
    call: Call<'_>,
    element: usize,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    work: impl Fn(&[*const u8], &mut [*mut u8], usize),
) {
    let team = call.team;
    let members = team.size as usize;
    call.enter_to_write(dest, n * element);
    let (begin, end) = slice(n, element, team.my as usize, members);
    let step = (WORKING / members / element).clamp(1, n);
    // Each piece begins at an address that suits every type.
    let room = (step.min(end - begin) * element).next_multiple_of(16);
    let mut memory: Vec<u128> = Vec::with_capacity(2 * members * room / 16);
    let buffer = |number: usize| memory.as_mut_ptr().cast::<u8>().wrapping_add(number * room);
    let buffers: Vec<*mut u8> = (0..2 * members).map(buffer).collect();
    let (operands, results) = buffers.split_at(members);
    for at in (begin..end).step_by(step) {
        let (count, offset) = (step.min(end - at), at * element);
        let bytes = count * element;
        let operand = |(member, &buffer): (u32, &*mut u8)| {
            let from = source.wrapping_add(offset);
            if call.is_here(member) {
                return call.at(member, from, bytes).cast_const();
            }
            // SAFETY: all have entered; the buffer has room for an operand.
            unsafe { fetch(call, member, from, buffer, bytes) };
            buffer.cast_const()
        };
        let from: Vec<*const u8> = (0..).zip(operands).map(operand).collect();
        fetched(call);
        let mut into = results.to_vec();
        work(&from, &mut into, count);
        for (member, result) in (0..).zip(into) {
            // SAFETY: this slice of all destinations is ours, and of all sources nobody else's.
            unsafe { give(call, member, dest.wrapping_add(offset), result, bytes) };
        }
    }
    fetched(call);
    call.leave();
}

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
    let lent = match gathering(call, span, start, true).filter(|_| span.in_order()) {
        // SAFETY: the node's blocks are there.
        Some(way) => unsafe { gather_parts(call, span, way, start, dest, There::Dest(dest_there.0, dest_there.1)) },
        None => {
            // SAFETY: as above.
            unsafe { fetch_blocks(call, span, dest, dest_there, place) };
            false
        }
    };
    // SAFETY: the caller's promise.
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
/// As for `on_node::alltoall`.
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
    let way = way(call, Collective::Alltoall, &plan, 1, plan.count, true);
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

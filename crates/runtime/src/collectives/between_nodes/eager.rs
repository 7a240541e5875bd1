//! Eager collectives of teams that span nodes, of up to 256 KiB: one message in each round, and no meeting before or after.
//!
//! Operands go eagerly into memory that every leader has ready: the scratch and the gather buffer that the team has leased. No PE
//! touches the arrays of another one, so no member needs to have entered. Those of one node share their leader's gather buffer: they
//! write their parts there, count in, and take the result from there when they are released.

use core::{iter, ptr};

use oxshmem_reduce::LongDouble;
use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::LeaderSchedule;

use super::channel::Exchange;
use super::{HEADER, NO_SHARE, There, broadcast_ring, gather_parts, leaders_meet, run_schedule};
use crate::collectives::arguments::{Reduction, Spread};
use crate::collectives::call::Call;
use crate::collectives::run::Arrays;
use crate::memory::control::leaders::GATHER;
use crate::teams::span::Span;

/// A reduction by an operator that allows any order: the leader combines its node's operands, and a schedule runs among the leaders.
///
/// # Safety
/// As for `collectives::reduce`.
#[cold]
pub(crate) unsafe fn reduce(call: Call<'_>, span: &Span, way: LeaderSchedule, reduction: Reduction) {
    let Reduction { dest, n, .. } = reduction;
    let (team, bytes, plan) = (call.team, reduction.bytes(), Plan::new(span.nodes(), n as u64));
    let exchange = Exchange::begin(call, span);
    exchange.name_source(reduction.source);
    exchange.count_in();
    if span.count(span.node()) == 1 {
        // SAFETY: `dest` and `source` have the elements, as this function demands; other leaders put to the scratch alone.
        unsafe { run_schedule(call, span, way, plan, NO_SHARE, reduction.arrays(), There::Nowhere) };
        return;
    }
    let buffer = exchange.gather();
    if team.my == span.my_leader() {
        exchange.compare_sources(reduction.source);
        // SAFETY: all members of the node have counted in, so their sources are ready, and no member looks at the gather buffer.
        unsafe { reduction.fold_node(call, span, 0..n, buffer) };
    }
    let arrays = Arrays { dest: buffer, source: buffer, ..reduction.arrays() };
    // SAFETY: the gather buffer has the node's result, and is reduced in place.
    unsafe { run_schedule(call, span, way, plan, NO_SHARE, arrays, There::Nowhere) };
    exchange.release();
    // SAFETY: the gather buffer has the result until all have entered the next exchange; `dest` has the elements.
    unsafe { ptr::copy_nonoverlapping(buffer, dest, bytes) };
}

/// A reduction in team order: each member gets all operands, and folds those of the first `terms` members. Prefix sums have as many as the
/// member says; without any they are zero.
///
/// # Safety
/// As for `collectives::reduce`, with at most as many terms as members.
#[cold]
pub(crate) unsafe fn fold_first(call: Call<'_>, span: &Span, way: LeaderSchedule, reduction: Reduction, terms: u32) {
    let (team, source, bytes) = (call.team, reduction.source, reduction.bytes());
    let operand = |parts: &Parts, member: u32| parts.at(span, member, span.place(member) as usize * bytes);
    let write = |parts: &Parts| {
        // SAFETY: the gather buffer has room for every member's operand, and this place is ours.
        unsafe { ptr::copy_nonoverlapping(source, operand(parts, team.my), bytes) };
    };
    let take = |parts: &Parts| {
        let operands: Vec<*const u8> = (0..terms).map(|member| operand(parts, member).cast_const()).collect();
        // SAFETY: the gather buffer has all operands, which are no part of `dest`; that has the elements. Only sums may have no operands.
        unsafe { reduction.fold(&operands) };
    };
    // SAFETY: every member writes its place, which is in the part of its node, and the places of its members are all of the part.
    unsafe { share(call, span, way, |node| u64::from(span.start(node)) * bytes as u64, write, take) }
}

/// Every member's block, of which that of member i goes to byte `place(i)` of `dest` and ends at `place(i + 1)`.
///
/// # Safety
/// `dest` has room for all blocks, and `source` has the caller's.
#[cold]
pub(super) unsafe fn gather_blocks(
    call: Call<'_>,
    span: &Span,
    way: LeaderSchedule,
    dest: *mut u8,
    source: *const u8,
    place: impl Fn(u32) -> usize,
) {
    let (my, total) = (call.team.my, place(call.team.size));
    let length = |member: u32| place(member + 1) - place(member);
    // In the buffer the blocks lie node by node, as in `dest` if the team is in that order.
    let starts = (!span.in_order()).then(|| {
        let lengths = (0..span.nodes()).flat_map(|node| span.on(node)).map(length);
        let ends = lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        iter::once(0).chain(ends).collect::<Vec<usize>>()
    });
    let start = |at: u32| starts.as_ref().map_or_else(|| place(at), |starts| starts[at as usize]);
    let block = |parts: &Parts, member: u32| parts.at(span, member, start(span.place(member)));
    let write = |parts: &Parts| {
        // SAFETY: the gather buffer has room for all blocks, and this place is ours.
        unsafe { ptr::copy_nonoverlapping(source, block(parts, my), length(my)) };
    };
    let take = |parts: &Parts| {
        let copy = |from: *const u8, to: usize, bytes: usize| {
            // SAFETY: the gather buffer has all blocks; `dest` has the room.
            unsafe { ptr::copy_nonoverlapping(from, dest.wrapping_add(to), bytes) };
        };
        if span.in_order() && parts.head == 0 {
            copy(parts.buffer, 0, total);
        } else {
            (0..call.team.size).for_each(|member| copy(block(parts, member), place(member), length(member)));
        }
    };
    // SAFETY: every member writes its place, which is in the part of its node, and the places of its members are all of the part.
    unsafe { share(call, span, way, |node| start(span.start(node)) as u64, write, take) }
}

/// Every member writes `room` bytes, and takes what all have written.
///
/// # Safety
/// The gather buffers have the room for all members, and `write` writes inside of it.
#[cold]
pub(crate) unsafe fn gather_equal(
    call: Call<'_>,
    span: &Span,
    way: LeaderSchedule,
    room: usize,
    write: impl FnOnce(*mut u8),
    mut take: impl FnMut(u32, *const u8),
) {
    let place = |parts: &Parts, member: u32| parts.at(span, member, span.place(member) as usize * room);
    let write = |parts: &Parts| write(place(parts, call.team.my));
    let take = |parts: &Parts| (0..call.team.size).for_each(|member| take(member, place(parts, member)));
    // SAFETY: every member writes its place, which is in the part of its node. What nobody has written there is older bytes of the buffer.
    unsafe { share(call, span, way, |node| u64::from(span.start(node)) * room as u64, write, take) }
}

/// A broadcast whose root goes on at once ([`broadcast_ring`]). Returns whether the team has a ring with room, on all members alike.
///
/// # Safety
/// As for `collectives::broadcast`.
#[cold]
pub(crate) unsafe fn by_ring(call: Call<'_>, span: &Span, tree: Tree, spread: Spread) -> bool {
    // SAFETY: a block of the ring has room for the payload, and both arrays have it.
    let write = |at: *mut u8| unsafe { spread.contribute(call.team.my, at) };
    // SAFETY: the payload has come to the block; the destination has the room.
    let take = |at: *const u8| unsafe { spread.take(call.team.my, at) };
    broadcast_ring::broadcast(call, span, tree, spread.bytes, spread.root, write, take)
}

/// A broadcast as a gather to which only the root contributes. After it all members have taken the earlier broadcasts.
///
/// # Safety
/// As for `collectives::broadcast`.
#[cold]
pub(crate) unsafe fn broadcast(call: Call<'_>, span: &Span, way: LeaderSchedule, spread: Spread) {
    let (bytes, root_node) = (spread.bytes as u64, span.node_of(spread.root));
    // SAFETY: the gather buffer has room for the payload, which the root alone brings.
    let write = |parts: &Parts| unsafe { spread.contribute(call.team.my, parts.at(span, spread.root, 0)) };
    // SAFETY: the gather buffer has the payload; the destination has the room.
    let take = |parts: &Parts| unsafe { spread.take(call.team.my, parts.at(span, spread.root, 0)) };
    // SAFETY: the part of the root's node is the payload, which the root writes, and the other parts are empty.
    unsafe { share(call, span, way, |node| if node > root_node { bytes } else { 0 }, write, take) }
}

/// Bytes of the head of a part: the header of an exchange, and as many more that operands of all types stay aligned behind it.
const PART_HEADER: usize = 16;
const _: () = assert!(PART_HEADER >= HEADER && PART_HEADER.is_multiple_of(align_of::<LongDouble>()));

/// Where the parts of the nodes lie in a gather buffer.
struct Parts {
    buffer: *mut u8,
    /// Bytes in front of each part.
    head: usize,
}

impl Parts {
    /// The place of a member, which would be `offset` bytes behind the start of the buffer if the parts had no heads.
    fn at(&self, span: &Span, member: u32, offset: usize) -> *mut u8 {
        let heads = if self.head == 0 { 0 } else { (span.node_of(member) as usize + 1) * self.head };
        self.buffer.wrapping_add(heads + offset)
    }
}

/// The members of each node `write` their node's part of their leader's gather buffer, where it begins at byte `start(node)`, not counting
/// heads; the leaders gather all parts on all gather buffers, which have the room; each member `take`s from its leader's.
///
/// The signals of a schedule that the user has named, a ring, have no signature. Then the parts have heads with one, which the leaders
/// compare, or the leaders meet before it if there is no room for heads.
///
/// # Safety
/// `write` writes inside of the own node's part, and all of it is written by the node's members.
unsafe fn share(
    call: Call<'_>,
    span: &Span,
    way: LeaderSchedule,
    start: impl Fn(u32) -> u64,
    write: impl FnOnce(&Parts),
    take: impl FnOnce(&Parts),
) {
    let nodes = span.nodes();
    let is_signed = way.mailbox > 0;
    let has_heads = !is_signed && start(nodes) as usize + nodes as usize * PART_HEADER <= GATHER;
    let exchange = Exchange::begin(call, span);
    let parts = Parts { buffer: exchange.gather(), head: if has_heads { PART_HEADER } else { 0 } };
    write(&parts);
    exchange.count_in();
    let start = |node: u32| start(node) + (node as usize * parts.head) as u64;
    let head = |node: u32| parts.buffer.wrapping_add(start(node) as usize).cast::<u64>();
    let has_heads = has_heads && call.team.my == span.my_leader();
    if has_heads {
        // SAFETY: the gather buffer is this leader's, and has room for the heads.
        unsafe { head(span.node()).write_unaligned(exchange.stamp()) };
    } else if !is_signed && parts.head == 0 {
        leaders_meet(call, span);
    }
    // SAFETY: all members of the node have counted in, so its part is whole; the gather buffers of all leaders are ready.
    unsafe { gather_parts(call, span, way, start, parts.buffer, There::Buffer) };
    if has_heads {
        // SAFETY: the head of each node has come, or what came from a leader in another call, or nothing; all of it lies in the buffer.
        let theirs = |node: u32| unsafe { head(node).read_unaligned() };
        if (0..nodes).any(|node| theirs(node) != exchange.stamp()) {
            // The bytes do not tell which leader it is: leaders put what they pass on to where they expect it.
            call.differs_elsewhere();
        }
    }
    exchange.release();
    take(&parts);
}

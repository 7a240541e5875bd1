//! Eager collectives of teams that span nodes, of up to 256 KiB: one message in each round, and no meeting before or after.
//!
//! Operands go eagerly into memory that every leader has ready: the scratch and the gather buffer that the team has leased. No PE
//! touches the arrays of another one, so no member needs to have entered. Those of one node share their leader's gather buffer: they
//! write their parts there, count in, and take the result from there when they are released.

use core::{iter, ptr};

use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::LeaderSchedule;

use super::channel::Exchange;
use super::{NO_SHARE, There, broadcast_ring, gather_parts, run_schedule};
use crate::collectives::arguments::{Reduction, Spread};
use crate::collectives::call::Call;
use crate::collectives::run::Arrays;
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
    let write = |buffer: *mut u8| {
        // SAFETY: the gather buffer has room for every member's operand, and this place is ours.
        unsafe { ptr::copy_nonoverlapping(source, buffer.wrapping_add(span.place(team.my) as usize * bytes), bytes) };
    };
    let take = |buffer: *const u8| {
        let operand = |member| buffer.wrapping_add(span.place(member) as usize * bytes);
        let operands: Vec<*const u8> = (0..terms).map(operand).collect();
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
    let write = |buffer: *mut u8| {
        let at = buffer.wrapping_add(start(span.place(my)));
        // SAFETY: the gather buffer has room for all blocks, and this place is ours.
        unsafe { ptr::copy_nonoverlapping(source, at, length(my)) };
    };
    let take = |buffer: *const u8| {
        let copy = |from: usize, to: usize, bytes: usize| {
            // SAFETY: the gather buffer has all blocks; `dest` has the room.
            unsafe { ptr::copy_nonoverlapping(buffer.wrapping_add(from), dest.wrapping_add(to), bytes) };
        };
        if span.in_order() {
            copy(0, 0, total);
        } else {
            (0..call.team.size).for_each(|member| copy(start(span.place(member)), place(member), length(member)));
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
    let place = |member: u32| span.place(member) as usize * room;
    let write = |buffer: *mut u8| write(buffer.wrapping_add(place(call.team.my)));
    let take =
        |buffer: *const u8| (0..call.team.size).for_each(|member| take(member, buffer.wrapping_add(place(member))));
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
    let write = |buffer: *mut u8| unsafe { spread.contribute(call.team.my, buffer) };
    // SAFETY: the gather buffer has the payload; the destination has the room.
    let take = |buffer: *const u8| unsafe { spread.take(call.team.my, buffer) };
    // SAFETY: the part of the root's node is the payload, which the root writes, and the other parts are empty.
    unsafe { share(call, span, way, |node| if node > root_node { bytes } else { 0 }, write, take) }
}

/// The members of each node `write` their node's part of their leader's gather buffer, where it begins at byte `start(node)`; the
/// leaders gather all parts on all gather buffers, which have the room; each member `take`s from its leader's.
///
/// # Safety
/// `write` writes inside of the own node's part, and all of it is written by the node's members.
unsafe fn share(
    call: Call<'_>,
    span: &Span,
    way: LeaderSchedule,
    start: impl Fn(u32) -> u64,
    write: impl FnOnce(*mut u8),
    take: impl FnOnce(*const u8),
) {
    let exchange = Exchange::begin(call, span);
    let buffer = exchange.gather();
    write(buffer);
    exchange.count_in();
    // SAFETY: all members of the node have counted in, so its part is whole; the gather buffers of all leaders are ready.
    unsafe { gather_parts(call, span, way, start, buffer, There::Buffer) };
    exchange.release();
    take(buffer);
}

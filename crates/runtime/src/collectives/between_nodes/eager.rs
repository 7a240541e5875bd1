//! Collectives of up to some ten thousand bytes, for teams that span nodes: one crossing a round, and no meeting before or
//! after.
//!
//! Operands go eagerly into memory that every leader has ready: the scratch and the gather buffer that the team has leased. Nobody's
//! arrays are touched by another PE, so no member needs to have entered. Those of one node share their leader's gather buffer: they
//! lay down there what they bring, count in, and take the result from there when they are released. A gather buffer is written
//! again two exchanges later, as lines are.

use core::ptr;
use oxshmem_base::planted;

use oxshmem_reduce::Store;
use oxshmem_schedule::algorithm::Collective;
use oxshmem_schedule::choose::Question;
use oxshmem_schedule::step::Plan;

use super::{NO_SHARE, Reach, There, broadcast_ring, gather, gather_parts, gathering, leases, release, run, way};
use crate::collectives::arguments::{Reduction, Spread};
use crate::collectives::call::Call;
use crate::collectives::executor::Arrays;
use crate::collectives::limits::{LEADER_COMBINES, eager_reduction};
use crate::memory::control;
use crate::memory::control::leaders::GATHER;
use crate::start::state;
use crate::teams::span::Span;

/// A reduction by an operator that minds no order: the leader combines its node's operands, and a schedule runs among the
/// leaders. Returns whether it was done, on all members alike.
///
/// # Safety
/// As for `collectives::reduce`.
#[cold]
pub(crate) unsafe fn reduce(call: Call<'_>, span: &Span, reduction: Reduction) -> bool {
    let Reduction { operator, kernel, element, dest, source, n } = reduction;
    let (team, bytes, plan) = (call.team, reduction.bytes(), Plan::new(span.nodes(), n as u64));
    if bytes > eager_reduction(span.nodes()) || bytes * span.most() as usize > LEADER_COMBINES {
        return false;
    }
    let collective = Collective::Reduce(operator);
    let question =
        Question { collective, size: plan.size, count: plan.count, element: element as u64, root_apart: false };
    // A schedule that the user wants and that needs everybody's dest runs where that is ready.
    let wanted = state::wanted_schedule(&question);
    if wanted.is_some_and(|wanted| !wanted.spares_dest()) {
        return false;
    }
    let Some(set) = leases::buffers(call, span) else { return false };
    let way = way(call, collective, &plan, element, plan.count, Reach::Nothing).filter(|way| way.piece == plan.count);
    let Some(way) = way else { return false };
    let number = team.next_exchange();
    gather(call, span, number);
    let arrays = |dest, source| Arrays { dest, room: bytes, source, element, kernel: Some(kernel) };
    if span.count(span.node()) == 1 {
        // SAFETY: `dest` and `source` have the elements, as this function demands; other leaders put to the scratch alone.
        unsafe { run(call, span, way, plan, NO_SHARE, arrays(dest, source), There::Nowhere) };
        return true;
    }
    let buffer = control::buffers(team.window(span.my_leader()), set).gather(number as usize & 1);
    if team.my == span.my_leader() {
        let sources: Vec<*const u8> = span.here().map(|member| call.at(member, source, bytes).cast_const()).collect();
        // SAFETY: all members of the node have counted in, so their sources are ready, and nobody looks at the gather buffer.
        unsafe { kernel.fold(buffer, &sources, n, Store::Cached) };
    }
    // SAFETY: the gather buffer has the node's result, and is reduced in place.
    unsafe { run(call, span, way, plan, NO_SHARE, arrays(buffer, buffer), There::Nowhere) };
    release(call, span, number, |words| &words.released);
    // SAFETY: the gather buffer has the result until all have entered the next exchange; `dest` has the elements.
    unsafe { ptr::copy_nonoverlapping(buffer, dest, bytes) };
    true
}

/// A reduction in team order: everybody gets all operands, and folds them. Returns whether it was done, on all members
/// alike.
///
/// # Safety
/// As for `collectives::reduce`.
#[cold]
pub(crate) unsafe fn reduce_in_order(call: Call<'_>, span: &Span, reduction: Reduction) -> bool {
    let Reduction { kernel, dest, source, n, .. } = reduction;
    let (team, bytes) = (call.team, reduction.bytes());
    let lay = |buffer: *mut u8| {
        // SAFETY: the gather buffer has room for everybody's operand, and this place is ours.
        unsafe { ptr::copy_nonoverlapping(source, buffer.wrapping_add(span.place(team.my) as usize * bytes), bytes) };
    };
    let take = |buffer: *const u8| {
        let operand = |member| buffer.wrapping_add(span.place(member) as usize * bytes);
        let operands: Vec<*const u8> = (0..team.size).map(operand).collect();
        // SAFETY: the gather buffer has all operands, which are no part of `dest`; that has the elements.
        unsafe { kernel.fold(dest, &operands, n, Store::Cached) };
    };
    // SAFETY: every member lays down its part.
    unsafe { share(call, span, |node| u64::from(span.start(node)) * bytes as u64, lay, take) }
}

/// Every member's block, of which that of member i goes to byte `place(i)` of `dest` and ends at `place(i + 1)`. Returns
/// whether it was done, on all members alike.
///
/// # Safety
/// `dest` has room for all blocks, and `source` has the caller's.
#[cold]
pub(crate) unsafe fn gather_blocks(
    call: Call<'_>,
    span: &Span,
    dest: *mut u8,
    source: *const u8,
    place: impl Fn(u32) -> usize,
) -> bool {
    let team = call.team;
    if !span.in_order() {
        return false;
    }
    let (mine, total) = (place(team.my), place(team.size));
    let bytes = place(team.my + 1) - mine;
    // SAFETY: the gather buffer has room for all blocks, and this place is ours.
    let lay = |buffer: *mut u8| unsafe { ptr::copy_nonoverlapping(source, buffer.wrapping_add(mine), bytes) };
    // SAFETY: the gather buffer has all blocks; `dest` has the room.
    let take = |buffer: *const u8| unsafe { ptr::copy_nonoverlapping(buffer, dest, total) };
    // SAFETY: every member lays down its part.
    unsafe { share(call, span, |node| place(span.start(node)) as u64, lay, take) }
}

/// A broadcast whose root goes on at once ([`broadcast_ring`]). Where there is no room for that it is a gather to which the root alone
/// brings something, after which all have taken the former ones. Returns whether it was done, on all members alike.
///
/// # Safety
/// As for `collectives::broadcast`.
#[cold]
pub(crate) unsafe fn broadcast(call: Call<'_>, span: &Span, spread: Spread) -> bool {
    let Spread { dest, source, bytes, root, to_root } = spread;
    let (is_root, root_node) = (call.team.my == root, span.node_of(root));
    let lay = |buffer: *mut u8| {
        if is_root {
            // SAFETY: the gather buffer has room for the payload, which the root alone brings.
            unsafe { ptr::copy_nonoverlapping(source, buffer, bytes) };
        }
    };
    let take = |buffer: *const u8| {
        if !is_root {
            // SAFETY: the gather buffer has the payload; `dest` has the room.
            unsafe { ptr::copy_nonoverlapping(buffer, dest, bytes) };
        } else if to_root && !ptr::eq(dest, source) {
            // SAFETY: both have the bytes, as this function demands.
            unsafe { ptr::copy(source, dest, bytes) };
        }
    };
    if broadcast_ring::broadcast(call, span, bytes, root, lay, take) {
        return true;
    }
    // SAFETY: the root lays down all there is.
    unsafe { share(call, span, |node| if node > root_node { bytes as u64 } else { 0 }, lay, take) }
}

/// The members of each node `lay` their node's part on their leader's gather buffer, where it begins at byte `start(node)`; the
/// leaders gather all parts on all gather buffers; everybody `take`s from its leader's. Returns whether it was done, on all members
/// alike: the gather buffer must have the room.
///
/// # Safety
/// `lay` writes inside of the own node's part, and all of it is written by the node's members.
unsafe fn share(
    call: Call<'_>,
    span: &Span,
    start: impl Fn(u32) -> u64,
    lay: impl FnOnce(*mut u8),
    take: impl FnOnce(*const u8),
) -> bool {
    let team = call.team;
    if start(span.nodes()) > GATHER as u64 {
        return false;
    }
    let Some(set) = leases::buffers(call, span) else { return false };
    let Some(way) = gathering(call, span, &start, Reach::Results) else { return false };
    let number = team.next_exchange();
    let parity = planted!("gather-parity", number as usize & 1, 0);
    let buffer = control::buffers(team.window(span.my_leader()), set).gather(parity);
    lay(buffer);
    gather(call, span, number);
    // SAFETY: all members of the node have counted in, so its part is whole; the gather buffers of all leaders are ready.
    unsafe { gather_parts(call, span, way, start, buffer, There::of_buffer(buffer)) };
    release(call, span, number, |words| &words.released);
    take(buffer);
    true
}

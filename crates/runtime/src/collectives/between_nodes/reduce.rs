//! Reductions and prefix sums of long arrays, for teams that span nodes.
//!
//! An operation that allows any order is combined on each node, then among the leaders. Sums whose order counts are folded in team
//! order, so that their bits are those of one node: along a chain of the nodes, or every member fetches one slice of all operands, and puts
//! its result to all members.

use core::ptr;

use oxshmem_reduce::{Kernel, Operand, Store, Sum};
use oxshmem_schedule::algorithm::{OperatorLaw, Schedule};
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::LeaderSchedule;

use super::bytes::{copy_from_leader, fetch, fetched, give, there};
use super::{InFlightBytes, NO_SHARE, There, meet_here, run_schedule};
use crate::collectives::arguments::Reduction;
use crate::collectives::call::{Call, member_share};
use crate::collectives::limits::WORKING;
use crate::collectives::run::Arrays;
use crate::teams::span::Span;

/// A reduction by an operator that allows any order, of two operands, or along a chain: slices on the node, then a schedule between the
/// leaders. Along a chain a leader folds the operands of its node in team order behind the sum of the nodes before it. A sum
/// or a product of two operands has the same bits in either order unless both are NaN, and its schedule folds each element in one order on
/// both. No operand is fetched, which takes a message each way: a sum of 1 MiB of doubles of two PEs over UCX took 289 us, and 386 by slices
/// of each member.
///
/// # Safety
/// As for `collectives::reduce`.
#[cold]
pub(crate) unsafe fn reduce_by_nodes(call: Call<'_>, span: &Span, way: LeaderSchedule, reduction: Reduction) {
    let Reduction { element, dest, source, n, .. } = reduction;
    let plan = Plan::new(span.nodes(), n as u64);
    let (bytes, leader) = (reduction.bytes(), span.my_leader());
    let dest_there = there(call, span, dest, bytes);
    // The way depends on whether the reduction is in place, and members of a node read each other's source.
    let about_source = if span.most() > 1 { call.compared_name(source) } else { ptr::eq(dest, source).into() };
    call.enter_to_write(dest, bytes, about_source);
    let here = span.count(span.node());
    // The node's operand, beside the leader's dest where others land in that: the source of the only member, or the second
    // one's dest.
    let operand = match span.here().nth(usize::from(way.lands)) {
        _ if here == 1 => source.cast_mut(),
        keeper => call.at(keeper.unwrap_or(leader), dest, bytes),
    };
    let mine = span.place(call.team.my) - span.start(span.node());
    let (begin, end) = member_share(n, element, mine as usize, here as usize);
    // In team order the operands of a node follow the sum of the nodes before it one by one, so only the first node combines its own.
    let in_order = reduction.law == OperatorLaw::FixedTree && matches!(way.schedule, Schedule::ReduceChain(_));
    let one_by_one = in_order && span.node() > 0;
    let operand = if one_by_one { source.cast_mut() } else { operand };
    let others = span.here().skip(1).filter(|_| one_by_one && call.team.my == leader);
    let more: Vec<*const u8> = others.map(|member| call.at(member, source, bytes).cast_const()).collect();
    if here > 1 && begin < end && !one_by_one {
        // SAFETY: all have entered; no other member reads a source of this slice or writes a dest of it on this node.
        unsafe { reduction.fold_node(call, span, begin..end, operand.wrapping_add(begin * element)) };
    }
    meet_here(call, span);
    let mut in_flight = InFlightBytes::default();
    for at in (0..plan.count).step_by(way.piece as usize) {
        let piece = Plan { count: way.piece.min(plan.count - at), ..plan };
        let offset = at as usize * element;
        let (dest, source) = (dest.wrapping_add(offset), operand.wrapping_add(offset));
        let room = piece.count as usize * element;
        let more: Vec<*const u8> = more.iter().map(|source| source.wrapping_add(offset)).collect();
        let arrays = Arrays { dest, room, source, more: &more, ..reduction.arrays() };
        let there = There::Dest((dest_there.0, dest_there.1 + offset as u64));
        // SAFETY: the node's operand, or those of its members, are ready and stay, in other arrays than the leader's dest or in that
        // one, where the schedule reduces in place; all leaders' dests may be written.
        in_flight += unsafe { run_schedule(call, span, way, piece, NO_SHARE, arrays, there) };
    }
    // SAFETY: all members of the node have read what they needed of each source.
    unsafe { copy_from_leader(call, span, dest, bytes, in_flight) };
}

/// A reduction in team order: every member folds one slice of all operands.
///
/// # Safety
/// As for `collectives::reduce`.
#[cold]
pub(crate) unsafe fn reduce_in_order(call: Call<'_>, reduction: Reduction) {
    let Reduction { kernel, element, dest, source, n, .. } = reduction;
    // SAFETY: the caller promises symmetric arrays of `n` elements, the same or disjoint.
    unsafe {
        by_slices(call, element, dest, source, n, |offset, operands, results, count| {
            // No other member reads this slice of a source, so the result may overwrite an operand.
            let result = dest.wrapping_add(offset);
            kernel.fold(result, operands, count, Store::Cached);
            results.fill(result);
        });
    }
}

/// Prefix sums, in team order.
///
/// # Safety
/// As for `collectives::scan`.
#[cold]
pub(crate) unsafe fn scan<T: Operand<Sum>>(call: Call<'_>, dest: *mut T, source: *const T, n: usize, inclusive: bool) {
    // SAFETY: the caller promises symmetric arrays of `n` numbers, the same or disjoint.
    unsafe {
        by_slices(call, size_of::<T>(), dest.cast(), source.cast(), n, |_, operands, results, count| {
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
/// it to them. `work` gets the slice's offset, the operands, room for each result, and how many elements there are; it may
/// let results point elsewhere, where they stay until the call is over.
///
/// # Safety
/// As for `collectives::reduce`.
unsafe fn by_slices(
    call: Call<'_>,
    element: usize,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    work: impl Fn(usize, &[*const u8], &mut [*mut u8], usize),
) {
    let team = call.team;
    let members = team.size as usize;
    call.enter_to_write(dest, n * element, call.compared_name(source));
    let (begin, end) = member_share(n, element, team.my as usize, members);
    let step = (WORKING / members / element).clamp(1, n);
    // Each piece begins at an address that suits every type.
    let room = (step.min(end - begin) * element).next_multiple_of(16);
    let mut memory: Vec<u128> = Vec::with_capacity(2 * members * room / 16);
    let buffer = |number: usize| memory.as_mut_ptr().cast::<u8>().wrapping_add(number * room);
    let buffers: Vec<*mut u8> = (0..2 * members).map(buffer).collect();
    let (operands, results) = buffers.split_at(members);
    // Every member begins with the one behind it, so that not all ask the same member first.
    let around = || (team.my + 1..team.size).chain(0..=team.my);
    for at in (begin..end).step_by(step) {
        let (count, offset) = (step.min(end - at), at * element);
        let bytes = count * element;
        let place = source.wrapping_add(offset);
        let mut from: Vec<*const u8> = operands.iter().map(|buffer| buffer.cast_const()).collect();
        for member in around() {
            let operand = &mut from[member as usize];
            if call.is_here(member) {
                *operand = call.at(member, place, bytes);
            } else {
                // SAFETY: all have entered; the buffer has room for an operand, and `fetched` comes before it is used.
                unsafe { fetch(call, member, place, operand.cast_mut(), bytes) };
            }
        }
        // The results of the piece before have left their buffers, too.
        fetched(call);
        let mut into = results.to_vec();
        work(offset, &from, &mut into, count);
        for member in around() {
            // SAFETY: only this member writes this slice of all destinations and reads it of all sources. Results stay until they
            // have been given: buffers until `fetched`, destinations until all have left.
            unsafe { give(call, member, dest.wrapping_add(offset), into[member as usize], bytes) };
        }
    }
    fetched(call);
    call.leave();
}

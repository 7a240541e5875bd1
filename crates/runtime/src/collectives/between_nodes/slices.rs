//! Reductions of some hundred thousand bytes, for teams that span nodes: two eager exchanges, and no meeting before or after.
//!
//! Each node has a slice of the array. The nodes exchange their operands of all slices, as parts; each leader folds its slice, and
//! the leaders gather the results in their gather buffers. A node sends every byte of its array about twice, whatever the number of
//! nodes. Where the order of the operands counts, those of all members travel, and are folded in team order; else each leader
//! combines its node's operands before.

use core::ptr;

use oxshmem_reduce::Store;
use oxshmem_schedule::algorithm::OperatorLaw;
use oxshmem_schedule::way::{LeaderSchedule, PartExchange};

use super::channel::Exchange;
use super::parts::NodeParts;
use super::{There, gather_parts};
use crate::collectives::arguments::Reduction;
use crate::collectives::call::Call;
use crate::teams::span::Span;

/// # Safety
/// As for `collectives::reduce`.
#[cold]
pub(crate) unsafe fn reduce(
    call: Call<'_>,
    span: &Span,
    parts: PartExchange,
    gathered: LeaderSchedule,
    reduction: Reduction,
) {
    let Reduction { law, kernel, element, dest, source, n } = reduction;
    let (team, nodes, bytes) = (call.team, span.nodes(), reduction.bytes());
    let in_order = law == OperatorLaw::FixedTree;
    // Elements of a slice, and bytes of an operand of it.
    let slice = n.div_ceil(nodes as usize);
    let operand = slice * element;
    let start = |node: u32| u64::from(node) * operand as u64;
    let parts = NodeParts::begin(call, span, parts);
    let results = Exchange::begin(call, span);
    // Where a node's slice begins, and how many elements it has.
    let place = |node: u32| (node as usize * slice).min(n);
    let count = |node: u32| place(node + 1) - place(node);
    if in_order {
        let mine = (span.place(team.my) - span.start(span.node())) as usize;
        for node in 0..nodes {
            let (from, to) = (source.wrapping_add(place(node) * element), parts.to(node).wrapping_add(mine * operand));
            // SAFETY: `source` has `n` elements; this place in the outgoing buffer is the caller's, and its last user has left it.
            unsafe { ptr::copy_nonoverlapping(from, to, count(node) * element) };
        }
    } else {
        parts.name_source(source);
    }
    parts.count_in();
    let leads = team.my == span.my_leader();
    if leads && !in_order {
        parts.compare_sources(source);
        for node in 0..nodes {
            // SAFETY: all members of the node have counted in, so their sources are ready; the outgoing buffer is this leader's.
            unsafe { reduction.fold_node(call, span, place(node)..place(node + 1), parts.to(node)) };
        }
    }
    // SAFETY: the node's operands lie in the parts, and its members have counted in.
    unsafe { parts.exchange() };
    let buffer = results.gather();
    if leads {
        let of_member = |member: u32| {
            let node = span.node_of(member);
            parts.from(node).wrapping_add((span.place(member) - span.start(node)) as usize * operand)
        };
        let sources: Vec<*const u8> = if in_order {
            (0..team.size).map(of_member).collect()
        } else {
            (0..nodes).map(|node| parts.from(node)).collect()
        };
        let result = buffer.wrapping_add(start(span.node()) as usize);
        // SAFETY: all parts have come, with an operand of this slice for every source; no member looks at the gather buffer.
        unsafe { kernel.fold(result, &sources, count(span.node()), Store::Cached) };
    }
    // SAFETY: the node's result is in its leader's gather buffer, which has room for all; the gather buffers of all leaders are ready.
    unsafe { gather_parts(call, span, gathered, start, buffer, There::Buffer) };
    results.release();
    // SAFETY: the gather buffer has the result until all have entered the next exchange but one; `dest` has the elements.
    unsafe { ptr::copy_nonoverlapping(buffer, dest, bytes) };
}

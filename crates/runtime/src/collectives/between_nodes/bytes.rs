//! The parts of long collectives of teams that span nodes, and broadcasts.
//!
//! As on one node, no member writes into another member's memory before that one has entered, and none leaves before its data has been
//! read. What is alike for all members of a node crosses the network once, to the leader's destination, by the schedule that the table
//! says; the others copy it from there.

use core::ptr;
use oxshmem_base::planted;

use oxshmem_reduce::{Kernel, Or};
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::LeaderSchedule;
use oxshmem_transport::{Region, Remote};

use super::{InFlightBytes, NO_SHARE, There, combine, meet_here, run_schedule};
use crate::collectives::arguments::{Reduction, Spread};
use crate::collectives::call::Call;
use crate::collectives::run::Arrays;
use crate::memory::control::PAYLOAD_WORDS;
use crate::network::lane;
use crate::teams::span::Span;
use crate::transfers::indirect::{FoundObject, on_world_pe};

/// Where the members of other nodes have the caller's symmetric array.
pub(super) fn there(call: Call<'_>, span: &Span, array: *const u8, bytes: usize) -> (Region, u64) {
    let elsewhere = span.leader(u32::from(span.node() == 0));
    match on_world_pe(call.name, array as usize, bytes, call.team.world(elsewhere)) {
        FoundObject::There(Remote { region, offset, .. }) => (region, offset),
        FoundObject::Here(_) => unreachable!("another node's leader is elsewhere"),
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
        FoundObject::Here(from) => unsafe { ptr::copy(from as *const u8, to, bytes) },
        // SAFETY: inside a region; the caller vouches for the rest.
        FoundObject::There(from) => lane::issue(call.name, |lane| unsafe { lane.get_nbi(to, from, bytes) }),
    }
}

/// Returns when everything that [`fetch`] has begun is there, and everything given has arrived.
#[cold]
pub(crate) fn fetched(call: Call<'_>) {
    if planted!("fetched-too-early", true, false) {
        lane::complete(call.name);
    }
}

/// Begins to copy `bytes` bytes to a member's symmetric `to`, which may be written; they are there after [`fetched`].
///
/// # Safety
/// `from` is readable for `bytes` bytes until then, and stays as it is.
pub(super) unsafe fn give(call: Call<'_>, member: u32, to: *mut u8, from: *const u8, bytes: usize) {
    match on_world_pe(call.name, to as usize, bytes, call.team.world(member)) {
        FoundObject::Here(to) if to == from as usize => {}
        // SAFETY: found mapped; the caller vouches for the rest.
        FoundObject::Here(to) => unsafe { ptr::copy(from, to as *mut u8, bytes) },
        // SAFETY: inside a region; the caller keeps the source until completion.
        FoundObject::There(to) => lane::issue(call.name, |lane| unsafe { lane.put_nbi(to, from, bytes) }),
    }
}

/// A broadcast of at most a payload: the or of all members' words, of which all but the root's are zero.
///
/// # Safety
/// As for `collectives::broadcast`.
pub(crate) unsafe fn broadcast_short(call: Call<'_>, span: &Span, way: LeaderSchedule, spread: Spread) {
    let mut words = [0_u64; PAYLOAD_WORDS];
    let everybody = Reduction::of_words(Kernel::of::<Or, u64>(), &mut words[..spread.bytes.div_ceil(8)]);
    // SAFETY: at most a payload.
    unsafe {
        spread.contribute(call.team.my, everybody.dest);
        combine(call, span, way, everybody);
        spread.take(call.team.my, everybody.dest);
    }
}

/// A broadcast of any length.
///
/// # Safety
/// As for `collectives::broadcast`.
#[cold]
pub(crate) unsafe fn broadcast(call: Call<'_>, span: &Span, way: LeaderSchedule, spread: Spread) {
    let Spread { dest, source, bytes, root, to_root } = spread;
    let root_node = span.node_of(root);
    let plan = Plan { root: root_node, root_apart: !to_root, ..Plan::new(span.nodes(), bytes as u64) };
    let (my, leader) = (call.team.my, span.my_leader());
    let dest_there = there(call, span, dest, bytes);
    // The other members of the root's node, its leader among them, read the root's source.
    let about_source = if span.count(root_node) > 1 { call.compared_name(source) } else { 0 };
    call.enter_to_write(dest, bytes, about_source);
    let original = |address| if span.node() == root_node { call.at(root, address, bytes) } else { ptr::null_mut() };
    let arrays = Arrays { dest, room: bytes, source: original(source), ..Arrays::NONE };
    // SAFETY: all have entered and name the same destination, so all of them may be written; the root's source lies in memory of its node.
    let in_flight = unsafe { run_schedule(call, span, way, plan, NO_SHARE, arrays, There::Dest(dest_there)) };
    if span.node() == root_node {
        // Its members take the root's source, and do not wait. They count the meeting nevertheless: the numbers of the team's meetings are
        // the same on all nodes.
        _ = call.team.next_announcement()
    } else {
        meet_here(call, span)
    }
    let from = if span.node() == root_node { original(source) } else { call.at(leader, dest, bytes) };
    // At the leader of the root's node the schedule has copied the source, unless the destination of a root stays apart.
    let leader_has_it = span.node() != root_node || to_root;
    let has_it = ptr::eq(from, dest) || my == leader && leader_has_it || my == root && !to_root;
    if !has_it {
        // SAFETY: the source, or what the leader has got, is ready; it does not change before the members have met.
        unsafe { ptr::copy(from, dest, bytes) };
    }
    in_flight.complete_locally(call);
    meet_here(call, span);
}

/// The members of the node take what their leader has in `dest`, and the leader waits until what it has `in_flight` is complete locally.
///
/// # Safety
/// `dest` is symmetric, has `bytes` bytes and may be written.
pub(super) unsafe fn copy_from_leader(
    call: Call<'_>,
    span: &Span,
    dest: *mut u8,
    bytes: usize,
    in_flight: InFlightBytes,
) {
    meet_here(call, span);
    if call.team.my != span.my_leader() {
        // SAFETY: the caller promises that `dest` is symmetric and has `bytes` bytes; the leader does not leave before all
        // have met again.
        unsafe { ptr::copy_nonoverlapping(call.at(span.my_leader(), dest, bytes), dest, bytes) };
    }
    in_flight.complete_locally(call);
    meet_here(call, span);
}

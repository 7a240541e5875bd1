//! Collections of blocks, equal (fcollect) and of any size (collect): what each way does, and the parts on one node.

use core::ptr;

use oxshmem_base::Error;
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::size_limits::PAYLOAD;
use oxshmem_schedule::way::{CollectiveWay, NodeShares};

use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::facts;
use crate::collectives::node_exchange;
use crate::collectives::on_node::exchange_bytes;
use crate::collectives::run::{self, Arrays};
use crate::collectives::signature::CallKind;
use crate::collectives::way::{self, Asked};
use crate::diagnosis::errors;
use crate::memory::control::PAYLOAD_WORDS;
use crate::memory::direct::FAST;
use crate::teams::span::Span;
use crate::transfers::length;

/// Collects blocks of `bytes` bytes of all members, in team order.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn fcollect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.declare(CallKind::Fcollect, bytes, 0);
    if bytes == 0 {
        return;
    }
    call.require_symmetric((dest, length::of(bytes, call.team.size as usize)), (source, bytes));
    let way = way::of_bytes(call, bytes, Asked::Fcollect { bytes });
    match (way, &call.team.span) {
        (CollectiveWay::Exchange | CollectiveWay::NodeEager, _) => {
            // SAFETY: the caller promises `bytes` bytes at `source`, and the way that there is room for them.
            let write = |to| unsafe { ptr::copy_nonoverlapping(source, to, bytes) };
            exchange_bytes(call, bytes, write, |member, theirs| {
                // SAFETY: the caller promises `bytes` bytes for each member at `dest`, and each member has brought as many.
                unsafe { ptr::copy_nonoverlapping(theirs, dest.add(member as usize * bytes), bytes) };
            });
        }
        (CollectiveWay::Schedule(schedule, piece), _) => {
            let room = length::of(bytes, call.team.size as usize);
            let arrays = Arrays { dest, room, source, ..Arrays::NONE };
            // SAFETY: `dest` has a block for every member, and `source` one, as this function demands.
            unsafe { run::on_node(call, schedule, piece, Plan::new(call.team.size, bytes as u64), arrays) };
        }
        (way, Some(span)) => {
            if !matches!(way, CollectiveWay::Gathered(_)) {
                // Each member reads its own source alone.
                call.enter_to_write(dest, bytes, 0);
            }
            // SAFETY: `dest` has a block for every member, and `source` one. Where others put to it, `enter_to_write` has compared
            // that all name the same one.
            unsafe { between_nodes::gather(call, span, way, dest, source, |member| member as usize * bytes) };
        }
        (_, None) => {
            call.enter_to_read([("source", source)]);
            for member in call.members_from_me() {
                // SAFETY: the member has entered, so its source is ready.
                unsafe { call.fetch(member, source, dest.add(member as usize * bytes), bytes) };
            }
            call.leave();
        }
    }
}

/// The part of one member in a collect, which travels as the words of an exchange.
struct CollectOffer {
    /// Bytes of its block.
    bytes: usize,
    /// The name of its destination, to be compared.
    dest_name: u64,
    /// The block, if it is inline; otherwise the name of its source.
    payload: [u64; PAYLOAD_WORDS - 2],
}

impl CollectOffer {
    /// Bytes of the longest inline block.
    const INLINE: usize = PAYLOAD - 16;

    /// The caller's offer.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes.
    unsafe fn new(call: Call<'_>, dest: *const u8, source: *const u8, bytes: usize) -> Self {
        let mut offer = Self { bytes, dest_name: call.compared_name(dest), payload: [0; PAYLOAD_WORDS - 2] };
        if offer.is_inline() {
            // SAFETY: the caller promises `bytes` bytes at `source`, and the branch has shown that they fit the payload.
            unsafe { ptr::copy_nonoverlapping(source, offer.payload.as_mut_ptr().cast(), bytes) };
        } else {
            // A member with nothing to give need not have the array that the others give from (COL-8).
            offer.payload[0] = call.name_of(source, bytes);
        }
        offer
    }

    fn words(&self) -> [u64; PAYLOAD_WORDS] {
        let mut words = [0; PAYLOAD_WORDS];
        (words[0], words[1]) = (self.bytes as u64, self.dest_name);
        words[2..].copy_from_slice(&self.payload);
        words
    }

    fn decode(&[bytes, dest_name, payload @ ..]: &[u64; PAYLOAD_WORDS]) -> Self {
        Self { bytes: bytes as usize, dest_name, payload }
    }

    /// Whether the block travels with the offer.
    fn is_inline(&self) -> bool {
        self.bytes <= Self::INLINE
    }
}

/// Collects blocks whose sizes differ from member to member. More than `room` bytes end the job.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn collect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize, room: usize) {
    let call = call.declare(CallKind::Collect, 0, 0);
    if bytes > 0 {
        // The members say how long the destination is; it has at least the caller's own block.
        call.require_symmetric((dest, bytes), (source, bytes));
    }
    let by_schedules = if call.team.scheduled { facts::of_team(call.team).collect() } else { None };
    if let Some(schedules) = by_schedules {
        // SAFETY: `needs` has found the caller's block and its destination.
        return unsafe { run::collect(call, schedules, dest, source, bytes, room) };
    }
    // SAFETY: the caller promises `bytes` bytes at `source`.
    let mine = unsafe { CollectOffer::new(call, dest, source, bytes) };
    let (mut offset, mut all_inline, mut elsewhere) = (0_usize, true, None);
    let mut places = Vec::new();
    node_exchange::exchange(call, &mine.words(), |member, theirs| {
        let theirs = CollectOffer::decode(theirs);
        let (place, size) = (offset, theirs.bytes);
        offset = offset.saturating_add(size);
        if call.team.span.is_some() {
            places.push(place);
        }
        if theirs.dest_name != mine.dest_name {
            // A member that brings something must mean the destination that has room for it.
            if size > 0 {
                call.other_destination(member, dest, bytes);
            }
            elsewhere = Some(member);
        }
        if size == 0 {
            return;
        }
        require_room(call, offset, room);
        // The destination must be symmetric, however much the member brings.
        let to = call.part_of_dest(dest, place, size);
        if theirs.is_inline() {
            // SAFETY: `part_of_dest` has found room for the block, which the payload has.
            unsafe { ptr::copy_nonoverlapping(theirs.payload.as_ptr().cast(), to, size) };
            return;
        }
        all_inline = false;
        if call.team.span.is_none() {
            // SAFETY: `part_of_dest` has found room for the block. The member has entered, so its source is ready, and leaves only
            // after us.
            unsafe { call.fetch(member, FAST.named(theirs.payload[0]) as *const u8, to, size) };
        }
    });
    // All members see the same sizes, so all decide alike.
    match &call.team.span {
        _ if all_inline => {}
        Some(span) => {
            if let Some(member) = elsewhere {
                call.other_destination(member, dest, bytes);
            }
            places.push(offset);
            // SAFETY: all have entered, name the same destination, and have room for all blocks there.
            unsafe { collect_between_nodes(call, span, dest, source, &places) };
        }
        None => call.leave(),
    }
}

/// Collects blocks into the leaders' destinations. That of member i begins at byte `places[i]` and ends at `places[i + 1]`.
///
/// # Safety
/// The members have entered and name the same `dest`, which is symmetric and has all blocks; `source` has the caller's block.
unsafe fn collect_between_nodes(call: Call<'_>, span: &Span, dest: *mut u8, source: *const u8, places: &[usize]) {
    let place = |member: u32| places[member as usize];
    let block = |member: u32| (place(member + 1) - place(member)) as u64;
    let share = |node: u32| span.on(node).map(block).sum::<u64>();
    let way = way::by(call, |team| team.gather(NodeShares::of((0..span.nodes()).map(share))));
    // SAFETY: the caller promises both arrays, and that the members have entered.
    unsafe { between_nodes::gather(call, span, way, dest, source, place) };
}

/// Ends the job unless so many bytes of a collect fit the destination.
pub(crate) fn require_room(call: Call<'_>, bytes: usize, room: usize) {
    if bytes > room {
        errors::fail(
            &Error::new(format!("{}: dest has room for {room} bytes", call.name))
                .because(format!("the members of the team bring {bytes} bytes and perhaps more"))
                .fix("make dest as long as the sources of all members together"),
        );
    }
}

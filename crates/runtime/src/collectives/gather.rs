//! Collections of blocks, equal (fcollect) and of any size (collect): what each way does, and the parts on one node.

use core::ptr;

use oxshmem_base::Error;
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::size_limits::{COLLECT_HEAD, COLLECT_INLINE};
use oxshmem_schedule::way::{CollectiveWay, NodeShares};

use crate::collectives::between_nodes::{self, eager};
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
        self.bytes <= COLLECT_INLINE
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
    let mut blocks = CollectedBlocks::new(call, dest, bytes, room);
    // SAFETY: the caller promises `bytes` bytes at `source`.
    if !unsafe { collect_at_once(&mut blocks, source) } {
        // SAFETY: the caller promises `bytes` bytes at `source`.
        let mine = unsafe { CollectOffer::new(call, dest, source, bytes) };
        node_exchange::exchange(call, &mine.words(), |member, theirs| {
            let theirs = CollectOffer::decode(theirs);
            let size = theirs.bytes;
            let Some(to) = blocks.place(member, size, theirs.dest_name) else { return };
            if theirs.is_inline() {
                // SAFETY: `place` has found room for the block, which the payload has.
                unsafe { ptr::copy_nonoverlapping(theirs.payload.as_ptr().cast(), to, size) };
                return;
            }
            blocks.are_there = false;
            if call.team.span.is_none() {
                // SAFETY: `place` has found room for the block. The member has entered, so its source is ready, and leaves only after us.
                unsafe { call.fetch(member, FAST.named(theirs.payload[0]) as *const u8, to, size) };
            }
        });
    }
    // All members see the same sizes, so all decide alike.
    match &call.team.span {
        Some(span) => {
            let room = facts::of_team(call.team).collect_room(blocks.longest, blocks.total);
            call.team.note_collect_room(room);
            if !blocks.are_there {
                // SAFETY: all have entered.
                unsafe { blocks.collect_between_nodes(span, source) };
            }
        }
        None if blocks.are_there => {}
        None => call.leave(),
    }
}

/// Between nodes the blocks travel with their sizes, if the blocks of the team's last collect had room so. Returns whether they did.
///
/// # Safety
/// As for [`collect`].
unsafe fn collect_at_once(blocks: &mut CollectedBlocks<'_>, source: *const u8) -> bool {
    let (call, bytes, room) = (blocks.call, blocks.bytes, blocks.call.team.collect_room());
    let Some(span) = call.team.span.as_deref().filter(|_| room > 0) else { return false };
    let shares =
        NodeShares::of((0..span.nodes()).map(|node| u64::from(span.count(node)) * (COLLECT_HEAD + room) as u64));
    let CollectiveWay::Gathered(way) = way::by(call, |team| team.gather(shares)) else { return false };
    let head = [bytes as u64, blocks.dest_name];
    let write = |to: *mut u8| {
        let fitting = if bytes <= room { bytes } else { 0 };
        // SAFETY: the place has room for a head and `room` bytes; the caller promises the block.
        unsafe {
            to.cast::<[u64; 2]>().write_unaligned(head);
            ptr::copy_nonoverlapping(source, to.wrapping_add(COLLECT_HEAD), fitting);
        }
    };
    // SAFETY: the way is chosen for places of this length, all of which have come. `place` has found room for a block that is not empty, and a
    // block that is no longer than `room` lies behind its head.
    unsafe {
        eager::gather_equal(call, span, way, COLLECT_HEAD + room, write, |member, theirs| {
            let [size, dest_name] = theirs.cast::<[u64; 2]>().read_unaligned();
            let size = size as usize;
            match blocks.place(member, size, dest_name) {
                Some(to) if size <= room => ptr::copy_nonoverlapping(theirs.wrapping_add(COLLECT_HEAD), to, size),
                Some(_) => blocks.are_there = false,
                None => {}
            }
        });
    }
    true
}

/// The blocks of a collect, as their sizes come.
struct CollectedBlocks<'a> {
    call: Call<'a>,
    dest: *mut u8,
    dest_name: u64,
    /// Bytes of the caller's block.
    bytes: usize,
    /// Bytes of the destination.
    room: usize,
    /// Where each member's block begins, between nodes.
    places: Vec<usize>,
    /// Bytes of the blocks so far.
    total: usize,
    /// Bytes of the longest block.
    longest: usize,
    /// A member that brings nothing, and names another destination.
    elsewhere: Option<u32>,
    /// Whether all blocks have come with their sizes.
    are_there: bool,
}

impl<'a> CollectedBlocks<'a> {
    fn new(call: Call<'a>, dest: *mut u8, bytes: usize, room: usize) -> Self {
        let (dest_name, places, elsewhere) = (call.compared_name(dest), Vec::new(), None);
        Self { call, dest, dest_name, bytes, room, places, total: 0, longest: 0, elsewhere, are_there: true }
    }

    /// The place of the next member's block; `None` of an empty one.
    fn place(&mut self, member: u32, size: usize, dest_name: u64) -> Option<*mut u8> {
        let (call, at) = (self.call, self.total);
        self.total = self.total.saturating_add(size);
        self.longest = self.longest.max(size);
        if call.team.span.is_some() {
            self.places.push(at);
        }
        if dest_name != self.dest_name {
            // A member that brings something must mean the destination that has room for it.
            if size > 0 {
                call.other_destination(member, self.dest, self.bytes);
            }
            self.elsewhere = Some(member);
        }
        if size == 0 {
            return None;
        }
        require_room(call, self.total, self.room);
        // The destination must be symmetric, however much the member brings.
        Some(call.part_of_dest(self.dest, at, size))
    }

    /// The members have entered, and each has what it brings in `source`.
    ///
    /// # Safety
    /// As for [`collect`].
    unsafe fn collect_between_nodes(mut self, span: &Span, source: *const u8) {
        if let Some(member) = self.elsewhere {
            self.call.other_destination(member, self.dest, self.bytes);
        }
        self.places.push(self.total);
        // SAFETY: all have entered, name the same destination, and have room for all blocks there.
        unsafe { collect_between_nodes(self.call, span, self.dest, source, &self.places) };
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

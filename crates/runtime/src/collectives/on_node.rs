//! Collectives by bytes, on one node (of several nodes, see `between_nodes::bytes`): exchanges of [`crate::collectives::barrier`] around loads from
//! the members' memory.
//!
//! Nobody writes into another member's memory before that member has entered (the slices of a large reduction), and
//! otherwise everybody fetches what it needs into its own destination. So a collective never disturbs a member that has
//! not called it yet, however programs order their calls, and a source may be reused on return because the closing
//! exchange comes after everybody's last load.
//!
//! What fits the payload of an exchange travels with it, and the collective costs what a barrier costs.

mod agreement;
mod reduce;
mod scan;
mod variable;

use core::ptr;

use oxshmem_base::Error;

use crate::collectives::barrier;
use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::executor;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::memory::control::PAYLOAD_WORDS;
use crate::transfers::direct::FAST;

pub(crate) use agreement::agree_on_choice;
pub(crate) use reduce::reduce;
pub(crate) use scan::scan;
pub(crate) use variable::{Blocks, Into, alltoallv};

/// Bytes that travel with an exchange.
const PAYLOAD_BYTES: usize = PAYLOAD_WORDS * 8;

impl Call<'_> {
    /// Copies `bytes` bytes of member `member`'s symmetric `from`, which is ready, to `to`, where they are after
    /// [`Self::fetched`].
    ///
    /// # Safety
    /// `to` is writable for `bytes` bytes.
    #[inline(always)]
    unsafe fn fetch(self, member: u32, from: *const u8, to: *mut u8, bytes: usize) {
        if self.team.span.is_some() {
            // SAFETY: passed on.
            return unsafe { between_nodes::bytes::fetch(self, member, from, to, bytes) };
        }
        // SAFETY: `at` found all of it; the caller vouches for the rest.
        unsafe { ptr::copy(self.at(member, from, bytes), to, bytes) }
    }

    /// Returns when all that was fetched is there.
    #[inline(always)]
    fn fetched(self) {
        if self.team.span.is_some() {
            between_nodes::bytes::fetched(self);
        }
    }

    /// The members in the order in which the caller visits them: itself first, so that not all begin with one.
    fn members_from_me(self) -> impl Iterator<Item = u32> {
        let (my, size) = (self.team.my, self.team.size);
        (my..size).chain(0..my)
    }

    pub(crate) fn enter(self) {
        barrier::synchronise(self);
    }

    /// [`Self::enter`] of a collective that writes into the other members' memory: everybody must name the same
    /// `bytes` bytes of `dest`.
    pub(crate) fn enter_to_write(self, dest: *const u8, bytes: usize) {
        let words = [place_of(dest), bytes as u64];
        if let Some(span) = &self.team.span
            && between_nodes::agree(self, span, &words)
        {
            return;
        }
        // Between nodes only to find out who.
        barrier::exchange(self, &words, |member, theirs| {
            if theirs[..2] != words {
                self.other_destination(member, bytes);
            }
        });
    }

    #[cold]
    fn other_destination(self, member: u32, bytes: usize) -> ! {
        errors::fail(
            &Error::new(format!("{}: the members of the team name different destinations", self.name))
                .because(format!(
                    "PE {member} of the team names another place or length than this PE ({}), which names {bytes} bytes",
                    self.team.my
                ))
                .fix("pass the same symmetric object and the same number of elements on all members"),
        )
    }

    pub(crate) fn leave(self) {
        barrier::synchronise(self);
    }

    fn check_root(self, root: i64) -> u32 {
        if !(0..i64::from(self.team.size)).contains(&root) {
            errors::bad_argument(self.name, "PE_root", root, &format!("0 to {}", self.team.size - 1));
        }
        root as u32
    }
}

/// Which byte of the symmetric memory `address` is, in terms that are the same on all PEs.
fn place_of(address: *const u8) -> u64 {
    let at = address as usize;
    let (extent, arena) = if FAST.heap.holds(at, 1) { (&FAST.heap, 0) } else { (&FAST.statics, 1) };
    (at.wrapping_sub(extent.own().0) as u64) << 1 | arena
}

/// The bytes of `source` as payload words.
///
/// # Safety
/// `source` is readable for `bytes` bytes, at most [`PAYLOAD_BYTES`].
#[inline(always)]
unsafe fn payload(source: *const u8, bytes: usize) -> [u64; PAYLOAD_WORDS] {
    let mut words = [0; PAYLOAD_WORDS];
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(source, words.as_mut_ptr().cast(), bytes) };
    words
}

/// How many words hold `bytes` bytes.
#[inline(always)]
fn words_of(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Waits for all members.
#[inline(always)]
pub(crate) fn synchronise(call: Call<'_>) {
    if !(call.team.scheduled && executor::sync(call)) {
        barrier::synchronise(call);
    }
}

/// Copies `bytes` bytes of the root's source to every member's destination; to the root's own only if `to_root`.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have `bytes` bytes. So for all of this file.
pub(crate) unsafe fn broadcast(
    call: Call<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: i64,
    to_root: bool,
) {
    let root = call.check_root(root);
    let call = call.is(CallKind::Broadcast, bytes, root);
    if bytes > 0 {
        // The root's own destination stays as it is where nothing goes to it.
        call.needs(if to_root || call.team.my != root { dest } else { source }, source);
    }
    // SAFETY: the caller's promise. So where the executor is asked below.
    if bytes == 0 || call.team.scheduled && unsafe { executor::broadcast(call, dest, source, bytes, root, to_root) } {
        return;
    }
    if let Some(span) = &call.team.span {
        for way in
            [between_nodes::eager::broadcast, between_nodes::bytes::broadcast_short, between_nodes::bytes::broadcast]
        {
            // SAFETY: both arrays have the bytes, as this function demands.
            if unsafe { way(call, span, dest, source, bytes, root, to_root) } {
                return;
            }
        }
    }
    if call.team.my == root {
        // Finds out here, not in the others, whether the source is symmetric.
        call.at(root, source, bytes);
        barrier::announce(call, || {
            if to_root && !ptr::eq(dest, source) {
                // SAFETY: the caller's promise.
                unsafe { ptr::copy(source, call.at(root, dest, bytes), bytes) };
            }
        });
    } else {
        barrier::take(call, root, || {
            // SAFETY: the root has announced its source and waits for us.
            unsafe { call.fetch(root, source, dest, bytes) };
            call.fetched();
        });
    }
}

/// Collects blocks of `bytes` bytes of all members, in team order.
///
/// # Safety
/// See [`broadcast`].
pub(crate) unsafe fn fcollect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.is(CallKind::Fcollect, bytes, 0);
    if bytes > 0 {
        call.needs(dest, source);
    }
    // SAFETY: see `broadcast`.
    if bytes == 0 || call.team.scheduled && unsafe { executor::fcollect(call, dest, source, bytes) } {
        return;
    }
    if bytes <= PAYLOAD_BYTES {
        // SAFETY: the caller's promise.
        let words = unsafe { payload(source, bytes) };
        barrier::exchange(call, &words[..words_of(bytes)], |member, theirs| {
            // SAFETY: as above; the destination has a block for every member.
            unsafe { ptr::copy_nonoverlapping(theirs.as_ptr().cast(), dest.add(member as usize * bytes), bytes) };
        });
        return;
    }
    if let Some(span) = &call.team.span {
        let place = |member: u32| member as usize * bytes;
        // SAFETY: `dest` has a block for every member, and `source` one, as this function demands.
        if unsafe { between_nodes::eager::gather_blocks(call, span, dest, source, place) } {
            return;
        }
        call.enter_to_write(dest, bytes);
        // SAFETY: the caller vouches for both arrays, and `enter_to_write` has compared that all name the same destination.
        return unsafe { between_nodes::bytes::gather_blocks(call, span, dest, source, place) };
    }
    call.enter();
    for member in call.members_from_me() {
        // SAFETY: the member has entered, so its source is ready.
        unsafe { call.fetch(member, source, dest.add(member as usize * bytes), bytes) };
    }
    call.leave();
}

/// Collects blocks whose sizes differ from member to member.
///
/// # Safety
/// See [`broadcast`].
pub(crate) unsafe fn collect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    const INLINE: usize = PAYLOAD_BYTES - 16;
    let call = call.is(CallKind::Collect, 0, 0);
    if bytes > 0 {
        call.needs(dest, source);
    }
    // SAFETY: see `broadcast`.
    if call.team.scheduled && unsafe { executor::collect(call, dest, source, bytes) } {
        return;
    }
    let mut words = [0; PAYLOAD_WORDS];
    (words[0], words[1]) = (bytes as u64, place_of(dest));
    if bytes <= INLINE {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(source, words[2..].as_mut_ptr().cast(), bytes) };
    } else {
        // Who has nothing to give need not have the array that the others give from (COL-8).
        words[2] = call.name_of(source, bytes);
    }
    let (mut offset, mut all_inline, mut elsewhere) = (0_usize, true, None);
    let mut places = Vec::new();
    barrier::exchange(call, &words, |member, theirs| {
        let size = theirs[0] as usize;
        if call.team.span.is_some() {
            places.push(offset);
        }
        if theirs[1] != words[1] {
            elsewhere = Some(member);
        }
        if size > 0 {
            // A member that brings something must mean the destination that has room for it.
            if theirs[1] != words[1] {
                call.other_destination(member, bytes);
            }
            // That must be symmetric memory, however much the member brings.
            let to = call.at(call.team.my, dest.wrapping_add(offset), size);
            // SAFETY: `at` has found room for the block; one beyond the payload is read from its source, whose member has
            // entered and leaves only after us.
            unsafe {
                if size <= INLINE {
                    ptr::copy_nonoverlapping(theirs[2..].as_ptr().cast(), to, size);
                } else {
                    all_inline = false;
                    if call.team.span.is_none() {
                        call.fetch(member, FAST.named(theirs[2]) as *const u8, to, size);
                    }
                }
            }
        }
        offset = offset.saturating_add(size);
    });
    // All members see the same sizes, so all decide alike.
    match &call.team.span {
        _ if all_inline => {}
        Some(span) => {
            // Blocks go into the leaders' destinations.
            if let Some(member) = elsewhere {
                call.other_destination(member, bytes);
            }
            places.push(offset);
            let place = |member: u32| places[member as usize];
            // SAFETY: `dest` has room for all blocks, as was found above.
            if unsafe { between_nodes::eager::gather_blocks(call, span, dest, source, place) } {
                return;
            }
            // SAFETY: all have entered, name the same destination, and have room for all blocks there.
            unsafe { between_nodes::bytes::gather_blocks(call, span, dest, source, place) };
        }
        None => call.leave(),
    }
}

/// Sends block i of the caller's source to member i, where it becomes block `my`.
///
/// # Safety
/// See [`broadcast`].
pub(crate) unsafe fn alltoall(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.is(CallKind::Alltoall, bytes, 0);
    if bytes > 0 {
        call.needs(dest, source);
    }
    let all = bytes.saturating_mul(call.team.size as usize);
    // SAFETY: see `broadcast`.
    if all == 0 || call.team.scheduled && unsafe { executor::alltoall(call, dest, source, bytes) } {
        return;
    }
    let mine = call.team.my as usize * bytes;
    if all <= PAYLOAD_BYTES {
        // SAFETY: the caller's promise.
        let words = unsafe { payload(source, all) };
        barrier::exchange(call, &words[..words_of(all)], |member, theirs| {
            // SAFETY: as above: block `my` of the member's payload becomes block `member`.
            unsafe {
                let block = theirs.as_ptr().cast::<u8>().add(mine);
                ptr::copy_nonoverlapping(block, dest.add(member as usize * bytes), bytes);
            }
        });
        return;
    }
    if let Some(span) = &call.team.span
        // SAFETY: the caller's promise.
        && unsafe { between_nodes::bytes::alltoall_by_nodes(call, span, dest, source, bytes) }
    {
        return;
    }
    call.enter();
    for member in call.members_from_me() {
        // SAFETY: the member has entered, so its source is ready.
        unsafe { call.fetch(member, source.add(mine), dest.add(member as usize * bytes), bytes) };
    }
    call.fetched();
    call.leave();
}

/// [`alltoall`] of blocks of `nelems` elements that lie `dst` and `sst` elements apart.
///
/// # Safety
/// See [`broadcast`].
pub(crate) unsafe fn alltoalls(
    call: Call<'_>,
    dest: *mut u8,
    source: *const u8,
    (dst, sst): (isize, isize),
    element: usize,
    nelems: usize,
) {
    let call = call.is(CallKind::Alltoalls, nelems.wrapping_mul(element), dst.wrapping_mul(sst) as u32);
    if nelems == 0 {
        return;
    }
    call.needs(dest, source);
    for (name, stride) in [("dst", dst), ("sst", sst)] {
        if stride < 1 {
            errors::bad_argument(call.name, name, stride as i64, "1 and more");
        }
    }
    let (dst, sst) = (dst as usize * element, sst as usize * element);
    let reach = (nelems - 1) * sst + element;
    let theirs = source.wrapping_add(call.team.my as usize * nelems * sst);
    // Where the elements of a member go.
    let place = |member: u32, i: usize| dest.wrapping_add((member as usize * nelems + i) * dst);
    let spread = |member: u32, from: *const u8| {
        for i in 0..nelems {
            // SAFETY: `from` has the member's elements; the destination has a place for each.
            unsafe { ptr::copy(from.add(i * sst), place(member, i), element) };
        }
    };
    call.enter();
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    for member in call.members_from_me() {
        if call.is_here(member) {
            spread(member, call.at(member, theirs, reach));
        } else if sst > FAR_APART {
            for i in 0..nelems {
                // SAFETY: the member has entered, so its source is ready; the element has its place.
                unsafe { call.fetch(member, theirs.wrapping_add(i * sst), place(member, i), element) };
            }
        } else {
            // What lies close together comes in one piece, with what is between.
            let mut piece = vec![0; reach];
            // SAFETY: as above; the piece has the room, and stays where it is until all is fetched.
            unsafe { call.fetch(member, theirs, piece.as_mut_ptr(), reach) };
            pieces.push((member, piece));
            if pieces.len() * reach > PIECES {
                call.fetched();
                pieces.drain(..).for_each(|(member, piece)| spread(member, piece.as_ptr()));
            }
        }
    }
    call.fetched();
    pieces.iter().for_each(|(member, piece)| spread(*member, piece.as_ptr()));
    call.leave();
}

/// Elements of other nodes that lie so many bytes apart are fetched one by one: a message costs less than that.
const FAR_APART: usize = 1 << 10;
/// Bytes of strided pieces that are under way at once.
const PIECES: usize = 16 << 20;

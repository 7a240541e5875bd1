//! Collections of blocks, equal (fcollect) and of any size (collect): the way of each call, and the one of a node.

use core::ptr;

use crate::collectives::barrier;
use crate::collectives::between_nodes;
use crate::collectives::call::{Call, place_of};
use crate::collectives::executor;
use crate::collectives::limits::PAYLOAD_BYTES;
use crate::collectives::on_node::{payload, words_of};
use crate::collectives::signature::CallKind;
use crate::memory::control::PAYLOAD_WORDS;
use crate::transfers::direct::FAST;
use crate::transfers::length;

/// Collects blocks of `bytes` bytes of all members, in team order.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn fcollect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.declare(CallKind::Fcollect, bytes, 0);
    if bytes > 0 {
        call.needs((dest, length::of(bytes, call.team.size as usize)), (source, bytes));
    }
    // SAFETY: this function's own demand on the arrays is the executor's.
    if bytes == 0 || call.team.scheduled && unsafe { executor::fcollect(call, dest, source, bytes) } {
        return;
    }
    if bytes <= PAYLOAD_BYTES {
        // SAFETY: the caller promises `bytes` bytes at `source`, and the branch has shown that they fit a payload.
        let words = unsafe { payload(source, bytes) };
        barrier::exchange(call, &words[..words_of(bytes)], |member, theirs| {
            // SAFETY: the caller promises `bytes` bytes for each member at `dest`, and each line has as many.
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
        return unsafe { between_nodes::blocks::gather_blocks(call, span, dest, source, place) };
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
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn collect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    const INLINE: usize = PAYLOAD_BYTES - 16;
    let call = call.declare(CallKind::Collect, 0, 0);
    if bytes > 0 {
        // How long the destination is the members say; it has at least the caller's own block.
        call.needs((dest, bytes), (source, bytes));
    }
    // SAFETY: this function's own demand on the arrays is the executor's.
    if call.team.scheduled && unsafe { executor::collect(call, dest, source, bytes) } {
        return;
    }
    let mut words = [0; PAYLOAD_WORDS];
    (words[0], words[1]) = (bytes as u64, place_of(dest));
    if bytes <= INLINE {
        // SAFETY: the caller promises `bytes` bytes at `source`, and the branch has shown that they fit the rest of the
        // payload.
        unsafe { ptr::copy_nonoverlapping(source, words[2..].as_mut_ptr().cast(), bytes) };
    } else {
        // A member with nothing to give need not have the array that the others give from (COL-8).
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
                call.other_destination(member, dest, bytes);
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
                call.other_destination(member, dest, bytes);
            }
            places.push(offset);
            let place = |member: u32| places[member as usize];
            // SAFETY: `dest` has room for all blocks, as was found above.
            if unsafe { between_nodes::eager::gather_blocks(call, span, dest, source, place) } {
                return;
            }
            // SAFETY: all have entered, name the same destination, and have room for all blocks there.
            unsafe { between_nodes::blocks::gather_blocks(call, span, dest, source, place) };
        }
        None => call.leave(),
    }
}

//! All-to-alls of equal blocks, contiguous and strided: the way of each call, and the one of a node.

use core::ptr;

use crate::collectives::barrier;
use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::executor;
use crate::collectives::limits::PAYLOAD_BYTES;
use crate::collectives::limits::{FAR_APART, PIECES};
use crate::collectives::on_node::{payload, words_of};
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;

/// Sends block i of the caller's source to member i, where it becomes block `my`.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn alltoall(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.is(CallKind::Alltoall, bytes, 0);
    if bytes > 0 {
        call.needs(dest, source);
    }
    let all = bytes.saturating_mul(call.team.size as usize);
    // SAFETY: this function's own demand on the arrays is the executor's.
    if all == 0 || call.team.scheduled && unsafe { executor::alltoall(call, dest, source, bytes) } {
        return;
    }
    let mine = call.team.my as usize * bytes;
    if all <= PAYLOAD_BYTES {
        // SAFETY: the caller promises `all` bytes at `source`, and the branch has shown that they fit a payload.
        let words = unsafe { payload(source, all) };
        barrier::exchange(call, &words[..words_of(all)], |member, theirs| {
            // SAFETY: the caller promises `bytes` bytes for each member at `dest`; block `my` of the member's payload
            // becomes block `member`.
            unsafe {
                let block = theirs.as_ptr().cast::<u8>().add(mine);
                ptr::copy_nonoverlapping(block, dest.add(member as usize * bytes), bytes);
            }
        });
        return;
    }
    if let Some(span) = &call.team.span
        // SAFETY: the caller promises symmetric arrays with `bytes` bytes for each member.
        && unsafe { between_nodes::blocks::alltoall_by_nodes(call, span, dest, source, bytes) }
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
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
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
            // Elements that lie close together come in one piece, with the bytes between them.
            let mut piece = vec![0; reach];
            // SAFETY: the member has entered, so its source is ready; the piece has the room, and stays where it is until
            // all is fetched.
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

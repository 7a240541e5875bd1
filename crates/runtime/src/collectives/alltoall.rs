//! All-to-alls of equal blocks, contiguous and strided: what each way does, and the parts on one node.

use core::{mem, ptr};

use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;

use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::limits::{FAR_APART, PAYLOAD_BYTES, PIECES};
use crate::collectives::node_exchange;
use crate::collectives::on_node::{payload, words_of};
use crate::collectives::run::{self, Arrays};
use crate::collectives::signature::CallKind;
use crate::collectives::way::{self, Asked};
use crate::diagnosis::errors;
use crate::memory::control::PAYLOAD_WORDS;
use crate::transfers::length::{self, Cover};

/// Sends block i of the caller's source to member i, where it becomes block `my`.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn alltoall(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.declare(CallKind::Alltoall, bytes, 0);
    let all = length::of(bytes, call.team.size as usize);
    if bytes > 0 {
        call.needs((dest, all), (source, all));
    }
    if all == 0 {
        return;
    }
    let mine = call.team.my as usize * bytes;
    let way = match call.team.is_plain() {
        true if all <= PAYLOAD_BYTES => CollectiveWay::Exchange,
        true => CollectiveWay::Members,
        false => way::of(call, Asked::Alltoall { bytes, strided: false }),
    };
    match (way, &call.team.span) {
        (CollectiveWay::Exchange, _) => {
            // SAFETY: the caller promises `all` bytes at `source`, which fit a payload where the way is an exchange.
            let words = unsafe { payload(source, all) };
            return node_exchange::exchange(call, &words[..words_of(all)], |member, theirs| {
                // SAFETY: the caller promises `bytes` bytes for each member at `dest`; block `my` of the member's payload
                // becomes block `member`.
                unsafe {
                    let block = theirs.as_ptr().cast::<u8>().add(mine);
                    ptr::copy_nonoverlapping(block, dest.add(member as usize * bytes), bytes);
                }
            });
        }
        (CollectiveWay::Schedule(schedule, piece), _) => {
            let arrays = Arrays { dest, room: all, source, ..Arrays::NONE };
            // SAFETY: the caller promises symmetric arrays with `bytes` bytes for each member.
            return unsafe { run::on_node(call, schedule, piece, Plan::new(call.team.size, bytes as u64), arrays) };
        }
        (CollectiveWay::Parts(parts), Some(span)) => {
            let lay = |member: u32, to: *mut u8| {
                // SAFETY: the caller promises `bytes` bytes for each member at `source`; the place has room for a block.
                unsafe { ptr::copy_nonoverlapping(source.add(member as usize * bytes), to, bytes) };
            };
            let take = |member: u32, from: *const u8| {
                // SAFETY: the block has come; the caller promises `bytes` bytes for each member at `dest`.
                unsafe { ptr::copy_nonoverlapping(from, dest.add(member as usize * bytes), bytes) };
            };
            return between_nodes::alltoall(call, span, parts, bytes, lay, take);
        }
        _ => {}
    }
    call.enter();
    for member in call.members_from_me() {
        // SAFETY: the member has entered, so its source is ready.
        unsafe { call.fetch(member, source.add(mine), dest.add(member as usize * bytes), bytes) };
    }
    call.fetched();
    call.leave();
}

/// Copies `n` elements of `element` bytes, which lie so many bytes apart.
///
/// # Safety
/// The places are those of `n` elements, in arrays that do not overlap or are the same.
unsafe fn copy_elements(
    (to, to_apart): (*mut u8, usize),
    (from, from_apart): (*const u8, usize),
    element: usize,
    n: usize,
) {
    if to_apart == element && from_apart == element {
        // SAFETY: the elements are one block on both sides.
        return unsafe { ptr::copy(from, to, n * element) };
    }
    for i in 0..n {
        let (to, from) = (to.wrapping_add(i * to_apart), from.wrapping_add(i * from_apart));
        // SAFETY: an element on both sides, by this function's own demand.
        unsafe {
            match element {
                1 => to.write(from.read()),
                2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
                4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
                8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
                16 => to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()),
                _ => ptr::copy(from, to, element),
            }
        }
    }
}

/// Elements `first` to `first + n` of the block of a member on another node, fetched with the bytes between them.
struct StridedPiece {
    member: u32,
    first: usize,
    n: usize,
    memory: Vec<u8>,
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
    let block = length::of(nelems, element);
    let call = call.declare(CallKind::Alltoalls, block, dst.wrapping_mul(sst) as u32);
    if nelems == 0 {
        return;
    }
    if block > isize::MAX as usize {
        errors::longer_than_memory(call.name, "dest", dest as usize, block);
    }
    for (name, stride) in [("dst", dst), ("sst", sst)] {
        if stride < 1 {
            errors::bad_argument(call.name, name, stride as i64, "1 and more");
        }
    }
    let all = length::of(nelems, call.team.size as usize);
    let cover = |stride| Cover::strided(element, stride, 1, all).bytes;
    call.needs((dest, cover(dst)), (source, cover(sst)));
    // The arrays hold this many bytes for each of the elements, but for the last one. A single element has no next one, so its
    // stride may be any number.
    let apart = |stride: isize| if all > 1 { stride as usize * element } else { element };
    let (dst, sst) = (apart(dst), apart(sst));
    let reach = (nelems - 1) * sst + element;
    let theirs = source.wrapping_add(call.team.my as usize * nelems * sst);
    // Where the elements of a member go.
    let place = |member: u32, i: usize| dest.wrapping_add((member as usize * nelems + i) * dst);
    // `from` has `n` of the member's elements from number `first` on, so many bytes apart.
    let spread = |member: u32, (first, n): (usize, usize), from: *const u8, apart: usize| {
        // SAFETY: they are there, and the destination has a place for each.
        unsafe { copy_elements((place(member, first), dst), (from, apart), element, n) };
    };
    let together = length::of(block, call.team.size as usize);
    if call.team.is_plain() && together <= PAYLOAD_BYTES {
        let mut words = [0_u64; PAYLOAD_WORDS];
        // SAFETY: the caller promises the elements of all blocks at `source`; one behind the other they fit a payload.
        unsafe { copy_elements((words.as_mut_ptr().cast(), element), (source, sst), element, all) };
        return node_exchange::exchange(call, &words[..words_of(together)], |member, theirs| {
            let mine = call.team.my as usize * block;
            spread(member, (0, nelems), theirs.as_ptr().cast::<u8>().wrapping_add(mine), element);
        });
    }
    let way = if call.team.is_plain() {
        CollectiveWay::Members
    } else {
        way::of(call, Asked::Alltoall { bytes: block, strided: true })
    };
    if let (CollectiveWay::Parts(parts), Some(span)) = (way, &call.team.span) {
        let lay = |member: u32, to: *mut u8| {
            let from = source.wrapping_add(member as usize * nelems * sst);
            // SAFETY: the caller promises the elements at `source`; the place has room for a block.
            unsafe { copy_elements((to, element), (from, sst), element, nelems) };
        };
        let take = |member: u32, from: *const u8| spread(member, (0, nelems), from, element);
        return between_nodes::alltoall(call, span, parts, block, lay, take);
    }
    call.enter();
    // Elements of other nodes that lie close together come in pieces, with the bytes between them.
    let most = (PIECES / sst).max(1);
    let (mut pieces, mut held) = (Vec::new(), 0);
    let spread_all = |pieces: Vec<StridedPiece>| {
        call.fetched();
        for StridedPiece { member, first, n, memory } in pieces {
            spread(member, (first, n), memory.as_ptr(), sst);
        }
    };
    for member in call.members_from_me() {
        if call.is_here(member) {
            spread(member, (0, nelems), call.at(member, theirs, reach), sst);
        } else if sst > FAR_APART {
            for i in 0..nelems {
                // SAFETY: the member has entered, so its source is ready; the element has its place.
                unsafe { call.fetch(member, theirs.wrapping_add(i * sst), place(member, i), element) };
            }
        } else {
            for first in (0..nelems).step_by(most) {
                let n = most.min(nelems - first);
                let bytes = (n - 1) * sst + element;
                if held + bytes > PIECES {
                    spread_all(mem::take(&mut pieces));
                    held = 0;
                }
                let mut memory = vec![0; bytes];
                // SAFETY: the member has entered, so its source is ready; the piece has the room, and stays where it is until
                // all is fetched.
                unsafe { call.fetch(member, theirs.wrapping_add(first * sst), memory.as_mut_ptr(), bytes) };
                pieces.push(StridedPiece { member, first, n, memory });
                held += bytes;
            }
        }
    }
    spread_all(pieces);
    call.leave();
}

#[cfg(test)]
mod tests {
    use super::copy_elements;

    #[test]
    fn elements_of_every_size_are_copied_wherever_they_lie() {
        let from: Vec<u8> = (0..=255).collect();
        for element in [1, 2, 3, 4, 8, 16, 24] {
            // Neither side is aligned.
            let [(to_at, to_apart), (from_at, from_apart)] = [(3, 2 * element), (1, 3 * element)];
            let (mut to, mut expected) = (vec![0_u8; 256], vec![0_u8; 256]);
            for i in 0..4 {
                let moved = &from[from_at + i * from_apart..][..element];
                expected[to_at + i * to_apart..][..element].copy_from_slice(moved);
            }
            let places = (to.as_mut_ptr().wrapping_add(to_at), from.as_ptr().wrapping_add(from_at));
            // SAFETY: the last of the four elements ends inside both arrays, which are apart.
            unsafe { copy_elements((places.0, to_apart), (places.1, from_apart), element, 4) };
            assert_eq!(to, expected, "{element} bytes");
        }
    }
}

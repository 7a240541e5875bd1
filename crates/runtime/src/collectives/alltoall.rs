//! All-to-alls of equal blocks: what each way does, and the parts on one node. [`strided`] has those whose elements lie apart.

mod strided;

use core::ops::Range;
use core::ptr;

use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;
use oxshmem_schedule::way::size_limits::NODE_EAGER;

use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::limits::PAYLOAD_BYTES;
use crate::collectives::node_eager;
use crate::collectives::node_exchange;
use crate::collectives::on_node::{payload, words_of};
use crate::collectives::run::{self, Arrays};
use crate::collectives::signature::CallKind;
use crate::collectives::way::{self, Asked};
use crate::transfers::length;

pub(crate) use strided::alltoalls;

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
        true if all > NODE_EAGER => CollectiveWay::Members,
        _ => way::of(call, Asked::Alltoall { bytes, strided: false }),
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
        (CollectiveWay::NodeEager, _) => {
            // SAFETY: the caller promises `all` bytes at `source`, which fit a buffer where the way is eager.
            return node_eager::exchange(
                call,
                all,
                |buffer| unsafe { node_eager::fill(source, all, buffer) },
                |member, theirs| {
                    // SAFETY: the caller promises `bytes` bytes for each member at `dest`; block `my` of the member's buffer becomes
                    // block `member`.
                    unsafe { ptr::copy_nonoverlapping(theirs.add(mine), dest.add(member as usize * bytes), bytes) };
                },
            );
        }
        (CollectiveWay::Schedule(schedule, piece), _) => {
            let arrays = Arrays { dest, room: all, source, ..Arrays::NONE };
            // SAFETY: the caller promises symmetric arrays with `bytes` bytes for each member.
            return unsafe { run::on_node(call, schedule, piece, Plan::new(call.team.size, bytes as u64), arrays) };
        }
        (CollectiveWay::Parts(parts), Some(span)) => {
            let lay = |member: u32, piece: Range<usize>, to: *mut u8| {
                let from = source.wrapping_add(member as usize * bytes + piece.start);
                // SAFETY: the caller promises `bytes` bytes for each member at `source`; the place has room for the piece.
                unsafe { ptr::copy_nonoverlapping(from, to, piece.len()) };
            };
            let take = |member: u32, piece: Range<usize>, from: *const u8| {
                let to = dest.wrapping_add(member as usize * bytes + piece.start);
                // SAFETY: the piece has come; the caller promises `bytes` bytes for each member at `dest`.
                unsafe { ptr::copy_nonoverlapping(from, to, piece.len()) };
            };
            return between_nodes::alltoall(call, span, parts, bytes, lay, take);
        }
        _ => {}
    }
    call.enter_to_read([("source", source)]);
    for member in call.members_from_me() {
        // SAFETY: the member has entered, so its source is ready.
        unsafe { call.fetch(member, source.add(mine), dest.add(member as usize * bytes), bytes) };
    }
    call.fetched();
    call.leave();
}

//! Broadcasts: the way of each call, and the one of a node.

use core::ptr;

use crate::collectives::arguments::Spread;
use crate::collectives::barrier;
use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::executor;
use crate::collectives::levels;
use crate::collectives::limits::PAYLOAD_BYTES;
use crate::collectives::on_node::{payload, words_of};
use crate::collectives::signature::CallKind;
use crate::memory::control::PAYLOAD_WORDS;

/// Copies `bytes` bytes of the root's source to every member's destination; to the root's own only if `to_root`.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have `bytes` bytes.
pub(crate) unsafe fn broadcast(
    call: Call<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: i64,
    to_root: bool,
) {
    let root = call.check_root(root);
    let call = call.declare(CallKind::Broadcast, bytes, root);
    if bytes > 0 {
        // The root's own destination stays as it is where nothing goes to it.
        let into = if to_root || call.team.my != root { dest } else { source };
        call.needs((into, bytes), (source, bytes));
    }
    // SAFETY: the caller promises symmetric arrays of `bytes` bytes.
    if bytes == 0 || call.team.scheduled && unsafe { executor::broadcast(call, dest, source, bytes, root, to_root) } {
        return;
    }
    if let Some(span) = &call.team.span {
        let spread = Spread { dest, source, bytes, root, to_root };
        for way in
            [between_nodes::eager::broadcast, between_nodes::bytes::broadcast_short, between_nodes::bytes::broadcast]
        {
            // SAFETY: both arrays have the bytes, as this function demands.
            if unsafe { way(call, span, spread) } {
                return;
            }
        }
    }
    // SAFETY: both arrays have the bytes, as this function demands.
    if call.team.leveled && unsafe { levels::broadcast(call, Spread { dest, source, bytes, root, to_root }) } {
        return;
    }
    if bytes <= PAYLOAD_BYTES {
        // SAFETY: both arrays have the bytes, as this function demands.
        return unsafe { in_payload(call, Spread { dest, source, bytes, root, to_root }) };
    }
    if call.team.my == root {
        barrier::announce(call, || {
            if to_root && !ptr::eq(dest, source) {
                // SAFETY: the caller promises symmetric arrays of `bytes` bytes; both are this PE's own, because it is the
                // root.
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

/// The root's bytes travel with an exchange, which costs what a barrier costs: less than to say that they are ready, to come for
/// them, and to say that they have been taken.
///
/// # Safety
/// Both arrays have the bytes, which are at most a payload.
#[inline(always)]
unsafe fn in_payload(call: Call<'_>, spread: Spread) {
    let Spread { dest, source, bytes, root, to_root } = spread;
    let is_root = call.team.my == root;
    // SAFETY: `source` has the bytes, which are at most a payload, as this function demands.
    let words = if is_root { unsafe { payload(source, bytes) } } else { [0; PAYLOAD_WORDS] };
    barrier::exchange(call, &words[..words_of(bytes)], |member, theirs| {
        if member == root && (to_root || !is_root) {
            // SAFETY: `dest` and the root's line have the bytes.
            unsafe { ptr::copy_nonoverlapping(theirs.as_ptr().cast(), dest, bytes) };
        }
    });
}

//! Broadcasts: what each way does, and the parts on one node.

use core::ptr;

use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;
use oxshmem_schedule::way::size_limits::{NODE_POST, PAYLOAD};

use crate::collectives::arguments::Spread;
use crate::collectives::between_nodes::{bytes, eager};
use crate::collectives::call::Call;
use crate::collectives::levels;
use crate::collectives::node_eager;
use crate::collectives::node_exchange;
use crate::collectives::on_node::exchange_bytes;
use crate::collectives::run::{self, Arrays};
use crate::collectives::signature::CallKind;
use crate::collectives::way::{self, Asked};

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
    if bytes == 0 {
        return;
    }
    // The root's own destination stays as it is where nothing goes to it.
    let into = if to_root || call.team.my != root { dest } else { source };
    call.require_symmetric((into, bytes), (source, bytes));
    let spread = Spread { dest, source, bytes, root, to_root };
    // SAFETY: the caller promises symmetric arrays of `bytes` bytes.
    unsafe {
        match call.team.is_plain() {
            true if call.team.posts && bytes <= NODE_POST => by_posts(call, spread),
            true if bytes <= PAYLOAD => in_payload(call, spread),
            true => by_loads(call, spread),
            false => by_choice(call, spread),
        }
    }
}

/// Of a team with more than one way.
///
/// # Safety
/// As for [`broadcast`].
#[cold]
unsafe fn by_choice(call: Call<'_>, spread: Spread) {
    let Spread { dest, source, bytes, root, to_root } = spread;
    let root_node = call.team.span.as_ref().map_or(0, |span| span.node_of(root));
    let asked = Asked::Broadcast { bytes, root, root_node, apart: !to_root };
    let mut way = way::of(call, asked);
    if let (CollectiveWay::Ring(tree), Some(span)) = (way, &call.team.span) {
        // SAFETY: the caller promises symmetric arrays of `bytes` bytes.
        if unsafe { eager::by_ring(call, span, tree, spread) } {
            return;
        }
        way = way::by(call, |team| asked.of(&team.without_ring()));
    }
    // SAFETY: the caller promises symmetric arrays of `bytes` bytes, which fit a payload where the way is an exchange.
    unsafe {
        match (way, &call.team.span) {
            (CollectiveWay::Schedule(schedule, piece), _) => {
                let plan = Plan { root, root_apart: !to_root, ..Plan::new(call.team.size, bytes as u64) };
                run::on_node(call, schedule, piece, plan, Arrays { dest, room: bytes, source, ..Arrays::NONE });
            }
            (CollectiveWay::NodeEager, _) => by_posts(call, spread),
            (CollectiveWay::Exchange, _) => in_payload(call, spread),
            (CollectiveWay::Levels, _) => levels::broadcast(call, spread),
            (CollectiveWay::Members, None) => by_loads(call, spread),
            (CollectiveWay::Gathered(way), Some(span)) => eager::broadcast(call, span, way, spread),
            (CollectiveWay::Inline(way), Some(span)) => bytes::broadcast_short(call, span, way, spread),
            (CollectiveWay::Rendezvous(way), Some(span)) => bytes::broadcast(call, span, way, spread),
            (way, _) => unreachable!("a broadcast does not go by {way:?}"),
        }
    }
}

/// The root announces its source, and the others come for it.
///
/// # Safety
/// As for [`broadcast`].
unsafe fn by_loads(call: Call<'_>, spread: Spread) {
    let Spread { dest, source, bytes, root, .. } = spread;
    if call.team.my == root {
        // SAFETY: the caller promises symmetric arrays of `bytes` bytes; both are this PE's own, because it is the root.
        node_exchange::announce(call, call.compared_name(source), || unsafe { spread.take(root, source) });
    } else {
        node_exchange::take(call, root, call.compared_name(source), || {
            // SAFETY: the root has announced its source and waits for us.
            unsafe { call.fetch(root, source, dest, bytes) };
            call.fetched();
        });
    }
}

/// The root posts its bytes, and the others take them.
///
/// # Safety
/// As for [`broadcast`]; the bytes fit an entry.
#[inline(always)]
unsafe fn by_posts(call: Call<'_>, spread: Spread) {
    let Spread { dest, source, bytes, root, to_root } = spread;
    // SAFETY: the caller promises symmetric arrays of `bytes` bytes, which fit an entry.
    unsafe {
        if call.team.my != root {
            return node_eager::take(call, root, dest, bytes);
        }
        node_eager::post(call, source, bytes);
        if to_root {
            ptr::copy(source, dest, bytes);
        }
    }
}

/// The root's bytes travel with an exchange, which costs what a barrier costs: less than an announcement, a copy and an
/// acknowledgement.
///
/// # Safety
/// Both arrays have the bytes, which are at most a payload.
#[inline(always)]
unsafe fn in_payload(call: Call<'_>, spread: Spread) {
    let my = call.team.my;
    // SAFETY: `source` has the bytes, which are at most a payload, as this function demands.
    let write = |at| unsafe { spread.contribute(my, at) };
    exchange_bytes(call, spread.bytes, write, |member, theirs| {
        if member == spread.root {
            // SAFETY: `dest` and the root's line have the bytes.
            unsafe { spread.take(my, theirs) };
        }
    });
}

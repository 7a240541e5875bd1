//! Leases: buffers for the teams that send more than mailboxes hold, and rings for those that broadcast.
//!
//! The members agree on a number that is free on all of them when they first want one, and keep it until the team ends. So a
//! team that needs nothing but mailboxes leases none, and which slot a team has does not matter. All members ask at the same
//! calls, so they agree in step. Where none is free on all of them they go without, and ask again later.

use core::sync::atomic::Ordering::Relaxed;

use super::all_of;
use crate::collectives::call::Call;
use crate::collectives::free_buffers::Leased;
use crate::memory::control::broadcast_ring::RINGS;
use crate::memory::control::leaders::BUFFER_SETS;
use crate::memory::control::{BROADCAST_RINGS, REGISTRY, SPANNING};
use crate::teams::span::Span;

/// The buffers of the call's team, which leases a set if it has none and one is free. All members ask alike, outside of any
/// other exchange.
pub(crate) fn buffers(call: Call<'_>, span: &Span) -> Option<u32> {
    let lease = &call.team.buffers;
    lease.number().or_else(|| Some(acquire(call, span, lease, false)?.0))
}

/// The same for the ring of its broadcasts. A leader has the ring's pages provided at once: broadcasts walk through the whole ring, and a
/// page that is touched for the first time costs more than a broadcast of 4 KiB.
pub(super) fn ring(call: Call<'_>, span: &Span) -> Option<u32> {
    let ring = &call.team.ring;
    ring.lease.number().or_else(|| {
        let (number, follows) = acquire(call, span, &ring.lease, ring.follows_barriers.load(Relaxed))?;
        ring.follows_barriers.store(follows, Relaxed);
        if span.leader(span.node()) == call.team.my {
            BROADCAST_RINGS.populate(number);
        }
        Some(number)
    })
}

/// One more bit beside the free ones: the member agrees to what is wanted of all.
const AGREES: u64 = 1 << 63;
const _: () = assert!(RINGS < 64 && BUFFER_SETS < 64);

/// Returns the number, and whether all members `agree`.
#[cold]
fn acquire(call: Call<'_>, span: &Span, lease: &Leased, agree: bool) -> Option<(u32, bool)> {
    // Members that meet for a single collective would lose more than they gain.
    let lasts = call.team.slot.is_some_and(|slot| (slot as usize) < SPANNING - REGISTRY);
    if !lasts || !lease.note_wanted() {
        return None;
    }
    let offered = lease.offer();
    let mut agreed = [offered | if agree { AGREES } else { 0 }];
    all_of(call, span, &mut agreed);
    Some((lease.settle(offered, agreed[0] & !AGREES)?, agreed[0] & AGREES != 0))
}

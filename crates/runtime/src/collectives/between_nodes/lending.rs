//! Zones are lent to the teams that need more room than their mail, and rings to those that broadcast.
//!
//! The members agree on a number that is free on all of them when they first want one, and keep it until the team ends. So a
//! team that never sends more than mail has none, and which slot a team has does not matter. All members ask at the same
//! calls, so they agree in step. Where none is free on all of them they go without, and ask again later.

use super::all_of;
use crate::collectives::call::Call;
use crate::collectives::zones::Lent;
use crate::memory::control::{REGISTRY, SPANNING};
use crate::teams::span::Span;

/// The zone of the call's team, which is lent one if it has none and there is one. All members ask alike, outside of any
/// other exchange.
pub(super) fn zone(call: Call<'_>, span: &Span) -> Option<u32> {
    let lent = &call.team.zone;
    lent.number().or_else(|| borrow(call, span, lent))
}

/// The same for the ring of its broadcasts.
pub(super) fn ring(call: Call<'_>, span: &Span) -> Option<u32> {
    let lent = &call.team.casts.lent;
    lent.number().or_else(|| borrow(call, span, lent))
}

#[cold]
fn borrow(call: Call<'_>, span: &Span, lent: &Lent) -> Option<u32> {
    // Those who meet for one collective would lose more than they win.
    let lasts = call.team.slot.is_some_and(|slot| (slot as usize) < SPANNING - REGISTRY);
    if !lasts || !lent.asks() {
        return None;
    }
    let offered = lent.offer();
    let mut agreed = [offered];
    all_of(call, span, &mut agreed);
    lent.settle(offered, agreed[0])
}

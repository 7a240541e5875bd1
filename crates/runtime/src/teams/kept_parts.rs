//! Parts of a team that Cray's split makes teams of again and again.
//!
//! The members of a part are alone in the call, so they cannot take the leases of the parent, which the others would have to follow.
//! The first time they meet where an active set of them would, which takes several exchanges. A part that is split a second time becomes
//! a *kept part*: a team of its own, without a handle, whose leases its further splits take as standard splits take those of their
//! parent. So most of them send nothing.
//!
//! **Why all members take the same way.** It depends on how often the part has been split and on what its members have agreed on. They
//! split it equally often, in the same order, and nobody else's calls count.
//!
//! **When its slots are free again.** The kept parts of a team end with it. All members of the parent meet there, and each of them has
//! left the last exchange of the part before.

use std::sync::Arc;

use oxshmem_schedule::strided_team::Triplet;

use crate::collectives::active_set;
use crate::teams::leasing::{self, Lease};
use crate::teams::members::Members;
use crate::teams::team::{SplitPart, TeamState};

/// A lease for a team of the part `part` of `parent`, whose PEs are `members`, with the caller as number `my`. The members alone call.
pub(crate) fn lease(
    call: &'static str,
    parent: &TeamState,
    part: &Triplet,
    members: &Members,
    my: u32,
) -> Option<Lease> {
    let before = parent.split_parts.lock().get(part).cloned();
    if let Some(SplitPart::Kept(team)) = before {
        return leasing::lease_collectively(call, &team, true);
    }
    let identity = parent.slot_or_zero();
    let (mut kept, is_second) = (None, matches!(before, Some(SplitPart::Once)));
    let lease = active_set::with_part(call, parent, part, members.clone(), my, |meeting| {
        kept = if is_second { leasing::meet_as_part(call, meeting, identity) } else { None };
        if kept.is_some() || leasing::agree_whether_full(call, meeting, true) {
            return None;
        }
        leasing::meet(call, meeting, identity)
    });
    let Some(Lease { slot, base, name_hash, .. }) = kept else {
        let state = if before.is_none() { SplitPart::Once } else { SplitPart::NotKept };
        parent.split_parts.lock().insert(*part, state);
        return lease;
    };
    let team = Arc::new(TeamState::new(members.clone(), part.size, my, slot.into(), base).called(name_hash));
    parent.split_parts.lock().insert(*part, SplitPart::Kept(Arc::clone(&team)));
    leasing::lease_collectively(call, &team, true)
}

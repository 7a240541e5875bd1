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

use std::collections::HashMap;
use std::sync::Arc;

use oxshmem_schedule::strided_team::Triplet;
use parking_lot::Mutex;

use crate::collectives::active_set;
use crate::teams::leasing::{self, Lease};
use crate::teams::members::Members;
use crate::teams::team::TeamState;

/// The parts of one team that Cray's split has made teams of, by their numbers in it.
#[derive(Default)]
pub(crate) struct KeptParts(Mutex<HashMap<Triplet, Part>>);

#[derive(Clone)]
enum Part {
    /// Its members have met once.
    SplitOnce,
    Kept(Arc<TeamState>),
    /// Some member has as many kept parts as it can, or there was no slot.
    NotKept,
}

impl KeptParts {
    fn get(&self, part: &Triplet) -> Option<Part> {
        self.0.lock().get(part).cloned()
    }

    fn set(&self, part: &Triplet, state: Part) {
        self.0.lock().insert(*part, state);
    }

    /// Gives back what the kept parts of a destroyed team have.
    pub(super) fn give_back(&self, call: &'static str) {
        let parts = core::mem::take(&mut *self.0.lock());
        for part in parts.into_values() {
            if let Part::Kept(team) = part {
                leasing::give_back_of_part(call, &team);
            }
        }
    }
}

/// A lease for a team of the part `part` of `parent`, whose PEs are `members`, with the caller as number `my`. The members alone call.
pub(crate) fn lease(
    call: &'static str,
    parent: &TeamState,
    part: &Triplet,
    members: &Members,
    my: u32,
) -> Option<Lease> {
    let parts = &parent.kept_parts;
    let before = parts.get(part);
    if let Some(Part::Kept(team)) = before {
        return leasing::lease_collectively(call, &team, true);
    }
    let identity = parent.slot_or_zero();
    let (mut kept, is_second) = (None, matches!(before, Some(Part::SplitOnce)));
    let lease = active_set::with_part(call, parent, part, members.clone(), my, |meeting| {
        kept = if is_second { leasing::meet_as_part(call, meeting, identity) } else { None };
        if kept.is_some() || leasing::agree_whether_full(call, meeting, true) {
            return None;
        }
        leasing::meet(call, meeting, identity)
    });
    let Some(Lease { slot, base, name_hash, .. }) = kept else {
        parts.set(part, if before.is_none() { Part::SplitOnce } else { Part::NotKept });
        return lease;
    };
    let team = Arc::new(TeamState::new(members.clone(), part.size, my, slot.into(), base).called(name_hash));
    parts.set(part, Part::Kept(Arc::clone(&team)));
    leasing::lease_collectively(call, &team, true)
}

//! Active sets with members on several nodes: at its first collective a pair of a set and a pSync array leases a slot, as a
//! team does, and keeps it. When no slot is left for sets, the members meet anew for each collective.

use std::collections::HashMap;

use super::key::Key;
use super::recent::{CalledBy, Recent, SetName};
use super::temporary_meeting::TemporaryMeeting;
use parking_lot::Mutex;

use crate::collectives::missed_broadcasts;
use crate::start::threads;
use crate::teams::leasing;
use crate::teams::members::Members;
use crate::teams::team::TeamState;

/// The teams of the pairs that this process has met. They are known until the next life.
static SETS: Mutex<Option<HashMap<Key, &'static SlotSet>>> = Mutex::new(None);

/// Some of them, which a call finds without a look at its members.
static RECENT: Recent<SlotSet> = Recent::new();

/// A team, and how a call has named its set.
struct SlotSet {
    name: SetName,
    team: TeamState,
}

impl CalledBy for SlotSet {
    fn name(&self) -> &SetName {
        &self.name
    }
}

/// Begins a life without active sets.
pub(super) fn begin() {
    *SETS.lock() = None;
}

/// Ends a life: no set has met.
pub(super) fn end() {
    RECENT.clear();
}

/// The team of a set that has met lately.
pub(super) fn recent(name: &SetName) -> Option<&'static TeamState> {
    // SAFETY: the sets kept here are leaked, so they stay in memory.
    unsafe { RECENT.find(name) }.map(|set| &set.team)
}

/// The team of a pair that has met.
pub(super) fn known(key: &Key) -> Option<&'static TeamState> {
    let set = SETS.lock().as_ref()?.get(key).copied()?;
    RECENT.keep(set);
    Some(&set.team)
}

/// A set of which this PE has missed a broadcast, and the number of this PE. All PEs have made their last collective of a set.
pub(super) fn behind() -> Option<(SetName, u32)> {
    let sets = SETS.lock();
    let set = sets.iter().flat_map(HashMap::values).find(|set| missed_broadcasts::is_behind(&set.team))?;
    Some((set.name, set.team.world(set.team.my)))
}

/// The team of a pair that meets for the first time; where no slot is free, a meeting for this one collective.
pub(super) fn team(
    call: &'static str,
    name: SetName,
    key: &Key,
    members: Members,
    my: u32,
) -> Result<&'static TeamState, Box<TemporaryMeeting>> {
    let meeting = TemporaryMeeting::enter(call, key, members.clone(), my);
    let Some(lease) = leasing::meet_as_set(call, &meeting.team, key.array) else { return Err(meeting) };
    meeting.leave();
    let (slot, base) = leasing::without_children(lease);
    let team = TeamState::new(members, key.size, my, slot, base);
    team.ring.follow_barriers(threads::one_calls_at_a_time());
    let set: &'static SlotSet = Box::leak(Box::new(SlotSet { name, team }));
    SETS.lock().get_or_insert_default().insert(*key, set);
    RECENT.keep(set);
    Ok(&set.team)
}

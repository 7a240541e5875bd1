//! Active sets with members on several nodes: at its first collective a pair of a set and a pSync array leases a slot, as a
//! team does, and keeps it. When there is none left the members meet anew for each collective.

use std::collections::HashMap;

use super::key::Key;
use super::rendezvous::Rendezvous;
use parking_lot::Mutex;

use crate::teams::leasing;
use crate::teams::members::Members;
use crate::teams::team::TeamState;

/// The teams of the pairs that this process has met. They stay until the next life.
static SETS: Mutex<Option<HashMap<Key, &'static TeamState>>> = Mutex::new(None);

/// Begins a life without active sets.
pub(super) fn begin() {
    *SETS.lock() = None;
}

/// The team of a pair; where no slot is free, a meeting for this one collective.
pub(super) fn team(
    call: &'static str,
    key: &Key,
    members: Members,
    my: u32,
) -> Result<&'static TeamState, Box<Rendezvous>> {
    if let Some(team) = SETS.lock().get_or_insert_default().get(key) {
        return Ok(team);
    }
    let meeting = Rendezvous::enter(call, key, members.clone(), my);
    let Some(lease) = leasing::meet(call, &meeting.team, key.array) else { return Err(meeting) };
    meeting.leave();
    let (slot, base) = leasing::without_children(lease);
    let team: &'static TeamState = Box::leak(Box::new(TeamState::new(members, key.size, my, slot, base)));
    SETS.lock().get_or_insert_default().insert(*key, team);
    Ok(team)
}

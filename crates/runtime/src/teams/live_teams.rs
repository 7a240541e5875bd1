//! The teams for which this PE has handles, so that all of them can be looked at when the library ends.

use parking_lot::Mutex;

use crate::teams::team::TeamState;

static TEAMS: Mutex<Vec<&'static TeamState>> = Mutex::new(Vec::new());

/// Begins a life without teams. Those that a program has not destroyed before its last finalize stay in memory, but the memory in which
/// their members meet does not.
pub(crate) fn begin() {
    TEAMS.lock().clear();
}

/// A handle stands for the team.
pub(crate) fn add(team: &'static TeamState) {
    TEAMS.lock().push(team);
}

/// The team ends, and is about to be freed.
pub(crate) fn remove(team: *const TeamState) {
    let mut teams = TEAMS.lock();
    // Mostly it is one of the latest.
    if let Some(place) = teams.iter().rposition(|other| core::ptr::eq(*other, team)) {
        teams.swap_remove(place);
    }
}

/// Ends the life; returns the teams that the program has left to its last finalize.
pub(crate) fn end() -> Vec<&'static TeamState> {
    core::mem::take(&mut *TEAMS.lock())
}

/// The first answer that `look` finds in a team.
pub(crate) fn find<R>(look: impl Fn(&TeamState) -> Option<R>) -> Option<R> {
    TEAMS.lock().iter().find_map(|team| look(team))
}

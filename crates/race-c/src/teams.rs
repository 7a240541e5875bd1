//! The names of teams. Threads may be in collective calls of several teams with the same members, in another order on each PE, so that the
//! members alone do not say which calls belong together.

use std::collections::HashMap;

use oxshmem_race::fingerprint;
use parking_lot::Mutex;

use crate::standard::{self, Team};

/// The name of the team of all PEs, whose collectives some routines are that name no team.
pub(crate) const WORLD: u64 = 1;

/// A team's name, and how often it was split.
struct NamedTeam {
    name: u64,
    splits: u32,
}

/// The names of teams by their handles, the same on all members. Teams of Cray's routines have none: not all members of a parent need
/// call these.
#[derive(Default)]
pub(crate) struct NamedTeams(Mutex<HashMap<usize, NamedTeam>>);

impl NamedTeams {
    /// The name of a team; 0 if it has none.
    pub(crate) fn of(&self, team: Team) -> u64 {
        self.0.lock().get(&(team as usize)).map_or_else(|| predefined(team), |known| known.name)
    }

    /// All members of `parent` have split it. Those of `made` that are teams are the caller's.
    pub(crate) fn split(&self, parent: Team, made: [Team; 2]) {
        if parent.is_null() {
            return;
        }
        let mut names = self.0.lock();
        let unsplit = || NamedTeam { name: predefined(parent), splits: 0 };
        let of_parent = names.entry(parent as usize).or_insert_with(unsplit);
        of_parent.splits = of_parent.splits.wrapping_add(1);
        let name = fingerprint(halves(of_parent.name).into_iter().chain([of_parent.splits]));
        for team in made.into_iter().filter(|team| !team.is_null()) {
            names.insert(team as usize, NamedTeam { name, splits: 0 });
        }
    }

    /// Whether a split has made the team, so that it shares its meetings with no other one.
    pub(crate) fn is_named(&self, team: Team) -> bool {
        predefined(team) == 0 && self.of(team) != 0
    }

    /// The team ends, and another one may get its handle.
    pub(crate) fn end(&self, team: Team) {
        if predefined(team) == 0 {
            self.0.lock().remove(&(team as usize));
        }
    }
}

fn predefined(team: Team) -> u64 {
    let teams = [standard::world(), standard::shared(), standard::node()];
    teams.iter().position(|&known| std::ptr::eq(known, team)).map_or(0, |at| WORLD + at as u64)
}

/// A number as parts of a fingerprint.
pub(crate) fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

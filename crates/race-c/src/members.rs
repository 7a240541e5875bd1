//! The members of a collective call.

use std::ffi::c_int;

use oxshmem_race::fingerprint;

use crate::node::RaceNode;
use crate::standard::{self, Team};
use crate::teams::{self, halves};

/// The fingerprint of the members and of what the call meets at, and the caller's number among the members.
pub(crate) struct MeetingMembers {
    pub(crate) print: u64,
    pub(crate) me: c_int,
}

impl MeetingMembers {
    /// All PEs.
    pub(crate) fn world() -> MeetingMembers {
        let pes = standard::pshmem_n_pes();
        MeetingMembers { print: print(0..pes as u32, teams::WORLD), me: standard::pshmem_my_pe() }
    }

    /// Those of a team; none of an invalid one.
    pub(crate) fn of_team(node: &RaceNode, team: Team) -> Option<MeetingMembers> {
        if team.is_null() || !standard::is_team(team) {
            return None;
        }
        // SAFETY: the program passes the handle to a collective call, which asks for a team's.
        let (pes, me) = unsafe { (standard::pshmem_team_n_pes(team), standard::pshmem_team_my_pe(team)) };
        let world = (0..pes).map(|pe| standard::world_pe(team, pe) as u32);
        Some(MeetingMembers { print: print(world, node.teams.of(team)), me })
    }

    /// Those of an active set. Sets of the same members are told apart by `sync`, the number of the work array: 0 if it has none.
    pub(crate) fn of_set(start: c_int, log_stride: c_int, size: c_int, sync: u64) -> MeetingMembers {
        let member = |index: c_int| start + (index << log_stride.clamp(0, 30));
        let me = standard::pshmem_my_pe();
        MeetingMembers {
            // No team has such a name.
            print: print((0..size).map(|index| member(index) as u32), sync | 1 << 63),
            me: (0..size).find(|&index| member(index) == me).unwrap_or(-1),
        }
    }
}

fn print(members: impl Iterator<Item = u32>, name: u64) -> u64 {
    fingerprint(members.chain(halves(name)))
}

//! A team as a long wait of one of its members describes it.

use super::TeamState;
use crate::memory::control;
use crate::wait::Gathering;
use oxshmem_flight::waits::TeamMeeting;

impl Gathering for TeamState {
    fn size(&self) -> u32 {
        self.size
    }

    fn world(&self, member: u32) -> u32 {
        self.members.world(member)
    }

    fn meeting(&self) -> TeamMeeting {
        TeamMeeting {
            // An active set has a place instead.
            slot: self.slot.map_or_else(|| control::name(self.first_place), u64::from),
            number: self.meetings(),
            size: self.size,
            members: self.members.named(),
        }
    }
}

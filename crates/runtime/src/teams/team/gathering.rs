//! A team as a long wait of one of its members describes it.

use core::sync::atomic::Ordering::Relaxed;

use super::TeamState;
use crate::memory::control;
use crate::memory::control::records::TeamMeeting;
use crate::wait::Gathering;

impl Gathering for TeamState {
    fn size(&self) -> u32 {
        self.size
    }

    fn world(&self, member: u32) -> u32 {
        self.members.world(member)
    }

    fn meeting(&self) -> TeamMeeting {
        // Between nodes members count the same call at different times, before and behind the leader's part of it.
        let calls = if self.span.is_none() { self.calls.load(Relaxed) } else { 0 };
        let (exchanges, announcements) = self.counts();
        TeamMeeting {
            // An active set has a place instead.
            slot: self.slot.map_or_else(|| control::name(self.places), u64::from),
            number: exchanges.wrapping_add(announcements).wrapping_add(calls),
            size: self.size,
            members: self.members.named(),
        }
    }
}

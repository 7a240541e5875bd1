//! How the leaders of nodes run a schedule: which messages are inline, where operands land, how long the pieces are.

use super::largest_piece;
use super::size_limits::{
    MAILBOX_WORDS, MESSAGE_HEAD, PRIVATE_SCRATCH, SCRATCH, SIGNAL_SET_WORDS, WORD_CONTENT, WORDS,
};
use crate::algorithm::Schedule;
use crate::step::{Algorithm, Plan, Traffic};

/// Data that other leaders may put to the caller's dest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing.
    Nothing,
    /// Results.
    Results,
    /// Results, and operands before them: no source lies there.
    Operands,
}

/// How the leaders run a schedule; the same on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderSchedule {
    /// The schedule.
    pub schedule: Schedule,
    /// Words of a mailbox; zero: words of this schedule are signalled more than once, so it has no mailboxes.
    pub mailbox: usize,
    /// Every message is inline, so no other leader needs to reach the caller's arrays and scratch.
    pub private: bool,
    /// Operands land in dest.
    pub lands: bool,
    /// Elements that one run handles.
    pub piece: u64,
}

impl LeaderSchedule {
    /// How a team runs the schedule that has leased buffers, or none; `None` if there is no room for it. `longest` is the most
    /// elements that one message of the plan has, `reach` what others may put to the caller's dest.
    pub fn find(
        schedule: Schedule,
        buffers: bool,
        plan: &Plan,
        element: usize,
        longest: u64,
        reach: Reach,
    ) -> Option<Self> {
        let words = schedule.words(plan).max(1) as usize;
        let most = match schedule.traffic() {
            Traffic::Synchronising => WORDS,
            Traffic::OneWay { .. } => SIGNAL_SET_WORDS,
        };
        if words > most {
            return None;
        }
        let mailbox = if schedule.allows_inline() { MAILBOX_WORDS / words } else { 0 };
        let bytes = |elements: u64| usize::try_from(elements).ok()?.checked_mul(element);
        let longest_inline = mailbox.saturating_sub(MESSAGE_HEAD) * WORD_CONTENT;
        let fits_mailbox = schedule.allows_inline() && bytes(longest).is_some_and(|bytes| bytes <= longest_inline);
        if fits_mailbox && bytes(schedule.scratch(plan)).is_some_and(|bytes| bytes <= PRIVATE_SCRATCH) {
            return Some(Self { schedule, mailbox, private: true, lands: false, piece: plan.count });
        }
        if reach == Reach::Nothing && !schedule.spares_dest() {
            return None;
        }
        let room = if buffers { SCRATCH } else { 0 };
        let has_room = |count: u64| {
            let scratch = schedule.scratch(&Plan { count, ..*plan });
            bytes(scratch).is_some_and(|bytes| bytes <= room)
        };
        let lands = reach == Reach::Operands && schedule.lands_in_dest();
        let piece = if lands { plan.count } else { largest_piece(plan.count, has_room)? };
        Some(Self { schedule, mailbox, private: false, lands, piece })
    }

    /// If one run does the whole plan.
    pub(super) fn whole(self, plan: &Plan) -> Option<Self> {
        (self.piece == plan.count).then_some(self)
    }
}

#[cfg(test)]
mod tests;

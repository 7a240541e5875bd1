//! The way in which the leaders run a schedule: which messages are inline, where operands land, how long the pieces are.

use oxshmem_schedule::algorithm::Schedule;
use oxshmem_schedule::step::{Algorithm, Plan, Traffic};

use super::message::{CONTENT, HEAD};
use crate::collectives::between_nodes::reach::Reach;
use crate::memory::control::leaders::{LANE_WORDS, MAILBOX_WORDS, SCRATCH, WORDS};

/// How the leaders run a schedule; the same on all of them.
#[derive(Clone, Copy)]
pub(in crate::collectives::between_nodes) struct LeaderSchedule {
    pub(in crate::collectives::between_nodes) schedule: Schedule,
    /// Words of a mailbox; zero: words of this schedule are signalled more than once, so it has no mailboxes.
    pub(super) mailbox: usize,
    /// Every message is inline, so nobody needs to reach the caller's arrays and scratch.
    pub(in crate::collectives::between_nodes) private: bool,
    /// Operands land in dest.
    pub(in crate::collectives::between_nodes) lands: bool,
    /// Elements that one run handles.
    pub(in crate::collectives::between_nodes) piece: u64,
}

/// Bytes of scratch that only its owner reaches: small enough for the stack.
pub(in crate::collectives::between_nodes) const PRIVATE: usize = 4096;

impl LeaderSchedule {
    /// A way to run the schedule for a team with this set of buffers; `None` if there is no room for it. `longest` is the most elements that one
    /// message of the plan has, `reach` what others may put to the caller's dest.
    pub(in crate::collectives::between_nodes) fn find(
        schedule: Schedule,
        set: Option<u32>,
        plan: &Plan,
        element: usize,
        longest: u64,
        reach: Reach,
    ) -> Option<Self> {
        let words = schedule.words(plan).max(1) as usize;
        let most = match schedule.traffic() {
            Traffic::Synchronising => WORDS,
            Traffic::OneWay { .. } => LANE_WORDS,
        };
        if words > most {
            return None;
        }
        let mailbox = if schedule.allows_inline() { MAILBOX_WORDS / words } else { 0 };
        let bytes = |elements: u64| usize::try_from(elements).ok()?.checked_mul(element);
        let longest_inline = mailbox.saturating_sub(HEAD) * CONTENT;
        let scratch = bytes(schedule.scratch(plan));
        let fits_mailbox = schedule.allows_inline() && bytes(longest).is_some_and(|bytes| bytes <= longest_inline);
        if fits_mailbox && scratch.is_some_and(|bytes| bytes <= PRIVATE) {
            return Some(Self { schedule, mailbox, private: true, lands: false, piece: plan.count });
        }
        if reach == Reach::Nothing && !schedule.spares_dest() {
            return None;
        }
        let room = set.map_or(0, |_| SCRATCH);
        let has_room = |count: u64| {
            let scratch = schedule.scratch(&Plan { count, ..*plan });
            bytes(scratch).is_some_and(|bytes| bytes <= room)
        };
        let lands = reach == Reach::Operands && schedule.lands_in_dest();
        let mut piece = plan.count;
        while !lands && !has_room(piece) {
            if piece <= 1 {
                return None;
            }
            piece = piece.div_ceil(2);
        }
        Some(Self { schedule, mailbox, private: false, lands, piece })
    }
}

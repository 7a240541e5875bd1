//! The way in which the leaders run a schedule: what goes by mail, where operands land, how long the pieces are.

use oxshmem_schedule::algorithm::Schedule;
use oxshmem_schedule::step::{Algorithm, Plan, Traffic};

use super::message::{CONTENT, HEAD};
use crate::collectives::between_nodes::reach::Reach;
use crate::memory::control::mail::{BOXES, LANDING, LANE_WORDS, WORDS};

/// How the leaders run a schedule; the same on all of them.
#[derive(Clone, Copy)]
pub(in crate::collectives::between_nodes) struct Way {
    pub(in crate::collectives::between_nodes) schedule: Schedule,
    /// Words of a box; zero: this schedule's words are signalled more than once, so there is no mail.
    pub(super) room: usize,
    /// Everything travels by mail, so nobody needs to reach the caller's arrays and landing zone.
    pub(in crate::collectives::between_nodes) private: bool,
    /// Operands land in dest.
    pub(in crate::collectives::between_nodes) lands: bool,
    /// Elements that one run handles.
    pub(in crate::collectives::between_nodes) piece: u64,
}

/// Bytes of a landing zone that only its owner reaches: small enough for the stack.
pub(in crate::collectives::between_nodes) const PRIVATE: usize = 4096;

impl Way {
    /// A way to run the schedule for a team with this zone; `None` if there is no room for it. `longest` is the most elements that one
    /// message of the plan has, `reach` what others may put to the caller's dest.
    pub(in crate::collectives::between_nodes) fn find(
        schedule: Schedule,
        zone: Option<u32>,
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
        let room = if schedule.goes_by_mail() { BOXES / words } else { 0 };
        let bytes = |elements: u64| usize::try_from(elements).ok()?.checked_mul(element);
        let mail = room.saturating_sub(HEAD) * CONTENT;
        let scratch = bytes(schedule.scratch(plan));
        let fits_mail = schedule.goes_by_mail() && bytes(longest).is_some_and(|bytes| bytes <= mail);
        if fits_mail && scratch.is_some_and(|bytes| bytes <= PRIVATE) {
            return Some(Self { schedule, room, private: true, lands: false, piece: plan.count });
        }
        if reach == Reach::Nothing && !schedule.spares_dest() {
            return None;
        }
        let landing = zone.map_or(0, |_| LANDING);
        let has_room = |count: u64| {
            let scratch = schedule.scratch(&Plan { count, ..*plan });
            bytes(scratch).is_some_and(|bytes| bytes <= landing)
        };
        let lands = reach == Reach::Operands && schedule.lands_in_dest();
        let mut piece = plan.count;
        while !lands && !has_room(piece) {
            if piece <= 1 {
                return None;
            }
            piece = piece.div_ceil(2);
        }
        Some(Self { schedule, room, private: false, lands, piece })
    }
}

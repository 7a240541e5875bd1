//! Schedules among the members of one node, where the user names one.

use oxshmem_reduce::{Kernel, Sum};
use oxshmem_schedule::algorithm::Schedule;
use oxshmem_schedule::algorithm::census::Round;
use oxshmem_schedule::algorithm::gather::Shares;
use oxshmem_schedule::step::{Algorithm, Caller, CallerShare, Plan};

use super::memory::Memory;
use super::{Arrays, NO_SHARE, run};
use crate::collectives::call::Call;
use crate::collectives::gather::require_room;
use crate::memory::control::SCHEDULE_AREAS;

/// Runs the schedule for all elements of the plan, `piece` of them at a time; an element depends on its like in other members only.
///
/// # Safety
/// As for [`run`], with all members of the team.
#[cold]
#[inline(never)]
pub(crate) unsafe fn on_node(call: Call<'_>, schedule: Schedule, piece: u64, plan: Plan, arrays: Arrays<'_>) {
    let mut at = 0;
    loop {
        let count = piece.min(plan.count - at);
        let offset = at as usize * arrays.element;
        let room = if count == plan.count { arrays.room } else { count as usize * arrays.element };
        let (dest, source) = (arrays.dest.wrapping_add(offset), arrays.source.wrapping_add(offset));
        // SAFETY: the piece lies inside the arrays, for which the caller keeps the promises of `run`.
        unsafe { once(call, schedule, Plan { count, ..plan }, NO_SHARE, Arrays { dest, room, source, ..arrays }) };
        at += count;
        if at >= plan.count {
            return;
        }
    }
}

/// One run of a schedule that the memory of the team's slot has room for.
///
/// # Safety
/// As for [`run`].
unsafe fn once(call: Call<'_>, schedule: Schedule, plan: Plan, share: CallerShare<'_>, arrays: Arrays<'_>) {
    let team = call.team;
    let slot = team.slot.unwrap_or_else(|| unreachable!("teams that run schedules have slots"));
    let traffic = schedule.traffic();
    let turn = team.next_turn(traffic);
    let area = SCHEDULE_AREAS.get(team.window(team.my), slot);
    let signals = area.signals.of(traffic, turn.parity());
    let plan = Plan { call: turn.call, ..plan };
    let me = Caller { counted: signals.counted(), share, ..Caller::new(team.my) };
    let wire = Memory { call, slot, traffic, parity: turn.parity(), signals, dest: arrays.dest };
    // SAFETY: the caller promises arrays with the elements that the schedule touches, on all members; the choice of the way has
    // looked at the area's room.
    unsafe { run(&wire, area.scratch(turn.parity()), &schedule, &plan, &me, arrays) };
    signals.account(schedule.arrivals(&plan, team.my));
}

/// Rounds of the largest team, and the two sums that follow theirs.
const MOST_RESULTS: usize = 34;

/// A collect in two runs: by `shares` the members learn where their blocks go, by `blocks` they move them.
///
/// # Safety
/// `source` has the caller's block of `bytes` bytes, and `dest` is symmetric.
#[cold]
#[inline(never)]
pub(crate) unsafe fn collect(
    call: Call<'_>,
    [shares, blocks]: [Schedule; 2],
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    room: usize,
) {
    let size = call.team.size;
    let (mut results, mine) = ([0; MOST_RESULTS], bytes as u64);
    let numbers = Arrays {
        dest: results.as_mut_ptr().cast(),
        room: size_of_val(&results),
        source: (&raw const mine).cast(),
        element: size_of::<u64>(),
        kernel: Some(Kernel::of::<Sum, u64>()),
        more: &[],
    };
    // SAFETY: the results of any team fit; peers write the scratch only.
    unsafe { once(call, shares, Plan::new(size, 1), NO_SHARE, numbers) };
    let rounds = Round::count(size) as usize;
    debug_assert_eq!(rounds + 2, Shares::results(size) as usize);
    let share = CallerShare { offset: results[rounds + 1], mine, total: results[rounds], windows: &results[..rounds] };
    // The caller's own block was looked at before: how long the destination is turns out here.
    require_room(call, share.total as usize, room);
    call.require_symmetric((dest, share.total as usize), (dest, 0));
    let arrays = Arrays { dest, room: share.total as usize, source, ..Arrays::NONE };
    // SAFETY: the caller promises its block at `source`, and `needs` has found room for all blocks at `dest`. The shares are those of
    // this call.
    unsafe { once(call, blocks, Plan::new(size, 0), share, arrays) };
}

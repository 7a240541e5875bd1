//! The collectives, as questions to the job's choice and calls of the executor.
//!
//! Each returns whether it has done the call; if not, the caller's own engine does it. What it decides by is the same on
//! all members. Data that is only moved counts in bytes.

use oxshmem_reduce::{Kernel, Kind, Op, Sum};
use oxshmem_schedule::algorithm::census::Round;
use oxshmem_schedule::algorithm::gather::Shares;
use oxshmem_schedule::algorithm::{Collective, Operator, Schedule};
use oxshmem_schedule::choose::Question;
use oxshmem_schedule::step::{Algorithm, Caller, CallerShare, Plan};

use super::memory::Memory;
use super::{Arrays, run};
use crate::collectives::call::Call;
use crate::memory::control;
use crate::memory::control::area::{self, Part};
use crate::start::state;
use crate::transfers::length;

/// Nothing to move, nothing to reduce.
const NO_ARRAYS: Arrays =
    Arrays { dest: core::ptr::null_mut(), room: 0, source: core::ptr::null(), element: 1, kernel: None };

/// A call with the schedule that was chosen for it.
#[derive(Clone, Copy)]
struct ChosenSchedule<'a> {
    call: Call<'a>,
    slot: u32,
    schedule: Schedule,
    /// Complete but for the number of the call.
    plan: Plan,
    /// Elements that one run of the schedule handles.
    piece: u64,
}

/// The schedule that the job wants for a call, if it wants one and the area has room for it.
fn choose<'a>(call: Call<'a>, collective: Collective, plan: Plan, element: usize) -> Option<ChosenSchedule<'a>> {
    let slot = call.team.slot?;
    let question = Question {
        collective,
        size: plan.size,
        count: plan.count,
        element: element as u64,
        root_apart: plan.root_apart,
    };
    let schedule = state::wanted_schedule(&question)?;
    let piece = area::fits(&schedule, &plan, element)?;
    Some(ChosenSchedule { call, slot, schedule, plan, piece })
}

impl ChosenSchedule<'_> {
    /// Whether the call needs no cutting.
    fn whole(self) -> Option<Self> {
        (self.piece == self.plan.count).then_some(self)
    }

    /// Runs the schedule once, with `plan` but for the number of the call.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn perform(&self, plan: Plan, share: CallerShare<'_>, arrays: Arrays) {
        let team = self.call.team;
        let traffic = self.schedule.traffic();
        let turn = team.next_turn(traffic);
        let part = Part::of(traffic, turn);
        let area = control::area(team.window(team.my), self.slot);
        let plan = Plan { call: turn.call, ..plan };
        let me = Caller { counted: area.counted(part), share, ..Caller::new(team.my) };
        let wire = Memory { call: self.call, area, slot: self.slot, part, dest: arrays.dest };
        // SAFETY: the caller promises arrays with the elements that the schedule touches, on all members; `choose` has
        // looked at the area's room.
        unsafe { run(&wire, area.scratch(part), &self.schedule, &plan, &me, arrays) };
        area.account(part, self.schedule.arrivals(&plan, team.my));
    }

    /// Runs the schedule for all elements, piece by piece; an element depends on its like in other members only.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn by_pieces(&self, arrays: Arrays) {
        let mut at = 0;
        while at < self.plan.count {
            let count = self.piece.min(self.plan.count - at);
            let offset = at as usize * arrays.element;
            let (dest, source) = (arrays.dest.wrapping_add(offset), arrays.source.wrapping_add(offset));
            let room = count as usize * arrays.element;
            // SAFETY: the piece lies inside the arrays, for which the caller keeps the promises of `run`.
            unsafe { self.perform(Plan { count, ..self.plan }, NO_SHARE, Arrays { dest, room, source, ..arrays }) };
            at += count;
        }
    }
}

const NO_SHARE: CallerShare<'_> = CallerShare { offset: 0, mine: 0, total: 0, windows: &[] };

fn plan(call: Call<'_>, count: usize) -> Plan {
    Plan::new(call.team.size, count as u64)
}

#[cold]
#[inline(never)]
pub(crate) fn sync(call: Call<'_>) -> bool {
    let Some(chosen) = choose(call, Collective::Sync, plan(call, 0), 1) else { return false };
    // SAFETY: a schedule that synchronises moves nothing.
    unsafe { chosen.perform(chosen.plan, NO_SHARE, NO_ARRAYS) };
    true
}

/// The freedom that the operator gives to a schedule with operands of that kind.
pub(crate) fn allowed(op: Op, kind: Kind) -> Operator {
    let integer =
        matches!(kind, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64);
    match op {
        Op::And | Op::Or | Op::Max | Op::Min => Operator::Idempotent,
        Op::Xor => Operator::Exact,
        Op::Sum | Op::Prod if integer => Operator::Exact,
        Op::Sum | Op::Prod => Operator::FixedTree,
    }
}

/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric arrays of `n` elements, the same or disjoint. So
/// for all below, with the lengths of each call.
#[cold]
#[inline(never)]
pub(crate) unsafe fn reduce(
    call: Call<'_>,
    op: Op,
    kind: Kind,
    kernel: Kernel,
    dest: *mut u8,
    source: *const u8,
    n: usize,
) -> bool {
    // SAFETY: the caller promises symmetric arrays of `n` elements, the same or disjoint.
    unsafe { elementwise(call, Collective::Reduce(allowed(op, kind)), kind, kernel, dest, source, n) }
}

/// # Safety
/// See [`reduce`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn scan(
    call: Call<'_>,
    inclusive: bool,
    kind: Kind,
    kernel: Kernel,
    dest: *mut u8,
    source: *const u8,
    n: usize,
) -> bool {
    // No schedule keeps the order of the team, on which the bits of floating-point sums depend.
    if allowed(Op::Sum, kind) == Operator::FixedTree {
        return false;
    }
    let collective = if inclusive { Collective::Inscan } else { Collective::Exscan };
    // SAFETY: the caller promises symmetric arrays of `n` elements, the same or disjoint.
    unsafe { elementwise(call, collective, kind, kernel, dest, source, n) }
}

unsafe fn elementwise(
    call: Call<'_>,
    collective: Collective,
    kind: Kind,
    kernel: Kernel,
    dest: *mut u8,
    source: *const u8,
    n: usize,
) -> bool {
    let element = kind.size();
    let Some(chosen) = choose(call, collective, plan(call, n), element) else { return false };
    // SAFETY: the caller promises symmetric arrays of `n` elements, the same or disjoint, and `by_pieces` stays inside of
    // them.
    unsafe { chosen.by_pieces(Arrays { dest, room: n * element, source, element, kernel: Some(kernel) }) };
    true
}

/// # Safety
/// See [`reduce`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn broadcast(
    call: Call<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: u32,
    to_root: bool,
) -> bool {
    let plan = Plan { root, root_apart: !to_root, ..plan(call, bytes) };
    // SAFETY: the caller promises symmetric arrays of `bytes` bytes.
    unsafe { moving(call, Collective::Broadcast, plan, (dest, bytes), (source, bytes)) }
}

/// # Safety
/// See [`reduce`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn fcollect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) -> bool {
    let all = length::of(bytes, call.team.size as usize);
    // SAFETY: the caller promises a symmetric source of `bytes` bytes and a destination with as many for each member.
    unsafe { moving(call, Collective::Fcollect, plan(call, bytes), (dest, all), (source, bytes)) }
}

/// # Safety
/// See [`reduce`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn alltoall(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) -> bool {
    let all = length::of(bytes, call.team.size as usize);
    // SAFETY: the caller promises symmetric arrays with `bytes` bytes for each member.
    unsafe { moving(call, Collective::Alltoall, plan(call, bytes), (dest, all), (source, all)) }
}

/// A call that moves bytes; the lengths are those of the arrays.
unsafe fn moving(
    call: Call<'_>,
    collective: Collective,
    plan: Plan,
    dest: (*mut u8, usize),
    source: (*const u8, usize),
) -> bool {
    let Some(chosen) = choose(call, collective, plan, 1).and_then(ChosenSchedule::whole) else { return false };
    // SAFETY: the caller promises symmetric arrays of these lengths.
    unsafe {
        chosen.perform(chosen.plan, NO_SHARE, Arrays { dest: dest.0, room: dest.1, source: source.0, ..NO_ARRAYS })
    };
    true
}

/// Rounds of the largest team, and the two sums that follow theirs.
const MOST_RESULTS: usize = 34;

/// Two runs: the members learn where their blocks go, then move them.
///
/// # Safety
/// See [`reduce`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn collect(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) -> bool {
    let sizes = plan(call, 1);
    let (Some(shares), Some(blocks)) = (
        choose(call, Collective::Shares, sizes, size_of::<u64>()).and_then(ChosenSchedule::whole),
        choose(call, Collective::Collect, plan(call, 0), 1),
    ) else {
        return false;
    };
    let (mut results, mine) = ([0; MOST_RESULTS], bytes as u64);
    let numbers = Arrays {
        dest: results.as_mut_ptr().cast(),
        room: size_of_val(&results),
        source: (&raw const mine).cast(),
        element: size_of::<u64>(),
        kernel: Some(Kernel::of::<Sum, u64>()),
    };
    // SAFETY: the results of any team fit; peers write the scratch only.
    unsafe { shares.perform(sizes, NO_SHARE, numbers) };
    let rounds = Round::count(call.team.size) as usize;
    debug_assert_eq!(rounds + 2, Shares::results(call.team.size) as usize);
    let share = CallerShare { offset: results[rounds + 1], mine, total: results[rounds], windows: &results[..rounds] };
    // The caller's own block was looked at before: how long the destination is turns out here.
    call.needs((dest, share.total as usize), (dest, 0));
    // SAFETY: the caller promises symmetric arrays: the caller's block at `source`, and room for all blocks at `dest`. The
    // shares are those of this call.
    unsafe { blocks.perform(blocks.plan, share, Arrays { dest, room: share.total as usize, source, ..NO_ARRAYS }) };
    true
}

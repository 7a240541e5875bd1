//! The limits of memory of a node: how much each PE may take, before any PE takes it.
//!
//! Beyond a control group's limit the kernel kills processes instead of refusing memory, and beyond the machine's memory it may
//! kill any process. So the PEs of a node first state their demands and their limits, and none takes anything unless every limit
//! has room for all PEs that share it. Three steps, which count in the control windows
//! ([`Demand::step`](crate::memory::control::Demand::step)):
//!
//! 1. Unless the demand is small, the node's first PE takes the user's [turn](MemoryTurn), so that no other job is promised the
//!    same memory.
//! 2. Each PE looks at its limits, publishes them with its demand, and waits for the others; all come to one verdict.
//! 3. All PEs have taken their memory, which the kernel's numbers show from now on; the first PE passes the turn on.
//!
//! Waits are for PEs of the node only, because a turn that waits for another node could wait for ever: that one may wait
//! for a turn of a job that waits for ours.
//!
//! If the turn is not available (other users have its names, one job takes very long, jobs belong to two users), two jobs may be
//! promised the same memory. So each PE takes it in pieces so small that the pieces of all PEs fit into a quarter of the
//! reserve, and looks again between them.

use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use oxshmem_base::size;
use oxshmem_os::limits::{Limit, Limits, MemoryQueue, MemoryTurn, TurnAnswer};
use oxshmem_os::memory::page_size;

use crate::memory::control::{ControlBlock, WantedMemory};
use crate::start::job;
use crate::wait::{self, Needs, Reason};

/// The longest wait for a turn of another job of the same user. The PEs of a node fill a terabyte with pages in less time.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bounds of the pieces in which memory is taken.
const PIECES: (u64, u64) = (256 << 10, 64 << 20);
/// The part of the smallest reserve, one in so many, that a node may take without a turn. So allocations that take microseconds
/// wait for no other job, and some of them at once fit into the reserve, which is promised to no job.
const SMALL: u64 = 4;
/// How many PEs of a node are assumed to touch one PE's memory: each needs page tables of its own for it.
const READERS: u64 = 16;

/// A grant of the node: the caller may take the memory that it asked for, until this value is dropped.
pub(crate) struct Grant {
    limits: Limits,
    /// The most that is taken between two looks.
    pub(crate) piece: u64,
    /// On the first PE of the node, if it was needed and available.
    turn: Option<MemoryTurn>,
    step: u64,
}

/// Why nothing is granted, and whether it is the caller that says so.
pub(crate) struct Denial {
    pub(crate) why: String,
    pub(crate) mine_to_say: bool,
}

/// Asks for `bytes` bytes in pages of this size, where no PE asks for more than `most`. Collective on the node; all PEs get the same
/// answer.
pub(crate) fn ask(call: &'static str, bytes: u64, most: u64, page: u64) -> Result<Grant, Denial> {
    let me = job::my_window();
    let step = ControlBlock::own().demand.step.load(Relaxed);
    let limits = Limits::of_pages(page);
    let pes = u64::from(job::pes_on_node());
    let wanted = with_tables(bytes, pes, page);
    // The first PE itself may need nothing: each has taken another amount ahead.
    let all = with_tables(most, pes, page).saturating_mul(pes);
    let turn = if me == 0 && !is_small(all, &limits.look()) { take_turn(call) } else { None };
    if me == 0 {
        reach(step + 1);
    } else {
        await_step(call, 0, step + 1);
    }
    let seen = limits.look();
    let smallest = seen.iter().map(|limit| limit.reserve).min().unwrap_or(0);
    ControlBlock::own().demand.publish(wanted, &seen);
    reach(step + 2);
    (0..pes as u32).for_each(|window| await_step(call, window, step + 2));
    let piece = if smallest == 0 { PIECES.1 } else { (smallest / (4 * pes)).clamp(PIECES.0, PIECES.1) };
    let grant = Grant { limits, piece, turn, step: step + 3 };
    let demands: Vec<WantedMemory> = (0..pes as u32).map(|window| ControlBlock::of(window).demand.read()).collect();
    match short(&demands) {
        None => Ok(grant),
        Some(Short { window, identity, wanted, spare }) => {
            let limit = seen.iter().find(|limit| limit.identity == identity);
            let named = limit.map_or("a limit of another PE", |limit| &limit.limited_by);
            let why = format!(
                "the PEs of the node that share it ask for {} together, and {} can be promised ({named})",
                size::display(wanted),
                size::display(spare)
            );
            // No PE takes anything.
            reach(step + 3);
            Err(Denial { why, mine_to_say: window == me })
        }
    }
}

/// How many bytes in pages of this size each PE of the node could have, as things stand, if all took as much.
pub(crate) fn share(page: u64) -> u64 {
    share_within(&Limits::of_pages(page).look(), job::pes_on_node().into())
}

fn share_within(limits: &[Limit], pes: u64) -> u64 {
    limits.iter().map(Limit::spare).min().unwrap_or(0) / pes
}

/// Whether the last turn was not available: no PE waits for the next one then.
static PASSED_OVER: AtomicBool = AtomicBool::new(false);

/// Whether a node that takes so much needs no turn.
fn is_small(bytes: u64, limits: &[Limit]) -> bool {
    limits.iter().all(|limit| bytes <= limit.reserve / SMALL)
}

/// Takes the turn, or goes on without.
fn take_turn(call: &'static str) -> Option<MemoryTurn> {
    let deadline = (!PASSED_OVER.load(Relaxed)).then(|| Instant::now() + PATIENCE);
    let is_over = || deadline.is_none_or(|deadline| Instant::now() >= deadline);
    let reason = Reason { call, address: 0, needs: Needs::Anyone };
    let mut queue = MemoryQueue::default();
    let turn = wait::until(reason, None, || match queue.look() {
        TurnAnswer::Taken(turn) => Some(Some(turn)),
        TurnAnswer::Waits if !is_over() => None,
        TurnAnswer::Waits | TurnAnswer::Barred => Some(None),
    });
    PASSED_OVER.store(turn.is_none(), Relaxed);
    turn
}

impl Grant {
    /// Looks whether there is still memory for another piece.
    pub(crate) fn look(&self) -> Result<(), String> {
        match self.limits.look().into_iter().find(|limit| limit.free < limit.reserve / 2) {
            None => Ok(()),
            Some(Limit { free, limited_by, .. }) => {
                Err(format!("another process has taken it meanwhile: {} are free ({limited_by})", size::display(free)))
            }
        }
    }

    /// The caller has taken its memory, or none.
    pub(crate) fn end(self, call: &'static str) {
        reach(self.step);
        if self.turn.is_some() {
            (0..job::pes_on_node()).for_each(|window| await_step(call, window, self.step));
        }
    }
}

/// The caller has finished this step.
fn reach(step: u64) {
    ControlBlock::own().demand.step.store(step, Release);
    (0..job::pes_on_node()).for_each(|window| ControlBlock::of(window).bell().nudge());
}

/// Waits until the PE in this window has finished the step.
fn await_step(call: &'static str, window: u32, step: u64) {
    let word = &ControlBlock::of(window).demand.step;
    let reason = Reason { call, address: ptr::from_ref(word) as usize, needs: Needs::One(job::pe_in_window(window)) };
    wait::until(reason, None, || (word.load(Acquire) >= step).then_some(()));
}

/// The cost of so many bytes, with the page tables of the PEs that touch them and the kernel's records of their file. Huge pages come from a
/// reserve of their own, and the tables do not: all of the reserve is available.
fn with_tables(bytes: u64, pes: u64, page: u64) -> u64 {
    if page > page_size() as u64 {
        return bytes;
    }
    let entry = size_of::<u64>() as u64;
    bytes.saturating_add((bytes / page * entry).saturating_mul(pes.min(READERS) + 1))
}

/// A limit that has not enough for all PEs that share it.
#[derive(Debug, PartialEq, Eq)]
struct Short {
    /// The first PE under it.
    window: u32,
    identity: u64,
    wanted: u64,
    spare: u64,
}

/// The first such limit, the same on all PEs, because all look at the same demands. PEs under one limit read it at different
/// moments; the lowest value counts.
fn short(demands: &[WantedMemory]) -> Option<Short> {
    let mut all: BTreeMap<u64, Short> = BTreeMap::new();
    for (window, demand) in (0..).zip(demands).filter(|(_, demand)| demand.bytes > 0) {
        for &(identity, spare) in &demand.limits {
            let one = all.entry(identity).or_insert(Short { window, identity, wanted: 0, spare });
            one.wanted = one.wanted.saturating_add(demand.bytes);
            one.spare = one.spare.min(spare);
        }
    }
    all.into_values().filter(|limit| limit.wanted > limit.spare).min_by_key(|limit| (limit.window, limit.identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(bytes: u64, limits: &[(u64, u64)]) -> WantedMemory {
        WantedMemory { bytes, limits: limits.to_vec() }
    }

    #[test]
    fn fault_M1_what_all_want_together_is_compared_with_what_they_share() {
        let two = |spare| [wants(60, &[(1, 1000), (7, spare)]), wants(60, &[(1, 1000), (7, spare)])];
        assert_eq!(short(&two(120)), None);
        assert_eq!(short(&two(119)), Some(Short { window: 0, identity: 7, wanted: 120, spare: 119 }));
        // Looked at different moments.
        let [first, mut second] = two(200);
        second.limits[1].1 = 100;
        assert_eq!(short(&[first, second]).map(|short| (short.wanted, short.spare)), Some((120, 100)));
    }

    #[test]
    fn fault_M1_groups_of_single_pes_stand_for_themselves_and_for_the_group_around_them() {
        let in_its_own = |own, spare| wants(60, &[(1, 1000), (5, 150), (own, spare)]);
        assert_eq!(short(&[in_its_own(8, 60), in_its_own(9, 60)]), None);
        let tight = short(&[in_its_own(8, 60), in_its_own(9, 59)]).expect("PE 1 has too little");
        assert_eq!((tight.window, tight.identity), (1, 9));
        let around =
            short(&[in_its_own(8, 60), in_its_own(9, 60), in_its_own(10, 60)]).expect("the group has too little");
        assert_eq!((around.window, around.identity, around.wanted), (0, 5, 180));
    }

    #[test]
    fn fault_M1_who_wants_nothing_is_not_asked() {
        assert_eq!(short(&[wants(0, &[(1, 0)]), wants(10, &[(1, 10)])]), None);
        assert_eq!(short(&[]), None);
    }

    #[test]
    fn fault_T6_a_small_demand_needs_no_turn() {
        let limit = |whole: u64, reserve| Limit { identity: 9, whole, free: whole, reserve, limited_by: String::new() };
        let limits = [limit(1 << 40, 1 << 30), limit(256 << 20, 8 << 20)];
        assert!(is_small(2 << 20, &limits) && !is_small((2 << 20) + 1, &limits));
        // Huge pages have no reserve.
        assert!(is_small(0, &[limit(1 << 40, 0)]) && !is_small(1, &[limit(1 << 40, 0)]));
    }

    #[test]
    fn the_pes_of_a_node_share_what_the_tightest_limit_leaves() {
        let limit = |free, reserve| Limit { identity: 9, whole: 1 << 40, free, reserve, limited_by: String::new() };
        let limits = [limit(1 << 40, 1 << 30), limit(9 << 30, 1 << 30)];
        assert_eq!(share_within(&limits, 1), 8 << 30);
        assert_eq!(share_within(&limits, 8), 1 << 30);
        assert_eq!(share_within(&[limit(1 << 20, 1 << 30)], 1), 0);
        assert_eq!(share_within(&[], 1), 0);
    }

    #[test]
    fn fault_M1_page_tables_of_readers_are_part_of_the_price() {
        let page = page_size() as u64;
        assert_eq!(with_tables(page << 8, 1, page), (page << 8) + 2 * 2048);
        assert_eq!(with_tables(page << 8, 500, page), (page << 8) + 17 * 2048);
    }

    #[test]
    fn the_last_huge_page_can_be_had() {
        let page = 2 << 20;
        let demand = wants(with_tables(4 * page, 1, page), &[(2, 4 * page)]);
        assert_eq!(short(&[demand]), None);
    }
}

//! Schedules run by threads, each with an area and arrays of its own: results, back to back, on areas that pass from
//! team to team.

use core::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::alloc::{Layout, alloc_zeroed};
use std::thread;

use oxshmem_reduce::{Max, Sum};
use oxshmem_schedule::algorithm::chain::ReduceChain;
use oxshmem_schedule::algorithm::names::{COLLECTIVES, NAMES, find};
use oxshmem_schedule::algorithm::{Collective, OperatorLaw};
use oxshmem_schedule::step::{Traffic, Turn};

use super::*;
use crate::memory::control::area::Area;
use crate::memory::control::signals::CallSignals;

fn area() -> Box<Area> {
    // SAFETY: the layout has a size; all zeros is a fresh area.
    unsafe { Box::from_raw(alloc_zeroed(Layout::new::<Area>()).cast()) }
}

/// The memory of the team that a thread is a member of.
#[derive(Clone, Copy)]
struct Threads<'a> {
    /// By member.
    areas: &'a [&'a Area],
    /// The start of each member's dest.
    dests: &'a [usize],
    traffic: Traffic,
    parity: usize,
    me: usize,
}

impl Threads<'_> {
    fn signals(&self, member: usize) -> CallSignals<'_> {
        self.areas[member].signals.of(self.traffic, self.parity)
    }
}

impl Wire for Threads<'_> {
    unsafe fn put(&self, to: u32, from: *const u8, place: Place, offset: usize, bytes: usize, signal: PutSignal) {
        let (area, dest) = (self.areas[to as usize], self.dests[to as usize] as *mut u8);
        let start = if place == Place::Dest { dest } else { area.scratch(self.parity) };
        // SAFETY: the executor promises `bytes` readable bytes at `from` and room at the place.
        unsafe { ptr::copy_nonoverlapping(from, start.wrapping_add(offset), bytes) };
        match signal {
            PutSignal::Set { word, value } => self.signals(to as usize).words[word as usize].store(value, Release),
            PutSignal::Count => drop(self.signals(to as usize).counter.fetch_add(1, Release)),
        }
    }

    fn wait(&self, word: u32, value: u64) {
        until(&self.signals(self.me).words[word as usize], value);
    }

    fn wait_count(&self, total: u64) {
        until(self.signals(self.me).counter, total);
    }
}

fn until(word: &AtomicU64, value: u64) {
    while word.load(Acquire) < value {
        thread::yield_now();
    }
}

const COUNT: usize = 5;
const CALLS: usize = 6;

/// Element `i` of what member `rank` gives to call `call`.
fn given(rank: usize, call: usize, i: usize) -> i64 {
    (rank * 10_000 + call * 100 + i + 1) as i64
}

/// The result that member `rank` of `size` must get from call `call`.
fn wanted(collective: Collective, rank: usize, size: usize, call: usize) -> Vec<i64> {
    let sum = |ranks: core::ops::Range<usize>| {
        (0..COUNT).map(|i| ranks.clone().map(|rank| given(rank, call, i)).sum()).collect()
    };
    let blocks =
        |first: usize| (0..size).flat_map(|from| (0..COUNT).map(move |i| given(from, call, first + i))).collect();
    match collective {
        Collective::Reduce(OperatorLaw::Idempotent) => (0..COUNT).map(|i| given(size - 1, call, i)).collect(),
        Collective::Reduce(_) => sum(0..size),
        Collective::Inscan => sum(0..rank + 1),
        Collective::Exscan => sum(0..rank),
        Collective::Broadcast => (0..COUNT).map(|i| given(call % size, call, i)).collect(),
        Collective::Fcollect => blocks(0),
        Collective::Alltoall => blocks(rank * COUNT),
        Collective::Sync | Collective::Collect | Collective::Shares => Vec::new(),
    }
}

/// A team whose member i owns `areas[i]` makes several calls, numbered from `base + 1`, each into another dest.
fn calls(collective: Collective, schedule: Schedule, areas: &[&Area], base: u64) {
    let size = areas.len();
    let kernel = match collective {
        Collective::Reduce(OperatorLaw::Idempotent) => Kernel::of::<Max, i64>(),
        _ => Kernel::of::<Sum, i64>(),
    };
    let mut dests = vec![vec![vec![0_i64; COUNT * size]; size]; CALLS];
    let starts: Vec<Vec<usize>> =
        dests.iter_mut().map(|call| call.iter_mut().map(|dest| dest.as_mut_ptr() as usize).collect()).collect();
    thread::scope(|scope| {
        for rank in 0..size {
            let starts = &starts;
            scope.spawn(move || {
                let mut turn = Turn { call: base, ..Turn::default() };
                for (call, dests) in starts.iter().enumerate() {
                    turn = turn.next(schedule.traffic());
                    let (traffic, parity) = (schedule.traffic(), turn.parity());
                    let wire = Threads { areas, dests, traffic, parity, me: rank };
                    let signals = wire.signals(rank);
                    let root = (call % size) as u32;
                    let plan = Plan { root, call: turn.call, ..Plan::new(size as u32, COUNT as u64) };
                    let source: Vec<i64> = (0..COUNT * size).map(|i| given(rank, call, i)).collect();
                    let (dest, source) = (dests[rank] as *mut u8, source.as_ptr().cast());
                    let arrays =
                        Arrays { dest, room: 8 * COUNT * size, source, element: 8, kernel: Some(kernel), more: &[] };
                    let me = Caller { counted: signals.counted(), ..Caller::new(rank as u32) };
                    // SAFETY: the arrays have room for every collective, and every call has its own.
                    unsafe { run(&wire, areas[rank].scratch(parity), &schedule, &plan, &me, arrays) };
                    signals.account(schedule.arrivals(&plan, rank as u32));
                }
            });
        }
    });
    for (call, dests) in dests.iter().enumerate() {
        for (rank, dest) in dests.iter().enumerate() {
            let wanted = wanted(collective, rank, size, call);
            assert_eq!(dest[..wanted.len()], wanted, "{collective} by {schedule}, call {call}, PE {rank} of {size}");
        }
    }
}

#[test]
fn every_schedule_gives_the_right_results_on_areas_that_pass_from_team_to_team() {
    let areas: Vec<Box<Area>> = (0..8).map(|_| area()).collect();
    let mut base = 0;
    let mut ran = 0;
    for (_, collective) in COLLECTIVES {
        if matches!(collective, Collective::Collect | Collective::Shares) {
            continue;
        }
        for schedule in NAMES.iter().filter_map(|name| find(collective, name)) {
            for (size, turned) in [(1, false), (2, false), (3, true), (5, true), (8, false)] {
                let mut team: Vec<&Area> = areas[..size].iter().map(|area| &**area).collect();
                if turned {
                    team.reverse();
                }
                calls(collective, schedule, &team, base);
                base += CALLS as u64;
                ran += 1;
            }
        }
    }
    assert!(ran > 150, "{ran}");
}

/// A leader stands for all members of its node, whose operands follow the sum of the nodes before one by one.
#[test]
fn a_chain_of_nodes_folds_the_operands_of_all_members_in_the_order_of_the_team() {
    const NODES: usize = 3;
    const MEMBERS: usize = 4;
    let areas: Vec<Box<Area>> = (0..NODES).map(|_| area()).collect();
    let areas: Vec<&Area> = areas.iter().map(|area| &**area).collect();
    let schedule = Schedule::ReduceChain(ReduceChain { segment: 2 });
    let turn = Turn::default().next(schedule.traffic());
    let operand =
        |member: usize, i: usize| 2_f64.powi((member * 29 + i * 13) as i32 % 41) / (3 + 7 * i + 11 * member) as f64;
    let operands: Vec<[f64; COUNT]> =
        (0..NODES * MEMBERS).map(|member| core::array::from_fn(|i| operand(member, i))).collect();
    let wanted: [f64; COUNT] =
        core::array::from_fn(|i| operands[1..].iter().fold(operands[0][i], |sum, next| sum + next[i]));
    // The first node has combined its own.
    let first: [f64; COUNT] =
        core::array::from_fn(|i| operands[1..MEMBERS].iter().fold(operands[0][i], |sum, next| sum + next[i]));
    let mut dests = [[0_f64; COUNT]; NODES];
    let starts: Vec<usize> = dests.iter_mut().map(|dest| dest.as_mut_ptr() as usize).collect();
    thread::scope(|scope| {
        for node in 0..NODES {
            let (areas, starts, operands, first) = (&areas, &starts, &operands, &first);
            scope.spawn(move || {
                let parity = turn.parity();
                let wire = Threads { areas, dests: starts, traffic: schedule.traffic(), parity, me: node };
                let start = |operand: &[f64; COUNT]| operand.as_ptr().cast::<u8>();
                let here: Vec<*const u8> = operands[node * MEMBERS..][..MEMBERS].iter().map(start).collect();
                let (source, more) = if node == 0 { (start(first), &[] as &[_]) } else { (here[0], &here[1..]) };
                let kernel = Some(Kernel::of::<Sum, f64>());
                let arrays =
                    Arrays { dest: starts[node] as *mut u8, room: 8 * COUNT, source, element: 8, kernel, more };
                let plan = Plan { call: turn.call, ..Plan::new(NODES as u32, COUNT as u64) };
                let me = Caller::new(node as u32);
                // SAFETY: the arrays have the elements, and every node its own.
                unsafe { run(&wire, areas[node].scratch(parity), &schedule, &plan, &me, arrays) };
            });
        }
    });
    for dest in dests {
        assert_eq!(dest.map(f64::to_bits), wanted.map(f64::to_bits));
    }
}

#[test]
fn a_fold_of_many_operands_goes_from_left_to_right() {
    let operands: Vec<f64> = (0..100).map(|i| 1.0 / f64::from(i + 3)).collect();
    for terms in [0, 1, ROW - 2, ROW - 1, ROW, 2 * ROW - 2, 2 * ROW - 1, 99] {
        let mut sum = operands[0];
        let left: *mut f64 = &raw mut sum;
        let right = |term: u32| operands[term as usize + 1..].as_ptr().cast();
        // SAFETY: all are numbers of this test; the left one is where the result goes.
        unsafe { fold(Kernel::of::<Sum, f64>(), left.cast(), left.cast(), right, terms as u32, 1) };
        let wanted = operands[1..=terms].iter().fold(operands[0], |sum, next| sum + next);
        assert_eq!(sum.to_bits(), wanted.to_bits(), "{terms}");
    }
}

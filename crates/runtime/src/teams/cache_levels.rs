//! How the members of a large team lie on the caches, NUMA nodes and packages of their node, and the lines by which they
//! meet level by level.
//!
//! In a barrier or a short reduction, a member does the steps of its protocol in `oxshmem_schedule::node`, as a list.
//! The lists depend on the team alone, and are made when they are first needed.

use std::sync::Arc;

use oxshmem_base::knobs::NodeLevels;
use oxshmem_schedule::node::tree::LineTree;
use oxshmem_schedule::node::{Load, Move, NodePlan, Protocol, Shape, WIDTH, levels_pay};
use oxshmem_topology::placement::Groups;
use parking_lot::{Mutex, MutexGuard};

use crate::memory::control::lines::TeamLines;
use crate::start::{placement, state};
use crate::wait::pace;

/// Short reductions whose steps a team keeps.
const KEPT: usize = 8;

/// Whether some team of this life may meet level by level.
pub(crate) fn is_possible() -> bool {
    state::current().is_some_and(|life| match life.windows.node_levels() {
        NodeLevels::Off => false,
        // With fewer processors than PEs, the fewest waits are the quickest.
        NodeLevels::Auto => !pace::crowded(),
        NodeLevels::Groups(_) => true,
    })
}

/// Whether a team meets level by level whose members, `size` of them, are in these windows of the node. The same on all of
/// them.
pub(crate) fn serves(size: u32, window: impl Fn(u32) -> u32) -> bool {
    if size < 2 || !is_possible() {
        return false;
    }
    match state::current().map(|life| life.windows.node_levels()) {
        Some(NodeLevels::Groups(_)) => true,
        _ if levels_pay(size, 1) || !levels_pay(size, size) => levels_pay(size, 1),
        _ => {
            let caches = placement::groups().l3;
            let mut caches: Vec<u32> =
                (0..size).filter_map(|member| caches.get(window(member) as usize).copied()).collect();
            caches.sort_unstable();
            caches.dedup();
            levels_pay(size, caches.len() as u32)
        }
    }
}

/// See the head of the file.
pub(crate) struct Hierarchy {
    pub(crate) shape: Shape,
    /// Each member's lines.
    pub(crate) lines: Box<[&'static TeamLines]>,
    /// The caller's number in the team.
    my: u32,
    /// Its steps of a barrier.
    pub(crate) barrier: Box<[Move]>,
    short: Mutex<ShortReductions>,
}

/// A short reduction as far as its steps depend on it: its load, its elements, and how many fit a line.
type ShortKey = (Load, u64, u64);

/// Only one thread at a time is in a collective of the team, so no thread waits for this.
#[derive(Default)]
pub(crate) struct ShortReductions {
    known: Vec<(ShortKey, Arc<[Move]>)>,
    /// Memory for operands, as much as a reduction has needed.
    hand: Vec<u128>,
}

impl Hierarchy {
    /// Of the members in these windows of the node, with these lines.
    pub(crate) fn new(my: u32, windows: &[u32], lines: Box<[&'static TeamLines]>) -> Self {
        let groups = placement::groups();
        let domains = match state::current().map(|life| life.windows.node_levels()) {
            Some(NodeLevels::Groups(widths)) => {
                widths.iter().map(|width| windows.iter().map(|window| window / width).collect()).collect()
            }
            _ => domains(&groups, windows),
        };
        Self::of(my, &domains, lines)
    }

    /// Of members in these domains: see [`Shape::nested`].
    pub(crate) fn of(my: u32, domains: &[Vec<u32>], lines: Box<[&'static TeamLines]>) -> Self {
        let domains: Vec<&[u32]> = domains.iter().map(|domain| &domain[..]).collect();
        let shape = Shape::nested(lines.len() as u32, &domains, WIDTH);
        let barrier = steps(&LineTree { load: Load::Nothing }, &shape, &NodePlan::short(0, 8), my).collect();
        Self { shape, lines, my, barrier, short: Mutex::default() }
    }

    /// The steps of a short reduction, and room for its operands, of `element` bytes; `None` if it has not enough lines.
    pub(crate) fn short(
        &self,
        load: Load,
        count: u64,
        element: u64,
    ) -> Option<(Arc<[Move]>, MutexGuard<'_, ShortReductions>)> {
        let (tree, plan) = (LineTree { load }, NodePlan::short(count, element));
        if tree.lines(&self.shape, &plan) > crate::memory::control::lines::SYNCHRONISING {
            return None;
        }
        let mut short = self.short.lock();
        let room = (tree.hand(&self.shape, &plan) * element).div_ceil(size_of::<u128>() as u64) as usize;
        if short.hand.len() < room {
            short.hand.resize(room, 0);
        }
        let key = (load, count, plan.line);
        if let Some((_, steps)) = short.known.iter().find(|(known, _)| *known == key) {
            return Some((steps.clone(), short));
        }
        let steps: Arc<[Move]> = steps(&tree, &self.shape, &plan, self.my).collect();
        if short.known.len() == KEPT {
            short.known.remove(0);
        }
        short.known.push((key, steps.clone()));
        Some((steps, short))
    }
}

impl ShortReductions {
    pub(crate) fn hand(&mut self) -> *mut u8 {
        self.hand.as_mut_ptr().cast()
    }
}

/// The steps of a member, to the end.
pub(crate) fn steps<'a>(
    protocol: &'a dyn Protocol,
    shape: &'a Shape,
    plan: &'a NodePlan,
    my: u32,
) -> impl Iterator<Item = Move> + 'a {
    (0..).map(move |pc| protocol.step(shape, plan, my, pc)).take_while(|step| *step != Move::Done)
}

/// The caches, NUMA nodes and packages of the PEs in these windows.
fn domains(groups: &Groups, windows: &[u32]) -> Vec<Vec<u32>> {
    let of = |numbers: &Vec<u32>| {
        windows.iter().map(|window| numbers.get(*window as usize).copied().unwrap_or_default()).collect()
    };
    [&groups.l3, &groups.numa, &groups.package].map(of).into()
}

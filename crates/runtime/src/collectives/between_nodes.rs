//! Teams with members on several nodes: how they meet, and what travels when they do.
//!
//! The first member on each node leads it. The members of a node count in with their leader ([`gather_node`]), the leaders
//! run a schedule of `oxshmem_schedule` among themselves ([`leader_wire`] carries it), and each releases its node
//! ([`release`]). So a team's messages are those of its nodes, only leaders have connections, and a leader that waits for
//! another node moves the network on itself.
//!
//! [`exchange`] is that of `node_exchange` for such teams: each member's line reaches all members, in a *gather buffer* of each leader.
//! Its bytes grow with the team; what can be combined on the way ([`combine`]) does not. [`bytes`], [`reduce`] and [`blocks`] have the
//! collectives that move more. [`channel`] has the memory that they use, and says when each piece of it may be used again.

pub(crate) mod blocks;
mod broadcast_ring;
pub(crate) mod buffer_leases;
pub(crate) mod bytes;
mod channel;
pub(crate) mod eager;
#[cfg(test)]
pub(super) mod every_order;
mod leader_wire;
mod line_exchange;
mod meeting;
mod parts;
pub(crate) mod reduce;
pub(crate) mod slices;

use core::mem::MaybeUninit;
use core::ptr;

use oxshmem_reduce::{And, Kernel, Max, Store};
use oxshmem_schedule::algorithm::Collective;
use oxshmem_schedule::algorithm::census::Round;
use oxshmem_schedule::step::{Algorithm, Caller, CallerShare, Plan};
use oxshmem_schedule::way::size_limits::PRIVATE_SCRATCH;
use oxshmem_schedule::way::{CollectiveWay, LeaderSchedule, NodeShares, Reach};

use crate::collectives::arguments::Reduction;
use crate::collectives::call::Call;
use crate::collectives::chosen_ways::Asked;
use crate::collectives::facts;
use crate::collectives::run::{self, Arrays, NO_SHARE};
use crate::collectives::unanimity::are_same;
use crate::memory::control::{PAYLOAD_WORDS, REGISTRY, SLOTS, SPANNING};
use crate::network;
use crate::teams::span::Span;

use channel::Exchange;
use leader_wire::{InFlightBytes, Leaders, There};
use meeting::{gather_node, meet_here, release};

pub(crate) use blocks::{alltoall, gather};
pub(crate) use channel::give_back;
pub(crate) use line_exchange::exchange;

/// The most PEs of a job over several nodes: the largest job that the tests look at. No room depends on it.
pub(crate) const MOST_PES: u32 = 1_200_000;
/// The most nodes of a job: their leaders' schedules find a mailbox that holds a payload for each word that they signal.
pub(crate) const MOST_NODES: u32 = 16_384;
/// Bytes at the beginning of each node's part of a gather buffer: the number of the exchange, and the signature of its call.
const HEADER: usize = 8;

/// Slots that teams may have: on one node all; on several those with mailboxes, but for the slots of the registry.
pub(crate) fn slots() -> usize {
    if network::is_open() { SPANNING - REGISTRY } else { SLOTS }
}

/// All members take part in counting the run; the leaders run it. `there` is where others have the leader's dest.
/// Returns what the network may still be reading of the caller's arrays.
///
/// # Safety
/// As for [`run::run`], with the leaders as members.
unsafe fn run_schedule(
    call: Call<'_>,
    span: &Span,
    way: LeaderSchedule,
    plan: Plan,
    share: CallerShare<'_>,
    arrays: Arrays<'_>,
    there: There,
) -> InFlightBytes {
    let turn = call.team.next_turn(way.schedule.traffic());
    if call.team.my != span.my_leader() {
        return InFlightBytes::default();
    }
    // Not cleared, which would take as long as half of a short run: no schedule reads what has not come.
    let mut private = MaybeUninit::<[u128; PRIVATE_SCRATCH / 16]>::uninit();
    let private = if way.private { private.as_mut_ptr().cast() } else { ptr::null_mut() };
    // SAFETY: the caller promises that dest has `room` bytes; private scratch lives until this function returns.
    let wire = unsafe { Leaders::new(call, span, way, turn, private, (arrays.dest, arrays.room), there) };
    let plan = Plan { call: turn.call, ..plan };
    let me = Caller { counted: wire.memory().signals.counted(), share, ..Caller::new(span.node()) };
    // SAFETY: the caller promises arrays with the elements that the schedule touches, on all leaders; `LeaderSchedule::find` has
    // compared the size of the scratch.
    unsafe { run::run(&wire, wire.scratch(), &way.schedule, &plan, &me, arrays) };
    wire.memory().signals.account(way.schedule.arrivals(&plan, span.node()));
    wire.in_flight()
}

/// The leaders wait for each other.
fn leaders_meet(call: Call<'_>, span: &Span) {
    let way = call.team.ways.meeting(|| {
        let way = facts::of_team(call.team).meeting(span.nodes());
        way.unwrap_or_else(|| unreachable!("the standard synchronisation has room among {MOST_NODES} leaders"))
    });
    // SAFETY: nothing is moved.
    unsafe { run_schedule(call, span, way, Plan::new(span.nodes(), 0), NO_SHARE, Arrays::NONE, There::Nowhere) };
}

/// How the leaders gather parts, of which that of a node begins at byte `start(node)`. `None`: there is no room for it.
fn gathering(call: Call<'_>, span: &Span, start: impl Fn(u32) -> u64, reach: Reach) -> Option<LeaderSchedule> {
    let shares = NodeShares::of((0..span.nodes()).map(|node| start(node + 1) - start(node)));
    match facts::kept_way(call.team, Asked::Gather { shares, reach }) {
        CollectiveWay::Gathered(way) => Some(way),
        _ => None,
    }
}

/// Every leader has its node's part of `dest`, which begins at byte `start(node)`, and gets those of all nodes. Returns what
/// [`run_schedule`] does.
///
/// # Safety
/// `dest` has all parts, and the caller's is there; `there` is where others have it.
unsafe fn gather_parts(
    call: Call<'_>,
    span: &Span,
    way: LeaderSchedule,
    start: impl Fn(u32) -> u64,
    dest: *mut u8,
    there: There,
) -> InFlightBytes {
    let (nodes, node) = (span.nodes(), span.node());
    let (offset, total, mine) = (start(node), start(nodes), start(node + 1) - start(node));
    let before = |window: u32| match node.checked_sub(window) {
        Some(first) => offset - start(first),
        None => offset + total - start(node + nodes - window),
    };
    let mut windows = [0; u32::BITS as usize];
    let rounds = Round::count(nodes);
    (0..rounds).for_each(|round| windows[round as usize] = before(Round::of(nodes, round).window));
    let share = CallerShare { offset, mine, total, windows: &windows[..rounds as usize] };
    let plan = Plan::new(nodes, if way.schedule.achieves() == Collective::Fcollect { mine } else { 0 });
    let source = dest.wrapping_add(offset as usize);
    // SAFETY: the caller promises that `dest` has all parts, and that the caller's own part is there.
    unsafe {
        run_schedule(call, span, way, plan, share, Arrays { dest, room: total as usize, source, ..Arrays::NONE }, there)
    }
}

/// A reduction of at most a payload by an operator that allows any order: combined on the node, then among the leaders.
///
/// # Safety
/// `dest` and `source` have `n` elements of `element` bytes.
#[cold]
pub(crate) unsafe fn combine(call: Call<'_>, span: &Span, way: LeaderSchedule, reduction: Reduction) {
    let Reduction { kernel, dest, source, n, .. } = reduction;
    let (team, bytes, plan) = (call.team, reduction.bytes(), Plan::new(span.nodes(), n as u64));
    let leader = span.my_leader();
    let others_here = span.count(span.node()) > 1;
    let exchange = Exchange::begin(call, span);
    let mut sum = ShortOperand([0; PAYLOAD_WORDS]);
    // SAFETY: the caller promises `n` elements at `source`, and they are at most a payload.
    unsafe { ptr::copy_nonoverlapping(source, sum.0.as_mut_ptr().cast(), bytes) };
    if others_here {
        exchange.write_line(&sum.0);
    }
    exchange.count_in();
    if team.my == leader {
        for member in span.here().filter(|&member| member != leader) {
            let operand = exchange.read_line(member, |line| ShortOperand(*line));
            let (sum, operand): (*mut u8, _) = (sum.0.as_mut_ptr().cast(), operand.0.as_ptr().cast());
            // SAFETY: both have the member's `n` elements, which are at most a payload.
            unsafe { kernel.fold(sum, &[sum, operand], n, Store::Cached) };
        }
    }
    let at: *mut u8 = sum.0.as_mut_ptr().cast();
    let arrays = Arrays { dest: at, source: at, ..reduction.arrays() };
    // SAFETY: the sum has `n` elements; messages that are not inline land in leased scratch.
    unsafe { run_schedule(call, span, way, plan, NO_SHARE, arrays, There::Nowhere) };
    if others_here {
        if team.my == leader {
            exchange.write_line(&sum.0);
        }
        exchange.release();
        sum.0 = exchange.read_line(leader, |line| *line);
    }
    // SAFETY: the caller promises `n` elements at `dest`, and the sum has as many.
    unsafe { ptr::copy_nonoverlapping(sum.0.as_ptr().cast(), dest, bytes) };
}

/// A member's operand of at most a payload, aligned for every type, as lines are not.
#[repr(align(16))]
struct ShortOperand([u64; PAYLOAD_WORDS]);

/// The bitwise and of all members' words.
pub(crate) fn all_of(call: Call<'_>, span: &Span, words: &mut [u64]) {
    words_of(call, span, Kernel::of::<And, u64>(), words);
}

/// The greatest of all members' numbers.
pub(crate) fn greatest(call: Call<'_>, span: &Span, number: u64) -> u64 {
    let mut words = [number];
    words_of(call, span, Kernel::of::<Max, u64>(), &mut words);
    words[0]
}

fn words_of(call: Call<'_>, span: &Span, kernel: Kernel, words: &mut [u64]) {
    let words = Reduction::of_words(kernel, words);
    let (team, nodes) = (facts::of_team(call.team), facts::of_span(call.team, span));
    let way = team.combining(&nodes, words.facts());
    let way = way.unwrap_or_else(|| unreachable!("the standard dissemination has room among {MOST_NODES} leaders"));
    // SAFETY: the words are the caller's.
    unsafe { combine(call, span, way, words) };
}

/// Whether all members have the same words, at most three; all learn the same.
pub(crate) fn agree(call: Call<'_>, span: &Span, words: &[u64]) -> bool {
    are_same(words, |both| {
        all_of(call, span, both);
        true
    })
}

//! Collectives of large teams on one node, level by level: members around one cache, caches of a NUMA node, NUMA nodes of a
//! package, packages.
//!
//! The protocols are those of `oxshmem_schedule::node`, whose prover has run them on every shape. [`Play`] does their
//! steps: a line of the protocol is a line of the team's [`hierarchy`], a number of the protocol is a number of the team's
//! exchanges (or announcements, for one-way calls), and each word carries the signature of the call. A member that waits
//! compares it, so members in different calls notice it at the first line that passes between them.
//!
//! * [`meet`]: a tree of lines with one writer each, the synchronisation of every exchange.
//! * [`reduce`]: short operands travel in the lines of that tree; long arrays go from NUMA node to NUMA node in pieces.
//! * [`broadcast`]: pieces follow each other down the levels, so that each byte enters a package, a NUMA node and a cache
//!   once.

#[cfg(all(test, not(loom)))]
mod tests;

use core::ptr;
use core::sync::atomic::Ordering::Release;

use oxshmem_reduce::{And, Kernel, Store};
use oxshmem_schedule::algorithm::OperatorLaw;
use oxshmem_schedule::node::chain::PieceChain;
use oxshmem_schedule::node::relay::Relay;
use oxshmem_schedule::node::tree::LineTree;
use oxshmem_schedule::node::{self, Load, Move, NodePlace, NodePlan, Operands, Protocol, Spot};
use oxshmem_schedule::step::Traffic;
use oxshmem_schedule::way::size_limits::PAYLOAD;

use crate::collectives::arguments::{Reduction, Spread};
use crate::collectives::call::Call;
use crate::collectives::lookout::{nudge, until_reached, until_stamped};
use crate::collectives::unanimity::are_same;
use crate::memory::control::{Line, PAYLOAD_WORDS};
use crate::teams::cache_levels::{self, Hierarchy};

/// Operands of a member and of a result that fit a line, aligned for every type.
type LineRoom = [u128; PAYLOAD_WORDS.div_ceil(2)];

/// Synchronises the members for the exchange of this number.
#[inline(never)]
pub(crate) fn meet(call: Call<'_>, number: u64) {
    let hierarchy = call.team.hierarchy();
    let protocol = LineTree { load: Load::Nothing };
    let plan = NodePlan::short(0, 8);
    let play = Play { call, hierarchy, protocol: &protocol, plan: &plan, before: number - 1, data: Data::NONE };
    // SAFETY: a barrier moves nothing.
    unsafe { play.all(hierarchy.barrier.iter().copied()) };
}

/// A reduction through the levels, for which the members have enough lines.
///
/// # Safety
/// `dest` and `source` are symmetric arrays of `n` elements, the same or disjoint.
#[inline(never)]
pub(crate) unsafe fn reduce(call: Call<'_>, reduction: Reduction) {
    if reduction.bytes() <= PAYLOAD {
        // SAFETY: the caller promises symmetric arrays of `n` elements.
        let done = unsafe { reduce_short(call, reduction) };
        return assert!(done, "the choice of the way has counted the lines");
    }
    let chain = PieceChain { in_order: reduction.law == OperatorLaw::FixedTree };
    let plan = NodePlan::in_pieces(reduction.n as u64, reduction.element as u64);
    call.enter_to_write(reduction.dest, reduction.bytes(), call.compared_name(reduction.source));
    let before = call.team.pass_exchanges(plan.pieces() + 1);
    // SAFETY: all members name the same destination, and the caller vouches for the arrays.
    unsafe { run(call, &chain, &plan, before, Data::of(reduction)) };
}

/// Returns whether the members have enough lines; all know alike.
///
/// # Safety
/// See [`reduce`]; the elements fit a line.
unsafe fn reduce_short(call: Call<'_>, reduction: Reduction) -> bool {
    let (hierarchy, load) = (call.team.hierarchy(), Load::of(reduction.law));
    let (n, element) = (reduction.n as u64, reduction.element as u64);
    let Some((steps, mut short)) = hierarchy.short(load, n, element) else { return false };
    let (protocol, plan) = (LineTree { load }, NodePlan::short(n, element));
    let before = call.team.pass_exchanges(1);
    let data = Data { hand: short.hand(), ..Data::of(reduction) };
    let play = Play { call, hierarchy, protocol: &protocol, plan: &plan, before, data };
    // SAFETY: the hand has the room that the protocol needs, and the caller vouches for the arrays.
    unsafe { play.all(steps.iter().copied()) };
    true
}

/// Whether all members have the same words, at most three; all learn the same. `false` also if they have not enough lines.
pub(crate) fn agree(call: Call<'_>, words: &[u64]) -> bool {
    // SAFETY: a short reduction touches no other member's arrays, and these are the caller's.
    are_same(words, |both| unsafe { reduce_short(call, Reduction::of_words(Kernel::of::<And, u64>(), both)) })
}

/// A broadcast through the levels, for which the members have enough lines.
///
/// # Safety
/// `dest` and `source` are symmetric and have the bytes.
#[inline(never)]
pub(crate) unsafe fn broadcast(call: Call<'_>, spread: Spread) {
    let Spread { dest, source, bytes, root, to_root } = spread;
    let plan = NodePlan { root, ..NodePlan::in_pieces(bytes as u64, 1) };
    let before = call.team.pass_announcements(plan.pieces());
    let mut hand: LineRoom = [0; PAYLOAD_WORDS.div_ceil(2)];
    let spared = !to_root && call.team.my == root;
    let data = Data { dest, source, element: 1, kernel: None, hand: hand.as_mut_ptr().cast(), spared };
    // SAFETY: the caller vouches for both arrays; the hand has room for what fits a line.
    unsafe { run(call, &Relay, &plan, before, data) };
}

/// Does all steps of one member in one call, as the protocol names them.
///
/// # Safety
/// As for [`Play::all`].
unsafe fn run(call: Call<'_>, protocol: &dyn Protocol, plan: &NodePlan, before: u64, data: Data) {
    let hierarchy = call.team.hierarchy();
    let play = Play { call, hierarchy, protocol, plan, before, data };
    // SAFETY: the caller keeps the promises of `all`.
    unsafe { play.all(cache_levels::steps(protocol, &hierarchy.shape, plan, call.team.my)) };
}

/// The arrays of the caller.
#[derive(Clone, Copy)]
struct Data {
    dest: *mut u8,
    source: *const u8,
    /// Bytes of an element.
    element: usize,
    /// The operator of a reduction.
    kernel: Option<Kernel>,
    /// Room for what the protocol has in the member's hand.
    hand: *mut u8,
    /// Nothing goes to the caller's own destination.
    spared: bool,
}

impl Data {
    const NONE: Self = Self {
        dest: ptr::null_mut(),
        source: ptr::null(),
        element: 1,
        kernel: None,
        hand: ptr::null_mut(),
        spared: false,
    };

    fn of(reduction: Reduction) -> Self {
        let Reduction { kernel, element, dest, source, .. } = reduction;
        Self { dest, source, element, kernel: Some(kernel), ..Self::NONE }
    }
}

/// One member in one call.
struct Play<'a> {
    call: Call<'a>,
    hierarchy: &'a Hierarchy,
    protocol: &'a dyn Protocol,
    plan: &'a NodePlan,
    /// The numbers of the call follow this one.
    before: u64,
    data: Data,
}

impl Play<'_> {
    /// Does these steps, which are those of the protocol for this member.
    ///
    /// # Safety
    /// The arrays have the elements of the plan on all members, who make the same call; the hand has the room that the
    /// protocol asks for.
    unsafe fn all(&self, steps: impl Iterator<Item = Move>) {
        let mut operands = Vec::new();
        for step in steps {
            match step {
                Move::Write { line, number, from, len } => self.write(line, number, from, len),
                Move::Wait { of, line, number } => self.wait(of, line, number),
                // SAFETY: the hand has room for what the protocol takes, and a payload is never longer than a line.
                Move::Take { of, line, into, len, .. } => self.line(of, line).payload.with(|words| unsafe {
                    let into = self.data.hand.add(into as usize * self.data.element);
                    ptr::copy_nonoverlapping(words.cast(), into, len as usize * self.data.element);
                }),
                // SAFETY: the arrays and the hand have the elements; the prover has shown that no other member writes them now.
                Move::Copy { into, from, len } => unsafe { self.copy(into, from, len) },
                // SAFETY: the arrays and the hand have the elements; the prover has shown that no other member writes them now.
                Move::Fold { into, operands: of, len } => unsafe { self.fold(into, of, len, &mut operands) },
                Move::Meet { .. } => unreachable!("no protocol of levels counts in"),
                Move::Skip | Move::Done => {}
            }
        }
    }

    fn line(&self, of: u32, line: u32) -> &'static Line {
        // The parity of a synchronisation is that of its first number.
        let parity = (self.before as usize + 1) & 1;
        self.hierarchy.lines[of as usize].line(self.protocol.traffic(), parity, line)
    }

    fn stamp(&self, number: u64) -> u64 {
        self.call.signature.stamp(self.before + number)
    }

    fn write(&self, line: u32, number: u64, from: u64, len: u64) {
        let (team, mine) = (self.call.team, self.line(self.call.team.my, line));
        if len > 0 {
            // SAFETY: no other member writes this line, and the prover has shown that none reads it now; the hand has the
            // elements, which fit the payload.
            mine.payload.with_mut(|words| unsafe {
                let from = self.data.hand.add(from as usize * self.data.element);
                ptr::copy_nonoverlapping(from, words.cast(), len as usize * self.data.element);
            });
        }
        mine.sequence.store(self.stamp(number), Release);
        let reader = |index| self.protocol.reader(&self.hierarchy.shape, self.plan, team.my, line, index);
        (0..).map_while(reader).for_each(|reader| nudge(team, reader));
    }

    fn wait(&self, of: u32, line: u32, number: u64) {
        let word = &self.line(of, line).sequence;
        match self.protocol.traffic() {
            Traffic::Synchronising => until_reached(self.call, of, word, self.stamp(number)),
            Traffic::OneWay { .. } => until_stamped(self.call, of, word, self.stamp(number)),
        }
    }

    /// Where `len` elements at a spot are in the caller's memory.
    fn locate(&self, spot: Spot, len: u64) -> *mut u8 {
        let (offset, bytes) = (spot.at as usize * self.data.element, len as usize * self.data.element);
        let own = match spot.place {
            NodePlace::Hand => return self.data.hand.wrapping_add(offset),
            NodePlace::Source => self.data.source.cast_mut(),
            NodePlace::Dest => self.data.dest,
        };
        if spot.of == self.call.team.my {
            return own.wrapping_add(offset);
        }
        self.call.at(spot.of, own.wrapping_add(offset), bytes)
    }

    /// # Safety
    /// The elements are there, and no other member writes them now.
    unsafe fn copy(&self, into: Spot, from: Spot, len: u64) {
        if self.data.spared && into.place == NodePlace::Dest {
            return;
        }
        let (into, from) = (self.locate(into, len), self.locate(from, len));
        if !ptr::eq(into, from) {
            // SAFETY: the caller vouches for both.
            unsafe { ptr::copy(from, into, len as usize * self.data.element) };
        }
    }

    /// # Safety
    /// The elements are there, and no other member writes them now.
    unsafe fn fold(&self, into: Spot, operands: Operands, len: u64, sources: &mut Vec<*const u8>) {
        let kernel = self.data.kernel.expect("only reductions fold");
        sources.clear();
        node::operands(&self.hierarchy.shape, self.call.team.my, operands, len, |spot| {
            sources.push(self.locate(spot, len).cast_const());
        });
        // SAFETY: the caller vouches for the elements; the result lies in the place of an operand or apart from all.
        unsafe { kernel.fold(self.locate(into, len), sources, len as usize, Store::Cached) };
    }
}

//! Broadcasts whose root goes on at once, for teams that span nodes.
//!
//! The payload goes down a tree of leaders, from ring to ring, and each member copies it from the ring of its leader. A put's source is
//! the block of the ring, and the signal behind it is a stamp beside the blocks: the number of the call with its signature. The root stamps
//! the block of its own node, where its leader waits for that. A leader that has passed the payload on releases its node, and goes on:
//! other members may be behind by all broadcasts of a half. No member is ahead of its leader.
//!
//! **When a block may be written again.** Blocks lie one behind the other in the two halves of a ring. A leader that has left a synchronising run
//! knows that all leaders have entered it. So every node has taken the broadcasts before it, every put of these has been received,
//! and both halves are free. The same is true of a leader that has left a barrier of all PEs ([`last_meeting`] says which teams look
//! at these). Without such a meeting the halves take turns, and a half is written again when it has been acknowledged:
//!
//! - A leader acknowledges a half to its parent when two things are true: its node has taken every broadcast in it, and its own
//!   children have acknowledged it. The first holds when the node has counted in, at the first broadcast in the other half. The
//!   second matters because the leader forwards from its block, and the network may read a put's source late: behind a full socket,
//!   in a batch, or again after a broken connection. A put that has been received is not read again.
//! - A leader, and a root before it writes its payload, waits for the acknowledgements of all children before the first broadcast
//!   that uses the half again. So the sources of its own puts are free, and the blocks of its children may be written.
//!   A root that does not lead its node reads its leader's counts. It has been released from the broadcast before, so its leader had left the
//!   half, and counted the acknowledgements of the children that are still to come, before that.
//!
//! A leader sends an acknowledgement when it finds at the beginning or the end of a broadcast that its children's have come. It sends
//! it at the latest when it waits for them itself, in the call in which its parent waits for it. Waits go down the tree only, so
//! they end.
//!
//! Acknowledgements go up one tree. So while halves take turns all broadcasts go down one tree (`free_buffers::ring`); another tree needs
//! a synchronising run first. After a run a leader sends its pending acknowledgements without a look at its children, in the first broadcast,
//! which waits for no acknowledgement. So no acknowledgement waits for another tree.
//!
//! **Why acknowledgements may be counted.** A child acknowledges a half again only when it has taken what its parent put there after
//! all its children had acknowledged the half. So the sum that a parent waits for has no acknowledgement of a later turn in place of
//! a missing one. The sum only grows, from team to team, because an acknowledgement may arrive after the end of its team.
//!
//! **Why a member in another call is noticed.** Each member compares the stamp of its block with its own call. It also looks whether its
//! leader is in an exchange, or has stated another call; a leader that waits for the root of its node looks whether a member has counted in.
//! A root looks whether its block has the stamp of another root.
//!
//! **Why a node that has missed a broadcast is noticed.** Nobody waits for it in the broadcast, and in a later one it may find the stamp of
//! the missed one. So the signatures of the team's messages carry a digest of its broadcasts (`leader_wire`), and the next meeting ends
//! the job.
//!
//! `model` has all of this, under a network that is as late and as far out of order as a lane may be.

use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use oxshmem_base::planted;

use oxshmem_schedule::algorithm::Schedule;
use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::{Algorithm, Caller, Place, Plan, PutSignal};
use oxshmem_schedule::way::size_limits::EAGER_BROADCAST;
use oxshmem_transport::{Amo, Region, Remote, SignalUpdate, Width};

use super::meeting::pass_on;
use super::{buffer_leases, gather_node};
use crate::collectives::call::Call;
use crate::collectives::free_buffers::ring::BroadcastTree;
use crate::collectives::run::{self, Arrays, Wire};
use crate::collectives::signature::{number_of, signature_of};
use crate::collectives::{arrivals, barrier};
use crate::memory::control::broadcast_ring::{BLOCK_ALIGN, BroadcastRing, HALF};
use crate::memory::control::{self, BROADCAST_RINGS, ControlBlock};
use crate::network::lane;
use crate::teams::span::Span;
use crate::teams::team::TeamState;
use crate::wait;

const _: () = assert!(EAGER_BROADCAST <= HALF);

/// The root writes the payload (`write`), all members `take` it. Returns whether there was room, on all members alike.
pub(super) fn broadcast(
    call: Call<'_>,
    span: &Span,
    tree: Tree,
    bytes: usize,
    root: u32,
    write: impl Fn(*mut u8),
    take: impl Fn(*const u8),
) -> bool {
    let team = call.team;
    let Some(number) = buffer_leases::ring(call, span) else { return false };
    let plan = Plan { root: span.node_of(root), ..Plan::new(span.nodes(), bytes as u64) };
    let tree_of_ring = BroadcastTree { root: plan.root, radix: tree.radix };
    let Some(block) = team.ring.blocks.lock().block(last_meeting(team), bytes, tree_of_ring) else { return false };
    let turn = team.next_turn(tree.traffic());
    let leads = team.my == span.my_leader();
    let ring = BROADCAST_RINGS.get(team.window(span.my_leader()), number);
    let wire = Leader { call, span, ring, at: block.at, stamp: call.signature.stamp(turn.call) };
    if let Some(half) = block.again
        && (leads || team.my == root)
    {
        wire.wait_for_children(half);
    }
    if leads {
        acknowledge(call, ring);
    }
    let number = team.next_announcement();
    if team.my == root {
        write(wire.block());
        wire.stamp_own_block();
    }
    if let Some(half) = block.left {
        planted!("half-left-without-the-node", gather_node(call, span, number), ());
        if leads {
            wire.defer_acknowledgement(half, tree, &plan);
            acknowledge(call, ring);
        }
    }
    if leads {
        if team.my != root && plan.root == span.node() {
            wire.wait_for_root_here();
        }
        let arrays = Arrays { dest: wire.block(), room: bytes, source: wire.block(), ..Arrays::NONE };
        // The payload is already where the root's node takes it from.
        let plan = Plan { call: turn.call, root_apart: true, ..plan };
        // SAFETY: `RingBlocks::block` has given a block of as many bytes as the plan has, in the rings of all leaders. The root has
        // laid the payload down in its leader's, and the head of the file says when blocks may be written.
        unsafe { run::run(&wire, ptr::null_mut(), &Schedule::Tree(tree), &plan, &Caller::new(span.node()), arrays) };
    }
    pass_on(call, span, number);
    wire.compare(wire.stamped().load(Acquire));
    take(wire.block());
    team.note_posted(call.signature);
    team.ring.last.store(wire.stamp, Relaxed);
    if leads {
        acknowledge(call, ring);
    }
    true
}

/// The number of the last meeting before which all members have taken the broadcasts that they have made; it changes on all
/// members between the same two broadcasts.
///
/// Each synchronising run of the team is such a meeting. For active sets of PEs whose calls come one at a time a barrier of all PEs
/// is one, too: a member enters it when it has left its broadcasts before, none of which is nonblocking, and all PEs make their
/// collectives in one order. So a program with a work array for each call finds the beginning of each ring in the cache.
fn last_meeting(team: &TeamState) -> u32 {
    let barriers = if team.ring.follows_barriers.load(Relaxed) { barrier::last_of_all() } else { 0 };
    team.synchronising_runs().wrapping_add(barriers)
}

/// Sends the pending acknowledgements of the caller, a leader, that are due.
fn acknowledge(call: Call<'_>, ring: &BroadcastRing) {
    acknowledge_if(call.name, call.team, ring, |half| {
        planted!("acknowledged-before-children", have_children(ring, half), true)
    });
}

/// A team ends, after a synchronising run: sends all that are pending.
pub(super) fn acknowledge_all(call: &'static str, team: &TeamState, ring: &BroadcastRing) {
    acknowledge_if(call, team, ring, |_| true);
}

/// Whether all children have acknowledged a half.
fn have_children(ring: &BroadcastRing, half: usize) -> bool {
    let have_come = ring.acknowledged[half].load(Acquire) >= ring.expected[half].load(Relaxed);
    planted!("block-without-acknowledgement", have_come, true)
}

fn acknowledge_if(call: &'static str, team: &TeamState, ring: &BroadcastRing, have_children: impl Fn(usize) -> bool) {
    let parents = team.ring.pending.lock().due(last_meeting(team), have_children);
    for (parent, count) in parents.into_iter().zip(&ring.acknowledged) {
        if let Some(pe) = parent {
            let word = Remote { pe, region: Region::Control, offset: control::offset(count) };
            // SAFETY: a word of the parent's ring; no old value is asked for.
            lane::issue(call, |lane| unsafe { lane.amo(word, Width::Eight, Amo::Add(1), ptr::null_mut()) });
        }
    }
}

/// One broadcast, among the leaders.
struct Leader<'a> {
    call: Call<'a>,
    span: &'a Span,
    /// The ring of the node's leader.
    ring: &'static BroadcastRing,
    /// Where the block begins.
    at: usize,
    stamp: u64,
}

impl Leader<'_> {
    fn block(&self) -> *mut u8 {
        self.ring.blocks.get().cast::<u8>().wrapping_add(self.at)
    }

    /// The place at another node's leader where the caller, a leader, has `own`.
    fn remote<T>(&self, node: u32, own: *const T) -> Remote {
        let pe = self.call.team.world(self.span.leader(node));
        Remote { pe, region: Region::Control, offset: control::offset(own) }
    }

    fn stamped(&self) -> &'static AtomicU64 {
        &self.ring.stamps[self.at / BLOCK_ALIGN]
    }

    /// The caller, the root, has laid the payload down. Ends the job if another member takes itself for the root, too, and its stamp has come
    /// before. One that comes later stays here, where `missed_broadcasts` finds it.
    fn stamp_own_block(&self) {
        let before = self.stamped().swap(self.stamp, AcqRel);
        if number_of(before) == number_of(self.stamp) {
            self.call.differs(None, signature_of(before));
        }
        let leader = self.span.my_leader();
        if self.call.team.my != leader {
            ControlBlock::of(self.call.team.window(leader)).bell().ring();
        }
    }

    /// Returns when the root, another member of the caller's node, has laid the payload down. No member is ahead of the caller, so one that
    /// has counted in is in another call.
    fn wait_for_root_here(&self) {
        let (team, stamped) = (self.call.team, self.stamped());
        let arrivals = &team.place(team.my).arrivals.0;
        wait::until(self.call.reason(stamped), Some(ControlBlock::own().bell()), || {
            // Read before the stamp: a member that has made the broadcast counts in later.
            let arrived = arrivals.load(Acquire);
            let has_come = number_of(stamped.load(Acquire)) == number_of(self.stamp);
            if !has_come && arrived != 0 {
                self.call.differs(None, arrivals::signature(self.call, arrived));
            }
            has_come.then_some(())
        });
    }

    /// Ends the job if the block has the stamp of another call.
    fn compare(&self, stamped: u64) {
        if stamped != self.stamp {
            self.call.differs(None, signature_of(stamped));
        }
    }

    /// The node has taken all broadcasts in a half: the acknowledgement to its parent is pending, and those of its children are still to come.
    fn defer_acknowledgement(&self, half: usize, tree: Tree, plan: &Plan) {
        let (team, node) = (self.call.team, self.span.node());
        let expected = &self.ring.expected[half];
        expected.store(expected.load(Relaxed) + u64::from(tree.children(plan, node)), Relaxed);
        if let Some(parent) = tree.parent(plan, node) {
            team.ring.pending.lock().add(half, team.world(self.span.leader(parent)), last_meeting(team));
        }
    }

    /// Returns when all children have acknowledged a half.
    fn wait_for_children(&self, half: usize) {
        let reason = self.call.reason(&self.ring.acknowledged[half]);
        wait::until(reason, None, || have_children(self.ring, half).then_some(()));
    }
}

impl Wire for Leader<'_> {
    unsafe fn put(&self, to: u32, from: *const u8, _place: Place, offset: usize, bytes: usize, _signal: PutSignal) {
        let block = self.remote(to, self.block().wrapping_add(offset).cast_const());
        let stamp = self.remote(to, self.stamped());
        lane::issue(self.call.name, |lane| {
            // SAFETY: `from` is the caller's block. The head of the file says why it is not written before the child has received
            // what is put here, and why the child's block may be written.
            unsafe {
                if planted!("stamp-before-payload", false, true) {
                    lane.put(block, from, bytes);
                    return lane.amo(stamp, Width::Eight, Amo::Swap(self.stamp), ptr::null_mut());
                }
                lane.put_signal(block, from, bytes, stamp, SignalUpdate::Set(self.stamp));
            }
        });
    }

    fn wait(&self, _word: u32, _value: u64) {
        let stamped = self.stamped();
        self.compare(wait::until(self.call.reason(stamped), None, || {
            Some(stamped.load(Acquire)).filter(|&stamped| number_of(stamped) == number_of(self.stamp))
        }));
    }

    fn wait_count(&self, _total: u64) {
        unreachable!("a tree signals words alone")
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

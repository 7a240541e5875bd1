//! Broadcasts whose root goes on at once, for teams that span nodes.
//!
//! The payload goes down a tree of leaders, from room to room of their zones, and everybody takes it from the leader's. It is
//! put from where it lies, and the signal behind it is a stamp beside the rooms: the number of the call with its signature.
//!
//! **Why a room may be written again.** Rooms lie one behind the other in two halves. Whoever has left a synchronising run
//! knows that all have entered it, so all have taken what was broadcast before, and both halves are free. Without such a run
//! the halves take turns. The first broadcast in one half is where each leader, when its node has counted in and so has taken
//! everything in the other half, says so to its parent in the tree. The parent waits for all its children when it is about to
//! use that half again: a half later, so the words have long come, and nobody has stopped. By then the children have also
//! received what the parent put from its own half. That holds among a parent and its children, so while halves take turns
//! all broadcasts go down one tree (`zones::Ring`); what goes down another one needs a synchronising run first.
//!
//! **Why what children say may be counted.** A child says it of a half again only when it has taken what the parent put there
//! after having waited for all its children. So nothing but what is owed reaches the sum that a parent waits for. What is
//! owed only grows, from team to team, because a word may come after the run that made it useless.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::algorithm::{Collective, Schedule};
use oxshmem_schedule::step::{Algorithm, Caller, Place, Plan, Signal};
use oxshmem_transport::{Amo, Region, Remote, SignalUpdate, Width};

use super::{NO_ARRAYS, Reach, gather, lending, release, way};
use crate::collectives::call::Call;
use crate::collectives::executor::{self, Arrays, Wire};
use crate::collectives::limits::EAGER_BROADCAST;
use crate::collectives::signature::{number_of, signature_of};
use crate::collectives::zones::CastTree;
use crate::memory::control;
use crate::memory::control::mail::{CAST, Zones};
use crate::network::lane;
use crate::teams::span::Span;
use crate::wait::{self, Reason};

/// The root `lay`s the payload down, everybody `take`s it. Returns whether there was room, on all members alike.
pub(super) fn cast(
    call: Call<'_>,
    span: &Span,
    bytes: usize,
    root: u32,
    lay: impl Fn(*mut u8),
    take: impl Fn(*const u8),
) -> bool {
    let team = call.team;
    if bytes > EAGER_BROADCAST {
        return false;
    }
    let Some(zone) = lending::zone(call, span) else { return false };
    let plan = Plan { root: span.node_of(root), ..Plan::new(span.nodes(), bytes as u64) };
    let way = way(call, Collective::Broadcast, &plan, 1, plan.count, Reach::Results);
    let Some(Schedule::Tree(tree)) = way.filter(|way| way.piece == plan.count).map(|way| way.schedule) else {
        return false;
    };
    let cast_tree = CastTree { root: plan.root, radix: tree.radix };
    let Some(room) = team.zone.cast(team.synchronising_runs(), bytes, cast_tree) else { return false };
    let turn = team.next_turn(tree.traffic());
    let leads = team.my == span.my_leader();
    let zones = control::zones(team.window(span.my_leader()), zone);
    let wire = Leader { call, span, zones, at: room.at, stamp: call.signature.stamp(turn.call) };
    if let Some(half) = room.again
        && (leads || team.my == root)
    {
        wire.wait_for_children(half);
    }
    if team.my == root {
        lay(wire.room());
    }
    let number = team.next_announcement();
    gather(call, span, number);
    if leads {
        if let Some(half) = room.left {
            wire.tell_parent(half, tree, &plan);
        }
        let arrays = Arrays { dest: wire.room(), room: bytes, source: wire.room(), ..NO_ARRAYS };
        // The payload is already where the root's node takes it from.
        let plan = Plan { call: turn.call, root_apart: true, ..plan };
        // SAFETY: `team.zone.cast` has given a room of as many bytes as the plan has, in the zones of all leaders. The root has
        // laid the payload down in its leader's, and the head of the file says why the others may be written.
        unsafe {
            executor::run(&wire, ptr::null_mut(), &Schedule::Tree(tree), &plan, &Caller::new(span.node()), arrays)
        };
    }
    release(call, span, number, |words| &words.announced);
    take(wire.room());
    true
}

/// One broadcast, among the leaders.
struct Leader<'a> {
    call: Call<'a>,
    span: &'a Span,
    /// The zones of the node's leader.
    zones: &'static Zones,
    /// Where the room begins.
    at: usize,
    stamp: u64,
}

impl Leader<'_> {
    fn room(&self) -> *mut u8 {
        self.zones.casts.get().cast::<u8>().wrapping_add(self.at)
    }

    /// The place at another node's leader where the caller, a leader, has `own`.
    fn remote<T>(&self, node: u32, own: *const T) -> Remote {
        let pe = self.call.team.world(self.span.leader(node));
        Remote { pe, region: Region::Control, offset: control::offset(own) }
    }

    fn reason<T>(&self, word: &T) -> Reason<'_> {
        Reason { call: self.call.name, address: ptr::from_ref(word) as usize, needs: self.call.team.needed() }
    }

    /// The node has taken all broadcasts in a half, and its children will have.
    fn tell_parent(&self, half: usize, tree: Tree, plan: &Plan) {
        let owed = &self.zones.owed[half];
        let children = tree.children(plan, self.span.node());
        owed.store(owed.load(Relaxed) + u64::from(children), Relaxed);
        if let Some(parent) = tree.parent(plan, self.span.node()) {
            let word = self.remote(parent, &raw const self.zones.taken[half]);
            // SAFETY: a word of the parent's zone; no old value is asked for.
            lane::issue(self.call.name, |lane| unsafe { lane.amo(word, Width::Eight, Amo::Add(1), ptr::null_mut()) });
        }
    }

    /// Returns when all children have said that they have taken what was in a half.
    fn wait_for_children(&self, half: usize) {
        let (taken, owed) = (&self.zones.taken[half], self.zones.owed[half].load(Relaxed));
        wait::until(self.reason(taken), None, || (taken.load(Acquire) >= owed).then_some(()));
    }
}

impl Wire for Leader<'_> {
    unsafe fn put(&self, to: u32, from: *const u8, _place: Place, offset: usize, bytes: usize, _signal: Signal) {
        let room = self.remote(to, self.room().wrapping_add(offset).cast_const());
        let stamp = self.remote(to, &raw const self.zones.stamps[self.at / CAST]);
        lane::issue(self.call.name, |lane| {
            // SAFETY: `from` is the caller's room, which is not written before the children have received what is put here; the
            // target's room may be written, as the head of the file says.
            unsafe { lane.put_signal(room, from, bytes, stamp, SignalUpdate::Set(self.stamp)) }
        });
    }

    fn wait(&self, _word: u32, _value: u64) {
        let stamp = &self.zones.stamps[self.at / CAST];
        let stamped = wait::until(self.reason(stamp), None, || {
            Some(stamp.load(Acquire)).filter(|&stamped| number_of(stamped) == number_of(self.stamp))
        });
        if stamped != self.stamp {
            self.call.differs(None, signature_of(stamped));
        }
    }

    fn wait_count(&self, _total: u64) {
        unreachable!("a tree signals words alone")
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

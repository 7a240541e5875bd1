//! Broadcasts whose root goes on at once, for teams that span nodes.
//!
//! The payload goes down a tree of leaders, from room to room of their zones, and everybody takes it from the leader's. It is
//! put from where it lies, and the signal behind it is a stamp beside the rooms: the number of the call with its signature.
//!
//! **When a room may be written again.** Rooms lie one behind the other in two halves. An *epoch* fills one half, the next one the
//! other: epoch e+2 writes what epoch e has written. A leader's half of epoch e is free when
//!
//! 1. its node has taken all broadcasts of e, which is so when all members have counted in at the first one of e+1, and
//! 2. its children of e have received what it has put to them. It forwards from its room, and the network may read a put's source
//!    late: behind a full socket, in a batch, or again after a broken connection. A put that has been received is not read again.
//!
//! A leader tells the first to its parents of e, who need it for their second (`received`); and both to them, because they are likely to
//! be its parents again (`freed`). It looks whether its children have told it at the beginning and at the end of each broadcast.
//! Nobody but a leader's parent writes to its rooms, and a parent does so in epoch e+2 only when it has been told that e is freed.
//! A root lays its payload down when its own leader has freed e.
//!
//! **Why waits end.** Let all leaders have left every call before call j, of epoch e+2. In j a leader waits, before anything else, for
//! its children of e to receive: they have told it in the first call of e+1, when their nodes had counted in, before they waited
//! for another node. Then its own half is free, and it tells so to its parent of j if that does not know. So a parent that waits in
//! j waits for a leader to enter j. The payload comes down the tree.
//!
//! **Why tidings may be added.** A word at a leader is written by one other leader, which adds what its number has grown. Sums do not
//! depend on an order, and a part of a sum is a number that was true. The words begin with zero when the team does: the leaders complete
//! their tidings before they meet for the last time.
//!
//! `model` has all of this, under a network that is as late and as far out of order as a lane may be.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Release};
use oxshmem_base::planted;

use oxshmem_schedule::algorithm::{Collective, Schedule};
use oxshmem_schedule::step::{Algorithm, Caller, Place, Plan, Signal};
use oxshmem_transport::{Amo, Region, Remote, SignalUpdate, Width};

use super::{NO_ARRAYS, Reach, gather, lending, release, way};
use crate::collectives::call::Call;
use crate::collectives::executor::{self, Arrays, Wire};
use crate::collectives::limits::EAGER_BROADCAST;
use crate::collectives::signature::{number_of, signature_of};
use crate::collectives::zones::rooms::CastRoom;
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
    let Some(room) = team.zone.room(bytes) else { return false };
    let turn = team.next_turn(tree.traffic());
    let leads = team.my == span.my_leader();
    let zones = control::zones(team.window(span.my_leader()), zone);
    let wire = Leader { call, span, zones, room, stamp: call.signature.stamp(turn.call) };
    if leads {
        wire.enter(tree.parent(&plan, span.node()));
        if room.opens && planted!("left-before-the-node", false, true) {
            wire.leave();
        }
    }
    if team.my == root {
        wire.wait_for_own_half();
        lay(wire.room());
    }
    let number = team.next_announcement();
    gather(call, span, number);
    if leads {
        if room.opens && planted!("left-before-the-node", true, false) {
            wire.leave();
        }
        let arrays = Arrays { dest: wire.room(), room: bytes, source: wire.room(), ..NO_ARRAYS };
        // The payload is already where the root's node takes it from.
        let plan = Plan { call: turn.call, root_apart: true, ..plan };
        // SAFETY: `Lent::room` has given a room of as many bytes as the plan has, in the zones of all leaders. The root has
        // laid the payload down in its leader's, and the head of the file says when rooms may be written.
        unsafe {
            executor::run(&wire, ptr::null_mut(), &Schedule::Tree(tree), &plan, &Caller::new(span.node()), arrays)
        };
    }
    release(call, span, number, |words| &words.announced);
    take(wire.room());
    if leads {
        wire.free();
    }
    true
}

/// One broadcast, among the leaders.
struct Leader<'a> {
    call: Call<'a>,
    span: &'a Span,
    /// The zones of the node's leader.
    zones: &'static Zones,
    room: CastRoom,
    stamp: u64,
}

impl Leader<'_> {
    fn room(&self) -> *mut u8 {
        self.zones.casts.get().cast::<u8>().wrapping_add(self.room.at)
    }

    /// The place at another node's leader where the caller, a leader, has `own`.
    fn remote<T>(&self, node: u32, own: *const T) -> Remote {
        let pe = self.call.team.world(self.span.leader(node));
        Remote { pe, region: Region::Control, offset: control::offset(own) }
    }

    fn reason<T>(&self, word: &T) -> Reason<'_> {
        Reason { call: self.call.name, address: ptr::from_ref(word) as usize, needs: self.call.team.needed() }
    }

    /// The leader begins: its half is free when this returns, and the parent knows.
    fn enter(&self, parent: Option<u32>) {
        self.free();
        let credits = || self.call.team.zone.credits();
        if !self.room.is_free(credits().freed()) {
            let reason = self.reason(&self.zones.received);
            wait::until(reason, None, || {
                self.free();
                self.room.is_free(credits().freed()).then_some(())
            });
        }
        if let Some(parent) = parent {
            credits().expect_from(self.room, parent);
            if credits().must_tell(self.room, parent) && planted!("untold-parent", true, false) {
                self.tell(&[parent]);
            }
        }
    }

    /// The node has counted in at the first broadcast of an epoch: it has taken those before.
    fn leave(&self) {
        let parents = self.call.team.zone.credits().leave(self.room.epoch);
        self.free();
        self.tell(&parents);
    }

    /// Frees the half of the epoch that the node has left, if the children have received all that was put from it.
    fn free(&self) {
        let has_received = |child: u32| {
            let words = [&self.zones.received, &self.zones.freed];
            words.map(|words| words[child as usize].load(Acquire)).into_iter().max().unwrap_or_default()
        };
        let (parents, freed) = {
            let mut credits = self.call.team.zone.credits();
            (credits.free(has_received), credits.freed())
        };
        self.zones.own_freed.store(freed, Release);
        self.tell(&parents);
    }

    /// Tells other leaders what they do not know of this one's halves.
    fn tell(&self, nodes: &[u32]) {
        let own = self.span.node() as usize;
        for &node in nodes {
            let tidings = self.call.team.zone.credits().tell(node);
            for (words, more) in [(&self.zones.received, tidings.received), (&self.zones.freed, tidings.freed)] {
                if more > 0 {
                    let word = self.remote(node, &raw const words[own]);
                    // SAFETY: this leader's word in the other's zone; no old value is asked for.
                    lane::issue(self.call.name, |lane| unsafe {
                        lane.amo(word, Width::Eight, Amo::Add(more), ptr::null_mut());
                    });
                }
            }
        }
    }

    /// Returns when the root may lay its payload down.
    fn wait_for_own_half(&self) {
        let freed = &self.zones.own_freed;
        wait::until(self.reason(freed), None, || self.room.is_free(freed.load(Acquire)).then_some(()));
    }

    /// Returns when a child's half is free.
    fn wait_for_child(&self, child: u32) {
        let freed = &self.zones.freed[child as usize];
        let is_free = || self.room.is_free(freed.load(Acquire)) || planted!("room-without-credit", false, true);
        wait::until(self.reason(freed), None, || is_free().then_some(()));
    }
}

impl Wire for Leader<'_> {
    unsafe fn put(&self, to: u32, from: *const u8, _place: Place, offset: usize, bytes: usize, _signal: Signal) {
        self.wait_for_child(to);
        self.call.team.zone.credits().send_to(self.room, to);
        let room = self.remote(to, self.room().wrapping_add(offset).cast_const());
        let stamp = self.remote(to, &raw const self.zones.stamps[self.room.at / CAST]);
        lane::issue(self.call.name, |lane| {
            // SAFETY: `from` is the caller's room. The head of the file says why it is not written before the child has received
            // what is put here, and why the child's room may be written.
            unsafe {
                if planted!("stamp-before-payload", false, true) {
                    lane.put(room, from, bytes);
                    return lane.amo(stamp, Width::Eight, Amo::Swap(self.stamp), ptr::null_mut());
                }
                lane.put_signal(room, from, bytes, stamp, SignalUpdate::Set(self.stamp));
            }
        });
    }

    fn wait(&self, _word: u32, _value: u64) {
        let stamp = &self.zones.stamps[self.room.at / CAST];
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

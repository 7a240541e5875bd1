//! The team channel: the memory through which the leaders of a team, and the members of a node with their leader, hand bytes to
//! each other, and the one argument for its reuse.
//!
//! | memory | written by | read by | belongs to |
//! |---|---|---|---|
//! | lines | each member, its own | its leader; leaders of other nodes, by gets | an exchange |
//! | gather buffers | the node's members, each its part; leaders, the parts of their nodes | the node's members; the network, for the leader's puts | an exchange |
//! | outgoing buffers | the node's members, each its part | the network, for the leader's puts | an exchange |
//! | mailboxes, words, counters, scratch | the leaders that the schedule names | the leader that owns them | a run |
//! | copies of operands | the leader that owns them | the network, for the leader's puts | a run |
//! | blocks of a broadcast ring | the root; the leader of the parent node | the node's members; the network, for puts to children | a broadcast |
//!
//! # When memory may be written again
//!
//! A writer needs a credit. Of everything but broadcasts there are two copies, for even and odd numbers of runs or exchanges. So
//! each writer begins with two credits, and the credit for number k+2 comes back with the messages of number k+1:
//!
//! 1. No leader leaves a synchronising run before all leaders have entered it; `oxshmem_schedule::prove` shows that of each schedule.
//!    An exchange has such a run between the members' counting in and their release. So no member leaves an exchange before all
//!    members have entered it.
//! 2. All members make the runs and exchanges of a team in one order. A member that writes for number k+2 has left number k+1. By 1
//!    all have entered k+1, so all have left k.
//! 3. A member that has left k needs nothing that belongs to k:
//!    - Each message has a signal or is its own, and the leader that it goes to waits for it before it leaves (the prover: no signal
//!      is left behind). So no message of k is under way, and nothing lands late.
//!    - The network has read the sources of these messages, because they have arrived.
//!    - Members take what is theirs before they leave.
//!
//! Hence no leader waits for the network to report that it has read a source: a run puts an operand that changes from a copy, and
//! operands in buffers that stay for the run from where they lie.
//!
//! The root of a broadcast leaves before others enter, so 1 does not hold. There credits are messages of their own, by halves of a
//! ring: see [`broadcast_ring`](super::broadcast_ring).
//!
//! **Words that only grow.** Words and counters are never set back: their values grow over all teams that have the slot
//! (`collectives::run`).
//!
//! **Numbers that come round.** The words of a mailbox name the run in 31 bits. A leader clears the mailboxes of one parity when a
//! run of the other one begins, every 2^29 runs: the run before is over, and by 2 no leader can have sent for the next one. So no word
//! is ever old enough to be taken for one of the present run.
//!
//! **The end of a team** comes after a run in which all leaders have met ([`give_back`]). That of an active set comes after all PEs have
//! met in the call that frees its array, each behind its last call of the set (`active_set::freed`). By 3 nothing is under way to the memory of
//! the channel but acknowledgements of broadcasts, whose counts only grow. So the next team may have it, with mailboxes and stamps
//! cleared.
//!
//! [`model`] takes all orders of events of small teams, over a network that reads and lands as late as a lane may, and finds each rule
//! that is too weak.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicU64;

use oxshmem_base::planted;
use oxshmem_schedule::step::{Traffic, Turn};

use super::{broadcast_ring, gather_node, release};
use crate::collectives::arrivals;
use crate::collectives::call::Call;
use crate::memory::control::leaders::{COPIES, MAILBOX_WORDS, TeamBuffers};
use crate::memory::control::signals::CallSignals;
use crate::memory::control::{
    BROADCAST_RINGS, MAILBOXES, OUTGOING_BUFFERS, PAYLOAD_WORDS, SMALL_GATHERS, TEAM_BUFFERS,
};
use crate::teams::span::Span;
use crate::teams::team::TeamState;

/// The copy of the team channel's memory that belongs to a run or an exchange: one of the two credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Credit(usize);

impl Credit {
    pub(super) fn of(number: u64) -> Self {
        Self(number as usize & 1)
    }

    /// Its copy of something.
    pub(super) fn pick<T>(self, copies: &[T; 2]) -> &T {
        &copies[self.0]
    }

    fn other(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The memory of an exchange: all members count in, the leaders make at least one synchronising run, all members are released.
pub(super) struct Exchange<'a> {
    call: Call<'a>,
    span: &'a Span,
    number: u64,
}

impl<'a> Exchange<'a> {
    /// The team's next one.
    pub(super) fn begin(call: Call<'a>, span: &'a Span) -> Self {
        Self { call, span, number: call.team.next_exchange() }
    }

    /// The number of the exchange with the signature of the call after the team's broadcasts.
    pub(super) fn stamp(&self) -> u64 {
        self.call.signature.after(self.call.team.posted()).stamp(self.number)
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The caller has laid down what it brings. A leader returns when all members of its node have.
    pub(super) fn count_in(&self) {
        let team = self.call.team;
        if team.my == self.span.my_leader() {
            // For members in a broadcast whose leader does not wait for them.
            arrivals::sign(team, self.stamp());
        }
        gather_node(self.call, self.span, self.number);
    }

    /// A leader lets its members go on; they return when they may take the result.
    pub(super) fn release(&self) {
        release(self.call, self.span, self.number, |words| &words.released);
    }

    fn credit(&self) -> Credit {
        Credit::of(self.number)
    }

    fn line_credit(&self) -> Credit {
        planted!("line-parity", self.credit(), Credit(0))
    }

    /// Writes the caller's line.
    pub(super) fn write_line(&self, payload: &[u64]) {
        let team = self.call.team;
        self.line_credit().pick(&team.place(team.my).lines).payload.with_mut(|words| {
            // SAFETY: no other member writes this line, and none reads it now: the head of the file.
            unsafe { (&mut *words)[..payload.len()].copy_from_slice(payload) };
        });
    }

    /// Looks at the line of a member of the node, which has counted in, or at the leader's after the release.
    pub(super) fn read_line<R>(&self, member: u32, look: impl FnOnce(&[u64; PAYLOAD_WORDS]) -> R) -> R {
        let line = self.line_credit().pick(&self.call.team.place(member).lines);
        // SAFETY: the owner wrote it before it counted in, which the caller has seen, or before the release. It writes the line again
        // for the next exchange but one: the head of the file.
        line.payload.with(|words| look(unsafe { &*words }))
    }

    /// Says, before the caller counts in, in which array its leader will look for its operand.
    pub(super) fn name_source(&self, source: *const u8) {
        self.write_line(&[self.call.compared_name(source)]);
    }

    /// Ends the job if a member of the node, of which all have counted in, has named another array than the caller, a leader.
    pub(super) fn compare_sources(&self, source: *const u8) {
        let mine = self.call.compared_name(source);
        let other = self.span.here().find(|&member| self.read_line(member, |line| line[0]) != mine);
        if let Some(member) = other {
            self.call.other_array(member, "source");
        }
    }

    /// The leader's gather buffer, of a team that has leased buffers.
    pub(super) fn gather(&self) -> *mut u8 {
        let (credit, window) = (self.credit(), self.call.team.window(self.span.my_leader()));
        let credit = planted!("gather-parity", credit, Credit(0));
        credit.pick(&TEAM_BUFFERS.get(window, self.set()).gather).get().cast()
    }

    /// The leader's gather buffer of a team without a lease.
    pub(super) fn small_gather(&self) -> *mut u8 {
        let window = self.call.team.window(self.span.my_leader());
        self.credit().pick(SMALL_GATHERS.get(window, slot_of(self.call.team))).get().cast()
    }

    /// The leader's outgoing buffer, of a team that has leased buffers.
    pub(super) fn outgoing(&self) -> *mut u8 {
        let (credit, window) = (self.credit(), self.call.team.window(self.span.my_leader()));
        let credit = planted!("part-parity", credit, Credit(0));
        credit.pick(OUTGOING_BUFFERS.get(window, self.set())).get().cast()
    }

    fn set(&self) -> u32 {
        let set = self.call.team.buffers.number();
        set.unwrap_or_else(|| unreachable!("ways with buffers are chosen where they are leased"))
    }
}

fn slot_of(team: &TeamState) -> u32 {
    team.slot.unwrap_or_else(|| unreachable!("teams that span nodes have slots"))
}

/// The memory of a run, of the caller, a leader.
pub(super) struct RunMemory {
    credit: Credit,
    pub(super) traffic: Traffic,
    mailboxes: &'static [AtomicU64; MAILBOX_WORDS],
    /// The signals of a schedule without mailboxes, and the counter of arrivals.
    pub(super) signals: CallSignals<'static>,
    buffers: Option<&'static TeamBuffers>,
    /// Bytes of the room for copies that the run has used.
    copied: Cell<usize>,
}

impl RunMemory {
    /// That of this turn, in which a schedule of such traffic runs.
    pub(super) fn begin(team: &TeamState, turn: Turn, traffic: Traffic) -> Self {
        let window = team.window(team.my);
        let credit = planted!("mailbox-parity", Credit::of(turn.generation.into()), Credit(0));
        let mailboxes = MAILBOXES.get(window, slot_of(team));
        let buffers = team.buffers.number().map(|set| TEAM_BUFFERS.get(window, set));
        if traffic == Traffic::Synchronising && clears(turn.generation) {
            mailboxes.clear(credit.other().0);
        }
        let signals = mailboxes.signals.of(traffic, credit.0);
        Self { credit, traffic, mailboxes: credit.pick(&mailboxes.boxes), signals, buffers, copied: Cell::new(0) }
    }

    /// The mailbox of a word, which has so many words.
    pub(super) fn mailbox(&self, word: u32, length: usize) -> &'static [AtomicU64] {
        &self.mailboxes[word as usize * length..][..length]
    }

    /// The scratch, where operands land, of a team that has leased buffers.
    pub(super) fn scratch(&self) -> Option<*mut u8> {
        let credit = planted!("scratch-parity", self.credit, Credit(0));
        self.buffers.map(|buffers| credit.pick(&buffers.scratch).get().cast())
    }

    /// A copy of an operand that changes, which stays until the run is over everywhere; `None` if there is no room for it.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes.
    pub(super) unsafe fn keep(&self, from: *const u8, bytes: usize) -> Option<*const u8> {
        // No member learns when one-way calls are over everywhere.
        if self.traffic != Traffic::Synchronising {
            return None;
        }
        let (buffers, used) = (self.buffers?, self.copied.get());
        if bytes > COPIES - used {
            return None;
        }
        let credit = planted!("copy-parity", self.credit, Credit(0));
        let copy = credit.pick(&buffers.copies).get().cast::<u8>().wrapping_add(used);
        self.copied.set((used + bytes).next_multiple_of(64).min(COPIES));
        // SAFETY: `from` is readable for `bytes` bytes, as this function demands. The copy is inside of the caller's buffers, and
        // the network has read the copies of the run before last: the head of the file.
        unsafe { ptr::copy_nonoverlapping(from, copy, bytes) };
        Some(copy)
    }
}

/// Whether a run clears the mailboxes of the other parity: the run after a multiple of 2^29 clears the even ones, the run of that
/// number the odd ones.
fn clears(run: u32) -> bool {
    planted!("mailboxes-never-cleared", run % (1 << 29) < 2, false)
}

/// A team ends in `call`, and its leases with it. All its runs are over.
pub(crate) fn give_back(call: &'static str, team: &TeamState) {
    if let (Some(span), Some(slot)) = (&team.span, team.slot)
        && span.my_leader() == team.my
    {
        let window = team.window(team.my);
        let mailboxes = MAILBOXES.get(window, slot);
        (0..2).for_each(|parity| mailboxes.clear(parity));
        if let Some(number) = team.ring.lease.number() {
            let ring = BROADCAST_RINGS.get(window, number);
            broadcast_ring::acknowledge_all(call, team, ring);
            if planted!("stamps-of-a-dead-team", true, false) {
                ring.forget();
            }
        }
    }
    team.buffers.give_back();
    team.ring.give_back();
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

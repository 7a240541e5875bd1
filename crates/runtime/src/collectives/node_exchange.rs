//! Synchronisation of a team on one node, with a payload.
//!
//! Everything that teams do on a node is made of two operations on the team's slot:
//!
//! * [`exchange`]: each member gives up to seven words and sees those of all. A barrier is an exchange of nothing; a small reduction
//!   costs what a barrier costs.
//! * [`announce`] and [`take`]: one member says that something is ready, the others come for it, and it waits until
//!   all have.
//!
//! **Why two lines are enough.** Exchange k uses line k mod 2. A member that writes its line for exchange k+2 has
//! finished k+1, so all members have entered k+1, so all have left k and none reads the payload of k any more. Announcements have words
//! of their own and do not count here, so they may come between in any number.
//!
//! **Why members in different calls notice it.** With its number each word carries the signature of the call (see
//! `signature`). A member that reads one compares it with its own. One that counts in adds it to a sum, which the last one compares. So
//! no payload of another call is ever looked at. Nobody waits for the members that take a posted broadcast (see `node_eager`). So the
//! signatures of later exchanges carry a digest of these broadcasts, and members that have made different ones notice it there.
//!
//! **Why nothing is reset.** Numbers only grow; 48 bits last for a year without pause. With 32 bits a team would have used them up in ten
//! minutes. A slot that passes to another team goes on from a number
//! that no member's line has reached (the lease carries it). A member that still looks at a line for an earlier number sees a
//! later one, which means the same to it: the last exchange of a team (in destroy) has no payload.
//!
//! **In large teams** each member's line would travel to all members. There the members meet level by level: see `levels`.
//!
//! **With fewer processors than PEs** reading all lines would make each member block on every other member, one after the other. There
//! the members count in at the first member's slot, and the last one releases all: each blocks once.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

#[cfg(not(loom))]
use oxshmem_os::cache;

use crate::collectives::arrivals;
#[cfg(not(loom))]
use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::levels;
use crate::collectives::lookout::{nudge, others, until_announced, until_reached, until_stamped};
use crate::collectives::signature::number_of;
use crate::memory::control::{PAYLOAD_WORDS, Slot};
use crate::teams::team::TeamState;
use crate::wait::bell::Bell;
use crate::wait::{self, pace};

/// Teams up to this size read each other's lines; larger ones count.
const READ_ALL: u32 = 16;

/// Synchronises the team; `payload` reaches all members, and `visit` sees each member's payload in member order, the caller's own
/// included. Stores made before by any member are visible to all after.
#[inline(always)]
pub(crate) fn exchange(call: Call<'_>, payload: &[u64], visit: impl FnMut(u32, &[u64; PAYLOAD_WORDS])) {
    let team = call.team;
    #[cfg(not(loom))]
    if let Some(span) = &team.span {
        call.write_late_record(team.meetings() + 1);
        return between_nodes::exchange(call, span, payload, visit);
    }
    let number = team.next_exchange();
    let stamp = call.signature.after(team.posted()).stamp(number);
    let parity = number as usize & 1;
    let (my, size) = (team.my, team.size);
    let mine = team.place(my);
    let reads_all = !team.leveled && size <= READ_ALL && !pace::crowded();
    // The stores of payload and number follow each other at once: in between, a polling reader would take the cache line away.
    if !payload.is_empty() {
        debug_assert!(payload.len() <= PAYLOAD_WORDS);
        mine.lines[parity].payload.with_mut(|words| {
            // SAFETY: no other member writes this line, and none reads it now: see the head of the file.
            let words = unsafe { &mut *words };
            words[..payload.len()].copy_from_slice(payload);
        });
    }
    if reads_all {
        mine.lines[parity].sequence.store(stamp, Release);
        for other in others(my, size) {
            nudge(team, other);
        }
        call.write_late_record(team.meetings());
        for other in others(my, size) {
            until_reached(call, other, &team.place(other).lines[parity].sequence, stamp);
        }
        // The next exchange writes the other line, of which the others have copies from the last but one.
        #[cfg(not(loom))]
        cache::will_write(&mine.lines[parity ^ 1]);
    } else if team.leveled {
        call.write_late_record(team.meetings());
        levels::meet(call, number);
    } else if size > 1 {
        count_in(call, stamp);
    }
    if !payload.is_empty() {
        visit_all(team, parity, payload, visit);
    }
}

/// The counted way: the last to arrive releases all.
fn count_in(call: Call<'_>, stamp: u64) {
    let team = call.team;
    let first: &Slot = team.place(0);
    let words = &first.words.0;
    let bell = Bell { word: &words.bell_word, armed: &words.bell_armed };
    arrivals::sign(team, stamp);
    // The chain of read-modify-writes on `arrivals` orders every member's stores before the last one's release.
    let arrived = first.arrivals.0.fetch_add(arrivals::arrival(call), AcqRel) + arrivals::arrival(call);
    if arrived as u32 == team.size {
        if arrived != u64::from(team.size) * arrivals::arrival(call) {
            arrivals::find_different(call, 0..team.size, stamp, arrived);
        }
        // No member counts in again before the release.
        first.arrivals.0.store(0, Relaxed);
        words.released.store(stamp, Release);
        bell.ring();
        return call.write_late_record(team.meetings());
    }
    call.write_late_record(team.meetings());
    let number = number_of(stamp);
    wait::until(call.reason(&words.released), Some(bell), move || {
        (number_of(words.released.load(Acquire)) >= number).then_some(())
    });
}

/// Shows all members' payloads to `visit`. The caller's own comes from `payload`: the others are fetching its line, and a load from
/// that costs as much as all else together (two PEs of an EPYC: an exchange took 138 ns instead of 54).
#[inline(always)]
fn visit_all(team: &TeamState, parity: usize, payload: &[u64], mut visit: impl FnMut(u32, &[u64; PAYLOAD_WORDS])) {
    let mut own = [0; PAYLOAD_WORDS];
    own[..payload.len()].copy_from_slice(payload);
    for member in 0..team.size {
        if member == team.my {
            visit(member, &own);
            continue;
        }
        team.place(member).lines[parity].payload.with(|words| {
            // SAFETY: the member wrote its payload before it took part in this exchange, which we have seen, and writes
            // the line again only after we have left: see the head of the file.
            visit(member, unsafe { &*words });
        });
    }
}

/// Synchronises the team without a payload.
#[inline(always)]
pub(crate) fn synchronise(call: Call<'_>) {
    exchange(call, &[], |_, _| {});
}

/// Says that what the others come for is ready in the array of this name, does something `meanwhile`, and returns when all of them have taken
/// it. No broadcast between nodes goes this way (`schedule::way`).
pub(crate) fn announce(call: Call<'_>, source: u64, meanwhile: impl FnOnce()) {
    let team = call.team;
    debug_assert!(team.span.is_none());
    let stamp = call.signature.stamp(team.next_announcement());
    let words = &team.place(team.my).words.0;
    // The root has its own payload. All words are of one line.
    words.source.store(source, Relaxed);
    words.taken.store(stamp, Relaxed);
    words.announced.store(stamp, Release);
    for other in others(team.my, team.size) {
        nudge(team, other);
    }
    meanwhile();
    for other in others(team.my, team.size) {
        until_stamped(call, other, &team.place(other).words.0.taken, stamp);
    }
}

/// Waits for the announcement of member `from`, which must name the same array as this member, does `come` and says that it is done.
pub(crate) fn take(call: Call<'_>, from: u32, source: u64, come: impl FnOnce()) {
    let team = call.team;
    debug_assert!(team.span.is_none());
    let stamp = call.signature.stamp(team.next_announcement());
    let words = &team.place(from).words.0;
    until_announced(call, from, &words.announced, stamp);
    if words.source.load(Relaxed) != source {
        call.other_array(from, "source");
    }
    come();
    team.place(team.my).words.0.taken.store(stamp, Release);
    nudge(team, from);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::control;
    use crate::teams::members::Members;

    /// `size` threads as a team that goes on from `base`; each takes part in exchanges and announcements alternately.
    fn meet(size: u32, slot: u32, base: u64) {
        control::tests::windows();
        let word = |round: u64, member: u32| round << 8 | u64::from(member);
        let member = |my| {
            let team = TeamState::new(Members::Triplet { start: 0, stride: 1 }, size, my, slot, base);
            for round in 0..8 {
                let mut seen = Vec::new();
                let call = Call::new(&team, "test");
                exchange(call, &[word(round, my); PAYLOAD_WORDS], |_, words| seen.push(*words));
                let expected: Vec<_> = (0..size).map(|other| [word(round, other); PAYLOAD_WORDS]).collect();
                assert_eq!(seen, expected);
                let root = round as u32 % size;
                if my == root { announce(call, round, || {}) } else { take(call, root, round, || {}) }
            }
            assert_eq!((team.exchanges(), team.announcements()), (base + 8, base + 8));
        };
        std::thread::scope(|scope| (0..size).for_each(|my| drop(scope.spawn(move || member(my)))));
    }

    #[test]
    fn numbers_beyond_32_bits_are_as_good_as_others() {
        for (slot, base) in [(1, 0), (2, (1 << 31) - 4), (3, (1 << 32) - 4), (4, 1 << 47)] {
            meet(1, slot, base);
            meet(3, slot, base + 100);
        }
    }

    #[test]
    fn members_of_a_large_team_count_in() {
        for (slot, base) in [(5, 0), (6, (1 << 31) - 4), (7, (1 << 32) - 4)] {
            meet(READ_ALL + 1, slot, base);
        }
    }

    #[test]
    fn a_slot_serves_teams_of_all_sizes_in_turn() {
        for (turn, size) in [2, READ_ALL + 1, 3, 1, READ_ALL + 2, 2].into_iter().enumerate() {
            meet(size, 8, turn as u64 * 8);
        }
    }
}

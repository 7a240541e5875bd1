//! Eager collectives on a node: short data goes through memory that each member has ready for the others, so that members meet once, or
//! not at all.
//!
//! * [`exchange`]: each member copies its operand or its blocks to its own buffer; all meet; each reads the buffers of the others. It
//!   carries more than the payload of a line, and saves the second meeting that loads from the members' arrays need.
//! * [`post`] and [`take`]: the root of a broadcast copies the payload to the ring that it owns, and goes on. The others take the payload
//!   when they come.
//!
//! **Why two buffers are enough.** Exchange k uses buffer k mod 2. A member that writes its buffer for exchange k + 2 has left k + 1, so all
//! members have entered k + 1 and left k, and none reads the buffers of k any more. This is the argument for the lines of `node_exchange`,
//! whose exchange this is.
//!
//! **When an entry is free again.** Broadcast n uses entry n mod [`ENTRIES`] of its root's ring. Each member publishes in `taken` the
//! number of its last broadcast, after it has copied the payload; the root of a broadcast does so at once. All members take the broadcasts
//! in the order of their numbers. A root writes the entry for n when all have taken n - [`ENTRIES`]. So none reads the entry any more,
//! whoever has owned the broadcasts between. The root keeps the least number that it has seen ([`TeamState::known_taken`]), and looks
//! again when that does not suffice.
//!
//! **Why a member in another call is noticed.** The stamp of an entry carries the signature of the root's call, which each member compares
//! with its own. No stamp is overwritten before all have compared it. A root that has posted learns of a member in another call when they
//! next meet: the signatures of exchanges carry a digest of all broadcasts that were posted. A slot or a place passes to another team with numbers that go on, or
//! with forgotten stamps (`active_set`), so no stamp of an earlier team is taken for one of this team.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Release};

use oxshmem_base::planted;
#[cfg(not(loom))]
use oxshmem_os::cache;

use crate::collectives::call::Call;
use crate::collectives::lookout::{nudge, others, until_stamped, until_taken};
use crate::collectives::node_exchange;
use crate::collectives::signature::number_of;
use crate::memory::control::eager::{BUFFER, ENTRIES, ENTRY_WORDS, Entry};
use crate::teams::team::TeamState;

/// Bytes of the next buffer that a member claims for writing in advance: a claim costs as much as a store.
#[cfg(not(loom))]
const CLAIMED: usize = 512;

/// Synchronises the team. `fill` writes the caller's `bytes` bytes, at most [`BUFFER`], to the caller's buffer; `visit` finds those of all
/// members in member order, the caller's own included.
#[inline]
pub(crate) fn exchange(
    call: Call<'_>,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
    mut visit: impl FnMut(u32, *const u8),
) {
    debug_assert!(bytes <= BUFFER, "{bytes} bytes in a buffer of {BUFFER}");
    let team = call.team;
    let parity = planted!("eager-parity", team.exchanges().wrapping_add(1) as usize & 1, 0);
    let buffer = |member: u32| &team.eager(member).buffers[parity].0;
    buffer(team.my).with_mut(|bytes| fill(bytes.cast()));
    node_exchange::synchronise(call);
    for member in 0..team.size {
        buffer(member).with(|bytes| visit(member, bytes.cast()));
    }
    // The others have copies of the next buffer, from the last exchange but one.
    #[cfg(not(loom))]
    team.eager(team.my).buffers[parity ^ 1].0.with(|next| {
        (0..bytes.min(CLAIMED))
            .step_by(cache::LINE)
            .for_each(|at| cache::will_write(next.cast::<u8>().wrapping_add(at)));
    });
}

/// The entry of member `root` for a broadcast of this number.
#[inline(always)]
pub(crate) fn entry(team: &TeamState, root: u32, number: u64) -> &'static Entry {
    &team.eager(root).ring[number as usize % ENTRIES]
}

/// Leaves `bytes` bytes of `source` for the other members, and goes on. Waits only for members that are [`ENTRIES`] broadcasts behind.
///
/// # Safety
/// `source` is readable for `bytes` bytes, at most an entry's payload.
#[inline]
pub(crate) unsafe fn post(call: Call<'_>, source: *const u8, bytes: usize) {
    debug_assert!(bytes <= ENTRY_WORDS * 8, "{bytes} bytes in an entry");
    let team = call.team;
    let number = team.next_announcement();
    if number > team.known_taken() + ENTRIES as u64 {
        free_an_entry(call, number - ENTRIES as u64);
    }
    let (entry, stamp) = (entry(team, team.my, number), call.signature.stamp(number));
    entry.payload.with_mut(|words| {
        // SAFETY: the caller promises the bytes, which fit the payload. No member reads the entry any more: see the head of the file.
        unsafe { ptr::copy_nonoverlapping(source, words.cast(), bytes) };
    });
    entry.stamp.store(stamp, Release);
    team.place(team.my).words.0.taken.store(stamp, Release);
    team.note_posted(call.signature);
    call.write_late_record(team.meetings());
    for other in others(team.my, team.size) {
        nudge(team, other);
    }
}

/// Returns when all members have taken the broadcast of this number.
#[cold]
fn free_an_entry(call: Call<'_>, number: u64) {
    let team = call.team;
    if planted!("entry-not-taken", false, true) {
        return;
    }
    let seen = |other: u32| until_taken(call, other, &team.place(other).words.0.taken, number);
    let least = others(team.my, team.size).map(seen).min();
    team.all_have_taken(least.unwrap_or(number));
}

/// Waits for the next broadcast, whose root is member `root`, and copies `bytes` bytes of it to `dest`.
///
/// # Safety
/// `dest` is writable for `bytes` bytes, at most an entry's payload.
#[inline]
pub(crate) unsafe fn take(call: Call<'_>, root: u32, dest: *mut u8, bytes: usize) {
    debug_assert!(bytes <= ENTRY_WORDS * 8, "{bytes} bytes in an entry");
    let team = call.team;
    let number = team.next_announcement();
    let (entry, stamp) = (entry(team, root, number), call.signature.stamp(number));
    call.write_late_record(team.meetings());
    until_stamped(call, root, &entry.stamp, stamp);
    debug_assert_eq!(number_of(entry.stamp.load(Acquire)), number, "an entry was written before all had taken it");
    entry.payload.with(|words| {
        // SAFETY: the root has posted as many bytes, which the signature says, and an entry has them in any case; it writes the entry
        // again after we have taken it. The caller promises the destination.
        unsafe { ptr::copy_nonoverlapping(words.cast(), dest, bytes) };
    });
    team.place(team.my).words.0.taken.store(stamp, Release);
    team.note_posted(call.signature);
    nudge(team, root);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::sync::atomic::AtomicUsize;

    use super::*;
    use crate::memory::control;
    use crate::teams::members::Members;

    /// Ends the process with a member that has failed: the others wait for it.
    struct EndsAll;

    impl Drop for EndsAll {
        fn drop(&mut self) {
            if std::thread::panicking() {
                std::process::abort();
            }
        }
    }

    /// `size` threads as a team that goes on from `base`; each runs `member` with its own state of the team.
    fn meet(size: u32, slot: u32, base: u64, member: impl Fn(&TeamState) + Sync) {
        control::tests::windows();
        let run = |my| {
            let _ends_all = EndsAll;
            member(&TeamState::new(Members::Triplet { start: 0, stride: 1 }, size, my, slot, base));
        };
        std::thread::scope(|scope| (0..size).for_each(|my| drop(scope.spawn(move || run(my)))));
    }

    fn operand(round: usize, member: u32, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 7 + round * 31 + member as usize) as u8).collect()
    }

    #[test]
    fn buffers_of_any_length_reach_all_members_round_by_round() {
        for (slot, base, size) in [(20, 0, 1), (21, 5, 3), (22, (1 << 47) - 3, 4)] {
            meet(size, slot, base, |team| {
                for (round, bytes) in [BUFFER, 1, 0, 57, BUFFER - 1, 4096, BUFFER].into_iter().enumerate() {
                    let (mine, mut seen) = (operand(round, team.my, bytes), 0);
                    // SAFETY: the operand has the bytes, which fit a buffer.
                    let write = |buffer| unsafe { ptr::copy_nonoverlapping(mine.as_ptr(), buffer, bytes) };
                    exchange(Call::new(team, "test"), mine.len(), write, |member, theirs| {
                        // SAFETY: the member's buffer has as many bytes, and stays until the next exchange but one.
                        let theirs = unsafe { core::slice::from_raw_parts(theirs, bytes) };
                        assert_eq!(theirs, operand(round, member, bytes), "member {member} in round {round}");
                        seen += 1;
                    });
                    assert_eq!(seen, size);
                }
            });
        }
    }

    /// A member that is still reading finds the operands of its round, though another one has filled its next buffer.
    #[test]
    fn the_next_exchange_leaves_the_buffers_of_this_one_alone() {
        let filled = AtomicUsize::new(0);
        meet(2, 26, 0, |team| {
            for round in 1..=6_usize {
                let mine = operand(round, team.my, 100);
                let write = |buffer| {
                    // SAFETY: the operand has the bytes, which fit a buffer.
                    unsafe { ptr::copy_nonoverlapping(mine.as_ptr(), buffer, mine.len()) };
                    if team.my == 0 {
                        filled.store(round, Release);
                    }
                };
                exchange(Call::new(team, "test"), mine.len(), write, |member, theirs| {
                    while team.my == 1 && round < 6 && filled.load(Acquire) == round {
                        std::thread::yield_now();
                    }
                    // SAFETY: the member's buffer has as many bytes, and stays until the next exchange but one.
                    let theirs = unsafe { core::slice::from_raw_parts(theirs, 100) };
                    assert_eq!(theirs, operand(round, member, 100), "member {member} in round {round}");
                });
            }
        });
    }

    #[test]
    fn posted_broadcasts_arrive_in_order_whoever_is_root_and_however_far_it_is_ahead() {
        const MOST: usize = ENTRY_WORDS * 8;
        for (slot, base, size) in [(23, 0, 2), (24, (1 << 32) - 20, 4), (25, 3, 1)] {
            let posted = AtomicUsize::new(0);
            meet(size, slot, base, |team| {
                // The first root fills its ring before another member begins.
                while team.my != 0 && posted.load(Acquire) < ENTRIES {
                    std::thread::yield_now();
                }
                // And has time for more, which it must not use.
                (0..100 * team.my).for_each(|_| std::thread::yield_now());
                for round in 0..200_usize {
                    // The first root posts many in a row; then roots take turns.
                    let root = if round < 60 { 0 } else { round as u32 % size };
                    let bytes = [MOST, 8, 1, 119][round % 4];
                    let call = Call::new(team, "test");
                    let mut dest = [0; MOST];
                    // SAFETY: both arrays have the bytes, which fit an entry.
                    unsafe {
                        if team.my == root {
                            post(call, operand(round, root, bytes).as_ptr(), bytes);
                            posted.store(round + 1, Release);
                            continue;
                        }
                        take(call, root, dest.as_mut_ptr(), bytes);
                    }
                    assert_eq!(dest[..bytes], operand(round, root, bytes), "broadcast {round} of member {root}");
                }
            });
        }
    }
}

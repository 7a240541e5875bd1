//! Waits for the words of other members, which find out whether the member is in another call.

use core::sync::atomic::Ordering::Acquire;

use crate::collectives::call::Call;
use crate::collectives::signature::{self, CallKind, Signature, number_of, signature_of};
#[cfg(not(loom))]
use crate::memory::control::ControlBlock;
use crate::sync::AtomicU64;
use crate::teams::team::TeamState;
use crate::wait;
use crate::wait::bell::Bell;

/// The other members, beginning with the next one, so that not all look at the same line first.
#[inline(always)]
pub(crate) fn others(my: u32, size: u32) -> impl Iterator<Item = u32> {
    (my + 1..size).chain(0..my)
}

/// Cuts a member's sleep short. It is no part of the protocol, since sleeps end by timeout: the models do without it.
#[inline(always)]
pub(crate) fn nudge(team: &TeamState, member: u32) {
    #[cfg(not(loom))]
    ControlBlock::of(team.window(member)).bell().nudge();
    #[cfg(loom)]
    let _ = (team, member);
}

/// Waits until member `member` has written a word with the number in `stamp`, or a later one. A later one shows nothing:
/// its owner has compared this one.
#[inline(always)]
pub(crate) fn until_reached(call: Call<'_>, member: u32, word: &AtomicU64, stamp: u64) {
    let first = stamp >> signature::BITS << signature::BITS;
    let seen = wait::until(call.reason(word), None, move || {
        let seen = word.load(Acquire);
        (seen >= first).then_some(seen)
    });
    if seen != stamp && number_of(seen) == number_of(stamp) {
        call.differs(Some(member), signature_of(seen).after(call.team.posted()));
    }
}

/// Looks between two checks whether the awaited member is in another call.
const LOOKS: u32 = 128;

/// [`until_reached`] for the words of announcements, which a member that is in another call never writes. It is noticed by
/// what it has written instead: the line of an exchange that the caller has not begun, or a statement about another call.
#[inline]
pub(crate) fn until_stamped(call: Call<'_>, member: u32, word: &AtomicU64, stamp: u64) {
    until_stamped_by_bell(call, member, word, stamp, None);
}

/// [`until_stamped`] by a member that rings `bell`, if there is one.
#[inline]
pub(crate) fn until_stamped_by_bell(call: Call<'_>, member: u32, word: &AtomicU64, stamp: u64, bell: Option<Bell<'_>>) {
    let seen = until_passed(call, member, word, stamp >> signature::BITS << signature::BITS, bell);
    if seen != stamp && number_of(seen) == number_of(stamp) {
        call.differs(Some(member), signature_of(seen));
    }
}

/// [`until_stamped`] for the announcements of member `root`, which waits in each until all have taken it. So a later one shows that the root has
/// posted a broadcast in the place of the one that the caller waits for.
pub(crate) fn until_announced(call: Call<'_>, root: u32, word: &AtomicU64, stamp: u64) {
    let seen = until_passed(call, root, word, stamp >> signature::BITS << signature::BITS, None);
    if seen != stamp {
        let is_later = number_of(seen) > number_of(stamp);
        call.differs(Some(root), if is_later { Signature::of(CallKind::Broadcast) } else { signature_of(seen) });
    }
}

/// Waits until member `member` has taken the announcement of this number, or a later one; returns which one. The caller has seen what
/// that one's root has stated, and compares nothing.
pub(crate) fn until_taken(call: Call<'_>, member: u32, taken: &AtomicU64, number: u64) -> u64 {
    number_of(until_passed(call, member, taken, number << signature::BITS, None))
}

/// Waits until the word is `first` or greater, and returns it.
fn until_passed(call: Call<'_>, member: u32, word: &AtomicU64, first: u64, bell: Option<Bell<'_>>) -> u64 {
    let next = call.team.exchanges() + 1;
    let mut looks = 0_u32;
    #[cfg(not(loom))]
    let mut suspected = None::<Signature>;
    wait::until(call.reason(word), bell, move || {
        looks = looks.wrapping_add(1);
        // Read before the word: a member that has arrived and gone on has written the word first.
        let line = if looks.is_multiple_of(LOOKS) { call.team.entrance(member, next).load(Acquire) } else { 0 };
        let seen = word.load(Acquire);
        if seen >= first {
            return Some(seen);
        }
        if number_of(line) == next {
            call.differs(Some(member), signature_of(line).after(call.team.posted()));
        }
        #[cfg(not(loom))]
        if looks.is_multiple_of(LOOKS) {
            let contradiction = call.contradiction(member);
            if let Some(theirs) = contradiction.filter(|_| contradiction == suspected) {
                call.differs(Some(member), theirs);
            }
            suspected = contradiction;
        }
        None
    })
}

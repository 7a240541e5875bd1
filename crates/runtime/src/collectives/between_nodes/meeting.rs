//! How the members of one node meet for their team: they count in with their leader, and it releases them.

use core::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::collectives::call::Call;
use crate::collectives::signature::{number_of, signature_of};
use crate::collectives::{arrivals, lookout};
use crate::memory::control::{ControlBlock, Words};
use crate::sync::AtomicU64;
use crate::teams::span::Span;
use crate::wait;
use crate::wait::bell::Bell;

/// Members count in with their node's leader for the meeting of this number. The leader returns when all have, and
/// compares the calls for which they have counted in.
pub(super) fn gather_node(call: Call<'_>, span: &Span, number: u64) {
    let others = span.count(span.node()) - 1;
    if others == 0 {
        return;
    }
    let (team, leader) = (call.team, span.my_leader());
    let (arrivals, stamp) = (&team.place(leader).arrivals.0, call.signature.after(team.posted()).stamp(number));
    if team.my != leader {
        arrivals::sign(team, stamp);
        // The chain of read-modify-writes orders every member's stores before the leader's load of the last one.
        let arrived = arrivals.fetch_add(arrivals::arrival(call), Release) + arrivals::arrival(call);
        if arrived as u32 == others {
            ControlBlock::of(team.window(leader)).bell().ring();
        }
        return;
    }
    let arrived = wait::until(call.reason(arrivals), Some(ControlBlock::own().bell()), || {
        let arrived = arrivals.load(Acquire);
        (arrived as u32 == others).then_some(arrived)
    });
    if arrived != u64::from(others) * arrivals::arrival(call) {
        let members = span.here().filter(|&member| member != team.my);
        arrivals::find_different(call, members, stamp, arrived);
    }
    // No member counts in again before the release.
    arrivals.store(0, Relaxed);
}

/// The leader releases the members of its node, which have counted in and wait for that: `word` reaches `number`.
pub(super) fn release(call: Call<'_>, span: &Span, number: u64, word: fn(&Words) -> &AtomicU64) {
    let Some((word, bell)) = to_release(call, span, number, word) else { return };
    let seen = wait::until(call.reason(word), Some(bell), || {
        Some(word.load(Acquire)).filter(|&seen| number_of(seen) >= number)
    });
    // A later number shows nothing: a leader that has released its node may have passed a broadcast on since then.
    if seen != call.signature.stamp(number) && number_of(seen) == number {
        call.differs(Some(span.my_leader()), signature_of(seen));
    }
}

/// The same without a meeting: the leader goes on, and may be ahead of the others.
pub(super) fn pass_on(call: Call<'_>, span: &Span, number: u64) {
    if let Some((word, bell)) = to_release(call, span, number, |words| &words.announced) {
        lookout::until_stamped_by_bell(call, span.my_leader(), word, call.signature.stamp(number), Some(bell));
    }
}

/// Releases the node, if the caller is its leader; otherwise the word to wait for, and the bell that is rung for it.
fn to_release<'a>(
    call: Call<'a>,
    span: &Span,
    number: u64,
    word: fn(&Words) -> &AtomicU64,
) -> Option<(&'a AtomicU64, Bell<'a>)> {
    if span.count(span.node()) == 1 {
        return None;
    }
    let (team, leader) = (call.team, span.my_leader());
    let words = &team.place(leader).words.0;
    let (word, bell) = (word(words), Bell { word: &words.bell_word, armed: &words.bell_armed });
    if team.my != leader {
        return Some((word, bell));
    }
    word.store(call.signature.stamp(number), Release);
    bell.ring();
    None
}

/// Only the members of the caller's node meet.
pub(super) fn meet_here(call: Call<'_>, span: &Span) {
    let number = call.team.next_announcement();
    gather_node(call, span, number);
    release(call, span, number, |words| &words.announced);
}

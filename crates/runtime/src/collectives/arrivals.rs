//! Counts of arrivals: each member adds one and its signature, so that a member that sees the last one knows whether all are in the
//! same call.

use core::sync::atomic::Ordering::{Relaxed, Release};

use crate::collectives::call::Call;
use crate::collectives::signature::{Signature, number_of, signature_of};
use crate::teams::team::TeamState;

/// The addend of one member: its signature and one.
pub(crate) fn arrival(call: Call<'_>) -> u64 {
    u64::from(call.signature.after(call.team.posted()).bits()) << 32 | 1
}

/// The call of members that have counted in, by their sum: that of one of them if there are several.
#[cold]
pub(crate) fn signature(call: Call<'_>, arrived: u64) -> Signature {
    signature_of_each(arrived).after(call.team.posted())
}

/// The signature of each of the members that this sum has, if all are in one call.
fn signature_of_each(arrived: u64) -> Signature {
    let members = arrived & 0xFFFF_FFFF;
    signature_of((arrived >> 32) / members.max(1))
}

/// Before it counts in, the member declares the call for which it does. A reader of the declaration has seen the count.
pub(crate) fn sign(team: &TeamState, stamp: u64) {
    team.place(team.my).lines[number_of(stamp) as usize & 1].sequence.store(stamp, Release);
}

/// Ends the job: the sum `arrived` shows that members are in different calls.
#[cold]
#[inline(never)]
pub(crate) fn find_different(call: Call<'_>, members: impl Iterator<Item = u32>, stamp: u64, arrived: u64) -> ! {
    let signed = |member: u32| call.team.place(member).lines[number_of(stamp) as usize & 1].sequence.load(Relaxed);
    let found: Vec<(u32, u64)> =
        members.map(|member| (member, signed(member))).filter(|(_, word)| *word != stamp).collect();
    let (member, word) = found.first().copied().unwrap_or((call.team.my, stamp));
    // A member that counts in for a meeting of another kind has signed with the number of that one, perhaps in the other line. Then this
    // line has an earlier call.
    let theirs = if number_of(word) == number_of(stamp) {
        signature_of(word)
    } else {
        signature_of_each(without(arrived, arrival(call), found.len()))
    };
    call.differs(Some(member), theirs.after(call.team.posted()))
}

/// The sum of so many `rest` members: all but these have added `each`.
fn without(arrived: u64, each: u64, rest: usize) -> u64 {
    arrived.wrapping_sub(each.wrapping_mul((arrived & 0xFFFF_FFFF).wrapping_sub(rest as u64)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::collectives::signature::CallKind;

    #[test]
    fn the_sum_without_those_in_the_same_call_has_the_call_of_the_rest() {
        let addend = |kind| u64::from(Signature::of(kind).with(8, 0).bits()) << 32 | 1;
        let (mine, theirs) = (addend(CallKind::Broadcast), addend(CallKind::Max));
        for (alike, others) in [(0, 1), (1, 1), (7, 1), (3, 2)] {
            let rest = without(alike * mine + others * theirs, mine, others as usize);
            assert_eq!(rest, others * theirs);
            assert_eq!(signature_of_each(rest), Signature::of(CallKind::Max).with(8, 0));
        }
    }
}

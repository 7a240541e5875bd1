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
    let members = arrived & 0xFFFF_FFFF;
    signature_of((arrived >> 32) / members.max(1)).after(call.team.posted())
}

/// Before it counts in, the member declares the call for which it does. A reader of the declaration has seen the count.
pub(crate) fn sign(team: &TeamState, stamp: u64) {
    team.place(team.my).lines[number_of(stamp) as usize & 1].sequence.store(stamp, Release);
}

/// Ends the job: the sum of the signatures shows that members are in different calls.
#[cold]
#[inline(never)]
pub(crate) fn find_different(call: Call<'_>, members: impl Iterator<Item = u32>, stamp: u64) -> ! {
    let signed = |member: u32| call.team.place(member).lines[number_of(stamp) as usize & 1].sequence.load(Relaxed);
    let found = members.map(|member| (member, signed(member))).find(|(_, word)| *word != stamp);
    let (member, word) = found.unwrap_or((call.team.my, stamp));
    call.differs(Some(member), signature_of(word).after(call.team.posted()))
}

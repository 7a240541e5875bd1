//! The needs of a binding in Rust beyond the prototypes of the standard: errors as values, the house style for mistakes
//! that end the job, and an exchange of a few words that notices when the members of a team are in different calls.

use core::ffi::{c_int, c_void};

use oxshmem_base::Error;

use crate::calls::init::lifetime;
use crate::calls::team::live;
use crate::calls::{memory, request};
use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::memory::control::PAYLOAD_WORDS;
use crate::start::state::OtherCalls;
use crate::teams::team::TeamHandle;

/// How many words [`exchange`] carries.
pub const WORDS: usize = PAYLOAD_WORDS - 1;

/// Initialises the library with a thread level, and returns the granted one. Errors before the PEs meet are returned. A later one ends the
/// job, because other PEs count on this one by then.
pub fn init(requested: c_int) -> Result<c_int, Error> {
    lifetime::init(requested)
}

/// Takes back one initialisation. Other threads may still be using static variables: they are told that the library has
/// ended, if they notice, and find what they touch where it was.
///
/// # Safety
/// All PEs call, and no thread uses teams, contexts or symmetric memory but static variables after the last one.
pub unsafe fn finalize() {
    lifetime::finalize("shmem_finalize", OtherCalls::MayUseStatics);
}

/// Allocates `bytes` bytes of the symmetric heap, more than none, or says why they cannot be had; prints nothing. If the PEs name
/// different `content`, or one of them none, the job ends as if their sizes differed.
///
/// # Safety
/// All PEs call, one thread of each. Arguments that differ end the job before a PE gets the block.
pub unsafe fn allocate(call: &'static str, bytes: usize, content: Option<u64>) -> Result<*mut c_void, Error> {
    memory::try_allocate(call, bytes, content)
}

/// Returns when all collectives that this PE has begun and not waited for are over.
pub fn complete_collectives(call: &'static str) {
    request::complete_all(call);
}

/// Says what happened, once for the job, and ends the job.
#[cold]
pub fn fail(error: &Error) -> ! {
    errors::fail(error)
}

/// Gives up to [`WORDS`] words to all members and receives those of all members, in member order.
///
/// A word of the library's own says which exchange of the team this is, of what `kind`, and that the words hold `bytes` bytes. So a
/// member that is in another call, or has a value of another size, is noticed before a member acts on its payload.
///
/// # Safety
/// One thread at a time is in a collective of the team.
pub unsafe fn exchange(
    team: TeamHandle,
    call: &'static str,
    kind: u8,
    bytes: usize,
    words: &[u64],
    mut visit: impl FnMut(u32, &[u64]),
) {
    let team = live(call, team);
    // Collectives that have been suspended come first: the number of exchanges is known after them.
    let meeting = Call::of(team, call, CallKind::Values).declare(CallKind::Values, bytes, 0);
    // Exchanges never reach the upper bits: their numbers have 48. The bytes are at most those of the payload.
    let tag = u64::from(kind) << 56 | (bytes as u64) << 48 | team.exchanges();
    let mut payload = [0; PAYLOAD_WORDS];
    payload[0] = tag;
    payload[1..=words.len()].copy_from_slice(words);
    node_exchange::exchange(meeting, &payload[..=words.len()], |member, theirs| {
        if theirs[0] != tag {
            different(call, member, team.my);
        }
        visit(member, &theirs[1..=words.len()]);
    });
}

/// Makes sure that all members name the same `bytes` bytes of `dest`, if the collective that follows may write into
/// others' memory without a comparison, as schedules do. (The engine of the node compares by itself.)
///
/// # Safety
/// As for [`exchange`].
pub unsafe fn agree_on_destination(team: TeamHandle, call: &'static str, dest: *const u8, bytes: usize) {
    let team = live(call, team);
    if team.scheduled {
        Call::new(team, call).enter_to_write(dest, bytes, 0);
    }
}

#[cold]
fn different(call: &str, member: u32, my: u32) -> ! {
    fail(
        &Error::new(format!("{call}: the members of the team make different calls"))
            .because(format!(
                "PE {member} of the team is in another call than this PE ({my}), or passes a value of another size"
            ))
            .fix("let all members make the same collective calls with values of one type in the same order"),
    )
}

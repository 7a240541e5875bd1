//! Whether all PEs have chosen the same schedules.

use oxshmem_base::Error;

use crate::call::Call;
use crate::signature::CallKind;
use crate::team::TeamState;
use crate::{diagnose, life, nodes, slot};

/// Synchronises the world, and ends the job with a sentence unless all PEs have chosen alike.
pub(crate) fn agree_on_choice(world: &TeamState, call: &'static str) {
    let mine = life::life().map_or(0, |life| life.choice.fingerprint());
    let meeting = Call::of(world, call, CallKind::Init);
    if let Some(span) = &world.span
        && nodes::agree(meeting, span, &[mine])
    {
        return;
    }
    let mut other = None;
    slot::exchange(meeting, &[mine], |member, words| {
        other = other.or((words[0] != mine).then_some(member));
    });
    if let Some(other) = other {
        diagnose::fail(
            &Error::new(format!("{call}: the PEs choose their collectives' algorithms differently"))
                .because(format!(
                    "SHMEM_*_ALGORITHM or the file of SHMEM_TUNING of PE {other} differ from PE {}'s",
                    world.my
                ))
                .fix("set these variables alike on all PEs, and give them the same file"),
        );
    }
}

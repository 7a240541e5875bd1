//! Whether all PEs have chosen the same schedules.

use oxshmem_base::Error;

use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::start::state;
use crate::teams::team::TeamState;

/// Synchronises the world, and ends the job with a message unless all PEs have chosen alike. The choice is in force after that.
pub(crate) fn agree_on_choice(world: &TeamState, call: &'static str) {
    let life = state::current();
    compare(world, call, life.map_or(0, |life| life.choice.fingerprint()));
    if let Some(life) = life {
        life.choice.enforce();
    }
}

fn compare(world: &TeamState, call: &'static str, mine: u64) {
    let meeting = Call::of(world, call, CallKind::Init);
    if let Some(span) = &world.span
        && between_nodes::agree(meeting, span, &[mine])
    {
        return;
    }
    let mut other = None;
    node_exchange::exchange(meeting, &[mine], |member, words| {
        other = other.or((words[0] != mine).then_some(member));
    });
    if let Some(other) = other {
        errors::fail(
            &Error::new(format!("{call}: the PEs choose their collectives' algorithms differently"))
                .because(format!(
                    "SHMEM_*_ALGORITHM or the file of SHMEM_TUNING of PE {other} differ from PE {}'s",
                    world.my
                ))
                .fix(
                    "set these variables alike on all PEs, and give them the same file. If they are alike, look for \
                     two threads of a PE that make collective calls of one team at the same time",
                ),
        );
    }
}

//! Comparison of the arguments with which the members of a team split it. `oxshmem_schedule::strided_team` computes the members of a
//! part.
//!
//! Most splits send nothing. So each PE states the arguments in its control window, beside the slot that the split takes, and looks
//! at what the other members on its node have stated of the same split. The last one of them sees all others.

use core::sync::atomic::{Ordering::SeqCst, fence};

use oxshmem_base::Error;

use crate::diagnosis::errors;
use crate::memory::control::TEAM_SLOTS;
use crate::start::state;
use crate::teams::leasing::Lease;
use crate::teams::team::TeamState;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SplitArguments {
    Strided {
        start: i32,
        stride: i32,
        size: i32,
    },
    Grid {
        xrange: i32,
    },
    /// Cray's split of all members, whose arguments can have no other values.
    WholeByCray,
}

impl SplitArguments {
    fn to_words(self) -> [u64; 2] {
        let pair = |high: i32, low: i32| u64::from(high as u32) << 32 | u64::from(low as u32);
        match self {
            Self::Strided { start, stride, size } => [pair(1, start), pair(stride, size)],
            Self::Grid { xrange } => [pair(2, xrange), 0],
            Self::WholeByCray => [pair(3, 0), 0],
        }
    }

    fn of_words([first, second]: [u64; 2]) -> Self {
        match first >> 32 {
            1 => Self::Strided { start: first as i32, stride: (second >> 32) as i32, size: second as i32 },
            3 => Self::WholeByCray,
            _ => Self::Grid { xrange: first as i32 },
        }
    }

    fn in_words(self) -> String {
        match self {
            Self::Strided { start, stride, size } => {
                format!("shmem_team_split_strided with start {start}, stride {stride} and size {size}")
            }
            Self::Grid { xrange } => format!("shmem_team_split_2d with xrange {xrange}"),
            Self::WholeByCray => "shmemx_team_split_strided with all members".into(),
        }
    }
}

/// States the arguments by which this PE has got a lease of `parent`. From level 1 of `SHMEM_CHECK` on, a member of its node that has
/// split the team with others in the same turn ends the job.
pub(crate) fn require_equal(call: &'static str, parent: &TeamState, lease: &Lease, arguments: SplitArguments) {
    if state::current().is_none_or(|life| life.settings.check == 0) {
        return;
    }
    let slot = u32::from(lease.slot);
    let [first, second] = arguments.to_words();
    TEAM_SLOTS.get(parent.window(parent.my), slot).words.0.split.write([lease.name_hash, first, second]);
    // Of two members, the one whose fence is the second sees the statement of the first.
    fence(SeqCst);
    // The caller is among them, and agrees with itself.
    let compare = |member: u32| {
        let [name, theirs @ ..] = TEAM_SLOTS.get(parent.window(member), slot).words.0.split.read();
        let theirs = SplitArguments::of_words(theirs);
        if name == lease.name_hash && theirs != arguments {
            differ(call, parent, arguments, member, theirs);
        }
    };
    match &parent.span {
        Some(span) => span.here().for_each(compare),
        None => (0..parent.size).for_each(compare),
    }
}

#[cold]
#[inline(never)]
fn differ(call: &str, parent: &TeamState, arguments: SplitArguments, member: u32, theirs: SplitArguments) -> ! {
    errors::fail(
        &Error::new(format!("{call}: the members of the parent team pass different arguments"))
            .because(format!(
                "PE {member} of the parent calls {}, this PE ({}) {}",
                theirs.in_words(),
                parent.my,
                arguments.in_words()
            ))
            .fix("let all members of the parent make the same splits with the same arguments in the same order"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_S4_arguments_come_back_from_their_words() {
        for arguments in [
            SplitArguments::Strided { start: 3, stride: -2, size: 1 << 30 },
            SplitArguments::Strided { start: -1, stride: i32::MIN, size: -7 },
            SplitArguments::Grid { xrange: 12 },
            SplitArguments::WholeByCray,
        ] {
            assert_eq!(SplitArguments::of_words(arguments.to_words()), arguments);
        }
    }
}

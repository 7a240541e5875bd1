//! Whether all PEs have chosen the same schedules and the same limit of teams, on which it depends where they meet.

use oxshmem_base::Error;

use crate::collectives::call::Call;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::start::state;
use crate::teams::team::TeamState;

/// The terms that must be alike on all PEs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SharedTerms {
    /// Of the schedules.
    fingerprint: u64,
    teams_max: Option<u64>,
}

impl SharedTerms {
    /// As they travel. Without a limit of teams splits do not compare numbers, so none is another limit than the largest one.
    fn words(self) -> [u64; 2] {
        [self.fingerprint, self.teams_max.map_or(0, |most| most.saturating_add(1))]
    }

    fn of_words([fingerprint, teams_max]: [u64; 2]) -> Self {
        Self { fingerprint, teams_max: teams_max.checked_sub(1) }
    }
}

/// Synchronises the world, and ends the job with a message unless all PEs have chosen alike. The choice is in force after that.
pub(crate) fn agree_on_choice(world: &TeamState, call: &'static str) {
    let Some(life) = state::current() else { return };
    let mine = SharedTerms { fingerprint: life.choice.fingerprint(), teams_max: life.settings.teams_max };
    require_equal(world, call, mine);
    life.choice.enforce();
}

fn require_equal(world: &TeamState, call: &'static str, mine: SharedTerms) {
    let meeting = Call::of(world, call, CallKind::Init);
    if let Some((other, theirs)) = meeting.first_other(mine.words()) {
        errors::fail(&differ(call, (world.my, mine), (other, SharedTerms::of_words(theirs))));
    }
}

#[cold]
fn differ(call: &str, (my, mine): (u32, SharedTerms), (other, theirs): (u32, SharedTerms)) -> Error {
    if mine.fingerprint == theirs.fingerprint {
        let limit = |terms: SharedTerms| terms.teams_max.map_or_else(|| "not set".to_owned(), |most| most.to_string());
        return Error::new(format!("{call}: the PEs have different limits of teams"))
            .because(format!("SHMEM_TEAMS_MAX is {} for PE {other} and {} for PE {my}", limit(theirs), limit(mine)))
            .fix("set SHMEM_TEAMS_MAX alike for all PEs, or for none");
    }
    Error::new(format!("{call}: the PEs choose their collectives' algorithms differently"))
        .because(format!("SHMEM_*_ALGORITHM or the file of SHMEM_TUNING of PE {other} differ from PE {my}'s"))
        .fix(
            "set these variables alike on all PEs, and give them the same file. If they are alike, look for \
             two threads of a PE that make collective calls of one team at the same time",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back_from_their_words_and_differences_are_named() {
        let terms = |fingerprint, teams_max| SharedTerms { fingerprint, teams_max };
        for terms in [terms(0, None), terms(7, Some(0)), terms(u64::MAX, Some(4000))] {
            assert_eq!(SharedTerms::of_words(terms.words()), terms);
        }
        assert_ne!(terms(0, Some(u64::MAX)).words(), terms(0, None).words());
        let told = |theirs| differ("shmem_init", (0, terms(7, None)), (3, theirs)).to_string();
        let limits = told(terms(7, Some(12)));
        assert!(limits.contains("SHMEM_TEAMS_MAX is 12 for PE 3 and not set for PE 0"), "{limits}");
        assert!(told(terms(8, Some(12))).contains("SHMEM_TUNING of PE 3 differ from PE 0's"));
    }
}

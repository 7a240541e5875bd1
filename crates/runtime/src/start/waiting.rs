//! How the PEs of this node wait: decided once, from how many there are and how many processors they have.

use oxshmem_base::knobs::Wait;
use oxshmem_os::cpus;

use crate::memory::facts::MemberFacts;
use crate::network::neighbours::Quarters;
use crate::wait::pace::{self, Mode};

/// Chooses how PEs wait, from how many there are and how many processors they have, which it returns.
pub(crate) fn choose(wait: Wait, facts: &[MemberFacts], me: usize, bound: bool) -> Quarters {
    let mut union: Vec<u32> = facts.iter().flat_map(|member| member.allowed.iter().copied()).collect();
    union.sort_unstable();
    union.dedup();
    let quota =
        facts.iter().filter(|member| (member.usable as usize) < member.allowed.len()).map(|member| member.usable).min();
    let processors = quota.map_or(union.len(), |quota| union.len().min(quota as usize)).max(1);
    let mode = match wait {
        Wait::Auto if facts.len() > processors => Mode::Crowded,
        Wait::Auto | Wait::Spin => Mode::Dedicated,
        Wait::Yield | Wait::Sleep => Mode::Crowded,
    };
    pace::set_mode(mode);
    // Where PEs must take turns anyway, staying on one processor each saves the scheduler's moves. Not if somebody
    // has already chosen processors for single PEs.
    let unbound = facts.iter().all(|member| member.allowed == union);
    if unbound && !bound && !union.is_empty() && mode == Mode::Crowded {
        // A processor that went away since the list was made: run unbound.
        let _ = cpus::pin_to(union[me % union.len()] as usize);
    }
    tracing::debug!(?mode, processors, pes = facts.len(), "waits");
    Quarters::here(&union, processors)
}

//! How the PEs of this node wait: decided once, from how many there are and how many processors they have.

use oxshmem_base::knobs::Wait;
use oxshmem_os::cpus;

use crate::memory::facts::MemberFacts;
use crate::network::neighbours::Quarters;
use crate::wait::pace::{self, Mode};

/// Chooses how PEs wait, from how many there are and how many processors they have, which it returns. `number` is the caller's among all PEs,
/// node by node.
pub(crate) fn choose(wait: Wait, facts: &[MemberFacts], number: usize, bound: bool) -> Quarters {
    let mut union: Vec<u32> = facts.iter().flat_map(|member| member.allowed.iter().copied()).collect();
    union.sort_unstable();
    union.dedup();
    let quota = facts.iter().filter_map(|member| member.quota).min();
    let quarters = Quarters::here(&union, quota.map(|quota| quota as usize));
    let processors = quarters.processors();
    let outnumber = facts.len() > processors;
    let mode = mode(wait, outnumber);
    pace::set_mode(mode);
    // Where PEs must share processors anyway, binding each to one saves migrations by the scheduler. It is not done if
    // processors are already chosen for single PEs; and a quota leaves it open which of the processors are free.
    let unbound = facts.iter().all(|member| member.allowed == union);
    if unbound && !bound && !union.is_empty() && stays(wait, facts.len() > union.len()) {
        // A processor that went away since the list was made: run unbound.
        let _ = cpus::pin_to(union[number % union.len()] as usize);
    }
    tracing::debug!(?mode, processors, pes = facts.len(), "waits");
    quarters
}

/// How PEs wait, which may `outnumber` the processors.
fn mode(wait: Wait, outnumber: bool) -> Mode {
    match wait {
        Wait::Auto if outnumber => Mode::Crowded,
        Wait::Auto | Wait::Spin => Mode::Dedicated,
        Wait::Yield => Mode::Crowded,
    }
}

/// Whether each PE stays on one processor. A PE with a processor of its own that yields for others does not: threads
/// of the program would stay there too, and PEs of other jobs.
fn stays(wait: Wait, outnumber: bool) -> bool {
    outnumber && mode(wait, outnumber) == Mode::Crowded
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn pes_that_do_not_outnumber_the_processors_stay_on_none() {
        assert_eq!(Wait::ALL.map(|wait| stays(wait, false)), [false; 3]);
        assert_eq!(Wait::ALL.map(|wait| stays(wait, true)), [true, false, true]);
        assert_eq!(Wait::ALL.map(|wait| mode(wait, false) == Mode::Crowded), [false, false, true]);
    }

    /// Each has a processor of its own, and less time on it.
    #[test]
    fn bound_pes_share_the_quota_of_their_group() {
        let mut facts = [0, 0, 0].map(MemberFacts::own);
        for (member, cpu) in facts.iter_mut().zip(0..) {
            (member.allowed, member.quota) = (vec![cpu], Some(2));
        }
        assert_eq!(choose(Wait::Auto, &facts, 0, true).processors(), 2);
        pace::set_mode(Mode::Dedicated);
    }

    /// Jobs in containers with quotas see all processors of the machine, and would all take the first ones.
    #[test]
    fn pes_that_outnumber_a_quota_stay_on_none() {
        let allowed = cpus::allowed();
        if allowed.len() < 2 {
            return oxshmem_test_folder::not_run("there is one processor");
        }
        let mut facts = [0, 0].map(MemberFacts::own);
        facts.iter_mut().for_each(|member| member.quota = Some(1));
        let after = std::thread::spawn(move || {
            choose(Wait::Auto, &facts, 0, false);
            cpus::allowed()
        });
        assert_eq!(after.join().expect("it chooses"), allowed);
        pace::set_mode(Mode::Dedicated);
    }
}
